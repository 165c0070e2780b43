"""Repair: what a rank does when its error register says that stores of it were lost.

The register does not say which.  What was written behind a good barrier is safe; postboxes and acknowledgements
are written without one.  So those are written again of which it is not certain that they have landed:

- request postboxes that are not acknowledged;
- reply postboxes whose requester may not have taken them: with n outstanding requests allowed, the last n;
- acknowledgements since the last repair, at most one for each postbox of a queue.

Then a barrier; if that fails too, again, until system software has found another path or has found that there is
none.  A postbox that had landed after all carries an old sequence number: its reader drops it, and
acknowledges it once more, behind a barrier too.

Source: assumed; the papers do not tell what becomes of short messages when a link fails (sf.gap.err_short).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conduit.simnet.chain import Steps
from conduits.sunfire.protocol.peers import Peer, Remote, acknowledgements
from conduits.sunfire.protocol.queues import Stores
from conduits.sunfire.protocol.sends import lines_of, safely

if TYPE_CHECKING:
    from conduits.sunfire.protocol.path import SunfirePath


class Repair:
    """The repairs of one rank.

    Args:
        path: the rank's end of the network.
    """

    def __init__(self, path: SunfirePath) -> None:
        self._path = path
        self._queue = path.layout.postboxes
        self._old: list[tuple[Peer, int]] = []

    def old(self, peer: Peer, number: int) -> None:
        """Take note of a request postbox that was written again although it has been emptied."""
        self._old.append((peer, number))

    def steps(self) -> Steps:
        """Acknowledge old postboxes once more; read the register, and write again what may be lost."""
        path = self._path
        while self._old:
            peer, number = self._old.pop()
            if peer.back is not None and peer.emptied - number <= self._queue:
                # Behind a barrier, lest it lands on top of what acknowledges the next use of that postbox.
                yield from safely(path, peer.host, peer.back, acknowledgements(number, 1, self._queue))
        if path.read_error():
            path.counts["sunfire_repairs"] += 1
            yield from self._rewrite()
            path.read_error()  # of the repair's own stores, which its barriers have dealt with
        path.mending = bool(self._old)

    def _rewrite(self) -> Steps:
        """Write again what is not certain to have landed, host by host, each behind a barrier."""
        path = self._path
        for area in path.areas.values():
            path.reclaim(area)
        for peer in list(path.peers.values()):
            there = peer.area.remote if peer.requests is not None else None
            if there is not None and peer.requests is not None and peer.sent:
                yield from self._safely(peer, there, peer.requests.again(peer.sent[0][0]))
            if peer.back is not None:
                yield from self._answers(peer, peer.back)

    def _answers(self, peer: Peer, back: Remote) -> Steps:
        """Write replies and acknowledgements again."""
        emptied = peer.emptied
        first = max(peer.safe, emptied - self._queue)
        stores = acknowledgements(first, emptied - first, self._queue)
        if peer.answered:
            stores += peer.replies.again(peer.answered[0])
        if stores:
            yield from self._safely(peer, back, stores)
            peer.safe = emptied

    def _safely(self, peer: Peer, remote: Remote, stores: Stores) -> Steps:
        self._path.counts["sunfire_retries"] += lines_of(stores)
        yield from safely(self._path, peer.host, remote, stores)
