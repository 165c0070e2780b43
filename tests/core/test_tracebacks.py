"""Tracebacks of `conduit.run`: the lines of programs, unless the environment asks for all."""

import asyncio
import importlib
import json
import traceback
import warnings

import numpy as np
import pytest
import trio

import conduit
from conduit.launch.program import folders
from conduits.mpi import MPI
from extended import Extended, shmem, upc


def _files(error):
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


async def wrong(ep):
    x = await Extended.attach(ep)
    await x.put(9, 0, b"")


def test_a_refusal_comes_from_the_programs_line_and_the_callers():
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(wrong, conduit="loggp")
    assert _files(caught.value) == {__file__}
    assert [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)] == [
        'conduit.run(wrong, conduit="loggp")',
        'await x.put(9, 0, b"")',
    ]


async def inverts(ep):
    np.linalg.inv(np.zeros((3, 4)))


async def reads(ep):
    json.loads("{")


async def sleeps(ep):
    await asyncio.sleep(1)


async def sends(ep):
    send, _ = trio.open_memory_channel(0)
    send.send_nowait(1)


async def starts(ep):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inverts, ep)


async def is_called_by_a_library(ep):
    def each(row):
        raise LookupError(row)

    np.apply_along_axis(each, 0, np.zeros((2, 2)))


def _lines(error):
    """Return this file's lines of an error, and of those that it is made of, and the files of all."""
    frames = list(traceback.extract_tb(error.__traceback__))
    for each in getattr(error, "exceptions", ()):
        frames += traceback.extract_tb(each.__traceback__)
    return [frame.line for frame in frames if frame.filename == __file__], {frame.filename for frame in frames}


@pytest.mark.parametrize(
    ("main", "kind", "lines"),
    [
        (inverts, np.linalg.LinAlgError, ["np.linalg.inv(np.zeros((3, 4)))"]),
        (reads, ValueError, ['json.loads("{")']),
        (sleeps, RuntimeError, ["await asyncio.sleep(1)"]),
        (sends, trio.WouldBlock, ["send.send_nowait(1)"]),
        (
            starts,
            ExceptionGroup,
            ["async with trio.open_nursery() as nursery:", "np.linalg.inv(np.zeros((3, 4)))"],
        ),
    ],
)
def test_an_error_inside_a_library_ends_at_the_programs_line(main, kind, lines, monkeypatch):
    run = "conduit.run(main, conduit="
    with pytest.raises(kind) as caught:
        conduit.run(main, conduit="loggp", ranks=1)
    found, files = _lines(caught.value)
    assert found == [f'{run}"loggp", ranks=1)', *lines]
    assert files == {__file__}
    monkeypatch.setenv("CONDUIT_TRACEBACK", "1")
    with pytest.raises(kind) as caught:
        conduit.run(main, conduit="loggp", ranks=1)
    assert len(_lines(caught.value)[1]) > 3


def test_who_of_a_library_called_the_programs_last_line_stays():
    with pytest.raises(LookupError) as caught:
        conduit.run(is_called_by_a_library, conduit="loggp", ranks=1)
    found, files = _lines(caught.value)
    assert found[1:] == ["np.apply_along_axis(each, 0, np.zeros((2, 2)))", "raise LookupError(row)"]
    assert len(files) > 1


def test_lines_of_a_library_that_this_package_has_called_stay():
    def fails(ep):
        json.loads("{")

    fails.__code__ = fails.__code__.replace(co_filename=conduit.__file__)

    async def main(ep):
        fails(ep)

    with pytest.raises(ValueError, match="Expecting") as caught:
        conduit.run(main, conduit="loggp", ranks=1)
    assert json.__file__ in _files(caught.value)


def test_a_program_that_is_installed_itself_keeps_all_lines(tmp_path, monkeypatch):
    """Which other packages are its own is not known."""
    for name, text in {
        "an_installed_program/__init__.py": "",
        "an_installed_program/main.py": "import another\nasync def main(ep): another.fail()",
        "another.py": "def fail(): raise LookupError",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(folders, "_LIBRARIES", (f"{tmp_path}/", *folders._LIBRARIES))
    main = importlib.import_module("an_installed_program.main").main
    with pytest.raises(LookupError) as caught:
        conduit.run(main, conduit="loggp")
    assert _files(caught.value) == {
        __file__, f"{tmp_path}/an_installed_program/main.py", f"{tmp_path}/another.py"
    }  # fmt: skip

    async def calls(ep):
        await main(ep)

    with pytest.raises(LookupError) as caught:
        conduit.run(calls, conduit="loggp")
    assert _files(caught.value) == {__file__}


@pytest.mark.parametrize("arguments", [{"conduit": "nothing"}, {"ranks": 0}, {"segment": -1}])
def test_a_wrong_argument_of_run_is_refused_in_the_callers_line(arguments):
    with pytest.raises(conduit.ConduitError) as caught:
        conduit.run(wrong, **arguments)
    assert _files(caught.value) == {__file__}


def test_a_group_of_errors_has_the_programs_lines():
    async def main(ep):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wrong, ep)

    with pytest.raises(ExceptionGroup) as caught:
        conduit.run(main, conduit="loggp", ranks=1)
    assert _files(caught.value) == {__file__}
    assert _files(caught.value.exceptions[0]) == {__file__}


FRONTS = {"upc": (upc, {}), "shmem": (shmem, {}), "MPI": (MPI, {"library": "scampi"})}


async def fails(first):
    raise LookupError("of the program")


async def warns(first):
    conduit.current().warn("beware")


@pytest.mark.parametrize("front", FRONTS)
def test_errors_that_pass_a_front_end_have_the_programs_lines_alone(front):
    module, options = FRONTS[front]
    with pytest.raises(LookupError) as caught:
        module.run(fails, **options)
    assert _files(caught.value) == {__file__}
    with pytest.raises(conduit.BadRequest) as caught:
        module.run(fails, ranks_per_host=0, **options)
    assert _files(caught.value) == {__file__}


@pytest.mark.parametrize("front", FRONTS)
def test_so_do_errors_of_an_awaited_run(front):
    module, options = FRONTS[front]

    async def outer():
        with pytest.raises(LookupError) as caught:
            await module.run_async(fails, **options)
        assert _files(caught.value) == {__file__}
        with pytest.raises(conduit.BadRequest) as caught:
            await module.run_async(fails, ranks_per_host=0, **options)
        assert _files(caught.value) == {__file__}

    trio.run(outer)


@pytest.mark.parametrize("front", FRONTS)
def test_warnings_of_a_job_are_of_the_line_that_runs_it(front):
    module, options = FRONTS[front]
    with pytest.warns(conduit.ConduitWarning, match="^ranks 0-1: beware$") as caught:
        module.run(warns, **options)
    assert [each.filename for each in caught] == [__file__]

    async def outer():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            await module.run_async(warns, **options)
        assert [(each.filename, str(each.message)) for each in found] == [(__file__, "ranks 0-1: beware")]

    trio.run(outer)


def test_what_is_no_function_is_refused():
    with pytest.raises(conduit.BadRequest, match=r"^trim_tracebacks: 3 is no function that could be decorated$"):
        conduit.trim_tracebacks(3)


def test_the_environment_asks_for_all_lines(monkeypatch):
    monkeypatch.setenv("CONDUIT_TRACEBACK", "1")
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(wrong, conduit="loggp")
    assert len(_files(caught.value)) > 3


def test_a_warning_that_is_raised_is_of_the_line_that_runs_the_job_and_has_its_result():
    with warnings.catch_warnings():
        warnings.simplefilter("error", conduit.ConduitWarning)
        with pytest.raises(conduit.ConduitWarning, match=r"^ranks 0-1: beware$") as caught:
            conduit.run(warns, conduit="loggp")
    assert _files(caught.value) == {__file__}
    assert caught.value.result.ranks == 2


def test_a_stop_iteration_out_of_main_is_shown_with_lines_of_the_program_alone():
    async def main(ep):
        raise StopIteration(3)

    with pytest.raises(RuntimeError, match=r"^coroutine raised StopIteration\n") as caught:
        conduit.run(main, conduit="loggp")
    assert _files(caught.value) == {__file__} == _files(caught.value.__cause__)
