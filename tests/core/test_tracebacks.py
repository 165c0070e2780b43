"""Tracebacks of `conduit.run`: the lines of programs, unless the environment asks for all."""

import traceback

import pytest
import trio

import conduit
from extended import Extended


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


def test_the_environment_asks_for_all_lines(monkeypatch):
    monkeypatch.setenv("CONDUIT_TRACEBACK", "1")
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(wrong, conduit="loggp")
    assert len(_files(caught.value)) > 3
