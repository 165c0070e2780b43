"""The lines that an error came through."""

from __future__ import annotations

from types import TracebackType


def steps_of(error: BaseException) -> list[TracebackType]:
    """Return the steps of an error's traceback, outermost first: each has a frame and a line that it came through."""
    return steps_from(error.__traceback__)


def steps_from(step: TracebackType | None) -> list[TracebackType]:
    """Return a step and those inside it."""
    steps = []
    while step is not None:
        steps.append(step)
        step = step.tb_next
    return steps
