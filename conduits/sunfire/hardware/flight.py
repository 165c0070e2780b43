"""A run of lines that is not simply under way: it waits for a link, is long, or may be lost.

Where a link is busy the rest of a stripe is left to its release, and the processor's next store waits for that (its
store buffer is full).  A run of more than `piece` bytes lets others in after each piece.  A line that is on a
cable, NI or switch when that fails is lost, and so is one that bit errors spoil.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from conduit.sim.link import Link
from conduits.sunfire.hardware.parts import Lane
from conduits.sunfire.hardware.times import LANDING_PS, LINE_PS, START_PS, WRITE_PS

if TYPE_CHECKING:
    from conduits.sunfire.hardware.channel import Channel

Landed: TypeAlias = "Callable[[Flight], object]"


class Flight:
    """A run of lines.

    Args:
        channel: whose.
        lines: how many.
        most: lines of a piece.
        issued: called as `issued(when)`: the CPU has given the last line away at `when`.
        landed: called when it is known when the last line gets there.

    Attributes:
        arrival: when the last line that was not lost on the way gets into memory.
        stranded: lines for which there was no lane.
    """

    __slots__ = (
        "_at", "_channel", "_issued", "_landed", "_most", "_parts", "_tail", "_unplaced", "arrival", "lines",
        "stranded",
    )  # fmt: skip

    def __init__(
        self, channel: Channel, lines: int, most: int, issued: Callable[[int], object], landed: Landed
    ) -> None:
        self._channel = channel
        self._most = most
        self._issued = issued
        self._landed = landed
        self._at = 0  # lines that were fed
        self._tail = 0
        self._unplaced = 0
        self._parts: list[tuple[Lane, int, range]] = []  # lane, how often it had failed, lines
        self.arrival = 0
        self.lines = lines
        self.stranded: list[int] = []

    def begin(self) -> None:
        """Feed the first piece, in an event."""
        channel = self._channel
        channel.processor.held = True
        self._feed(channel.processor.kernel.now + START_PS)

    def wait_for(self, lane: Lane, busy: Link, nbytes: int, head: int, tail: int) -> None:
        """Leave the rest of one stripe, from the link `busy` on, to its release."""
        self._unplaced += 1
        lane.wait(busy, nbytes, head, tail, self._placed)

    def hold(self, end: int) -> None:
        """All of it was fed already by `end`, and waits: let the processor's next store wait for it."""
        self._channel.processor.held = True
        self._at = self.lines
        self._tail = end
        self.arrival = end + LANDING_PS

    def lost(self) -> list[int]:
        """Return the lines that do not land; to be asked once, at `arrival`."""
        draw, found = self._channel.processor.fabric.draw, list(self.stranded)
        for lane, failures, lines in self._parts:
            if not lane.up or lane.failures != failures:
                found += lines
            elif spoils := lane.spoils:
                found += [line for line in lines if draw() < spoils]
        return sorted(found)

    def _feed(self, head: int) -> None:
        """Feed a piece from `head` on; each of its stripes gets a place on every link, or waits for one."""
        channel, first = self._channel, self._at
        size = min(self._most, self.lines - first)
        self._at += size
        self._tail = tail = head + size * LINE_PS
        self.arrival = max(self.arrival, tail + LANDING_PS)
        self._unplaced = 1  # until all stripes have been looked at
        stripes = channel.stripe(size)
        if not stripes:
            self.stranded += range(first, first + size)
        for index, (lane, share) in enumerate(stripes):
            if channel.careful:
                lines = range(first + index, first + size, len(stripes))
                # A lane that is down already loses them wherever they are.
                self._parts.append((lane, lane.failures if lane.up else -1, lines))
            busy = lane.reserve(share << 6, head, tail)
            if busy is not None:
                self.wait_for(lane, busy, share << 6, head, tail)
        if self._at == self.lines:
            self._issued(tail)
        self._placed(-WRITE_PS)

    def _placed(self, arrival: int) -> None:
        """A stripe has its place on every link, and its last line gets to the other NI at `arrival`."""
        channel = self._channel
        self.arrival = max(self.arrival, arrival + WRITE_PS)
        self._unplaced -= 1
        if self._unplaced > 0:
            return
        kernel = channel.processor.kernel
        if self._at < self.lines:
            when = max(self._tail, kernel.now)
            kernel.at(when, self._feed, when)
            return
        channel.processor.release()
        self._landed(self)
