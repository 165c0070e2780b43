"""Parts of hardware that tell what they do: chosen when a job starts, where somebody listens, and not tested for after.

Times and results are those of the plain parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from conduit.sim.cpu import Cpu
from conduit.sim.dma import DmaEngine
from conduit.sim.kernel import FOREVER, Kernel
from conduit.sim.labels import Labelled, unlabelled
from conduit.sim.link import Link, Rest, Route
from conduit.sim.memory import Buffer, Flat

Spent = Callable[[int, int, int, str], object]
Carried = Callable[[str, int, int, int], object]
Landed = Callable[[int, int, bytes | bytearray | memoryview, int], object]


class ObservedCpu(Cpu):
    """A CPU that tells `spent(rank, begin, end, why)` of each span of its time, in order and without overlap.

    Attributes:
        why: what the time is spent on that is given to it from now on; what comes before any turn is the start's.
    """

    __slots__ = ("_free", "_held", "_mark", "_polls_since", "_spans", "_spent", "why")

    def __init__(self, kernel: Kernel, rank: int, on_idle: Callable[[], None] | None, spent: Spent) -> None:
        self.why = "start"
        self._spent = spent
        self._free = self._mark = 0
        self._held = False
        self._polls_since = -1
        self._spans: list[tuple[int, int, str]] = []  # of this turn: what is given may be taken back in it
        super().__init__(kernel, rank, on_idle)

    @property
    def free(self) -> int:
        """When the next thing may start."""
        return self._free

    @free.setter
    def free(self, free: int) -> None:
        old, self._free = self._free, unlabelled(free)
        if free > old:
            begin = max(old, self._mark) if self._held else max(old, self.kernel.now)
            if not self._held:
                self.stop_polling(begin)
            if free > begin:
                self._note_parts(begin, free)
            if not self._held:
                self._tell()
        elif free < old:
            self._take_back(free)

    @property
    def busy(self) -> bool:
        """Whether somebody has a turn."""
        return self._held

    @busy.setter
    def busy(self, busy: bool) -> None:
        if busy and not self._held:
            self.why = "polling"
            self._mark = max(self._free, self.kernel.now)
            self.stop_polling(self._mark)
        elif not busy:
            self._tell()
        self._held = busy

    def pay(self) -> None:
        """Do what is owed, which programs asked for."""
        self.why = "compute"
        super().pay()

    def release(self) -> None:
        """End a turn."""
        super().release()
        self.why = "polling"
        self._tell()

    def poll_from(self, when: int) -> None:
        """A loop of polls begins that find nothing, which lasts until a turn begins or `stop_polling`."""
        if self._polls_since < 0:
            self._polls_since = when

    def stop_polling(self, when: int) -> None:
        """The loop of polls ends, if there is one."""
        since, self._polls_since = self._polls_since, -1
        if 0 <= since < when:
            self._spent(self.rank, since, when, "waiting")

    def _note_parts(self, begin: int, free: int) -> None:
        """Note the time from `begin` on, which is divided where `free` says what its parts are for."""
        spans, end = [], int(free)
        for ticks, why in reversed(free.parts if isinstance(free, Labelled) else ()):
            if end <= begin:
                break
            if ticks:
                spans.append((max(begin, end - ticks), end, why))
                end -= ticks
        if end > begin:
            spans.append((begin, end, ""))
        for start, stop, why in reversed(spans):
            self._note(start, stop, why if why and why[0] != ":" else self.why + why)

    def _note(self, begin: int, end: int, why: str) -> None:
        spans = self._spans
        if spans and spans[-1][1] == begin and spans[-1][2] == why:
            begin = spans.pop()[0]
        spans.append((begin, end, why))

    def _take_back(self, free: int) -> None:
        spans = self._spans
        while spans and spans[-1][1] > free:
            begin, _, why = spans.pop()
            if begin < free:
                spans.append((begin, free, why))

    def _tell(self) -> None:
        spans, self._spans = self._spans, []
        for begin, end, why in spans:
            self._spent(self.rank, begin, end, why)


class ObservedFlat(Flat):
    """A rank's segment that tells `landed(when, address, data, source)` of what is written to it, in that event.

    Args:
        view: the memory.
        kernel: its clock and events.
        landed: is told; `source` is the rank from which the bytes come, -1 where the network does not say.
    """

    __slots__ = ("_kernel", "_landed")

    def __init__(self, view: bytearray | memoryview, kernel: Kernel, landed: Landed) -> None:
        super().__init__(view)
        self._kernel = kernel
        self._landed = landed

    def write(self, address: int, data: Buffer, source: int = -1) -> None:
        """Store `data` at `address`, and tell."""
        super().write(address, data)
        if len(data):
            self._landed(self._kernel.now, address, data, source)


def engine_cpu(kernel: Kernel, name: str) -> Cpu:
    """Return a CPU that is no rank's, which tells what it does as an engine of this name where somebody listens."""
    carried = kernel.carried
    if carried is None:
        return Cpu(kernel)
    return ObservedCpu(kernel, -1, None, lambda _, begin, end, __: carried(name, begin, end, 0))


def listen(kernel: Kernel, carried: Carried) -> None:
    """Let the links, routes, engines and locks that are made from now on tell what they carry.

    Hardware of a network's own, which is neither of those here, tells by a class of its own: it names that in a class
    variable `OBSERVED`, and shows itself to `kernel.observe`, where there is one, when it is made.

    Args:
        kernel: their clock and events.
        carried: called as `carried(name, begin, end, nbytes)` when a link or an engine is taken, for times that may
            be to come.
    """

    def observe(part: Any) -> None:
        plain: Any = type(part)
        part.__class__ = _observed(plain)

    kernel.carried = carried
    kernel.observe = observe


@cache
def _observed(plain: Any) -> Any:
    """Return the class of which a part of class `plain` is made where somebody listens."""
    if hasattr(plain, "OBSERVED"):
        return plain.OBSERVED
    kind = next(kind for kind in (Link, Route, DmaEngine) if issubclass(plain, kind))
    methods: dict[str, Any] = {"__slots__": (), "__module__": plain.__module__, "__qualname__": plain.__qualname__}
    if kind is Link:
        methods["reserve"] = _reserving(plain.reserve)
        methods["slip_in"] = _slipping(plain.slip_in)
    elif kind is Route:
        methods.update((name, _carrying(getattr(plain, name))) for name in plain.RESERVES)
        methods["REST"] = Rest  # which lets each link tell
    else:
        methods["_fed"] = _feeding(plain._fed)
    return type(plain.__name__, (plain,), methods)


def _reserving(plain: Callable[[Any, int, int], int]) -> Callable[[Any, int, int], int]:
    def reserve(self: Any, head: int, nbytes: int) -> int:
        end = plain(self, head, nbytes)
        self.kernel.carried(self.name, head, end, nbytes)
        return end

    return reserve


def _slipping(plain: Callable[[Any, int, int], bool]) -> Callable[[Any, int, int], bool]:
    def slip_in(self: Any, head: int, nbytes: int) -> bool:
        carried = plain(self, head, nbytes)
        if carried:  # told at the end of what it goes between, which is over later by as much
            end = self._until if self.free_at == FOREVER else self.free_at
            self.kernel.carried(self.name, end - self.longest(nbytes), end, nbytes)
        return carried

    return slip_in


def _carrying(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that reserves links of a route for bytes, and tells which of them it has taken."""

    def carry(self: Any, nbytes: int, head: int, *args: Any, **kwargs: Any) -> Any:
        before = [link.free_at for link in self.links]
        result = plain(self, nbytes, head, *args, **kwargs)
        for link, old in zip(self.links, before, strict=True):
            free = link.free_at
            if old < free < FOREVER:
                link.kernel.carried(link.name, max(old, head, free - link.longest(nbytes)), free, nbytes)
        return result

    return carry


def _feeding(plain: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
    def fed(self: Any, when: int) -> None:
        begin, nbytes = self.begun
        self.kernel.carried(self.name, begin, when, nbytes)
        plain(self, when)

    return fed
