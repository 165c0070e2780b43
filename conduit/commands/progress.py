"""How far a job is that `conduit run` runs: one line on standard error, on terminals only.

Elsewhere, as in a log, it is said once that a program does not await anything: without that nobody can know.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from conduit import Endpoint
from conduit.launch.hanging import log
from conduit.launch.hanging.log import beside, logged, watched
from conduit.launch.hanging.looks import Hanging, RankMain, begun
from conduit.launch.printing.endings import Noting
from conduit.launch.printing.terminal import columns
from conduit.words import many

PATIENCE = 2.0
"""Seconds of wall time without a line: a short run shows none."""

_ERASE = "\r\x1b[K"


class JobProgress:
    """What is known of a job while it runs.

    Attributes:
        endpoints: those of the ranks that have begun.
        mains: these with their tasks, for who looks whether they hang.
        returned: how many of their mains have returned.
    """

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []
        self.mains: list[RankMain] = []
        self.returned = 0

    def begin(self, endpoint: Endpoint) -> None:
        """Take note that a rank's main begins, in the running task."""
        self.endpoints.append(endpoint)
        self.mains.append(begun(endpoint))

    def line(self, seconds: float) -> str:
        """Return what to show after that many seconds of wall time."""
        if not self.endpoints:
            return f"{seconds:.0f} s: the ranks are starting"
        some = self.endpoints[0]
        requests = sum(each.counts.requests_sent for each in self.endpoints)
        now = max(each.now for each in self.endpoints)
        clock = f", virtual time {now * 1e3:.3f} ms" if some.simulated else ""
        of = f"{self.returned} of {many(some.size, 'rank')} have returned"
        return f"{seconds:.0f} s{clock}, {many(requests, 'request')}, {of}"


class _Erasing(Noting):
    """A stream that takes the line away before anything else is printed."""

    def __init__(self, stream: TextIO, erase: Callable[[], None]) -> None:
        super().__init__(stream)
        self._erase = erase

    def write(self, text: str) -> int:
        if text:
            self._erase()
        return super().write(text)


@contextmanager
def shown(job: JobProgress, terminal: TextIO) -> Iterator[None]:
    """Show a line of a job while it runs, and take it away again.

    Args:
        job: what is known of it.
        terminal: where; what is no terminal shows no line, and of what hangs only who awaits nothing, once.
    """
    if not terminal.isatty():
        with watched(), logged(job, terminal):
            yield
        return
    lock, over, worker = threading.Lock(), threading.Event(), threading.get_ident()
    there = False

    def erase() -> None:
        nonlocal there
        with lock:
            if there:
                terminal.write(_ERASE)
                terminal.flush()
                there = False

    def show() -> None:
        nonlocal there
        began = time.monotonic()
        hanging = Hanging(job, worker)
        while not over.wait(log.TURN):
            seconds = time.monotonic() - began
            if seconds < PATIENCE:
                continue
            told = ""
            with suppress(Exception):  # what is looked at may change meanwhile
                told = hanging.look()
            with lock:
                within = any(each.within for each in seen)
                if told:
                    terminal.write(f"\n{told}\n" if within else f"{_ERASE}{told}\n")
                    for each in seen:
                        each.within = False
                elif within:
                    continue  # what stands there is the program's
                width = columns()
                terminal.write(f"{_ERASE}{job.line(seconds)[: width and width - 1]}")  # what is wrapped stays
                terminal.flush()
                there = True

    streams = ("stdout", "stderr")
    before = {name: getattr(sys, name) for name in streams}
    # One that was closed before this process began is None, and takes what is printed away by itself.
    erasing = {name: _Erasing(stream, erase) for name, stream in before.items() if stream is not None}
    for name, stream in erasing.items():
        setattr(sys, name, stream)
    seen = [each for name, each in erasing.items() if before[name].isatty()]
    try:
        with watched(), beside(show, over):
            yield
    finally:
        erase()
        for name in streams:
            if isinstance(getattr(sys, name), _Erasing):
                setattr(sys, name, before[name])
