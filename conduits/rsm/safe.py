"""Stores of whole lines through an import, and behind barriers until they are good.

Source: SIS 2.8 and 3.2; what happens to stores when a link fails is assumed (sf.gap.err_short).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from conduit.contract import Buffer
from conduit.errors import NetworkError
from conduit.simnet.chain import Act, Done, Steps
from conduits.rsm.imports import ImportSegment, RsmBarrier

Stores: TypeAlias = "list[tuple[int, Buffer]]"
"""Offsets, and the whole lines to be stored there."""
TRIES = 1000
"""Barriers in a row that may fail; a hundred or so do while traffic is rerouted and parts come and go."""


class SafeImport:
    """An import, mapped, with a barrier: what is stored through it can be made safe.

    Args:
        segment: the import.
        here: the host that it is made on.
        host: where it leads.

    Attributes:
        here, host: as given.
        mapping: what lines are stored through.
        barrier: over all that is stored through it.
    """

    __slots__ = ("barrier", "here", "host", "mapping")

    def __init__(self, segment: ImportSegment, here: int, host: int) -> None:
        self.here = here
        self.host = host
        self.mapping: Any = segment.map()
        self.barrier: RsmBarrier = segment.init_barrier()


def store(remote: SafeImport, offset: int, data: Buffer, announced: bool = False) -> Act:
    """Return the act of storing whole lines; `announced`: nobody is told of them before the next store."""

    def act(done: Done) -> None:
        end = remote.mapping.store(offset, data, done, announced)
        if end:
            done(end)

    return act


def lines_of(stores: Stores, line: int) -> int:
    """Return how many lines, of `line` bytes each, are stored."""
    return sum(len(lines) for _, lines in stores) // line


def safely(
    remote: SafeImport, stores: Stores, line: int, retried: Callable[[int, int], object], announced: bool = False
) -> Steps:
    """Store and close a barrier; what it fails for is written again in two halves, each behind a barrier of its own.

    So a large payload gets there too where bit errors spoil one line in a hundred.

    Args:
        remote: what is stored through.
        stores: offsets and whole lines.
        line: bytes of a line.
        retried: called as `retried(host, lines)` before so many lines are written again; may raise.
        announced: the receiver looks for them only when it takes the postboxes that follow.

    Raises:
        NetworkError: nothing gets over the paths there are; or what `retried` raises.
    """
    left, failed = [stores], 0
    while left:
        stores = left.pop()
        remote.barrier.open()
        for offset, lines in stores:
            yield store(remote, offset, lines, announced)
        error = yield remote.barrier.close
        failed = failed + 1 if error is not None else 0
        if failed == TRIES:
            raise NetworkError(
                f"nothing gets from host {remote.here} to host {remote.host}: {TRIES} memory barriers in a row have "
                "failed"
            )
        if failed:
            retried(remote.host, lines_of(stores, line))
            left += reversed(_halves(stores, line))


def _halves(stores: Stores, line: int) -> list[Stores]:
    """Cut stores into two lists of about as many lines, one where there is one line."""
    half, total = lines_of(stores, line) // 2 * line, 0
    if not half:
        return [stores]
    first: Stores = []
    second: Stores = []
    for offset, lines in stores:
        cut = min(max(half - total, 0), len(lines))
        view = memoryview(lines)
        if cut:
            first.append((offset, view[:cut]))
        if cut < len(lines):
            second.append((offset + cut, view[cut:]))
        total += len(lines)
    return [first, second]
