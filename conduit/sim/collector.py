"""Python's collector of cyclic garbage while jobs run."""

from __future__ import annotations

import gc
import threading
from types import TracebackType

_YOUNG = 1_000_000
_YOUNG_PER_TASK = 4_000  # what a rank makes when it first talks to some twenty others, twice over

_lock = threading.Lock()
_jobs = 0
_before = (700, 10, 10)


class PatientCollector:
    """Look for garbage in cycles less often while jobs run: a context, which may be entered inside another.

    Messages and events leave none, but at a thousand ranks so much is alive that looking at it again and again takes as
    long as the simulation.  A job itself is full of cycles: where the outermost context is left when nothing refers to
    the job any more, the first look after that frees it.  Else it would be looked through, kept, and looked through
    again.

    Args:
        tasks: of the job, each of which makes objects that stay.
    """

    # No generator: one that ends makes an exception, and with that begins what is to wait until the caller goes on.

    def __init__(self, tasks: int = 0) -> None:
        self._tasks = tasks

    def __enter__(self) -> None:
        global _jobs, _before
        with _lock:
            if not _jobs:
                _before = gc.get_threshold()
            young, *older = gc.get_threshold()
            if young:  # 0: somebody has turned it off
                gc.set_threshold(max(_YOUNG + self._tasks * _YOUNG_PER_TASK, young), *older)
            _jobs += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _jobs
        with _lock:
            _jobs -= 1
            if not _jobs:
                gc.set_threshold(*_before)
