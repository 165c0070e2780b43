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

from conduit.contract import Buffer
from conduit.errors import NetworkError
from conduit.simnet.chain import Act, Done, Steps
from conduit.simnet.transport import TransportPort
from conduits.sunfire.protocol.inbox import acknowledgements
from conduits.sunfire.protocol.layout import PostboxLayout
from conduits.sunfire.protocol.peers import BarrierImport, RemoteArea, SunfirePeer
from conduits.sunfire.protocol.postbox_writer import Stores
from conduits.sunfire.wire import LINE

TRIES = 1000
"""Barriers in a row that may fail; a hundred or so do while traffic is rerouted and parts come and go."""


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


def store(remote: BarrierImport, offset: int, data: Buffer, announced: bool = False) -> Act:
    """Return the act of storing whole lines; `announced`: they are not told of before the next store."""

    def act(done: Done) -> None:
        end = remote.mapping.store(offset, data, done, announced)
        if end:
            done(end)

    return act


def lines_of(stores: Stores) -> int:
    """Return how many lines are stored."""
    return sum(len(lines) for _, lines in stores) // LINE


def safely(
    transport: SafeTransport, host: int, remote: BarrierImport, stores: Stores, announced: bool = False
) -> Steps:
    """Store and close a barrier; what it fails for is written again in two halves, each behind a barrier of its own.

    So a large payload gets there too where bit errors spoil one line in a hundred.

    Args:
        transport: the sender's.
        host: where to.
        remote: what is stored through.
        stores: offsets and whole lines.
        announced: the receiver looks for them only when it takes the postboxes that follow.

    Raises:
        NetworkError: no path to the host is left, or nothing gets over those there are.
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
                f"nothing gets from host {transport.port.host} to host {host}: {TRIES} memory barriers in a "
                "row have failed"
            )
        if failed:
            transport.check_path(host)
            transport.counts["sunfire_retries"] += lines_of(stores)
            left += reversed(halves(stores))


def halves(stores: Stores) -> list[Stores]:
    """Cut stores into two lists of about as many lines, one where there is one line."""
    half, total = lines_of(stores) // 2 * LINE, 0
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
                yield from safely(transport, peer.host, peer.remote_pair, acknowledgements(number, 1, self._queue))
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
                yield from self._safely(peer, there, peer.requests.again(peer.acknowledged))
            if peer.remote_pair is not None:
                yield from self._answers(peer, peer.remote_pair)

    def _answers(self, peer: SunfirePeer, back: BarrierImport) -> Steps:
        """Write replies and acknowledgements again."""
        emptied = self._transport.emptied(peer.rank)
        first = max(peer.safe, emptied - self._queue)
        stores = acknowledgements(first, emptied - first, self._queue)
        if peer.answered:
            stores += peer.replies.again(peer.answered[0])
        if stores:
            yield from self._safely(peer, back, stores)
            peer.safe = emptied

    def _safely(self, peer: SunfirePeer, remote: BarrierImport, stores: Stores) -> Steps:
        self._transport.counts["sunfire_retries"] += lines_of(stores)
        yield from safely(self._transport, peer.host, remote, stores)
