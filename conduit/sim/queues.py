"""Queues that are finite and drop what finds no room: receive buffers, ports of switches.

Links of `conduit.sim.link` make everybody wait, and lose nothing; that is what networks with flow control do.  Here
whole frames are stored before they are sent on (store and forward), and one that finds a queue full is gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeVar

from conduit.sim.kernel import Kernel
from conduit.sim.link import Link

T = TypeVar("T")


class TailDrop(Generic[T]):
    """A queue with room for that many bytes, which drops what does not fit.

    Args:
        room: bytes.

    Attributes:
        room: bytes.
        used: bytes of what is in it.
        most: the most that ever was.
        dropped: how many items found no room.
    """

    __slots__ = ("_items", "dropped", "most", "room", "used")

    def __init__(self, room: int) -> None:
        self.room = room
        self.used = self.most = self.dropped = 0
        self._items: deque[tuple[T, int]] = deque()

    def put(self, item: T, nbytes: int) -> bool:
        """Append an item of `nbytes`; return whether there was room, else it is dropped and counted."""
        if self.used + nbytes > self.room:
            self.dropped += 1
            return False
        self._items.append((item, nbytes))
        self.used += nbytes
        self.most = max(self.most, self.used)
        return True

    def get(self) -> T:
        """Take out the first item.

        Raises:
            IndexError: there is none.
        """
        item, nbytes = self._items.popleft()
        self.used -= nbytes
        return item

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """Look at the items, first to last."""
        return (item for item, _ in self._items)


class QueuedLink(Link):
    """A link with a finite queue before it, as an adapter or a port of a switch has; it carries whole frames.

    Args:
        kernel: its clock and events.
        bytes_per_s: its rate.
        room: bytes of frames that have not left, the one that is leaving included.
        name: for reports.

    Attributes:
        dropped: frames that found no room.
    """

    __slots__ = ("_leaving", "_used", "dropped", "room")

    def __init__(self, kernel: Kernel, bytes_per_s: int, room: int, name: str = "") -> None:
        super().__init__(kernel, bytes_per_s, name)
        self.room = room
        self.dropped = 0
        self._used = 0
        self._leaving: deque[tuple[int, int]] = deque()

    def enqueue(self, nbytes: int) -> int:
        """Queue a frame that is here, whole, in this event.

        Args:
            nbytes: its size.

        Returns:
            When its last byte has left, picoseconds; 0 where it was dropped.
        """
        now, leaving = self.kernel.now, self._leaving
        while leaving and leaving[0][0] <= now:
            self._used -= leaving.popleft()[1]
        if self._used + nbytes > self.room:
            self.dropped += 1
            return 0
        begin = max(now, self.free_at)
        if begin > now:
            self._waits += 1
            self._waited += begin - now
        end = self.take(begin, nbytes)
        leaving.append((end, nbytes))
        self._used += nbytes
        return end


class Switched:
    """A way over queued links, from each of which a frame goes on when all of it is there.

    Args:
        hops: the links in order, each with the delay from its far end to the queue of the next, picoseconds.
    """

    __slots__ = ("_hops", "kernel")

    def __init__(self, hops: Sequence[tuple[QueuedLink, int]]) -> None:
        self._hops = tuple(hops)
        self.kernel = hops[0][0].kernel

    def send(self, nbytes: int, then: Callable[[], object], hop: int = 0) -> None:
        """Send a frame, in an event.

        Args:
            nbytes: its size on the links.
            then: called as `then()` in the event in which all of it has arrived; never where a queue drops it.
            hop: of the link where it is.
        """
        link, delay = self._hops[hop]
        left = link.enqueue(nbytes)
        if left:
            after = then if hop == len(self._hops) - 1 else partial(self.send, nbytes, then, hop + 1)
            self.kernel.call(left + delay, after)
