"""What one rank does, in a form that can travel, and the reports that are made of it where ranks are processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType

import attrs

from conduit.launch import report, tasks
from conduit.launch.life import Life


@attrs.frozen
class State:
    """What one rank does, in a form that can travel.

    Attributes:
        lines: what the report says of it.
        peers: the ranks that it waits for.
        waits: whether it waits, and does not compute.
    """

    lines: tuple[str, ...]
    peers: tuple[int, ...] = ()
    waits: bool = True


def state_of(life: Life, interrupt: BaseException | None = None) -> State:
    """Return what a rank of the running Trio loop does, or did when it was interrupted; no code of it is called."""
    broken_off = tasks.error_line(interrupt, report._own_folders()) if interrupt is not None else ""
    lines = report._state(life, report._tasks([life])[0], "", broken_off)
    lines = [f"ran {broken_off}" if line == report._RAN else line for line in lines]
    return State(tuple(lines), tuple(report._peers(life.rank.waits())))


def computing(frame: FrameType | None) -> State:
    """Return what a rank does that is not in its loop, by the innermost frame of its thread."""
    while frame is not None and frame.f_code.co_filename.startswith(report._own_folders()):
        frame = frame.f_back
    where = "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}: "
    return State((f"{where}computes, and does not poll",), waits=False)


def standstill(seconds: float, states: Sequence[State]) -> str:
    """Return the report of a job in real time that has not moved for some seconds.

    Args:
        seconds: since the last message was sent or handled.
        states: what each rank does.
    """
    lines = [f"standstill: no rank has sent or handled a message for {seconds:.0f} s"]
    lines += report._grouped([state.lines for state in states])
    lines += report._cycle_line([state.peers for state in states])
    return "\n".join(lines)


def interrupted(states: Mapping[int, State]) -> str:
    """Return the report of a job whose processes Ctrl-C has reached.

    Args:
        states: what ranks did, of those that could say.
    """
    lines = [f"interrupted: {report._HEADS['interrupted']}"]
    lines += report._grouped([states[rank].lines for rank in sorted(states)], sorted(states))
    return "\n".join(lines)
