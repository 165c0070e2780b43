"""What one rank does, in a form that can travel, and the reports that are made of it where ranks are processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import attrs

from conduit.launch import loops
from conduit.launch.life import Life
from conduit.launch.reports import RankRecord, Report, SourceLine, TaskRecord, brief, broken_off, explain, gather
from conduit.launch.reports.folders import is_own

_COMPUTES = "code of its own"


@attrs.frozen
class RankState:
    """What one rank does.

    Attributes:
        record: as in every report.
        waits: whether it waits, and does not compute.
        told: the report of a standstill that it has told of all ranks, "" for none.
    """

    record: RankRecord
    waits: bool = True
    told: str = ""


def state_of(rank: int, life: Life, interrupt: BaseException | None = None) -> RankState:
    """Return what a rank of the running Trio loop does, or did when it was interrupted; no code of it is called."""
    broken = None if interrupt is None else broken_off(interrupt, "")
    (record,) = gather([life], interrupted=True, broken_off=broken)
    if broken is not None and interrupt is not None:
        tasks = [attrs.evolve(task, call=f"ran {broken.line}") if task.ran else task for task in record.tasks]
        told = loops.advice_on_interrupt(interrupt) if any(task.ran for task in tasks) else ""
        record = attrs.evolve(record, tasks=tuple(tasks), advice=(*record.advice, *filter(None, [told])))
    return RankState(attrs.evolve(record, rank=rank))


def computing(rank: int, thread: int) -> RankState:
    """Return what a rank does whose loop does not answer, by the innermost line of a program in its thread."""
    innermost = sys._current_frames().get(thread)
    while innermost is not None and is_own(innermost.f_code.co_filename):
        innermost = innermost.f_back
    frame = loops.program_frame(innermost) or innermost
    place = None if frame is None else SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    task = TaskRecord(f"rank {rank}", place, False, _COMPUTES, None)
    record = RankRecord(rank, "runs its main", True, False, (task,), False, 0, (), ())
    return RankState(record if frame is None else attrs.evolve(record, advice=(loops.advice(frame),)), waits=False)


def stall(now: int, seconds: float, states: Sequence[RankState]) -> Report:
    """Return the report of a job in real time that has not moved for some seconds.

    Args:
        now: the time of the job in picoseconds.
        seconds: since the last message was sent or handled.
        states: what each rank does, by rank.
    """
    ranks = [state.record for state in states]
    since = f"{seconds:.0f}" if seconds >= 1 else f"{seconds:.1g}"
    return explain("stall", now, ranks, f"no rank has sent or handled a message for {since} s", "wall")


def interrupted(states: Mapping[int, RankState], count: int) -> str:
    """Return the report of a job whose processes Ctrl-C has reached; what has been told already is not told again.

    Args:
        states: what ranks did, of those that could say.
        count: how many ranks there are.
    """
    silent = [RankRecord(rank, "did not say", False, False, (), False, 0, (), ()) for rank in range(count)]
    ranks = [states[rank].record if rank in states else silent[rank] for rank in range(count)]
    told = next((state.told for state in states.values() if state.told), "")
    if told and _below_the_head(told) == _below_the_head(brief(explain("stall", 0, ranks, clock="wall"))):
        return "interrupted: the ranks are still where the report above has them"
    report = explain("interrupted", 0, ranks, clock="wall")
    return brief(attrs.evolve(report, head="interrupted: where the ranks were"))


def _below_the_head(text: str) -> str:
    """Return a report without its first line, which has the time."""
    return text.partition("\n")[2]
