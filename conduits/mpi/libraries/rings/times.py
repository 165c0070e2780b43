"""What messages through rings take, between two ranks: the sums of docs/models/scampi.md."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from conduit.sim.units import duration, seconds
from conduit.simnet import HostModel
from conduits.mpi.libraries.costs import PairTimes
from conduits.mpi.libraries.memory import TRAFFIC
from conduits.mpi.libraries.rings.device import RingCosts
from conduits.mpi.libraries.rings.wire import CREDITS, HEADER, RingLayout
from conduits.mpi.wire import BARE


@attrs.frozen(kw_only=True)
class RingWay:
    """How stores into a ring get there.

    Attributes:
        store: picoseconds of the sender's CPU for a store, given its bytes.
        way: from there until the receiver can see it, picoseconds.
        byte: seconds of each byte of a long store.
        rate: what the memory gives through which both sides copy, bytes per second; None where the sender stores
            elsewhere.
    """

    store: Callable[[int], int]
    way: int
    byte: float
    rate: int | None = None


def within_host(host: HostModel, rate: int) -> RingWay:
    """Return the way through the memory of a host that gives `rate` bytes per second."""
    return RingWay(store=host.copy_ticks, way=host.line_ps, byte=1 / host.copy_bytes_per_s, rate=rate)


def ring_times(poll: int, costs: RingCosts, layout: RingLayout, host: HostModel, way: RingWay) -> PairTimes | None:
    """Return what messages take; None where bare ones are no inline data, of which this says nothing.

    Args:
        poll: a poll that finds nothing, picoseconds.
        costs: of the protocol.
        layout: of the rings.
        host: the costs of a processor.
        way: how stores get there.
    """
    if layout.inline < BARE:
        return None
    piece_ps = costs.build_ps if costs.piece_ps is None else costs.piece_ps
    copy = host.copy_ticks(layout.piece)
    sends = way.store(layout.piece) + piece_ps + way.store(HEADER)
    takes = copy + piece_ps + way.store(CREDITS.size) + poll
    pace = max(sends + poll, takes)
    if way.rate is not None:
        pace = max(pace, duration(2 * TRAFFIC * layout.piece, way.rate))
    return PairTimes(
        poll=poll,
        send=costs.build_ps + way.store(BARE + HEADER),
        way=way.way,
        take=costs.take_ps + host.copy_ticks(BARE),
        medium_byte=way.byte + 1 / host.copy_bytes_per_s,
        answer=2 * costs.take_ps + costs.build_ps + way.store(HEADER) + way.way,
        large=sends + way.way + piece_ps + copy - pace,
        large_byte=seconds(pace) / layout.piece,
    )
