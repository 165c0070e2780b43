"""A program that ends its process by `os._exit` while a job runs: by whom, and where, is told before all is gone."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from conduit.core import written
from conduit.core.checked_call import CURRENT
from conduit.launch.printing import output, terminal
from conduit.launch.program.folders import is_library, is_own


class _Watch:
    """Stands before `os._exit` as long as any job of this process runs: each is a `with` block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs = 0
        self._stands = False
        self._before: Callable[[int], NoReturn] = os._exit
        self._process = 0

    def __enter__(self) -> None:
        with self._lock:
            self._jobs += 1
            if not self._stands:
                self._before, self._process, self._stands = os._exit, os.getpid(), True
                os._exit = self.exit

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._jobs -= 1
            if not self._jobs and os._exit == self.exit:  # else somebody stands before it who calls it
                os._exit = self._before  # type: ignore[assignment]
                self._stands = False

    def exit(self, status: int) -> NoReturn:
        """End the process as `os._exit` does."""
        own = os.getpid() == self._process  # and no copy of it, as of multiprocessing
        if self._jobs and own and isinstance(status, int):
            with suppress(Exception):  # nobody reads any more
                _tell(status, sys._getframe(1))
        self._before(status)


TOLD = _Watch()
"""Inside it is told where the program calls `os._exit`."""


def _tell(status: int, frame: FrameType | None) -> None:
    """Say who has ended the job, and where."""
    endpoint, own = CURRENT.get(), output.speech()
    rank = endpoint.rank if endpoint is not None else None if own is None else own.rank
    who = "the program" if rank is None else f"rank {rank}"
    text = f"{who} ended the job by os._exit({status}){_place(frame)}"
    if own is None or not own.falls(status & 0xFF, text):
        terminal.tell(text)


def _place(frame: FrameType | None) -> str:
    """Return the innermost line of the program, "" where it has none."""
    while frame is not None and (is_own(frame.f_code.co_filename) or is_library(frame.f_code.co_filename)):
        frame = frame.f_back
    if frame is None:
        return ""
    return f" at {written.at(frame.f_code.co_filename, frame.f_lineno)} in {frame.f_code.co_name}"
