"""Runs of lines that take several events: stores that are not simply under way, and all loads.

A run of stores is `Stopped` where it waits for a link, and a `Flight` where it is long, waits for a run before it, or
may be lost.  Where a link is busy the rest of a stripe is left to its release, and the processor's next store waits for
that (its store buffer is full).  A run of more than `piece` bytes lets others in after each piece.  A line that is on a
cable, NI or switch when that fails is lost, and so is one that bit errors spoil.

All links are taken at one time (rule T7).  What keeps the bytes from being at the first of them, the CPU's start of a
store, the way there of a load, lies behind the last.

A run of loads is a `Reading`: a line at a time, there and back, since loads are not pipelined.

Source: Sistare and Jackson, section 2.5; Table III (docs/models/sunfire.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from conduit.sim.link import Link
from conduits.sunfire.constants import (
    LANDING_PS,
    LINE_PS,
    PATIENCE_PS,
    READ_LINE_PS,
    START_PS,
    TRANSIT_PS,
    WRITE_PS,
)  # fmt: skip
from conduits.sunfire.hardware.parts import LINE, ErrorStatus, Lane
from conduits.sunfire.hardware.roles import Lanes
from conduits.sunfire.hardware.tables import TableEntry

_BEHIND_PS = START_PS + WRITE_PS
"""From the far end of a lane, as it is reckoned, until a stored line is in memory."""

Landed: TypeAlias = Callable[[Any], object]
Read: TypeAlias = Callable[[bytes, int, int], object]


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


class Stopped:
    """A run all of which has been fed, of which some stripes wait for a link.

    Args:
        channel: the one that it belongs to.
        end: when the CPU has given away the last line.

    Attributes:
        end: as given.
        arrival: when the last line gets into memory.
        landed: called as `landed(run)` when that is known.
    """

    __slots__ = ("_channel", "_unplaced", "arrival", "end", "landed")

    landed: Landed

    def __init__(self, channel: Lanes, end: int) -> None:
        self._channel = channel
        self._unplaced = 0
        self.end = end
        self.arrival = end + LANDING_PS

    def wait_for(self, lane: Lane, busy: Link, nbytes: int, head: int) -> None:
        """Leave the rest of one stripe, from the link `busy` on, to its release."""
        self._unplaced += 1
        lane.wait(lane.links.index(busy), nbytes, head, self.end - START_PS, self._placed)

    def lost(self) -> list[int]:
        """Return the lines that do not land: none, since a run that may lose some is a `Flight`."""
        return []

    def _placed(self, arrival: int) -> None:
        """A stripe has its place on every link, and its last line gets to the other NI `START_PS` after `arrival`."""
        arrival += _BEHIND_PS
        if arrival > self.arrival:
            self.arrival = arrival
        self._unplaced -= 1
        if not self._unplaced:
            self._channel.processor.release()
            self.landed(self)


class Flight:
    """A run of lines.

    Args:
        channel: the one that it belongs to.
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

    def __init__(self, channel: Lanes, lines: int, most: int) -> None:
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
        self._feed(channel.processor.kernel.now)

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
        self._placed_at = tail + START_PS + LANDING_PS
        self._unplaced = 1  # until all stripes have been looked at
        self._piece = []
        stripes = channel.stripe(size)
        if not stripes:
            self.stranded += range(first, first + size)
        for index, (lane, share) in enumerate(stripes):
            if channel.may_fail:
                self._piece.append(_Share(lane, range(first + index, first + size, len(stripes)), kernel.now))
            busy = lane.reserve(share << 6, head, tail)
            if busy is not None:
                self._unplaced += 1
                lane.wait(lane.links.index(busy), share << 6, head, tail, self._placed)
        if self._at == self.lines:
            kernel.amid(self._issued, tail + START_PS)
        self._placed(-_BEHIND_PS)

    def _placed(self, arrival: int) -> None:
        """A stripe has its place on every link, and its last line gets to the other NI `START_PS` after `arrival`."""
        channel = self._channel
        self._placed_at = max(self._placed_at, arrival + _BEHIND_PS)
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


class Reading:
    """A run of loads, piece by piece.

    The bytes of a piece are those that the memory holds when its last line leaves there.

    Args:
        channel: who reads, from where.
        entry: the memory.
        offset: in it, at a line.
        nbytes: whole lines.
        piece: bytes after which others may have the links.
        then: called as `then(data, when, status)`.
    """

    __slots__ = (
        "_arrival",
        "_at",
        "_back",
        "_channel",
        "_end",
        "_entry",
        "_found",
        "_lanes",
        "_piece",
        "_start",
        "_then",
        "_waits",
    )

    def __init__(self, channel: Lanes, entry: TableEntry, offset: int, nbytes: int, piece: int, then: Read) -> None:
        self._channel = channel
        self._entry = entry
        self._start = self._at = offset
        self._end = offset + nbytes
        self._piece = piece
        self._then = then
        self._found = bytearray()
        self._waits = 0
        self._arrival = 0
        self._lanes: list[tuple[Lane, int]] = []  # those that the piece goes over
        self._back: Sequence[Lane] = ()  # over which its lines come, in turn

    def go_on(self) -> None:
        """Ask for the next piece, in an event."""
        channel = self._channel
        kernel, fabric = channel.processor.kernel, channel.processor.fabric
        there, back = channel.paths.lanes, fabric.paths(channel.target, channel.processor.host).lanes
        if not there or not back:
            self._fail(ErrorStatus.NO_PATH)
            return
        size = min(self._piece, self._end - self._at)
        lines = size // LINE
        for index, lane in enumerate(there):
            lane.source.reads += len(range(index, lines, len(there)))
        now = kernel.now
        end = now + lines * READ_LINE_PS
        tail = end - 2 * TRANSIT_PS
        self._lanes = [(lane, lane.failures if lane.up else -1) for lane in (*there[:lines], *back[:lines])]
        self._back = back
        self._waits, self._arrival = 1, end
        for index, lane in enumerate(back[:lines]):
            share = len(range(index, lines, len(back)))
            lane.loaded += share
            nbytes = share * LINE
            busy = lane.reserve(nbytes, now, tail)
            if busy is not None:
                self._waits += 1
                lane.wait(lane.links.index(busy), nbytes, now, tail, self._placed)
        self._placed(end - TRANSIT_PS)

    def _placed(self, arrival: int) -> None:
        self._waits -= 1
        self._arrival = max(self._arrival, arrival + TRANSIT_PS)
        if not self._waits:
            kernel = self._channel.processor.kernel
            kernel.at(max(kernel.now, self._arrival - TRANSIT_PS), self._sample)

    def _sample(self) -> None:
        """The last line of the piece leaves the memory."""
        channel, at = self._channel, self._at
        kernel = channel.processor.kernel
        size = min(self._piece, self._end - at)
        if any(not lane.up or lane.failures != failures for lane, failures in self._lanes) or self._spoiled(size):
            channel.count_errors(1)
            kernel.at(kernel.now + PATIENCE_PS, self._fail, ErrorStatus.LOST)
            return
        self._found += self._entry.memory.read(at, size)
        self._at = at + size
        if self._at < self._end:
            kernel.at(kernel.now + TRANSIT_PS, self.go_on)
        else:
            kernel.at(kernel.now + TRANSIT_PS, self._done)

    def _spoiled(self, size: int) -> bool:
        """Return whether bit errors spoil a line of data."""
        draw, back = self._channel.processor.fabric.draw, self._back
        rates = [lane.spoils for lane in back]
        return any(rates) and any(draw() < rates[line % len(back)] for line in range(size // LINE))

    def _done(self) -> None:
        self._then(bytes(self._found), self._channel.processor.kernel.now, 0)

    def _fail(self, status: int) -> None:
        self._channel.fail(status)
        self._then(b"", self._channel.processor.kernel.now, status)
