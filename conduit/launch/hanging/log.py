"""Says once, on standard error, which line of a program has not awaited anything for long, while its job runs.

Nothing else runs meanwhile in the job's thread, so that without it nobody can know.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Protocol, TextIO

from conduit.launch.hanging.looks import Hanging, WatchedMains
from conduit.launch.printing.formatting import shown_by_python
from conduit.launch.program.folders import is_of_project, program_frame

TURN = 0.5
"""Seconds between two looks."""

PATIENCE = 10.0
"""Seconds of wall time without an await of the program's before that is said."""

_WATCHED: ContextVar[bool] = ContextVar("conduit.watched", default=False)
"""Whether somebody looks at the jobs that run here."""


class Watched(Protocol):
    """A job that knows its mains, if it is simulated; of others nothing is said."""

    def watched(self) -> WatchedMains | None:
        """Return what is known of them, None where time is real."""


@contextmanager
def beside(action: Callable[[], None], over: threading.Event) -> Iterator[None]:
    """Run `action` in a thread of its own, which ends when `over` is set: at the end of what is done meanwhile."""
    thread = threading.Thread(target=action, name="progress", daemon=True)
    try:
        thread.start()
        yield
    finally:  # also of a Ctrl-C that comes as the thread starts
        over.set()
        if thread.is_alive():
            thread.join()


@contextmanager
def watched() -> Iterator[None]:
    """Let nobody else look at the jobs that are run in here."""
    token = _WATCHED.set(True)
    try:
        yield
    finally:
        _WATCHED.reset(token)


@contextmanager
def logged(job: WatchedMains, log: TextIO) -> Iterator[None]:
    """Say once in a log who does not await anything, while a job runs in this thread."""
    over, worker = threading.Event(), threading.get_ident()

    def look() -> None:
        hanging = Hanging(job, worker, PATIENCE)
        told = ""
        while not told and not over.wait(TURN):
            with suppress(Exception):  # what is looked at may change meanwhile
                told = hanging.look(awaits=False)
        if told:
            with suppress(Exception):  # nobody may read it any more
                print(told, file=log, flush=True)

    with beside(look, over):
        yield


def logged_in_script(job: Watched) -> AbstractContextManager[None]:
    """Return the same for a script that runs a job; where others than Python show its warnings, nothing is said."""
    frame, _ = program_frame()
    if frame is None or is_of_project(frame.f_code.co_filename) or _WATCHED.get():
        return nullcontext()
    if sys.stderr is None or not shown_by_python():
        return nullcontext()
    mains = job.watched()
    return nullcontext() if mains is None else logged(mains, sys.stderr)
