"""An error of several ranks that are processes is told once, by who reads their frames or by the lowest of them."""

import types

import pytest

from conduit.launch import complaints, output
from conduit.launch.errors import told_of


@pytest.fixture
def complain(monkeypatch, capsys):
    """Complain as a rank of three under a launcher, where others have the same error; return what is printed."""

    def call(rank, others, *, alike=False):
        monkeypatch.setattr(
            output, "speech", lambda: None if rank is None else types.SimpleNamespace(rank=rank, framed=False)
        )
        monkeypatch.setattr(complaints, "with_the_same", lambda told: others if told == told_of(error) else None)
        error = ValueError("wrong")
        complaints.complain("wrong\n", error, alike=alike)
        return capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    ("rank", "others", "told"),
    [
        (None, [], "wrong\n"),
        (1, [], "wrong\n"),
        (0, [1, 2], "wrong\nranks 1-2 raised the same\n"),
        (1, [2], "wrong\nrank 2 raised the same\n"),
        (1, [0, 2], ""),
        (2, [0], ""),
    ],
)
def test_the_lowest_rank_tells_it(complain, rank, others, told):
    assert complain(rank, others) == told


def test_what_all_refuse_is_told_by_the_first(complain):
    assert complain(0, [], alike=True) == "wrong\n"
    assert complain(1, [], alike=True) == ""


def test_frames_carry_the_error_whole_and_in_short(monkeypatch):
    sent = []
    own = types.SimpleNamespace(rank=1, framed=True, error=lambda *what: sent.append(what))
    monkeypatch.setattr(output, "speech", lambda: own)
    complaints.complain("Traceback ...\n", KeyError("a"))
    assert sent == [("Traceback ...\n", "KeyError", "'a'")]
