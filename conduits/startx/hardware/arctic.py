"""The Arctic network: a fat tree of switches with two links up and two links down each.

Hosts are the leaves.  At level l a subtree of 2**l hosts has 2**l links up and as many down, so that
the tree is as wide at its root as at its leaves.  Two hosts whose subtrees meet at level l are 2l - 1
switches apart.  With `fifo` the way is decided by the target alone; else every message takes any of
the ways up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conduit.sim.kernel import Kernel
from conduit.sim.link import Link, Route
from conduits.startx import constants as c

_RATE = c.bytes_per_s(c.LINK_RATE)
_STAGE_PS = c.ps(c.STAGE)
_LEVELS = 16  # of 2**16 hosts, more than a message can name
_OUT_PS, _IN_PS = c.ps(c.NIU_OUT), c.ps(c.NIU_IN)


class ArcticLink(Link):
    """A link on which what is urgent goes before what is not, as soon as the packet on it has passed.

    Args:
        kernel: of the job.
        direction: `up` or `down`.
        level: of the subtree of 2**level hosts that it leaves or comes into.
        subtree: number of that subtree.
        lane: which of its links.

    Attributes:
        direction, level: as given.
        host: the lowest host of the subtree.
    """

    __slots__ = ("direction", "host", "level")

    def __init__(self, kernel: Kernel, direction: str, level: int, subtree: int, lane: int) -> None:
        super().__init__(kernel, _RATE, f"{direction} {level}.{subtree}.{lane}")
        self.direction = direction
        self.level = level
        self.host = subtree << level

    def wait(self, head: int, go: Callable[[int], object]) -> None:
        """Queue for the link, transfers of high priority before the others."""
        super().wait(head, go)
        if len(self._queue) > 1 and _is_high(go):
            last = self._queue.pop()
            place = next((i for i, (_, other) in enumerate(self._queue) if not _is_high(other)), len(self._queue))
            self._queue.insert(place, last)


def _is_high(go: Callable[[int], object]) -> bool:
    """Return whether a waiting transfer is of high priority."""
    way = getattr(go, "route", None)
    return isinstance(way, FatTreeRoute) and way.high


class FatTreeRoute(Route):
    """The links from one host to another, for one priority.

    Attributes:
        high: whether what takes it is of high priority.
    """

    __slots__ = ("high",)

    RESERVES = (*Route.RESERVES, "pass_freely")

    def __init__(self, links: tuple[ArcticLink, ...], *, high: bool) -> None:
        self.lay(links, _OUT_PS + (len(links) - 1) * _STAGE_PS + _IN_PS, links[0].takes)
        self.high = high

    def pass_freely(self, nbytes: int, head: int, tail: int) -> int:
        """Carry a packet as `carry` does, as far as links are free; each takes as long, since all are of one rate.

        Args:
            nbytes: its size.
            head: when the first byte gets to the first link, picoseconds, not before the kernel's time.
            tail: when the last byte gets there.

        Returns:
            The time at which the last byte gets to the far end; or where a link is busy, ~index of that one: it and
            those behind it are left to `carry`.
        """
        takes = self.slowest[nbytes]
        last = head + takes
        for link in self.links:
            if link.free_at > head:
                return ~self.links.index(link)
            link.free_at = last
        self.carried[nbytes] += 1
        return (last if last > tail else tail) + self.latency


def _wide(source: int, target: int) -> int:
    """Return how many links up there are at the level where the subtrees of two hosts meet."""
    return 1 << (source ^ target).bit_length() - 1


class Arctic:
    """The switches and links, made when first used.

    Args:
        kernel: of the job.
        fifo: whether messages of one source, destination and priority stay in order.
    """

    def __init__(self, kernel: Kernel, *, fifo: bool = True) -> None:
        self.kernel = kernel
        self._random = None if fifo else kernel.random("startx/ways")
        self._links: list[ArcticLink] = []
        # By level, and there by the number of the link: of the 2**level of each subtree, one for each lane.
        self._up: list[dict[int, ArcticLink]] = [{} for _ in range(_LEVELS)]
        self._down: list[dict[int, ArcticLink]] = [{} for _ in range(_LEVELS)]
        self._ways: dict[tuple[int, int, int, int], FatTreeRoute] = {}

    def way(self, source: int, target: int, priority: int) -> FatTreeRoute:
        """Return the way that a message from host `source` to host `target` takes now."""
        key = (source, target, priority, 0 if self._random is None else self._draw(source, target))
        found = self._ways.get(key)
        if found is None:
            found = self._ways[key] = self._find(*key)
        return found

    def _draw(self, source: int, target: int) -> int:
        """Return any of the links up that lead from host `source` to host `target`."""
        assert self._random is not None
        return self._random.randrange(_wide(source, target))

    def links(self) -> list[ArcticLink]:
        """Return the links used so far."""
        return self._links

    def _find(self, source: int, target: int, priority: int, lane: int) -> FatTreeRoute:
        """Go up to the level where the subtrees meet, then down; at each level the lane says which link."""
        if self._random is None:
            lane = target % _wide(source, target)
        levels = (source ^ target).bit_length()
        links = self._path("up", self._up[:levels], source, lane)
        links += reversed(self._path("down", self._down[:levels], target, lane))
        return FatTreeRoute(tuple(links), high=priority > 0)

    def _path(self, direction: str, made: Sequence[dict[int, ArcticLink]], host: int, lane: int) -> list[ArcticLink]:
        """Return the links between a host and where subtrees meet, from the host on; `made` are those made by now."""
        path = []
        for level, links in enumerate(made):
            below = (1 << level) - 1
            number = host & ~below | lane & below
            link = links.get(number)
            if link is None:
                link = links[number] = ArcticLink(self.kernel, direction, level, host >> level, lane & below)
                self._links.append(link)
            path.append(link)
        return path
