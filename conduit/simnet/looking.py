"""Whether what a network does is looked at call by call, as in Python's development mode."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ASKED: ContextVar[bool] = ContextVar("conduit.looking", default=False)


def is_looked_at() -> bool:
    """Say whether the networks that are made now are looked at: in development mode, and inside of `looking`."""
    return sys.flags.dev_mode or _ASKED.get()


@contextmanager
def looking() -> Iterator[None]:
    """Look at each call of the networks that are made inside."""
    token = _ASKED.set(True)
    try:
        yield
    finally:
        _ASKED.reset(token)
