"""Which threads of this process run jobs: a call that another thread makes could never be awaited."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from conduit.errors import BadRequest

_RUNNING: Counter[int] = Counter()
"""By thread: how many jobs it runs, one of which may run another."""


@contextmanager
def runs_job() -> Iterator[None]:
    """Let the running thread be one that runs a job."""
    here = threading.get_ident()
    _RUNNING[here] += 1
    try:
        yield
    finally:
        _RUNNING[here] -= 1
        if not _RUNNING[here]:
            del _RUNNING[here]


def is_elsewhere() -> bool:
    """Say whether jobs run in other threads of this process, and none in this one."""
    return bool(_RUNNING) and threading.get_ident() not in _RUNNING


def where() -> str:
    """Say in which thread a call was made, and what to do in its place."""
    return (
        f"in the thread {threading.current_thread().name!r}, which runs no rank; await it in a task of the rank; a "
        "function that `await trio.to_thread.run_sync(...)` runs can make it by `trio.from_thread.run(...)`"
    )


def refuse_plain_elsewhere(call: str) -> None:
    """Refuse a call that is not awaited, and acts on the job, in a thread without a rank while a job runs.

    Raises:
        BadRequest: it is made there.
    """
    if is_elsewhere():
        raise BadRequest(
            f"{call}: called in the thread {threading.current_thread().name!r}, which runs no rank; a function that "
            f"`await trio.to_thread.run_sync(...)` runs can make it by `trio.from_thread.run_sync({call}, ...)`"
        )


def refuse_elsewhere(call: str) -> None:
    """Refuse a call that is made in a thread without a rank while a job runs.

    Raises:
        BadRequest: it is.
    """
    if is_elsewhere():
        raise BadRequest(f"{call}: called {where()}")
