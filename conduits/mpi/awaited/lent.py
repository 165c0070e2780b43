"""Buffers of what was begun and not waited for, and what the program does to them meanwhile.

MPI forbids to receive into bytes that a send or a collective still reads, or that another one fills: what comes of it
is chance.  A simulation, which has one order of both, would never show it.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from conduit.contract.memory import address_of
from conduit.words import many
from conduits.mpi.collectives.blocks import Blocks

BytesOfCall = memoryview | Blocks | None
"""What a call reads, or receives into: all bytes of a view, or those of the blocks; None for nothing."""


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
    """Bytes of a request's that are one run: where they begin and end in memory, and where which request was begun."""

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


def _extents(data: BytesOfCall) -> Iterator[tuple[int, int]]:
    """Yield where in memory bytes begin and end; blocks that lie one behind the other are one run."""
    if data is None:
        return
    if not isinstance(data, Blocks):
        if data.nbytes:
            start = _address_of(data)
            yield start, start + data.nbytes
        return
    first, start, end = (_address_of(data.view) if data.view.nbytes else 0), 0, 0
    for place, size in data.places:
        if not size:
            continue
        if place != end:
            if end > start:
                yield first + start, first + end
            start = place
        end = place + size
    if end > start:
        yield first + start, first + end


def _address_of(view: memoryview) -> int:
    return address_of(np.frombuffer(view, np.uint8))


class _Lending(NamedTuple):
    """What a request has: the runs of its bytes and what they are among, what keeps them, and the program's handle."""

    runs: list[tuple[_Runs, _Run]]
    reads: BytesOfCall
    writes: BytesOfCall
    handle: weakref.ref[object]


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
        self._open: dict[int, _Lending] = {}
        self._shared: Counter[tuple[_Place, _Place]] = Counter()

    def lend(
        self, request: object, handle: object, place: _Place, reads: BytesOfCall = None, writes: BytesOfCall = None
    ) -> None:  # fmt: skip
        """Take note of a request that was begun, and whether its buffers are some that are lent already.

        Args:
            request: of the plain interface.
            handle: the program's; a request of which it has none any more is never waited for, and given back.
            place: where it was begun.
            reads: what it sends.
            writes: what it receives into; it may read that, too.
        """
        number = id(request)
        # All are looked at before any is lent: one call may read what it receives into, in place.
        self._note_shared(reads, writes, lambda: place)
        runs = [
            (among, _Run(start, end, number, place))
            for among, data in ((self._read, reads), (self._written, writes))
            for start, end in _extents(data)
        ]
        if not runs:
            return
        if not self._open:
            self._watch(True)
        for among, run in runs:
            among.add(run)
        # The views, as mpi4py keeps them, too: bytes that the program has let go would be those of other buffers soon.
        self._open[number] = _Lending(runs, reads, writes, weakref.ref(handle, lambda _: self._end(number)))

    def look(self, call: str, reads: BytesOfCall = None, writes: BytesOfCall = None) -> None:
        """Take note of a call that waits by itself, whether its buffers are some that are lent already."""
        if self._open:
            self._note_shared(reads, writes, lambda: self._here(call))

    def _note_shared(self, reads: BytesOfCall, writes: BytesOfCall, place: Callable[[], _Place]) -> None:
        """Take note of whose bytes some are that a call reads and receives into; each line is told of once a call."""
        if not self._open:
            return
        read, written = self._read.first_in, self._written.first_in
        found = [run for each in _extents(reads) if (run := written(*each))]
        found += [run for each in _extents(writes) if (run := written(*each) or read(*each))]
        if found:
            here = place()
            for other in dict.fromkeys(run.place for run in found):
                self._shared[other, here] += 1

    def give_back(self, request: object) -> None:
        """A request was waited for, seen to be over, or given up."""
        self._end(id(request))

    def _end(self, number: int) -> None:
        if (found := self._open.pop(number, None)) is not None:
            for among, run in found.runs:
                among.remove(run)
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
