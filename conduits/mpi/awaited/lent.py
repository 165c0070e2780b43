"""Buffers of sends and receives that were begun and not waited for, and what the program does to them meanwhile.

MPI forbids to receive into bytes that a send still reads, or that another receive fills: what comes of it is chance.  A
simulation, which has one order of both, would never show it.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from conduit.contract.memory import address_of
from conduit.words import many


class _Place(Protocol):
    """Where a program has made a call: a `RequestPlace`."""

    @property
    def call(self) -> str:
        """Its name."""

    @property
    def file(self) -> str:
        """Of the program."""

    @property
    def line(self) -> int:
        """In it."""


class _Run(NamedTuple):
    """The bytes of one buffer: where they begin and end in memory, and which request has them, begun where."""

    start: int
    end: int
    request: int
    place: _Place


class _Runs:
    """Some of them, in order, so that many open requests cost little."""

    __slots__ = ("_longest", "_runs")

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._longest = 0

    def add(self, run: _Run) -> None:
        insort(self._runs, run)
        self._longest = max(self._longest, run.end - run.start)

    def remove(self, run: _Run) -> None:
        del self._runs[bisect_left(self._runs, run)]

    def first_in(self, start: int, end: int) -> _Run | None:
        """Return one that has bytes from `start` to `end`, None where none has."""
        runs = self._runs
        for place in range(bisect_left(runs, (start - self._longest,)), len(runs)):
            run = runs[place]
            if run.start >= end:
                return None
            if run.end > start:
                return run
        return None


class LentBuffers:
    """Those of one rank.

    Args:
        watch: called with True when there are some, and with False when there are none any more.
        here: returns the line of the program that runs, for a call of this name.
    """

    __slots__ = ("_here", "_open", "_read", "_shared", "_watch", "_written")

    def __init__(self, watch: Callable[[bool], object], here: Callable[[str], _Place]) -> None:
        self._watch, self._here = watch, here
        self._read, self._written = _Runs(), _Runs()
        self._open: dict[int, tuple[_Runs, _Run, memoryview, weakref.ref[object]]] = {}
        self._shared: Counter[tuple[_Place, _Place]] = Counter()

    def lend(self, request: object, handle: object, place: _Place, view: memoryview, *, receives: bool) -> None:
        """Take note of a request that was begun, and whether its buffer is one that is lent already.

        Args:
            request: of the plain interface.
            handle: the program's; a request of which it has none any more is never waited for, and given back.
            place: where it was begun.
            view: the bytes of its buffer.
            receives: whether it receives into them.
        """
        if not view.nbytes:
            return
        start, end, other = self._look(view, receives)
        if other is not None:
            self._shared[other.place, place] += 1
        if not self._open:
            self._watch(True)
        number = id(request)
        runs, run = self._written if receives else self._read, _Run(start, end, number, place)
        runs.add(run)
        # The view, as mpi4py keeps it, too: bytes that the program has let go would be those of other buffers soon.
        self._open[number] = runs, run, view, weakref.ref(handle, lambda _: self._end(number))

    def look(self, call: str, view: memoryview, *, receives: bool) -> None:
        """Take note of a call that waits by itself, whether its buffer is one that is lent already."""
        if self._open and view.nbytes:
            _, _, other = self._look(view, receives)
            if other is not None:
                self._shared[other.place, self._here(call)] += 1

    def _look(self, view: memoryview, receives: bool) -> tuple[int, int, _Run | None]:
        """Return where some bytes begin and end, and a run that they may not have anything in common with but have."""
        start = address_of(np.frombuffer(view, np.uint8))
        end = start + view.nbytes
        return start, end, self._written.first_in(start, end) or (self._read.first_in(start, end) if receives else None)

    def give_back(self, request: object) -> None:
        """A request was waited for, or given up."""
        self._end(id(request))

    def _end(self, number: int) -> None:
        if (found := self._open.pop(number, None)) is not None:
            runs, run, *_ = found
            runs.remove(run)
            if not self._open:
                self._watch(False)

    def warnings(self) -> list[str]:
        """Return what to tell of buffers that were shared."""
        return [
            f"{many(count, 'buffer')} of {second.call} at {second.file}:{second.line} shared bytes with that of "
            f"{first.call}, begun at {first.file}:{first.line} and not waited for by then: MPI forbids it where one of "
            "them receives, and what comes of it is chance; wait first, or give another buffer"
            for (first, second), count in self._shared.items()
        ]
