"""An error of several ranks that are processes is told once, by who reads their frames or by the lowest of them."""

import sys
import types

import pytest

from conduit.launch import launchers
from conduit.launch.errors import complaints, watches
from conduit.launch.errors.raised import told_of
from conduit.launch.jobs import process
from conduit.launch.printing import output

ERROR = ValueError("wrong")


@pytest.fixture
def rank(monkeypatch):
    """Be a rank of three under a launcher, where others have the same error."""

    def put(number, others=()):
        own = None if number is None else types.SimpleNamespace(rank=number, framed=False)
        told = told_of(ERROR)
        same = dict.fromkeys(others, told)
        watch = types.SimpleNamespace(
            with_the_same=lambda each: same if each == told else {},
            shows=lambda _, alike: not any(other < number for other in alike),
        )
        monkeypatch.setattr(output, "speech", lambda: own)
        monkeypatch.setattr(watches, "WATCHES", [] if own is None else [watch])

    return put


TOLD = pytest.mark.parametrize(
    ("number", "others", "told"),
    [
        (1, [], "wrong\n"),
        (0, [1, 2], "wrong\nranks 1-2 raised the same\n"),
        (1, [2], "wrong\nrank 2 raised the same\n"),
        (1, [0, 2], ""),
        (2, [0], ""),
    ],
)


@TOLD
def test_the_lowest_rank_tells_the_error_of_a_command(rank, capsys, number, others, told):
    rank(number, others)
    complaints.complain("wrong\n", ERROR)
    assert capsys.readouterr().err == told


@TOLD
def test_the_lowest_rank_shows_the_error_of_a_script(rank, capsys, monkeypatch, number, others, told):
    rank(number, others)
    monkeypatch.setattr(process, "_EXCEPT_HOOKS", [lambda kind, error, step: print(error, file=sys.stderr)])
    process._show_once(ValueError, ERROR, None)
    assert capsys.readouterr().err == told
    process._show_once(KeyError, KeyError("other"), None)  # of the script's own, and not of a job
    assert capsys.readouterr().err == "'other'\n"


def test_what_is_no_rank_tells_its_own(rank, capsys):
    rank(None)
    complaints.complain("wrong\n", ERROR)
    assert capsys.readouterr().err == "wrong\n"


def test_what_all_refuse_is_told_by_the_first(rank, capsys):
    for number, told in ((0, "wrong\n"), (1, "")):
        rank(number)
        complaints.complain("wrong\n", ERROR, alike=True)
        assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("a"), ("KeyError", "'a'", None, "")),
        (SystemExit(), ("SystemExit", "", 0, "")),
        (SystemExit(5), ("SystemExit", "5", 5, "")),
        (SystemExit(-1), ("SystemExit", "-1", 255, "")),
        (SystemExit("5"), ("SystemExit", "5", 1, "5")),
        (SystemExit("in words"), ("SystemExit", "in words", 1, "in words")),
    ],
)
def test_frames_carry_the_error_whole_and_in_short(monkeypatch, error, told):
    sent = []
    own = types.SimpleNamespace(rank=1, framed=True, error=sent.append)
    monkeypatch.setattr(output, "speech", lambda: own)
    complaints.complain("Traceback ...\n", error)
    assert sent == [output.FinalError("Traceback ...\n", *told)]


@pytest.mark.parametrize(
    ("environment", "tells"),
    [
        ({}, True),
        ({"PMI_SIZE": "2", "PMI_RANK": "0"}, True),
        ({"PMI_SIZE": "2", "PMI_RANK": "1"}, False),
        ({"PMI_SIZE": "2", "PMI_RANK": "0", output.FRAMES: "1"}, False),
    ],
)
def test_of_processes_that_have_not_found_one_another_the_first_tells_the_end(monkeypatch, environment, tells):
    for names in launchers._VARIABLES:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(output, "speech", lambda: None)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert output.tells_the_end() == tells


@pytest.mark.parametrize(("number", "framed", "tells"), [(0, False, True), (1, False, False), (0, True, False)])
def test_then_rank_0_does_unless_somebody_reads_frames(monkeypatch, number, framed, tells):
    monkeypatch.setattr(output, "speech", lambda: types.SimpleNamespace(rank=number, framed=framed))
    assert output.tells_the_end() == tells
