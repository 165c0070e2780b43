"""What an Active Message looks like in StarT-X messages ("packets" here): headers, cuts, sizes.

The software's header word of every packet, its *tag*:

    bits 0-15    source rank
    bits 16-23   slot: which outstanding request of its requester it belongs to
    bit  24      reply, not request
    bits 25-26   kind: HEAD, MORE or ASK
    bits 27-31   which rank of the target host it is for

A message is a stream of bytes: a head, then the payload unless that goes by RDMA.

    bytes 0-3    handler (bits 0-7), category (9-10), argument count (11-15), automatic reply (16), RDMA (17)
    bytes 4-7    payload size
    bytes 8-15   long with a payload only: offset in the receiver's segment
    then         arguments, 4 bytes each

The first packet (HEAD) carries the first 88 bytes of it, packet i (MORE) the index i in 4 bytes and 84
bytes; so packets may arrive in any order.  A head fits one packet.  With RDMA it also asks for the
receiver; a payload over the pinned buffer goes in parts, and each further one is asked for (ASK: part
in 4 bytes, size in 4).  Little-endian; no I/O and no clock here.
"""

from __future__ import annotations

import struct

from conduit.contract import AUTO_REPLY, CATEGORY, LONG, REQUEST, Message
from conduit.errors import NetworkError
from conduits.startx import constants as c

HEAD, MORE, ASK = 0, 1, 2
HEAD_BYTES = c.whole(c.PAYLOAD_MAX)
"""Bytes of the stream in a HEAD packet."""
MORE_BYTES = HEAD_BYTES - 4
"""Bytes of the stream in a MORE packet."""
MAX_ARGS = c.whole(c.MAX_ARGS)
HEAD_MAX = 16 + 4 * MAX_ARGS
MAX_RANKS, MAX_SLOTS, MAX_LOCAL = 1 << 16, 1 << 8, 1 << 5
BY_RDMA = 1 << 17
_HEADER = c.whole(c.HEADER)
_LEAST = c.whole(c.PAYLOAD_MIN)
_UNIT = c.whole(c.RDMA_UNIT)
_KEPT = 255 | CATEGORY | AUTO_REPLY
_HEAD = struct.Struct("<II")
_OFFSET = struct.Struct("<Q")
_INDEX = struct.Struct("<I")
_SHORT = struct.Struct("<4xIII")  # behind the NIU's word: tag, and the head up to its arguments
_REPLY, _KIND = 1 << 24, 3 << 25  # of a tag
_MASK = (1 << 64) - 1
_pack, _unpack_from = _HEAD.pack, _HEAD.unpack_from
_unpack_short = _SHORT.unpack_from


class BadPacket(NetworkError):
    """Bytes that arrived are no packet of this protocol."""


def tag(source: int, slot: int, is_reply: int, kind: int, local: int) -> int:
    """Return the software's header word of a packet."""
    return source | slot << 16 | is_reply << 24 | kind << 25 | local << 27


def packets(nbytes: int) -> int:
    """Return how many packets a message with the longest head and `nbytes` of payload takes."""
    return 1 + max(0, -(-(HEAD_MAX + nbytes - HEAD_BYTES) // MORE_BYTES))


def head(message: Message, *, by_rdma: bool = False) -> bytes:
    """Return the head of a message, arguments included."""
    args, word = message.args, message.word & _KEPT | (BY_RDMA if by_rdma else 0)
    start = _pack(word | len(args) << 9, message.nbytes)
    if word & LONG and message.nbytes:
        start += _OFFSET.pack(message.offset & _MASK)
    return start + args


def cut(stream: bytes) -> list[bytes]:
    """Cut a stream into the payloads of its packets, each padded to whole words."""
    found = [padded(stream[:HEAD_BYTES])]
    for index, start in enumerate(range(HEAD_BYTES, len(stream), MORE_BYTES), 1):
        found.append(padded(_INDEX.pack(index) + stream[start : start + MORE_BYTES]))
    return found


def padded(payload: bytes) -> bytes:
    """Return the payload of a packet in whole words."""
    size = len(payload)
    return payload if not size & 3 and size >= _LEAST else payload.ljust(max(_LEAST, size + -size % 4), b"\0")


def place(payload: bytes) -> int:
    """Return where in the stream the bytes of a MORE packet begin."""
    index: int = _INDEX.unpack_from(payload)[0]
    return HEAD_BYTES + (index - 1) * MORE_BYTES


def short(packet: bytes) -> Message | None:
    """Return the message that a packet, header included, is all of, if it has no payload; else None.

    The same as `message` returns, at once, since most messages are such.
    """
    tag, word, nbytes = _unpack_short(packet)
    end = 16 + (word >> 9 & 124)
    if nbytes or tag & _KIND or word >> 17 or end > len(packet):
        return None
    kept = word & _KEPT if tag & _REPLY else word & _KEPT | REQUEST
    return Message(kept, packet[16:end], b"", 0, 0, tag & 0xFFFF, tag >> 16 & 255)


def stream_packets(stream: bytes | bytearray) -> int:
    """Return how many packets the stream takes that begins with these bytes.

    Raises:
        BadPacket: no head begins like this.
    """
    word, nbytes = _unpack_from(stream)
    size = _head_size(word, nbytes) + (0 if word & BY_RDMA else nbytes)
    return 1 if size <= HEAD_BYTES else 1 - (HEAD_BYTES - size) // MORE_BYTES


def _head_size(word: int, nbytes: int) -> int:
    if word >> 18 or (word >> 11 & 31) > MAX_ARGS:
        raise BadPacket(f"the word {word:#x} begins no message: at most {MAX_ARGS} arguments, bits 18 to 31 clear")
    return (16 if word & LONG and nbytes else 8) + (word >> 9 & 124)


def message(stream: bytes, source: int, slot: int, is_reply: int) -> Message:
    """Return the message that a whole stream is; a payload that goes by RDMA is not in it.

    Raises:
        BadPacket: it is none, or too short.
    """
    word, nbytes = _unpack_from(stream)
    end = _head_size(word, nbytes)
    last = end if word & BY_RDMA else end + nbytes
    if last > len(stream):
        raise BadPacket(f"a message of {last} bytes in a stream of {len(stream)}")
    kept = word & _KEPT if is_reply else word & _KEPT | REQUEST
    if not nbytes:
        return Message(kept, stream[8:end], b"", 0, 0, source, slot)
    offset: int = _OFFSET.unpack_from(stream, 8)[0] if word & LONG else 0
    start = end - (word >> 9 & 124)
    return Message(kept, stream[start:end], stream[end:last], offset, nbytes, source, slot)


def word_of(stream: bytes | bytearray, is_reply: int) -> int:
    """Return `Message.word` of the message that begins so."""
    word = int.from_bytes(stream[:4], "little") & _KEPT
    return word if is_reply else word | REQUEST


def goes_by_rdma(stream: bytes | bytearray) -> bool:
    """Return whether the payload of the message that begins so comes by RDMA."""
    return bool(stream[2] >> 1 & 1)


def asks(tag: int, packet: bytes) -> bool:
    """Return whether a packet, header included, asks for a receiver."""
    kind = tag >> 25 & 3
    return kind == ASK or (kind == HEAD and goes_by_rdma(packet[_HEADER:]))


def ask(part: int, nbytes: int) -> bytes:
    """Return the payload of an ASK packet: for part `part`, of `nbytes`."""
    return _pack(part, nbytes)


def asked(payload: bytes) -> tuple[int, int]:
    """Return which part an ASK packet asks for, and its size."""
    part, nbytes = _unpack_from(payload)
    return part, nbytes


def whole_words(nbytes: int) -> int:
    """Return the bytes that RDMA moves for `nbytes`."""
    return nbytes + -nbytes % _UNIT
