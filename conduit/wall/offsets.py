"""By how much the clocks of a job's processes differ, to put what they noted on one line of time.

A process reads its own `time.perf_counter_ns`, which on another host has another origin and another speed.  The offset
is found as by Cristian: rank 0 asks, the other rank answers with its clock, and that instant lies somewhere between
question and answer.  The quickest of many round trips binds it closest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from struct import Struct
from time import perf_counter_ns

import attrs

from conduit.contract import Processes

TRIPS = 64
"""Round trips to each rank; one of them is hardly disturbed, also where others use the processors."""

_NANOSECONDS = Struct("<q")
_OFFSET = Struct("<qqq")


@attrs.frozen
class Offset:
    """How one process's clock stood to that of rank 0.

    Attributes:
        ahead: nanoseconds by which it was ahead.
        within: nanoseconds by which `ahead` may be wrong at most: half of the quickest round trip.
        at: what it showed then, nanoseconds.
    """

    ahead: int
    within: int
    at: int


def measure_offsets(
    processes: Processes, trips: int = TRIPS, clock: Callable[[], int] = perf_counter_ns
) -> tuple[Offset, ...]:
    """Return the offset of every rank's clock, the same in every process; every process calls it, between jobs.

    It takes `trips` round trips for each rank, one rank after another.

    Args:
        processes: those of all ranks.
        trips: round trips to each rank, at least 1.
        clock: gives nanoseconds.
    """
    if processes.rank:
        for _ in range(trips):
            processes.receive(0, 0)
            processes.send(0, _NANOSECONDS.pack(clock()))
        (given, *_) = processes.gather(b"")
        return tuple(Offset(*each) for each in _OFFSET.iter_unpack(given))
    now = clock()
    found = [Offset(0, 0, now), *(_offset(processes, rank, trips, clock) for rank in range(1, processes.size))]
    processes.gather(b"".join(_OFFSET.pack(each.ahead, each.within, each.at) for each in found))
    return tuple(found)


def _offset(processes: Processes, rank: int, trips: int, clock: Callable[[], int]) -> Offset:
    """Return the offset of one rank's clock, on rank 0."""

    def trip() -> tuple[int, int, int]:
        asked = clock()
        processes.send(rank, b"")
        (there,) = _NANOSECONDS.unpack(processes.receive(rank, _NANOSECONDS.size))
        return clock() - asked, asked, there

    took, asked, there = min(trip() for _ in range(trips))
    return Offset(there - (asked + took // 2), -(-took // 2), there)


def one_clock_a_host(offsets: Sequence[Offset], hosts: Sequence[int]) -> tuple[Offset, ...]:
    """Return offsets of which those of a host are one, that which was measured closest.

    The processes of a host read the same clock, and so what is measured between them is only error.  An offset that no
    error explains is kept: a container can have a clock of its own.
    """
    best: dict[int, Offset] = {}
    for offset, host in zip(offsets, hosts, strict=True):
        if host not in best or offset.within < best[host].within:
            best[host] = offset
    return tuple(
        attrs.evolve(offset, ahead=best[host].ahead, within=best[host].within)
        if abs(offset.ahead - best[host].ahead) <= offset.within + best[host].within
        else offset
        for offset, host in zip(offsets, hosts, strict=True)
    )


class Alignment:
    """Turns what the clock of any rank has shown into what that of rank 0 showed at the same instant.

    Args:
        measured: what `measure_offsets` has given, in the order of the measurements.  After a single one the clocks are
            taken to run at one speed; between two the offset changes evenly, so measure before and after a job.
    """

    def __init__(self, *measured: Sequence[Offset]) -> None:
        if not measured:
            raise ValueError("Alignment: nothing was measured; give it what measure_offsets has returned")
        self._by_rank: list[tuple[Offset, ...]] = list(zip(*measured, strict=True))

    def on_first(self, rank: int, nanoseconds: int) -> int:
        """Return rank 0's nanoseconds at the instant at which the clock of `rank` showed `nanoseconds`."""
        mine = self._by_rank[rank]
        place = bisect_right(mine, nanoseconds, key=lambda offset: offset.at)
        if place in (0, len(mine)):
            return nanoseconds - mine[max(place - 1, 0)].ahead
        before, after = mine[place - 1], mine[place]
        drift = (after.ahead - before.ahead) * (nanoseconds - before.at) // (after.at - before.at)
        return nanoseconds - before.ahead - drift

    def within(self, rank: int) -> int:
        """Return by how many nanoseconds that may be wrong at most, at the instants of the measurements."""
        return max(offset.within for offset in self._by_rank[rank])
