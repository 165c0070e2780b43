"""Ctrl-C reaches code of programs where events run it (rule E8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import trio

T = TypeVar("T")


@trio.lowlevel.disable_ki_protection
def _open_to_interrupts(action: Callable[[], T]) -> T:
    return action()


def attend(action: Callable[[], T], interrupted: Callable[[BaseException], object], instead: T) -> T:
    """Return `action()`, where Trio's loop runs it and would only take note of Ctrl-C until it has ended.

    Handlers and predicates run in there and may never end.  What Ctrl-C breaks off is told to `interrupted`, and
    `instead` is returned; the job ends, so that events it has cut in two do no harm.
    """
    try:
        return _open_to_interrupts(action)
    except KeyboardInterrupt as error:
        interrupted(error)
        return instead
