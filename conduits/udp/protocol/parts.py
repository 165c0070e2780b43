"""Messages in parts: cut by the sender to what a datagram holds, put together by the receiver."""

from __future__ import annotations

from conduit.contract import LONG, Message
from conduit.sim import Flat
from conduit.simnet import header
from conduits.udp.hardware import DATAGRAM
from conduits.udp.wire import SIZE

PART = DATAGRAM - SIZE
"""Bytes of a message in one datagram, at most."""


def parts(nbytes: int, args: int) -> int:
    """Return in how many datagrams a message with a payload of `nbytes` goes."""
    return -(-(header.SIZE + 4 * args + nbytes) // PART)


class Fragmentation:
    """A message that is being sent; its payload is read part by part, as it leaves.

    Args:
        message: which.
        slot: its slot.

    Attributes:
        slot: its slot.
        size: bytes, header and payload.
        at: how many have been cut off.
    """

    __slots__ = ("_head", "_payload", "at", "size", "slot")

    def __init__(self, message: Message, slot: int) -> None:
        self._head = header.pack(message)
        self._payload = message.payload
        self.slot = slot
        self.size = len(self._head) + message.nbytes
        self.at = 0

    def cut(self) -> tuple[int, bytes]:
        """Return where the next part begins, and the part."""
        at, head = self.at, self._head
        self.at = end = min(at + PART, self.size)
        part = head[at:end] + bytes(self._payload[max(0, at - len(head)) : max(0, end - len(head))])
        return at, part


class Reassembly:
    """A message that is arriving: parts in any order, each once.

    The payload of a long one goes to the segment as it comes, once the header is there, which is in the first part.

    Args:
        memory: the segment.
    """

    __slots__ = ("_arrived", "_held", "_memory", "_payload", "_start", "message")

    def __init__(self, memory: Flat) -> None:
        self._memory = memory
        self._arrived = 0
        self._held: list[tuple[int, bytes]] = []
        self._payload = bytearray()
        self._start = 0
        self.message: Message | None = None

    def add(self, at: int, part: bytes, size: int, source: int, slot: int) -> bool:
        """Take a part; return whether the message is complete.

        Args:
            at: where it begins in the message.
            part: the bytes.
            size: of the message.
            source: rank of the sender.
            slot: of the message.
        """
        self._arrived += len(part)
        if at:
            self._held.append((at, part))
        else:
            self.message = message = header.unpack(part, source, slot)
            if size > len(part) and not message.word & LONG:
                self._payload = bytearray(message.nbytes)
            self._begin(message, part)
        if self.message is not None:
            for where, held in self._held:
                self._store(self.message, where - self._start, held)
            self._held.clear()
        return self._arrived == size

    def _begin(self, message: Message, part: bytes) -> None:
        """Place the payload that comes with the header."""
        self._start = header.SIZE + len(message.args)
        if message.word & LONG:
            message.payload = b""
            self._store(message, 0, part[self._start :])
        elif self._payload:
            self._store(message, 0, part[self._start :])
            message.payload = self._payload

    def _store(self, message: Message, where: int, data: bytes) -> None:
        if message.word & LONG:
            if data:
                self._memory.write(message.offset + where, data)
        else:
            self._payload[where : where + len(data)] = data
