"""What an Active Message looks like in postboxes of 64 bytes, and where postboxes and acknowledgements lie.

A message takes as many consecutive postboxes of its queue as it needs.  Each is one line, so that its flag and its
contents land together; two lines may land in any order.  Little-endian:

    byte 0       flag: 0 empty, 1 first postbox of a message, 2 a further one
    byte 1       form: where the payload is (`Form`)
    bytes 2-3    first: postboxes of the message; further: its place among them
    bytes 4-7    sequence number: how many postboxes of the queue were written before, modulo 2**32
    bytes 8-63   what follows, cut into pieces of 56 bytes: the header of `conduit.simnet.header` with the
                 arguments; then payload, or the numbers of blocks plus 1, 4 bytes each, as the form says

A postbox is known to be new by its sequence number, so that one that was written again after its message had been
taken is not taken twice.  No I/O and no clock here.

Source: postboxes sf.sis.postbox, sf.q.postbox; acknowledgements sf.sis.ack; the fields are ours (sf.gap.envelope).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import takewhile
from typing import TypeAlias

import attrs

from conduit.contract import Message
from conduit.errors import NetworkError
from conduit.simnet import header
from conduit.words import many

Line: TypeAlias = bytes | bytearray | memoryview
LINE = 64
FIRST, FURTHER = 1, 2
_PREFIX = struct.Struct("<BBHI")
PREFIX = _PREFIX.size
SINGLE = LINE - PREFIX - header.SIZE
"""Bytes of arguments and payload that fit one postbox."""
DATA = LINE - PREFIX
"""Bytes of a message in one postbox."""
POINTER = 4
MAX_ARGS = (header.MAX_SIZE - header.SIZE) // 4
_SINGLE = struct.Struct(f"{_PREFIX.format}{header.FORMAT}{SINGLE}s")
Fields: TypeAlias = tuple[int, int, int, int, int, int, int, bytes]
"""Of a postbox: flag, form, postboxes or place, sequence number; of a first one word, payload size and offset of the
header, and what is behind it."""
_SEQUENCES = 1 << 32
_pack = _PREFIX.pack
_unpack_from = _PREFIX.unpack_from
_pack_single = _SINGLE.pack
fields_of: Callable[[Line], Fields] = _SINGLE.unpack
"""Return the fields of a postbox."""


class Form(IntEnum):
    """Where the payload of a message is.

    `INLINE`: behind the header.  `BLOCKS`: in blocks, whose numbers are behind the header.  `STRAIGHT`: the whole
    lines of a long payload are in the segment; what is left of its first and last line is behind the header.
    """

    INLINE = 0
    BLOCKS = 1
    STRAIGHT = 2


class BadPostbox(NetworkError):
    """Bytes in a postbox whose flag was set are no message."""


def count(nbytes: int) -> int:
    """Return how many postboxes hold `nbytes` of header, arguments, payload and pointers."""
    return -(-nbytes // DATA)


def lines(nbytes: int) -> int:
    """Return how many lines hold `nbytes`."""
    return -(-nbytes // LINE)


def pack(head: bytes, form: int, sequence: int) -> bytes:
    """Return the postboxes of a message, one line behind the other.

    Args:
        head: header, arguments, and behind them payload or pointers.
        form: a `Form`.
        sequence: number of the first postbox in its queue, from 0.
    """
    if len(head) <= DATA:
        return (_pack(FIRST, form, 1, sequence % _SEQUENCES) + head).ljust(LINE, b"\0")
    postboxes = count(len(head))
    parts = [_pack(FIRST, form, postboxes, sequence % _SEQUENCES), head[:DATA]]
    for place in range(1, postboxes):
        parts.append(_pack(FURTHER, form, place, (sequence + place) % _SEQUENCES))
        parts.append(head[place * DATA : (place + 1) * DATA])
    return b"".join(parts).ljust(postboxes * LINE, b"\0")


def pack_single(message: Message, sequence: int) -> bytes:
    """Return the postbox of a message whose arguments and payload fit one; as `pack` does, at once."""
    args, nbytes = message.args, message.nbytes
    word = message.word | len(args) << 9
    data = args + message.payload if nbytes else args
    return _pack_single(FIRST, 0, 1, sequence % _SEQUENCES, word, nbytes, message.offset, data)


def pointers(blocks: Sequence[int]) -> bytes:
    """Return the numbers of blocks as a postbox holds them."""
    return struct.pack(f"<{len(blocks)}I", *(block + 1 for block in blocks))


def is_new(line: Line, sequence: int) -> bool:
    """Return whether a postbox holds the one of that number, and neither nothing nor an older one."""
    flag, _, _, found = _unpack_from(line)
    return bool(flag) and bool(found == sequence % _SEQUENCES)


def unpack(lines: Sequence[Line], source: int, sequence: int) -> tuple[Message, int, tuple[int, ...]]:
    """Return the message that postboxes hold, its form, and the numbers of the blocks that its payload is in.

    Args:
        lines: as many as the first says, in order.
        source: rank of the sender.
        sequence: number of the first.

    Raises:
        BadPostbox: they are not the postboxes of one message.
    """
    flag, form, postboxes, _ = _unpack_from(lines[0])
    if flag != FIRST or postboxes != len(lines) or form > Form.STRAIGHT:
        raise BadPostbox(
            f"postbox {sequence} from rank {source} has flag {flag}, form {form} and announces {postboxes} postboxes; "
            f"expected is the first of {len(lines)}"
        )
    parts = [lines[0][PREFIX:]]
    for place in range(1, postboxes):
        flag, _, place_said, number = _unpack_from(lines[place])
        if flag != FURTHER or place_said != place or number != (sequence + place) % _SEQUENCES:
            raise BadPostbox(f"postbox {sequence + place} from rank {source} is not number {place} of its message")
        parts.append(lines[place][PREFIX:])
    data = b"".join(parts)
    if data[1] >> 3 > MAX_ARGS or header.SIZE + 4 * (data[1] >> 3) > len(data):
        raise BadPostbox(f"postbox {sequence} from rank {source} announces {many(data[1] >> 3, 'argument')}")
    message = header.unpack(data, source, 0)
    start = header.SIZE + len(message.args)
    if form == Form.INLINE:
        if start + message.nbytes > len(data):
            raise BadPostbox(
                f"postbox {sequence} from rank {source}: {message.nbytes} bytes of payload do not fit {postboxes} "
                "postboxes"
            )
        return message, form, ()
    if form == Form.STRAIGHT:
        edges = cut(message.offset, message.nbytes).edges
        if start + edges > len(data):
            raise BadPostbox(
                f"postbox {sequence} from rank {source}: {edges} bytes of edges do not fit {postboxes} postboxes"
            )
        message.payload = data[start : start + edges]
        return message, form, ()
    message.payload = b""
    found = struct.unpack_from(f"<{(len(data) - start) // POINTER}I", data, start)
    blocks = tuple(pointer - 1 for pointer in takewhile(bool, found))
    return message, form, blocks


@attrs.frozen
class Body:
    """A long payload, cut for stores of whole lines.

    Attributes:
        head: bytes before the first whole line of the target, 0 to 63.
        lines: bytes in whole lines.
        tail: bytes behind, 0 to 63.
    """

    head: int
    lines: int
    tail: int

    @property
    def edges(self) -> int:
        """Bytes that a line-wise store cannot place."""
        return self.head + self.tail


def cut(offset: int, nbytes: int) -> Body:
    """Cut `nbytes` that go to `offset` into whole lines and what is left of the first and last."""
    head = min(-offset % LINE, nbytes)
    tail = (nbytes - head) % LINE
    return Body(head, nbytes - head - tail, tail)


def ack_byte(postbox: int, queue: int) -> int:
    """Return the acknowledgement of a postbox: which use of its line it was, 1 to 255, never 0.

    Args:
        postbox: its number, from 0.
        queue: postboxes of its queue.
    """
    return postbox // queue % 255 + 1
