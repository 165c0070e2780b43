"""A rank that is a process and does not answer, because it computes or loops for ever, is told what to do."""

import asyncio
import threading

import attrs
import pytest

from conduit.contract import Awaited
from conduit.launch.processes import stall
from conduit.launch.reports import RankRecord, SourceLine, TaskRecord, brief
from conduit.launch.reports.records import WaitRecord

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


def waiting(rank, what, missing, told="", line=7):
    """Return the state of a rank that waits in a call of all, to which others have not come."""
    wait = WaitRecord(what, Awaited.PREDICATE.value, 10**12, missing, missing=missing, everybody=True)
    task = TaskRecord("main", SourceLine("/here/prog.py", line, "main"), False, "", wait)
    return stall.RankState(RankRecord(rank, "runs its main", True, False, (task,), True, 0, (), ()), told=told)


CROSSED = (
    "rank 0 is in a barrier at prog.py:7, rank 1 is in all_reduce at prog.py:8: all of them must make the same "
    "calls in the same order"
)


def crossing(told=""):
    return [waiting(0, "a barrier", (1,), told), waiting(1, "all_reduce", (0,), line=8)]


def test_ctrl_c_before_the_report_of_a_standstill_ends_in_the_same_advice():
    lines = stall.interrupted(dict(enumerate(crossing())), 2).splitlines()
    assert lines[0] == "interrupted: where the ranks were"
    assert lines[1] == "perhaps a cycle: rank 0 waits for rank 1 waits for rank 0 (if nothing is on its way)"
    assert lines[-1] == CROSSED
    assert lines[-1] == brief(stall.stall(10**12, 5.0, crossing())).splitlines()[-1]


def test_it_is_not_told_of_a_rank_that_has_another_task():
    states = crossing()
    (task,) = states[0].record.tasks
    other = attrs.evolve(task, call="ep.compute", wait=None)
    states[0] = attrs.evolve(states[0], record=attrs.evolve(states[0].record, tasks=(task, other)))
    assert "make the same calls" in brief(stall.stall(10**12, 5.0, states))
    assert "make the same calls" not in stall.interrupted(dict(enumerate(states)), 2)


def test_ctrl_c_after_the_report_of_a_standstill_does_not_tell_it_again():
    told = brief(stall.stall(6 * 10**12, 5.0, crossing()))
    still = "interrupted: the ranks are still where the report above has them"
    assert stall.interrupted(dict(enumerate(crossing(told))), 2) == still
    moved = dict(enumerate([crossing(told)[0], waiting(1, "all_reduce", (0,), line=9)]))
    assert stall.interrupted(moved, 2).startswith("interrupted: where the ranks were\n")
    silent = {0: crossing(told)[0]}
    assert "rank 1: did not say" in stall.interrupted(silent, 2)
