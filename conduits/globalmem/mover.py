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
from conduits.globalmem.fabric import MemoryFabric, Reach
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
        self.scatters = scatter is not None
        self._scatter = scatter
        self._late = late
        self.pushed = 0  # pieces that are not known to have landed
        self._waiting: list[Then] = []
        self._reaches: dict[int, Reach] = {}

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
        self.pushed += len(parts)
        _Push(self, node, parts, land, free, done)

    def push_piece(self, node: int, runs: Sequence[int], land: Then, free: Then, done: Then) -> None:
        """Move bytes from here into a memory as one piece, now; as `push`, but for `land()`, and cheaper."""
        self.pushed += 1
        ticks = self.pace.ticks(runs[0]) if len(runs) == 1 else self.ticks(0, runs)
        _Piece(self, self.reach(node), runs, ticks, land, partial(self.go_on, free), done)

    def change(self, node: int, apply: Callable[[], int], done: Callable[[int], object]) -> None:
        """Change a word in a memory at once, now; the CPU is taken until ``done(old)``, with what `apply()` gave."""
        kernel, reach = self.kernel, self.reach(node)

        def answer(when: int) -> None:
            kernel.call(when, act)

        def act() -> None:
            old = apply()
            over(reach.back, WORD, partial(self.go_on, partial(done, old)))

        def served() -> None:
            end = reach.memory.carry(WORD, kernel.now, kernel.now, answer)
            if end:
                answer(end)

        over(reach.there, REQUEST + WORD, served)

    def settle(self, then: Then) -> None:
        """Call `then()` once it is known that all that was pushed has landed; now, if it is."""
        if self.pushed:
            self._waiting.append(then)
        else:
            then()

    def reach(self, node: int) -> Reach:
        """Return how this processor reaches the memory of a node."""
        found = self._reaches.get(node)
        if found is None:
            found = self._reaches[node] = self.fabric.reach(self.node, node)
        return found

    def ticks(self, moved: int, runs: Sequence[int]) -> int:
        """Return how long the processor takes for a piece, picoseconds.

        Args:
            moved: bytes of the move before it.
            runs: the sizes of its runs.
        """
        pace = self.pace
        ticks = pace.ticks(moved + sum(runs)) - pace.ticks(moved)
        return ticks if len(runs) == 1 else max(ticks, (len(runs) - 1) * self.fabric.service)

    def late(self) -> int:
        """Return by how much what has been pushed lands later than it could, picoseconds."""
        return self._scatter.randrange(self._late + 1) if self._scatter is not None else 0

    def go_on(self, then: Then) -> None:
        """Let the CPU go on now."""
        self.cpu.charge(0)
        then()

    def acknowledged(self) -> None:
        """A piece is known to have landed."""
        self.pushed -= 1
        if not self.pushed:
            waiting, self._waiting = self._waiting, []
            for then in waiting:
                self.go_on(then)


def over(way: Route | None, nbytes: int, then: Then) -> None:
    """Send `nbytes` over links, which may be none; `then()` is called in the event of their arrival."""
    if way is None:
        then()
    else:
        way.send(nbytes, then)


class _Pull:
    """A move from a memory."""

    __slots__ = ("_done", "_index", "_moved", "_mover", "_parts", "_reach", "_read", "_service")

    def __init__(
        self, mover: Mover, node: int, parts: Sequence[Sequence[int]], read: Callable[[int], object], done: Then
    ) -> None:
        self._mover = mover
        self._parts = parts
        self._read = read
        self._done = done
        self._index = self._moved = 0
        self._service = mover.fabric.service
        self._reach = mover.reach(node)
        over(self._reach.there, REQUEST, self._serve)

    def _serve(self) -> None:
        """The memory is asked for a piece."""
        mover, runs = self._mover, self._parts[self._index]
        now = mover.kernel.now
        tail = now + mover.ticks(self._moved, runs) + (0 if self._index else self._service)
        end = self._reach.memory.carry(mover.fabric.lines(runs), now, tail, self._served)
        if end:
            self._served(end)

    def _served(self, tail: int) -> None:
        """It has read all of it by `tail`."""
        self._read(self._index)
        back = self._reach.back
        if back is None:
            self._arrives(tail)
            return
        # Links are taken as if the first line were read at once; the time that it takes lies behind them (rule T7).
        now = self._mover.kernel.now
        arrival = back.carry(sum(self._parts[self._index]), now, tail - self._service, self._carried)
        if arrival:
            self._carried(arrival)

    def _carried(self, arrival: int) -> None:
        self._arrives(arrival + self._service)

    def _arrives(self, when: int) -> None:
        kernel, back = self._mover.kernel, self._reach.back
        self._moved += sum(self._parts[self._index])
        self._index += 1
        if self._index == len(self._parts):
            kernel.at(when, self._mover.go_on, self._done)
        else:
            kernel.call(max(kernel.now, when - (0 if back is None else back.latency)), self._serve)


class _Push:
    """A move into a memory of several pieces."""

    __slots__ = ("_done", "_free", "_index", "_land", "_left", "_moved", "_mover", "_node", "_parts")

    def __init__(
        self,
        mover: Mover,
        node: int,
        parts: Sequence[Sequence[int]],
        land: Callable[[int], object],
        free: Then,
        done: Then,
    ) -> None:
        self._mover = mover
        self._node = node
        self._parts = parts
        self._land = land
        self._free = free
        self._done = done
        self._index = self._moved = 0
        self._left = len(parts)
        self._send()

    def _send(self) -> None:
        """The processor moves a piece, and goes on with the next one when that has left."""
        mover, index = self._mover, self._index
        runs = self._parts[index]
        ticks = mover.ticks(self._moved, runs)
        self._moved += sum(runs)
        self._index += 1
        then = self._send if self._index < len(self._parts) else partial(mover.go_on, self._free)
        _Piece(mover, mover.reach(self._node), runs, ticks, partial(self._land, index), then, self._acknowledged)

    def _acknowledged(self) -> None:
        self._left -= 1
        if not self._left:
            self._done()


class _Piece:
    """A piece on its way into a memory; nearly every move into one is one.

    Args:
        mover: the processor.
        reach: how it reaches the memory.
        runs: the sizes of the runs.
        ticks: how long the processor takes for it, picoseconds.
        land: is called when it is in that memory.
        free: is called when it has left the processor.
        done: is called when it is known there that it has landed.
    """

    __slots__ = ("_done", "_free", "_land", "_landing", "_lines", "_mover", "_reach")

    def __init__(
        self, mover: Mover, reach: Reach, runs: Sequence[int], ticks: int, land: Then, free: Then, done: Then
    ) -> None:
        self._mover = mover
        self._reach = reach
        self._land = land
        self._free = free
        self._done = done
        self._lines = mover.fabric.lines(runs)
        now, there = mover.kernel.now, reach.there
        if there is None:
            self._arrives(now + ticks)
            return
        arrival = there.carry(sum(runs), now, now + ticks, self._arrives, whole=not ticks)
        if arrival:
            self._arrives(arrival)

    def _arrives(self, when: int) -> None:
        """All of it is at the memory at `when`."""
        mover = self._mover
        kernel, fabric = mover.kernel, mover.fabric
        now, left = kernel.now, when - self._reach.latency
        self._landing = landing = when + mover.late() if mover.scatters else when
        # The memory stores line by line as they come, and the last one when it is there.
        first = landing if self._lines == fabric.line else landing - (fabric.takes(self._lines) - fabric.service)
        kernel.call(first if first > now else now, self._store)
        kernel.call(left if left > now else now, self._free)

    def _store(self) -> None:
        end = self._reach.memory.carry(self._lines, self._mover.kernel.now, self._landing, self._stored)
        if end:
            self._stored(end)

    def _stored(self, when: int) -> None:
        self._mover.kernel.call(when, self._landed)

    def _landed(self) -> None:
        self._land()
        over(self._reach.back, WORD, self._acknowledged)

    def _acknowledged(self) -> None:
        self._done()
        self._mover.acknowledged()
