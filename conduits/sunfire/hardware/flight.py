"""A run of lines that is not simply under way: it waits for a link, is long, or may be lost.

Where a link is busy the rest of a stripe is left to its release, and the processor's next store waits for that (its
store buffer is full).  A run of more than `piece` bytes lets others in after each piece.  A line that is on a
cable, NI or switch when that fails is lost, and so is one that bit errors spoil.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from conduit.sim.link import Link
from conduits.sunfire.hardware.parts import Lane
from conduits.sunfire.hardware.times import LANDING_PS, LINE_PS, START_PS, WRITE_PS

if TYPE_CHECKING:
    from conduits.sunfire.hardware.channel import Channel

Landed: TypeAlias = "Callable[[Flight], object]"


class _Share:
    """The lines of a piece that one lane carries.

    Attributes:
        lane: which.
        lines: of the run.
        alive: whether the lane worked when they were sent.
        sent: when, picoseconds.
        landing: when the last of them is in memory.
    """

    __slots__ = ("alive", "landing", "lane", "lines", "sent")

    def __init__(self, lane: Lane, lines: range, sent: int) -> None:
        self.lane = lane
        self.lines = lines
        self.alive = lane.up
        self.sent = sent
        self.landing = 0

    @property
    def lost(self) -> bool:
        """Whether something of the lane was or went down while they were on it."""
        return not self.alive or self.lane.failed(self.sent, self.landing)


class Flight:
    """A run of lines.

    Args:
        channel: whose.
        lines: how many.
        most: lines of a piece.

    Attributes:
        arrival: when the last line that was not lost on the way gets into memory.
        stranded: lines for which there was no lane.
    """

    __slots__ = (
        "_at", "_channel", "_issued", "_landed", "_most", "_piece", "_placed_at", "_shares", "_tail", "_unplaced",
        "arrival", "lines", "stranded",
    )  # fmt: skip

    _issued: Callable[[int], object]
    _landed: Landed

    def __init__(self, channel: Channel, lines: int, most: int) -> None:
        self._channel = channel
        self._most = most
        self._at = 0  # lines that were fed
        self._tail = 0
        self._unplaced = 0
        self._placed_at = 0
        self._shares: list[_Share] = []  # where they may be lost
        self._piece: list[_Share] = []
        self.arrival = 0
        self.lines = lines
        self.stranded: list[int] = []

    def tell(self, issued: Callable[[int], object], landed: Landed) -> None:
        """Say whom to tell, before time goes on.

        Args:
            issued: called as `issued(when)`: the CPU has given the last line away at `when`.
            landed: called as `landed(flight)` when it is known when the last line gets there.
        """
        self._issued = issued
        self._landed = landed

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
        self._placed_at = end + LANDING_PS

    def lost(self) -> list[int]:
        """Return the lines that do not land; to be asked once, at `arrival`."""
        draw, found = self._channel.processor.fabric.draw, list(self.stranded)
        for share in self._shares:
            lost: Sequence[int] = ()
            if share.lost:
                lost = share.lines
            elif spoils := share.lane.spoils:
                lost = [line for line in share.lines if draw() < spoils]
            share.lane.source.errors += len(lost)
            found += lost
        return sorted(found)

    def _feed(self, head: int) -> None:
        """Feed a piece from `head` on; each of its stripes gets a place on every link, or waits for one."""
        channel, first, kernel = self._channel, self._at, self._channel.processor.kernel
        size = min(self._most, self.lines - first)
        self._at += size
        self._tail = tail = head + size * LINE_PS
        self._placed_at = tail + LANDING_PS
        self._unplaced = 1  # until all stripes have been looked at
        self._piece = []
        stripes = channel.stripe(size)
        if not stripes:
            self.stranded += range(first, first + size)
        for index, (lane, share) in enumerate(stripes):
            if channel.careful:
                self._piece.append(_Share(lane, range(first + index, first + size, len(stripes)), kernel.now))
            busy = lane.reserve(share << 6, head, tail)
            if busy is not None:
                self.wait_for(lane, busy, share << 6, head, tail)
        if self._at == self.lines:
            self._issued(tail)
        self._placed(-WRITE_PS)

    def _placed(self, arrival: int) -> None:
        """A stripe has its place on every link, and its last line gets to the other NI at `arrival`."""
        channel = self._channel
        self._placed_at = max(self._placed_at, arrival + WRITE_PS)
        self._unplaced -= 1
        if self._unplaced > 0:
            return
        self.arrival = max(self.arrival, self._placed_at)
        for share in self._piece:
            share.landing = self._placed_at
        self._shares += self._piece
        kernel = channel.processor.kernel
        if self._at < self.lines:
            when = max(self._tail, kernel.now)
            kernel.at(when, self._feed, when)
            return
        channel.processor.release()
        self._landed(self)
