"""A rank that is a process and does not answer, because it computes or loops for ever, is told what to do."""

import asyncio
import threading

import attrs
import pytest

from conduit.launch import stall
from conduit.launch.reports import brief

ELSEWHERE = "code of a rank's own runs no handlers: where it takes long, write `await ep.poll()` in it now and then"
IN_A_LOOP = (
    "the loop at {}:{} has no `await`, and without one no handler runs: write `await ep.poll()` in it, or `await "
    "ep.block_until(predicate)` in its place"
)


def look(states):
    states.append(stall.computing(3, threading.get_ident()))
    return True


async def in_a_loop(states):
    while not states:
        look(states)


async def in_loops(states):
    while not states:
        again = 1
        while again:
            again = 0 if look(states) else 1


async def in_a_loop_that_awaits(states):
    while not states:
        look(states)
        await asyncio.sleep(0)


async def behind_a_loop(states):
    while states:
        pass
    look(states)


async def in_a_function_with_a_loop(states):
    function_with_a_loop(states)


def function_with_a_loop(states):
    while not states:
        look(states)


async def in_a_library(states):
    max([1, 2], key=lambda _: look(states))


@pytest.mark.parametrize(
    ("main", "at"),
    [
        (in_a_loop, 1),
        (in_loops, 1),
        (in_a_loop_that_awaits, None),
        (behind_a_loop, None),
        (in_a_function_with_a_loop, None),
        (in_a_library, None),
    ],
)
def test_a_rank_that_does_not_answer_is_told_to_poll(main, at):
    states = []
    asyncio.run(main(states))
    (record,) = {state.record for state in states}
    said = ELSEWHERE if at is None else IN_A_LOOP.format(__file__, main.__code__.co_firstlineno + at)
    assert record.advice == (said,)
    assert str(record.tasks[0].place) == f"{__file__}:{look.__code__.co_firstlineno + 1} in look"


@pytest.mark.parametrize(("seconds", "said"), [(0.002, "0.002"), (0.25, "0.2"), (1.4, "1"), (12.0, "12")])
def test_the_time_without_a_message_is_told(seconds, said):
    states = []
    asyncio.run(in_a_loop(states))
    (state,) = states
    own = attrs.evolve(state, record=attrs.evolve(state.record, rank=0))
    first, *_ = brief(stall.stall(10**12, seconds, [own])).splitlines()
    assert first.endswith(f"(no rank has sent or handled a message for {said} s)")


def test_the_report_ends_in_what_to_do_once():
    states = []
    asyncio.run(in_a_loop(states))
    (state,) = states
    both = [attrs.evolve(state, record=attrs.evolve(state.record, rank=rank)) for rank in range(2)]
    assert brief(stall.stall(10**12, 5.0, both)).splitlines() == [
        "stall at 1.000 s: there has been no progress for some time (no rank has sent or handled a message for 5 s)",
        f"ranks 0-1, each: {__file__}:{look.__code__.co_firstlineno + 1} in look: is in code of its own",
        "    does not poll",
        IN_A_LOOP.format("test_standstill.py", in_a_loop.__code__.co_firstlineno + 1),
    ]
