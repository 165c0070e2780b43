"""Switched Ethernet: an adapter and two cables for each host, one switch, frames that are stored and sent on.

A frame leaves its host when the frames before it have, gets to the switch whole, waits there in the queue of the port
that it is for, and gets to the other host.  Both queues are finite and drop what finds no room.  What arrives there is
lost, doubled or put off at random, apart for each pair of hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conduit.sim import Kernel
from conduit.sim.lossy import Lossy
from conduit.sim.queues import QueuedLink, Switched
from conduits.udp import constants as c

DATAGRAM = c.whole(c.DATAGRAM)
_OVERHEAD = c.whole(c.OVERHEAD)
_LEAST = c.whole(c.LEAST)
_ADAPTER_PS = c.ps(c.ADAPTER)
_CABLE_PS = c.ps(c.CABLE)
_SWITCH_PS = c.ps(c.SWITCH)
_LATE_PS = c.ps(c.LATE)


def on_the_wire(nbytes: int) -> int:
    """Return what a datagram of `nbytes` takes of a link, bytes."""
    return max(_LEAST, nbytes + _OVERHEAD)


class Ethernet:
    """The network of a job.

    Args:
        kernel: the job's time.
        rate: of each link and direction, bytes per second.
        queue: bytes of frames that wait for one port of the switch.
        loss, duplicate, reorder: probabilities, of each frame; see `conduit.sim.lossy.Lossy`.
    """

    def __init__(self, kernel: Kernel, *, rate: int, queue: int, loss: float, duplicate: float, reorder: float) -> None:
        self._kernel = kernel
        self._rate = rate
        self._queue = queue
        self._chances = loss, duplicate, reorder
        self._up: dict[int, QueuedLink] = {}
        self._down: dict[int, QueuedLink] = {}
        self._ways: dict[tuple[int, int], Lossy] = {}

    def send(self, source: int, target: int, nbytes: int, then: Callable[[], object]) -> None:
        """Send a datagram of `nbytes` from one host to another, in an event.

        `then()` is called in each event in which the adapter there has stored it: never, once or twice.
        """
        way = self._ways.get((source, target))
        if way is None:
            way = self._ways[source, target] = self._way(source, target)
        self._kernel.at(self._kernel.now + _ADAPTER_PS, way.send, on_the_wire(nbytes), then)

    def up(self, host: int) -> QueuedLink:
        """Return the link from a host to the switch."""
        return self._link(self._up, host, "up", c.whole(c.ADAPTER_QUEUE))

    def down(self, host: int) -> QueuedLink:
        """Return the link from the switch to a host."""
        return self._link(self._down, host, "down", self._queue)

    def ways_from(self, host: int) -> Iterable[Lossy]:
        """Return the ways from a host to others, as far as they have been used."""
        return [way for (source, _), way in self._ways.items() if source == host]

    def _link(self, links: dict[int, QueuedLink], host: int, direction: str, room: int) -> QueuedLink:
        link = links.get(host)
        if link is None:
            link = links[host] = QueuedLink(self._kernel, self._rate, room, f"host {host} {direction}")
        return link

    def _way(self, source: int, target: int) -> Lossy:
        switched = Switched([(self.up(source), _CABLE_PS + _SWITCH_PS), (self.down(target), _CABLE_PS + _ADAPTER_PS)])
        loss, duplicate, reorder = self._chances
        stream = self._kernel.random(f"udp/{source}-{target}")
        return Lossy(switched, loss, duplicate, reorder, stream, _LATE_PS)
