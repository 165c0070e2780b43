"""Directed polling: a poll looks at one queue of postboxes, not at all of them.

Sun MPI's directed poll looks at the connection that the call names.  A call of Active Messages names ranks at most
when it waits (`ep.block_until(..., ranks=...)`, puts and gets, a request that waits for a reply to free its slot), and
what comes from others must be handled all the same, else ranks that wait in a ring would wait for ever.  So queues take
turns, poll by poll: those of the ranks that the rank waits for at every second poll, the others in between; where
it waits for no rank in particular, all of them.

A poll that misses costs one look.  A message is found when the turn of its queue comes; the looks until then are
counted, not simulated.

Source: Q IV-B, sf.q.pollall; the turns are ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from conduit.contract import Message
from conduits.sunfire import constants as c
from conduits.sunfire.protocol.transport import SunfireTransport


class DirectedTransport(SunfireTransport):
    """One rank's end, with directed polling."""

    def take(self) -> Message | None:
        """Look at queues until the turn of one that has a message, and take that."""
        if self.ready and not self.work_due:
            poll_ps = sum(transport.miss_ps for transport in self.port.transports)
            self.cpu.free += self._misses(self.cpu.free // poll_ps) * poll_ps
        return super().take()

    def _new_queue(self) -> None:
        """One more head postbox to poll: a look costs what it did."""
        self.counts["sunfire_connections"] += 1
        if self.miss_ps == c.POLL_PS:
            self.miss_ps += c.HEAD_PS
            self.port.miss_changed()

    def _misses(self, turn: int) -> int:
        """Return how many polls from number `turn` on miss before the one that finds the next message."""
        inbox = self.ready[0]
        named = {rank for wait in self.port.waits() for rank in wait.ranks}
        queues = [*self._requests.values(), *self._replies.values()]
        waited = [each is inbox for each in queues if each.peer.rank in named]
        others = [each is inbox for each in queues if each.peer.rank not in named]
        return misses(waited, others, turn)


def misses(waited: Sequence[bool], others: Sequence[bool], turn: int) -> int:
    """Return how many polls come before the one that looks at a queue.

    Args:
        waited: of the queues of ranks that are waited for, whether each is the one.
        others: of the other queues; in one of both there is one.
        turn: number of the first poll.  Where there are both kinds, even ones look at the first.
    """
    if not waited or not others:
        either = waited or others
        return (either.index(True) - turn) % len(either)
    kind, parity = (waited, 0) if True in waited else (others, 1)
    first = (turn + 1 - parity) // 2  # of that kind's own polls, the first that is not over
    return 2 * (first + (kind.index(True) - first) % len(kind)) + parity - turn
