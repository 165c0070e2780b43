"""What one rank does, in a form that can travel, and the reports that are made of it where ranks are processes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence

import attrs

from conduit.launch.hanging import loops
from conduit.launch.life import Life
from conduit.launch.program.folders import is_of_project, is_own
from conduit.launch.reports import RankRecord, Report, SourceLine, TaskRecord, brief, broken_off, explain, gather

_COMPUTES = "code of its own"
_GOES_ON = ("ep.poll", "ep.compute")
_HELD = "does not answer: its process is stopped, or in a call that keeps Python's lock"
_LINE = re.compile(r":\d+ in ")
"""What is between a file and a function in the words for a line."""


@attrs.frozen
class RankState:
    """What one rank does.

    Attributes:
        record: as in every report.
        waits: whether its loop answers: it waits, or polls in what it computes.
        goes_on: whether it is in a call behind which its program goes on by itself, as a poll.
        told: the report of a standstill that it has told of all ranks, "" for none.
        ours: whether it runs a program of this project, as a benchmark, whose lines say nothing to who has called it.
    """

    record: RankRecord
    waits: bool = True
    goes_on: bool = False
    told: str = ""
    ours: bool = False


def state_of(rank: int, life: Life, interrupt: BaseException | None = None) -> RankState:
    """Return what a rank of the running Trio loop does, or did when it was interrupted; no code of it is called."""
    broken = None if interrupt is None else broken_off(interrupt, "")
    (record,) = gather([life], interrupted=True, broken_off=broken)
    if broken is not None and interrupt is not None:
        tasks = [attrs.evolve(task, call=f"ran {broken.line}") if task.ran else task for task in record.tasks]
        told = loops.advice_on_interrupt(interrupt) if any(task.ran for task in tasks) else ""
        record = attrs.evolve(record, tasks=tuple(tasks), advice=(*record.advice, *filter(None, [told])))
    line = "" if broken is None else broken.line
    goes_on = any(task.wait is None and task.call in _GOES_ON for task in record.tasks)
    return RankState(
        attrs.evolve(record, rank=rank), goes_on=goes_on, ours=_runs_ours([_LINE.split(line)[0], *_files(record)])
    )


def computing(rank: int, thread: int) -> RankState:
    """Return what a rank does whose loop does not answer, by the innermost line of a program in its thread."""
    innermost = sys._current_frames().get(thread)
    while innermost is not None and is_own(innermost.f_code.co_filename):
        innermost = innermost.f_back
    frame = loops.program_frame(innermost) or innermost
    place = None if frame is None else SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    task = TaskRecord(f"rank {rank}", place, False, _COMPUTES, None)
    record = RankRecord(rank, "runs its main", True, False, (task,), False, 0, (), ())
    if frame is not None:
        record = attrs.evolve(record, advice=(loops.advice(frame),))
    return RankState(record, waits=False, ours=_runs_ours(_files(record)))


def unanswered(rank: int) -> RankState:
    """Return what is known of a rank whose process does not answer."""
    return RankState(RankRecord(rank, _HELD, False, False, (), False, 0, (), ()), waits=False)


def _files(record: RankRecord) -> list[str]:
    """Return the files of a program that a rank's tasks are in."""
    return [task.place.file for task in record.tasks if task.place is not None]


def _runs_ours(files: Iterable[str]) -> bool:
    """Say whether all files of a program that are known are of this project."""
    known = [file for file in files if file]
    return bool(known) and all(map(is_of_project, known))


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
