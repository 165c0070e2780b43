"""What one rank does, in a form that can travel, and the reports that are made of it where ranks are processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType

import attrs

from conduit.launch.life import Life, Stage
from conduit.launch.reports import Place, RankRecord, TaskRecord, brief, explain, gather
from conduit.launch.reports.folders import is_own
from conduit.launch.reports.gather import RAN, error_line


@attrs.frozen
class State:
    """What one rank does, in a form that can travel.

    Attributes:
        record: what the report says of it; its number is set when it arrives.
        waits: whether it waits, and does not compute.
    """

    record: RankRecord
    waits: bool = True


def state_of(life: Life, interrupt: BaseException | None = None) -> State:
    """Return what a rank of the running Trio loop does, or did when it was interrupted; no code of it is called."""
    line = "" if interrupt is None else error_line(interrupt)
    record = gather([life], interrupted=True, broken_off=bool(line))[0]
    ran = [attrs.evolve(task, call=f"ran {line}") if task.call == RAN else task for task in record.tasks]
    return State(attrs.evolve(record, tasks=tuple(ran)))


def computing(frame: FrameType | None) -> State:
    """Return what a rank does that is not in its loop, by the innermost frame of its thread."""
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    place = None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    task = TaskRecord("main", place, False, "computes, and does not poll", None)
    return State(RankRecord(0, Stage.RUNNING.value, True, False, (task,), True, 0, (), ()), waits=False)


def standstill(seconds: float, states: Sequence[State]) -> str:
    """Return the report of a job in real time that has not moved for some seconds.

    Args:
        seconds: since the last message was sent or handled.
        states: what each rank does.
    """
    head = f"stall: no rank has sent or handled a message for {seconds:.0f} s"
    return _text("stall", head, dict(enumerate(states)))


def interrupted(states: Mapping[int, State]) -> str:
    """Return the report of a job whose processes Ctrl-C has reached.

    Args:
        states: what ranks did, of those that could say.
    """
    return _text("interrupted", "interrupted: where the ranks were", states)


def _text(kind: str, head: str, states: Mapping[int, State]) -> str:
    ranks = [_numbered(rank, states.get(rank)) for rank in range(max(states, default=-1) + 1)]
    return brief(attrs.evolve(explain(kind, 0, ranks), head=head))


def _numbered(rank: int, state: State | None) -> RankRecord:
    if state is None:
        return RankRecord(rank, "has not said where it was", False, False, (), False, 0, (), ())
    return attrs.evolve(state.record, rank=rank)
