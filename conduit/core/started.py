"""Which line of a program has started a task that runs no line of it: `nursery.start_soon(ep.block_until, ...)`."""

from __future__ import annotations

from contextvars import Context, ContextVar
from typing import Protocol

Where = tuple[str, int, str]
"""File, line and function."""

STARTED: ContextVar[Where | None] = ContextVar("conduit.started", default=None)
"""Set in the task's context by the job, when the task is started."""


class Started(Protocol):
    """A task of Trio, as far as it is looked at.

    Attributes:
        context: that it runs in.
    """

    context: Context


def started_at(task: Started) -> Where | None:
    """Return the program's line that started a task which began in no function of the program, None for another."""
    return task.context.get(STARTED, None)
