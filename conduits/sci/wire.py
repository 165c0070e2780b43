"""What an Active Message looks like in SCI memory: headers, slots, flags and where they lie.

Header, 16 bytes and 4 for each argument, at most 80, little-endian:

    bytes 0-3    handler (bits 0-7), request (8), category (9-10), argument count (11-15), slot (16-31)
    bytes 4-7    payload size
    bytes 8-15   long: offset in the receiver's payload segment
    bytes 16-    arguments

Category 3 is a long asynchronous request, and among replies the automatic empty one that frees a
slot.  No I/O and no clock here.

Source: the packing of the first word and the sizes are those of GASNet's sci-conduit (fact
sci.code.header_max); the regions are those of the conduit's paper, section 4.1.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import attrs

from conduit.contract import AUTO_REPLY, CATEGORY, CATEGORY_SHIFT, Message
from conduit.contract import REQUEST as REQUEST_BIT
from conduit.errors import NetworkError
from conduits.sci import constants as c

_HEAD = struct.Struct("<IIQ")
FIXED = _HEAD.size
HEADER_MAX = c.whole(c.HEADER_MAX)
MAX_ARGS = c.whole(c.MAX_ARGS)
REQUEST, REPLY = 0, 1
AUTO_REPLY_BITS = 3 << CATEGORY_SHIFT
"""The word of an automatic empty reply: category 3, a reply."""
_KIND = CATEGORY | REQUEST_BIT | 255
_WORDS = [kind if kind & ~255 != AUTO_REPLY_BITS else AUTO_REPLY for kind in range(_KIND + 1)]
"""`Message.word` by these bits of a header."""
_MASK = (1 << 64) - 1
_pack = _HEAD.pack
# By the number of arguments, which bits 3 to 7 of the second byte hold.
_UNPACK = [struct.Struct(f"<IIQ{4 * count}s").unpack_from for count in range(MAX_ARGS + 1)]


class BadHeader(NetworkError):
    """Bytes in a slot whose flag was set are no header."""


def pack(message: Message, slot: int) -> bytes:
    """Return the header of `message` in slot pair `slot`."""
    args, word = message.args, message.word
    if word & AUTO_REPLY:
        word = AUTO_REPLY_BITS
    # Four bytes an argument, so the size shifted by 9 is their number from bit 11 on.
    return _pack(word | len(args) << 9 | slot << 16, message.nbytes, message.offset & _MASK) + args


def unpack_into(message: Message, data: bytes | bytearray) -> None:
    """Make `message` the one with the header that `data` begins with, its payload still empty.

    Sets neither source nor slot, which the place of the header tells too.

    Raises:
        BadHeader: too short, or more arguments than there can be.
    """
    try:
        word, message.nbytes, message.offset, message.args = _UNPACK[data[1] >> 3](data)
    except (IndexError, struct.error):
        raise _bad(data) from None
    message.payload = b""
    message.word = _WORDS[word & _KIND]


def word_of(data: bytes | bytearray) -> int:
    """Return `Message.word` of the message whose header `data` begins with."""
    return _WORDS[int.from_bytes(data[:4], "little") & _KIND]


def unpack(data: bytes | bytearray, source: int = -1) -> Message:
    """Return the message of rank `source` with the header that `data` begins with; its payload is still empty.

    Raises:
        BadHeader: too short, or more arguments than there can be.
    """
    message = Message(0, source=source)
    unpack_into(message, data)
    message.slot = data[2] | data[3] << 8
    return message


def _bad(data: bytes | bytearray) -> BadHeader:
    if len(data) < FIXED:
        return BadHeader(f"a header of {len(data)} bytes is shorter than {FIXED}")
    return BadHeader(f"a header of {len(data)} bytes announces {data[1] >> 3} arguments; at most {MAX_ARGS} fit")


class DmaCut(NamedTuple):
    """A long payload, cut for DMA.

    Attributes:
        head: bytes before the first aligned address, 0 to 7.
        body: bytes that can go by DMA, a multiple of 8.
        tail: bytes behind, 0 to 7.
    """

    head: int
    body: int
    tail: int


def cut(offset: int, nbytes: int) -> DmaCut:
    """Cut `nbytes` that go to `offset` so that the body is aligned and as long as can be."""
    head = min(-offset % 8, nbytes)
    tail = (nbytes - head) % 8
    return DmaCut(head, nbytes - head - tail, tail)


@attrs.frozen
class PairedLayout:
    """The regions of the paper's design.

    Control segment of each rank: the message-exist flag, then one message-ready flag for every slot
    of every peer, a byte each.  Command segment of each rank for each peer, written by that peer
    only: request slots, then reply slots.  A slot is a header of 80 bytes and the payload area.

    Attributes:
        ranks: of the job.
        slots: pairs of slots between two ranks.
        slot_payload: bytes of the payload area.
        slot_bytes: size of a slot.
    """

    ranks: int
    slots: int
    slot_payload: int
    slot_bytes: int = attrs.field(init=False)

    EXIST = 0
    READY = 64  # a line of its own, so that the flag that every poll reads stays in the cache

    @slot_bytes.default
    def _slot_bytes(self) -> int:
        return HEADER_MAX + self.slot_payload + -self.slot_payload % 16

    @property
    def control_bytes(self) -> int:
        """Size of a control segment."""
        return self.READY + self.flags

    @property
    def flags(self) -> int:
        """Message-ready flags of a rank."""
        return 2 * self.slots * self.ranks

    @property
    def command_bytes(self) -> int:
        """Size of a command segment."""
        return 2 * self.slots * self.slot_bytes

    def slot(self, kind: int, slot: int) -> int:
        """Return where a slot of the request (0) or reply (1) queue begins in its command segment."""
        return (kind * self.slots + slot) * self.slot_bytes

    def ready(self, peer: int, kind: int, slot: int) -> int:
        """Return where the message-ready flag of a slot that `peer` writes is in the control segment."""
        return self.READY + (2 * peer + kind) * self.slots + slot


@attrs.frozen
class QueueLayout:
    """The regions of Ibel's designs: slots whose flag is the last byte of the message.

    A message is written as payload, header and flag, so that it ends where the slot ends: the flag
    has a fixed place, and since stores to one segment stay in order it is the last to land.

    Attributes:
        slots: in a queue.
        area: bytes before the header, for payloads.
    """

    slots: int
    area: int

    FLAG_BYTES = 8

    @property
    def slot_bytes(self) -> int:
        """Size of a slot."""
        return self.area + HEADER_MAX + self.FLAG_BYTES

    @property
    def queue_bytes(self) -> int:
        """Size of a queue."""
        return self.slots * self.slot_bytes

    def header(self, slot: int) -> int:
        """Return where the header of a slot begins."""
        return slot * self.slot_bytes + self.area

    def flag(self, slot: int) -> int:
        """Return where the flag of a slot is: its last byte."""
        return (slot + 1) * self.slot_bytes - 1

    def join(self, header: bytes, payload: bytes | bytearray | memoryview) -> bytes:
        """Return the bytes of a message as they are stored, up to and with the flag."""
        return bytes(payload) + header.ljust(HEADER_MAX, b"\0") + b"\0" * (self.FLAG_BYTES - 1) + b"\1"

    def start(self, slot: int, size: int) -> int:
        """Return where `size` bytes made by `join` begin."""
        return (slot + 1) * self.slot_bytes - size
