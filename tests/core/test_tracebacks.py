"""Tracebacks of `conduit.run`: the lines of programs, unless the environment asks for all."""

import traceback
import warnings

import pytest
import trio

import conduit
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
