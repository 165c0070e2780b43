"""Links that carry bytes at a rate, one transfer at a time, and transfers over a route of links.

The head of a transfer moves on as soon as it can (cut-through); a link is taken for as long as the bytes need at its
rate.

A route is reserved in one go as long as each link is free.  At the first busy link the rest is left to an event at that
link's release (rule T7): one event per wait, none per hop.  Who waits for a link gets it in the order of arrival.

All links are taken as if the head got to each when it gets to the first; what delays there are lie behind the last.  A
link that is taken ahead, for when the head gets there, is held for it until then: who comes to it meanwhile would wait
for bytes that are still on their way.  With one time for all links transfers wait about as long as where each link
serves them as they come (tests/hardware/test_waits.py), with the other up to twenty times as long.

Bytes that come slower than a link can carry them leave room between them for those of others.  So a
link that is taken when the head gets there is not busy if it can carry all by the time of the tail, or
by the tail of what it carries already.  Only between the bytes of one packet nothing goes.  Who goes
between has the link's whole rate, and does not slow down the others: for as long as that lasts a link may
carry up to twice its rate, but by the last tail never more than its rate allows.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import attrgetter
from typing import ClassVar, NamedTuple, TypeAlias

from conduit.sim.kernel import FOREVER, Kernel
from conduit.sim.units import PS_PER_S, check_rate, check_ticks, seconds

_RATE, _ROUTES = attrgetter("bytes_per_s"), attrgetter("_routes")
_LINKS, _QUEUE = attrgetter("links"), attrgetter("_queue")

_FEW = 200
"""Links of routes that have carried as much, below which a loop counts them sooner than a step of Python's does."""
Hop: TypeAlias = "tuple[Link, int]"
"""A link and the delay in picoseconds from its near end to the near end of what follows."""
OverRoutes: TypeAlias = "Mapping[Link, Mapping[int, int]]"
"""By link, and by the size in bytes: how many transfers."""


class LinkStatistics(NamedTuple):
    """What a link has carried.

    Attributes:
        transfers: transfers, or pieces of them.
        nbytes: bytes.
        busy: seconds during which it was taken.
        waits: transfers that found it busy.
        waited: seconds that these waited, in sum.
    """

    transfers: int
    nbytes: int
    busy: float
    waits: int
    waited: float


class Link:
    """One resource that carries bytes at a rate: a cable, a bus, a port of a switch.

    Args:
        kernel: its clock and events.
        bytes_per_s: its rate.
        name: for reports.

    Raises:
        ValueError: the rate is no int above 0.
    """

    __slots__ = (
        "_carried",
        "_queue",
        "_released",
        "_routes",
        "_until",
        "_waited",
        "_waits",
        "between",
        "bytes_per_s",
        "free_at",
        "kernel",
        "name",
        "paced",
        "takes",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, bytes_per_s: int, name: str = "") -> None:
        self.kernel = kernel
        self.bytes_per_s = bytes_per_s
        self.name = name
        self.takes = durations(bytes_per_s)
        """How long a number of bytes takes it, picoseconds, rounded up."""
        self.free_at = 0
        """From when on a newcomer may have it, picoseconds; never while others wait for it."""
        self.paced = 0
        """When the last tail gets to it of what it carries already: until then there is room between bytes."""
        self.between = 0
        """Until when it carries what has found room between the bytes of others."""
        self._until = 0
        self._queue: deque[tuple[int, Callable[[int], object]]] = deque()
        self._routes: list[Route] = []
        self._carried: defaultdict[int, int] = defaultdict(int)
        self._waits = self._waited = 0
        self._released = self._release  # made once, since every wait needs it
        if kernel.observe is not None:
            kernel.observe(self)

    def wait(self, head: int, go: Callable[[int], object]) -> None:
        """Queue for the link: `go(when)` is called in an event at its release, when it is free.

        Args:
            head: when the head gets to the link, picoseconds.
            go: must begin a transfer over the link.
        """
        self._queue.append((head, go))
        free = self.free_at
        if free < FOREVER:  # as `_close`, in which a call would cost
            self._until, self.free_at = free, FOREVER
            kernel = self.kernel
            now = kernel.now
            kernel.call(free if free > now else now, self._released)

    def reserve(self, head: int, nbytes: int) -> int:
        """Reserve the link, which is free when the head gets there; return when it is free again.

        Whose it is counts it: a route all its links at once.
        """
        self.free_at = end = head + self.takes[nbytes]
        return end

    def take(self, head: int, nbytes: int) -> int:
        """Reserve the link as `reserve` does, for what goes over no route; it is counted."""
        self._carried[nbytes] += 1
        return self.reserve(head, nbytes)

    def longest(self, nbytes: int) -> int:
        """Return how long `nbytes` may take it, picoseconds."""
        return self.takes[nbytes]

    def go_between(self, head: int, nbytes: int) -> int:
        """Carry `nbytes` between the bytes of others, for which there is room; return when the head goes."""
        begin, takes = max(head, self.between), self.takes[nbytes]
        self.between = begin + takes
        self.free_at += takes
        return begin

    def slip_in(self, head: int, nbytes: int) -> bool:
        """Carry a packet between those of what it carries, which is over later by as much; return whether it did.

        For who has a turn of his own at the link, as a processor has at a bus beside a card, and waits for no queue
        there.  One that has come before him may be ahead; where there are more, nothing is done.

        Args:
            head: when the packet is there, at a time when the link is busy, picoseconds.
            nbytes: one packet's.
        """
        takes, queued = self.takes[nbytes], self.free_at == FOREVER
        over = self._until if queued else self.free_at
        begin = max(head, self.between) if over - head > takes else over
        if begin - head > takes:
            return False
        self.between = begin + takes
        if queued:
            self._until = over + takes
        else:
            self.free_at = over + takes
        return True

    def statistics(self, over: OverRoutes | None = None) -> LinkStatistics:
        """Return what it has carried so far.

        Args:
            over: what `over_routes` has returned for all links that are asked; by default all its routes are counted.
        """
        if over is None:
            over = over_routes([self])
        carried = self._carried.copy()
        for nbytes, times in over.get(self, {}).items():
            carried[nbytes] += times
        nbytes = sum(size * times for size, times in carried.items())
        busy = sum(self.takes[size] * times for size, times in carried.items())
        return LinkStatistics(sum(carried.values()), nbytes, seconds(busy), self._waits, seconds(self._waited))

    def _close(self) -> None:
        """Keep newcomers behind those who wait, until the link is released."""
        self._until, self.free_at = self.free_at, FOREVER
        self.kernel.call(max(self._until, self.kernel.now), self._released)

    def _release(self) -> None:
        """Let the first in the queue have the link, and come back when that one leaves it."""
        if self._until > self.kernel.now:  # somebody has slipped in
            self.kernel.call(self._until, self._released)
            return
        self.free_at = self._until
        queue = self._queue
        head, go = queue.popleft()
        when = self.kernel.now
        self._waits += 1
        if head < when:
            self._waited += when - head
        else:
            when = head
        if not queue:
            go(when)
            return
        self.kernel.amid(go, when)
        if self.free_at < FOREVER:
            self._close()


class _Durations(dict[int, int]):
    """How long each number of bytes takes at one rate."""

    __slots__ = ("rate",)

    def __init__(self, rate: int) -> None:
        super().__init__()
        self.rate = rate

    def __missing__(self, nbytes: int) -> int:
        if nbytes < 0:
            raise ValueError(f"a link was to carry nbytes={nbytes}; pass 0 or more")
        took = self[nbytes] = -(-nbytes * PS_PER_S // self.rate)
        return took


@lru_cache(maxsize=None, typed=True)  # or a float would pass where an int that is as large has come before
def durations(rate: int) -> Mapping[int, int]:
    """Return how many picoseconds each number of bytes takes at `rate` bytes per second, rounded up.

    A mapping that reckons what it is asked for the first time; the same one for all of a rate.

    Raises:
        ValueError: the rate is no int above 0.
    """
    check_rate("Link: bytes_per_s", rate)
    return _Durations(rate)


def slowest(links: Iterable[Link]) -> Mapping[int, int]:
    """Return how long sizes take the slowest of `links`."""
    return min(links, key=_RATE).takes


def latency_of(delays: Iterable[int]) -> int:
    """Return how much later than to the first link a head gets to the far end, picoseconds.

    Args:
        delays: from the near end of each link to that of what follows it, picoseconds.

    Raises:
        ValueError: one is no int from 0 on.
    """
    delays = tuple(delays)
    if not {int}.issuperset(map(type, delays)) or min(delays, default=0) < 0:  # of most in one step
        for number, delay in enumerate(delays):
            check_ticks(f"Route: delay {number} of its hops", delay)
    return sum(delays)


class Rest:
    """What is left of a transfer that waits for a link.

    Args:
        route: over which it goes.
        index: of the link that it waits for.
        nbytes: bytes on every link.
        tail: when the last byte gets to the first link of the route, picoseconds, as the links before have it.
        then: called as `then(arrival)`.
    """

    __slots__ = ("index", "nbytes", "route", "tail", "then")

    def __init__(self, route: Route, index: int, nbytes: int, tail: int, then: Callable[[int], object]) -> None:
        self.route = route
        self.index = index
        self.nbytes = nbytes
        self.tail = tail
        self.then = then

    def __call__(self, when: int) -> None:
        """Go on, link by link, until another one is busy; the first, which is there at `when`, has been waited for."""
        nbytes, tail, links = self.nbytes, self.tail, self.route.links
        if when > tail:
            tail = when
        busy = links[self.index]
        end = busy.reserve(when, nbytes)
        if busy._queue:  # before `then`, in which somebody may go on at once
            busy._close()
        if end > tail:
            tail = end
        for index in range(self.index + 1, len(links)):
            link = links[index]  # a link may be on the route twice
            begin = max(when, link.free_at)
            if begin > when and begin + link.takes[nbytes] > tail:
                self.index, self.tail = index, tail
                link.wait(when, self)
                return
            end = link.reserve(begin, nbytes)
            if end > tail:
                tail = end
        self.then(tail + self.route.latency)


class PlainRest(Rest):
    """The same where each link is a plain `Link` and nobody listens: no call for each link."""

    __slots__ = ()

    def __call__(self, when: int) -> None:
        """Go on as `Rest` does."""
        nbytes, first, tail, links = self.nbytes, self.index, self.tail, self.route.links
        link = links[first]
        link.free_at = end = when + link.takes[nbytes]
        if link._queue:  # before `then`, in which somebody may go on at once
            link._close()
        if end > tail:
            tail = end
        for link in links[first + 1 :]:
            takes = link.takes[nbytes]
            if link.free_at <= when:
                link.free_at = end = when + takes
                if end > tail:
                    tail = end
            elif link.free_at + takes <= tail:
                link.free_at += takes
            else:
                self.index, self.tail = links.index(link, first + 1), tail
                link.wait(when, self)
                return
        self.then(tail + self.route.latency)


class Route:
    """Links in order, with the delay from each to the next.

    Args:
        hops: the links, each with the delay to what follows it.

    Raises:
        ValueError: a delay is no int from 0 on.

    Attributes:
        links: the links.
        first: the link that the sender feeds.
        slowest: how long sizes take the slowest of them.
        latency: the sum of the delays, picoseconds.
        carried: how many transfers of each size have begun; some of them may wait for a link.
    """

    __slots__ = ("carried", "first", "latency", "links", "slowest")

    RESERVES: ClassVar[tuple[str, ...]] = ("carry",)
    """The methods that take links, called as `method(nbytes, head, ...)`."""
    REST: ClassVar[type[Rest]] = Rest
    """What goes on with a transfer that waits for a link."""

    def __init__(self, hops: Sequence[Hop]) -> None:
        links, delays = zip(*hops, strict=True)
        self.lay(links, latency_of(delays), slowest(links))

    def lay(self, links: tuple[Link, ...], latency: int, slowest: Mapping[int, int]) -> None:
        """Lead over these links; what `__init__` does, for routes of which latency and what takes longest are known."""
        self.links = links
        self.latency = latency
        self.first = links[0]
        self.slowest = slowest
        self.carried: defaultdict[int, int] = defaultdict(int)
        for link in links:
            link._routes.append(self)
        kernel = links[0].kernel
        if kernel.observe is not None:
            kernel.observe(self)

    def carry(
        self, nbytes: int, head: int, tail: int, then: Callable[[int], object], index: int = 0, *, whole: bool = False
    ) -> int:
        """Carry `nbytes` over the route.

        Args:
            nbytes: bytes on every link, packet headers included.
            head: when the first byte gets to the first link, picoseconds, not before the kernel's time.
            tail: when the last byte gets there.
            then: called as `then(arrival)` in a later event, not after the arrival, where a link is busy.
            index: of the first link that has not been taken for it.
            whole: it is one packet, or all of it is there, and leaves no room for others.

        Returns:
            The time at which the last byte gets to the far end, if no link is busy; else 0, and
            `then` will be told.
        """
        for place, link in enumerate(self.links[index:] if index else self.links, index):
            free = link.free_at
            if free <= head:
                link.free_at = head + link.takes[nbytes]
            else:
                free += link.takes[nbytes]
                if free <= tail:
                    link.free_at = free
                elif free <= link.paced:
                    head = link.go_between(head, nbytes)
                else:
                    self.wait(place, nbytes, head, tail, then)
                    return 0
            if not whole and tail > link.paced:
                link.paced = tail
        self.carried[nbytes] += 1
        last = head + self.slowest[nbytes]
        return (last if last > tail else tail) + self.latency

    @property
    def kernel(self) -> Kernel:
        """Its clock and events."""
        return self.first.kernel

    def send(self, nbytes: int, then: Callable[[], object]) -> None:
        """Send `nbytes` that are here, from now on; `then()` is called in the event of their arrival."""
        kernel = self.first.kernel
        arrival = self.carry(nbytes, kernel.now, kernel.now, partial(self._arrive, then), whole=True)
        if arrival:
            kernel.call(arrival, then)

    def _arrive(self, then: Callable[[], object], arrival: int) -> None:
        self.first.kernel.call(arrival, then)

    def count(self, carried: defaultdict[int, int]) -> None:
        """Add to `carried` how many transfers of each size have begun."""
        for nbytes, times in self.carried.items():
            carried[nbytes] += times

    def wait(self, index: int, nbytes: int, head: int, tail: int, then: Callable[[int], object]) -> None:
        """Leave the rest of a transfer, from a busy link on, to the event of its release.

        Args:
            index: of the first link that is not free; those before it have been taken.
            nbytes: bytes on every link.
            head: when the first byte gets to the first link, picoseconds.
            tail: when the last byte gets there.
            then: called as `then(arrival)`.
        """
        self.carried[nbytes] += 1
        if index:
            takes = self.first.takes
            if takes is not self.slowest:
                takes = slowest(self.links[:index])
            end = head + takes[nbytes]
            if end > tail:
                tail = end
        self.links[index].wait(head, self.REST(self, index, nbytes, tail, then))


def over_routes(links: Iterable[Link]) -> OverRoutes:
    """Return for each of `links` how many transfers of each size routes have led over it so far.

    Each route is counted once, not once for each of its links: of a machine of a thousand hosts there are thousands.
    Those that wait have been counted as a whole, and are taken off what they have not come to.
    """
    routes = dict.fromkeys(chain.from_iterable(map(_ROUTES, links)))
    passed: defaultdict[tuple[int, int], list[Link]] = defaultdict(list)
    for route in routes:
        carried: defaultdict[int, int] = defaultdict(int)
        route.count(carried)
        for size_and_times in carried.items():
            passed[size_and_times] += route.links
    found: defaultdict[Link, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for (nbytes, times), on_ways in passed.items():
        if len(on_ways) < _FEW:
            for link in on_ways:
                found[link][nbytes] += times
        else:  # of a thousand hosts most routes carry as much
            for link, over in Counter(on_ways).items():
                found[link][nbytes] += over * times
    queues = filter(None, map(_QUEUE, dict.fromkeys(chain.from_iterable(map(_LINKS, routes)))))  # few have any
    for _, rest in chain.from_iterable(queues):
        if isinstance(rest, Rest) and rest.route in routes:
            for ahead in rest.route.links[rest.index :]:
                found[ahead][rest.nbytes] -= 1
    return found
