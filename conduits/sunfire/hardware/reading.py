"""A run of loads: a line at a time, there and back, since loads are not pipelined.

Source: Sistare and Jackson, section 2.5; Table III (docs/models/sunfire.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from conduits.sunfire import constants as c
from conduits.sunfire.hardware.entry import Entry
from conduits.sunfire.hardware.parts import LINE, Lane
from conduits.sunfire.hardware.status import Status
from conduits.sunfire.hardware.times import READ_LINE_PS, TRANSIT_PS

if TYPE_CHECKING:
    from conduits.sunfire.hardware.channel import Channel

Read: TypeAlias = Callable[[bytes, int, int], object]

PATIENCE_PS = c.ps(c.PATIENCE)


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

    def __init__(self, channel: Channel, entry: Entry, offset: int, nbytes: int, piece: int, then: Read) -> None:
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
            self._fail(Status.NO_PATH)
            return
        size = min(self._piece, self._end - self._at)
        lines = size // LINE
        for index, lane in enumerate(there):
            lane.source.reads += len(range(index, lines, len(there)))
        end = kernel.now + lines * READ_LINE_PS
        self._lanes = [(lane, lane.failures if lane.up else -1) for lane in (*there[:lines], *back[:lines])]
        self._back = back
        self._waits, self._arrival = 1, end
        for index, lane in enumerate(back[:lines]):
            nbytes = len(range(index, lines, len(back))) * LINE
            head = kernel.now + TRANSIT_PS
            busy = lane.reserve(nbytes, head, end - TRANSIT_PS)
            if busy is not None:
                self._waits += 1
                lane.wait(busy, nbytes, head, end - TRANSIT_PS, self._placed)
        self._placed(end)

    def _placed(self, arrival: int) -> None:
        self._waits -= 1
        self._arrival = max(self._arrival, arrival)
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
            kernel.at(kernel.now + PATIENCE_PS, self._fail, Status.LOST)
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
