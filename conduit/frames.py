"""The frames of what a task awaits."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import FrameType
from typing import Any, Protocol

_ATTRIBUTES = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))
_AROUND = ("coroutine_wrapper", "async_generator_asend", "async_generator_athrow")
"""Types of Python's own around what has a frame, which only the collector of garbage sees in them."""


class Awaiting(Protocol):
    """A task of Trio, as far as it is looked at."""

    @property
    def coro(self) -> Any:
        """What it runs."""
        ...


def awaited_frames(task: Awaiting) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of a task with their lines, outermost first.

    Trio's `Task.iter_await_frames` ends at an object whose `__await__` is that of a coroutine, as handles and reads of
    shared arrays have it; this goes on.
    """
    awaited: Any = task.coro
    while awaited is not None:
        if type(awaited).__name__ in _AROUND:
            awaited = next((each for each in gc.get_referents(awaited) if _of(each)), None)
            continue
        names = _of(awaited)
        if not names:
            return
        frame = getattr(awaited, names[0])
        if frame is not None:  # as it is of a task that has finished
            yield frame, frame.f_lineno
        awaited = getattr(awaited, names[1])


def _of(awaited: object) -> tuple[str, str] | None:
    return next((names for names in _ATTRIBUTES if hasattr(awaited, names[0])), None)
