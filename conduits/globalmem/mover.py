"""What one processor does to the memory of any node: push bytes there, pull them from there, change a word.

Bytes are moved piece by piece, so that memories and links are shared; a piece is moved when the one before has got
through, so that what is held up anywhere holds up the processor.  Each act begins in an event at the time at which the
CPU is free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TypeAlias

from conduit.sim import Cpu, Kernel
from conduit.sim.link import Route
from conduits.globalmem.fabric import MemoryFabric
from conduits.globalmem.pace import Pace

Then: TypeAlias = Callable[[], object]

REQUEST = 16
"""Bytes on a link of what asks for data: an address and what names the asker."""
WORD = 8
"""Bytes on a link of an answer to a change, and of an acknowledgement."""


class Mover:
    """One processor's way to all memories.

    Args:
        cpu: the processor.
        node: where it is.
        fabric: the machine.
        pace: how fast it moves bytes.
        scatter: where pushed bytes may land in another order, what draws by how much they are late.
        late: by how much at most, picoseconds.
    """

    def __init__(
        self, cpu: Cpu, node: int, fabric: MemoryFabric, pace: Pace, scatter: Random | None = None, late: int = 0
    ) -> None:
        self.cpu = cpu
        self.node = node
        self.fabric = fabric
        self.pace = pace
        self.kernel: Kernel = fabric.kernel
        self._scatter = scatter
        self._late = late
        self.pushed = 0  # pieces that are not known to have landed
        self._waiting: list[Then] = []

    def pull(self, node: int, parts: Sequence[Sequence[int]], read: Callable[[int], object], done: Then) -> None:
        """Move bytes from a memory here, now; the CPU is taken until `done()`.

        Args:
            node: where the memory is.
            parts: the pieces, each as the sizes of its runs.
            read: ``read(i)`` is called when piece i is read.
            done: is called when the last byte is here.
        """
        _Pull(self, node, parts, read, done)

    def push(
        self, node: int, parts: Sequence[Sequence[int]], land: Callable[[int], object], free: Then, done: Then
    ) -> None:
        """Move bytes from here into a memory, now.

        Args:
            node: where the memory is.
            parts: the pieces, each as the sizes of its runs.
            land: ``land(i)`` is called when piece i is in that memory.
            free: is called when the CPU has done its part.
            done: is called when it is known here that all has landed.
        """
        _Push(self, node, parts, land, free, done)

    def change(self, node: int, apply: Callable[[], int], done: Callable[[int], object]) -> None:
        """Change a word in a memory at once, now; the CPU is taken until ``done(old)``, with what `apply()` gave."""
        kernel = self.kernel
        back = self.fabric.way(node, self.node)

        def answer(when: int) -> None:
            kernel.at(when, act)

        def act() -> None:
            old = apply()
            self.over(back, WORD, partial(self._done, partial(done, old)))

        def served() -> None:
            memory = self.fabric.memory(node)
            end = memory.carry(WORD, kernel.now, kernel.now, answer)
            if end:
                answer(end)

        self.over(self.fabric.way(self.node, node), REQUEST + WORD, served)

    def settle(self, then: Then) -> None:
        """Call `then()` once it is known that all that was pushed has landed; now, if it is."""
        if self.pushed:
            self._waiting.append(then)
        else:
            then()

    def over(self, way: Route | None, nbytes: int, then: Then) -> None:
        """Send `nbytes` over links, which may be none; `then()` is called in the event of their arrival."""
        if way is None:
            then()
        else:
            way.send(nbytes, then)

    def late(self) -> int:
        """Return by how much what has been pushed lands later than it could, picoseconds."""
        return self._scatter.randrange(self._late + 1) if self._scatter is not None else 0

    def _done(self, then: Then) -> None:
        """Let the CPU go on now."""
        self.cpu.charge(0)
        then()

    def _acknowledged(self) -> None:
        self.pushed -= 1
        if not self.pushed:
            waiting, self._waiting = self._waiting, []
            for then in waiting:
                self._done(then)


class _Move:
    """A move of several pieces."""

    __slots__ = ("_bytes", "_index", "_moved", "_mover", "_node", "_parts", "_start")

    def __init__(self, mover: Mover, node: int, parts: Sequence[Sequence[int]]) -> None:
        self._mover = mover
        self._node = node
        self._parts = parts
        self._index = 0
        self._moved = 0
        self._bytes = sum(parts[0])
        self._start = 0

    def _next(self) -> bool:
        """Go on to the next piece; return whether there is one."""
        self._moved += self._bytes
        self._index += 1
        if self._index == len(self._parts):
            return False
        self._bytes = sum(self._parts[self._index])
        return True

    def _lines(self) -> int:
        """Return the bytes of the lines in which the piece lies in memory."""
        line, runs = self._mover.fabric.line, self._parts[self._index]
        if len(runs) == 1:
            return -(-runs[0] // line) * line
        return sum(-(-size // line) * line for size in runs)

    def _pace(self) -> int:
        """Return how long the processor takes for the piece, picoseconds."""
        pace, fabric = self._mover.pace, self._mover.fabric
        ticks = pace.ticks(self._moved + self._bytes) - pace.ticks(self._moved)
        runs = len(self._parts[self._index])
        return ticks if runs == 1 else max(ticks, (runs - 1) * fabric.service)


class _Pull(_Move):
    """A move from a memory."""

    __slots__ = ("_done", "_read", "_way")

    def __init__(
        self, mover: Mover, node: int, parts: Sequence[Sequence[int]], read: Callable[[int], object], done: Then
    ) -> None:
        super().__init__(mover, node, parts)
        self._read = read
        self._done = done
        self._way = mover.fabric.way(node, mover.node)
        mover.over(mover.fabric.way(mover.node, node), REQUEST, self._serve)

    def _serve(self) -> None:
        """The memory is asked for a piece."""
        mover = self._mover
        now = self._start = mover.kernel.now
        tail = now + self._pace() + (0 if self._index else mover.fabric.service)
        end = mover.fabric.memory(self._node).carry(self._lines(), now, tail, self._served)
        if end:
            self._served(end)

    def _served(self, tail: int) -> None:
        """It has read all of it by `tail`."""
        self._read(self._index)
        if self._way is None:
            self._arrives(tail)
            return
        head = max(self._mover.kernel.now, min(tail, self._start + self._mover.fabric.service))
        arrival = self._way.carry(self._bytes, head, tail, self._arrives)
        if arrival:
            self._arrives(arrival)

    def _arrives(self, when: int) -> None:
        kernel = self._mover.kernel
        if self._next():
            latency = self._way.latency if self._way is not None else 0
            kernel.at(max(kernel.now, when - latency), self._serve)
        else:
            kernel.at(when, self._mover._done, self._done)


class _Push(_Move):
    """A move into a memory."""

    __slots__ = ("_done", "_free", "_land", "_left", "_way")

    def __init__(
        self,
        mover: Mover,
        node: int,
        parts: Sequence[Sequence[int]],
        land: Callable[[int], object],
        free: Then,
        done: Then,
    ) -> None:
        super().__init__(mover, node, parts)
        self._land = land
        self._free = free
        self._done = done
        self._left = len(parts)
        self._way = mover.fabric.way(mover.node, node)
        mover.pushed += len(parts)
        self._send()

    def _send(self) -> None:
        """The processor moves a piece."""
        mover = self._mover
        now = mover.kernel.now
        tail = now + self._pace()
        if self._way is None:
            self._arrives(tail)
            return
        arrival = self._way.carry(self._bytes, now, tail, self._arrives)
        if arrival:
            self._arrives(arrival)

    def _arrives(self, when: int) -> None:
        """All of it is at the memory at `when`."""
        mover, kernel = self._mover, self._mover.kernel
        landing, lines = when + mover.late(), self._lines()
        # The memory stores line by line as they come, and the last one when it is there.
        before = mover.fabric.takes(lines) - mover.fabric.service
        kernel.at(max(kernel.now, landing - before), self._store, self._index, lines, landing)
        latency = self._way.latency if self._way is not None else 0
        left = max(kernel.now, when - latency)
        if self._next():
            kernel.at(left, self._send)
        else:
            kernel.at(left, mover._done, self._free)

    def _store(self, index: int, lines: int, tail: int) -> None:
        now = self._mover.kernel.now
        stored = partial(self._stored, index)
        end = self._mover.fabric.memory(self._node).carry(lines, now, tail, stored)
        if end:
            stored(end)

    def _stored(self, index: int, when: int) -> None:
        self._mover.kernel.at(when, self._landed, index)

    def _landed(self, index: int) -> None:
        self._land(index)
        self._mover.over(self._mover.fabric.way(self._node, self._mover.node), WORD, self._acknowledged)

    def _acknowledged(self) -> None:
        self._left -= 1
        if not self._left:
            self._done()
        self._mover._acknowledged()
