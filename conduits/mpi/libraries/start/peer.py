"""What a rank knows of its control messages to and from one of another SMP."""

from __future__ import annotations

from conduits.mpi.libraries.start import wire
from conduits.mpi.libraries.start.wire import ControlHeader

_NUMBERS = 1 << 32


class ControlPeer:
    """A rank and one other.

    Args:
        rank: the other.
        host: where it is.
        tag: of packets to it.

    Attributes:
        rank, host, tag: as given.
        sent: bytes of data that were sent at once, since the beginning.
        released: how many of them the other has taken, as far as it is known.
        freed: how many of its own were taken here.
        told: of these what the other has been told.
    """

    __slots__ = ("_early", "_expected", "_next", "_stream", "freed", "host", "rank", "released", "sent", "tag", "told")

    def __init__(self, rank: int, host: int, tag: int) -> None:
        self.rank = rank
        self.host = host
        self.tag = tag
        self.sent = self.released = self.freed = self.told = 0
        self._next = 0  # number of the next packet that is sent
        self._expected = 0  # number of the next that is read
        self._early: dict[int, bytes] = {}  # that have overtaken others
        self._stream = bytearray()  # what has come of a control message

    def unused(self, pool: int) -> int:
        """Return how many bytes may be sent at once now, out of `pool`."""
        return pool - (self.sent - self.released) % _NUMBERS

    def cut_one(self, kind: int, mode: int, source: int, context: int, tag: int, data: bytes, send: int) -> bytes:
        """As `cut`, of a message that fits one packet: the payload of that."""
        self.told = freed = self.freed
        header = wire.pack(kind, mode, source, context, tag, len(data), send, freed % _NUMBERS)
        number = self._next
        self._next = wire.next_number(number)
        return wire.payload(number, header + data)

    def cut(self, header: ControlHeader, data: bytes) -> list[bytes]:
        """Return the payloads of the packets of the next control message, which tells of what was taken."""
        self.told = self.freed
        payloads = wire.cut(header._replace(freed=self.freed % _NUMBERS).pack() + data, self._next)
        self._next = (self._next + len(payloads)) % _NUMBERS
        return payloads

    def read(self, payload: bytes) -> list[tuple[ControlHeader, bytes]]:
        """Take the payload of a packet; return the control messages that are complete with it, in order."""
        number, part = wire.number_of(payload), wire.part_of(payload)
        if number == self._expected and not (self._early or self._stream):  # nearly always, and all in one packet
            header = wire.unpack(part)
            size = header.size
            if len(part) >= size:
                self._expected = wire.next_number(number)
                self.released = header.freed
                return [(header, part[wire.HEADER : size])]
        self._early[number] = part
        complete = []
        while (early := self._early.pop(self._expected, None)) is not None:
            self._expected = wire.next_number(self._expected)
            self._stream += early
            header = wire.unpack(self._stream)
            if len(self._stream) >= header.size:
                complete.append((header, bytes(self._stream[wire.HEADER : header.size])))
                self._stream.clear()
                self.released = header.freed
        return complete
