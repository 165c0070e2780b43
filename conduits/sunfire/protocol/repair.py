"""Repair: what is stored behind a barrier until that is good, and what a rank does when stores of it were lost.

`safely` stores and then checks a barrier.  Postboxes and acknowledgements are stored without a barrier.  If one is lost
the rank's error register says so, but not which.  So everything not known to have landed is written again:

- request postboxes that are not acknowledged;
- reply postboxes whose requester may not have taken them: with n outstanding requests allowed, the last n;
- acknowledgements since the last repair, at most one for each postbox of a queue.

Then comes a barrier.  If that fails too, all is repeated, until system software has found another route, or that there
is none.  A postbox that had landed after all carries an old sequence number: its reader drops it, and
acknowledges it once more, behind a barrier too.

Source: assumed; the papers do not tell what becomes of short messages when a link fails (sf.gap.err_short).
"""

from __future__ import annotations

from typing import Protocol

from conduit.simnet.chain import Steps
from conduit.simnet.transport import TransportPort
from conduits.rsm import safe
from conduits.rsm.safe import SafeImport, Stores, lines_of
from conduits.sunfire.protocol.inbox import acknowledgements
from conduits.sunfire.protocol.layout import PostboxLayout
from conduits.sunfire.protocol.peers import RemoteArea, SunfirePeer
from conduits.sunfire.wire import LINE


class SafeTransport(Protocol):
    """A rank's end of the network, as stores behind barriers know it; `SunfireTransport` says what each is."""

    port: TransportPort
    counts: dict[str, int]

    def check_path(self, host: int) -> None:
        """Raise NetworkError, which names the path, if nothing leads to a host any more."""


class RepairTransport(SafeTransport, Protocol):
    """A rank's end of the network, as its repairs know it; `SunfireTransport` says what each is."""

    layout: PostboxLayout
    peers: dict[int, SunfirePeer]
    areas: dict[int, RemoteArea]
    work_due: bool

    def reclaim(self, area: RemoteArea) -> None:
        """Take back what receivers on a host have acknowledged."""

    def emptied(self, rank: int) -> int:
        """Return how many request postboxes from a rank were emptied."""

    def read_error(self) -> int:
        """Read and clear the error register."""


def safely(transport: SafeTransport, remote: SafeImport, stores: Stores, announced: bool = False) -> Steps:
    """Store lines behind a barrier until it is good (`conduits.rsm.safe`), over the paths that there are.

    Raises:
        NetworkError: no path to the host is left, or nothing gets over those there are.
    """

    def retried(host: int, lines: int) -> None:
        transport.check_path(host)
        transport.counts["sunfire_retries"] += lines

    return safe.safely(remote, stores, LINE, retried, announced)


class StoreRepair:
    """The repairs of one rank.

    Args:
        transport: the rank's end of the network.
    """

    def __init__(self, transport: RepairTransport) -> None:
        self._transport = transport
        self._queue = transport.layout.postboxes
        self._old: list[tuple[SunfirePeer, int]] = []

    def old(self, peer: SunfirePeer, number: int) -> None:
        """Take note of a request postbox that was written again although it has been emptied."""
        self._old.append((peer, number))

    def steps(self) -> Steps:
        """Acknowledge old postboxes once more; read the register, and write again what may be lost."""
        transport = self._transport
        while self._old:
            peer, number = self._old.pop()
            if peer.remote_pair is not None and transport.emptied(peer.rank) - number <= self._queue:
                # With a barrier: landing late, it would overwrite the acknowledgement of the postbox's next use.
                yield from safely(transport, peer.remote_pair, acknowledgements(number, 1, self._queue))
        if transport.read_error():
            transport.counts["sunfire_repairs"] += 1
            yield from self._rewrite()
            transport.read_error()  # of the repair's own stores, which its barriers have dealt with
        transport.work_due = bool(self._old)

    def _rewrite(self) -> Steps:
        """Write again what is not certain to have landed, host by host, each behind a barrier."""
        transport = self._transport
        for area in transport.areas.values():
            transport.reclaim(area)
        for peer in list(transport.peers.values()):
            there = peer.area.remote if peer.requests is not None else None
            if there is not None and peer.requests is not None and peer.unacknowledged:
                yield from self._safely(there, peer.requests.again(peer.acknowledged))
            if peer.remote_pair is not None:
                yield from self._answers(peer, peer.remote_pair)

    def _answers(self, peer: SunfirePeer, back: SafeImport) -> Steps:
        """Write replies and acknowledgements again."""
        emptied = self._transport.emptied(peer.rank)
        first = max(peer.safe, emptied - self._queue)
        stores = acknowledgements(first, emptied - first, self._queue)
        if peer.answered:
            stores += peer.replies.again(peer.answered[0])
        if stores:
            yield from self._safely(back, stores)
            peer.safe = emptied

    def _safely(self, remote: SafeImport, stores: Stores) -> Steps:
        self._transport.counts["sunfire_retries"] += lines_of(stores, LINE)
        yield from safely(self._transport, remote, stores)
