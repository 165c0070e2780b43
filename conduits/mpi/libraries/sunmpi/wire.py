"""What a message looks like in postboxes of 64 bytes, and what acknowledges them.

An entry takes as many postboxes of its queue as it needs, one behind the other.  Each is a line, so that its flag and
its contents land together; two lines may land in any order.  Little-endian:

    byte 0       flag: 0 empty, 1 first postbox of an entry, 2 a further one
    bytes 2-3    first: postboxes of the entry; further: its place among them
    bytes 4-7    sequence number: how many postboxes of the queue were written before
    bytes 8-63   what follows, cut into pieces of 56 bytes: the header, then data or the numbers of blocks, as the
                 kind says

Source: postboxes sf.sis.postbox, sf.q.postbox; acknowledgements of one byte sf.sis.ack; the fields are assumed
(sf.gap.envelope).
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, pack, unpack_from
from typing import NamedTuple

LINE = 64
FIRST, FURTHER = 1, 2
INLINE, EAGER, REQUEST, ACK, DATA, MATCHED = range(1, 7)
"""Kinds of entries: a message with its data; one whose data, or the first of them, are in blocks; one without (the
request of a rendezvous); the answer to that, its receive has been found; more data in blocks; the receive of a
synchronous one has been found."""
MESSAGES = (INLINE, EAGER, REQUEST)
FREED, KEPT = 0, 1
"""What an acknowledgement says of the data: they were taken; or the postboxes alone are free."""

_PREFIX = Struct("<BBHI")
_HEADER = Struct("<BBHIiiQII")
_SINGLE = Struct("<BBHIBBHIiiQII")
"""A first postbox up to the end of the header."""
HEADER = _HEADER.size
_BEFORE = _PREFIX.size
ROOM = LINE - _BEFORE
"""Bytes of an entry in one postbox."""
SINGLE = ROOM - HEADER
"""Bytes of the largest message that fits one postbox with its header."""
_WHOLE = Struct(f"<IIIIiiQII{SINGLE}s")
"""All of a postbox that is an entry by itself; its flag and number of postboxes in one, its kind, mode and number of
blocks in one."""
ALONE = FIRST | 1 << 16
"""The first of these two."""
KIND, MODE = 0xFF, 8
"""Of the second one the mask of the kind, and the place of the mode."""
SEQUENCES = 1 << 32
"""Sequence numbers begin again behind that many."""
POINTER = 2


class PostboxHeader(NamedTuple):
    """What an entry says.

    Attributes:
        kind: see above.
        mode: of the send.
        blocks: how many numbers of blocks follow.
        context, source, tag: of the message.
        nbytes: of the message; with ACK how many are wanted, with DATA how many these are.
        send: number of the send, at its sender.
        receive: number of the receive, at the receiver.
    """

    kind: int
    mode: int
    blocks: int
    context: int
    source: int
    tag: int
    nbytes: int
    send: int
    receive: int


def about(kind: int, send: int, nbytes: int = 0, receive: int = 0, blocks: int = 0) -> PostboxHeader:
    """Return the header of an entry that is no message but about one."""
    return PostboxHeader(kind, 0, blocks, 0, 0, 0, nbytes, send, receive)


def count(nbytes: int) -> int:
    """Return how many postboxes hold a header and `nbytes` behind it."""
    return -(-(HEADER + nbytes) // ROOM)


def pointers(blocks: Sequence[int]) -> bytes:
    """Return the numbers of blocks as an entry holds them."""
    return pack(f"<{len(blocks)}H", *blocks)


def blocks_of(header: PostboxHeader, rest: bytes) -> tuple[int, ...]:
    """Return the numbers of blocks behind a header."""
    return unpack_from(f"<{header.blocks}H", rest)


def entry(header: PostboxHeader, rest: bytes, number: int) -> bytes:
    """Return the postboxes of an entry, the first of which has a sequence number."""
    if len(rest) <= ROOM - HEADER:  # nearly always
        return (_SINGLE.pack(FIRST, 0, 1, number % SEQUENCES, *header) + rest).ljust(LINE, b"\0")
    data = _HEADER.pack(*header) + rest
    postboxes = -(-len(data) // ROOM)
    parts = []
    for place in range(postboxes):
        flag, what = (FIRST, postboxes) if not place else (FURTHER, place)
        parts.append(_PREFIX.pack(flag, 0, what, (number + place) % SEQUENCES))
        parts.append(data[place * ROOM : (place + 1) * ROOM])
    return b"".join(parts).ljust(postboxes * LINE, b"\0")


pack_single, unpack_single = _WHOLE.pack, _WHOLE.unpack_from
"""Of a postbox that is an entry by itself: `ALONE`, sequence number, kind and mode, then the other fields of a header,
and `SINGLE` bytes of data."""


def postboxes(line: bytes, number: int) -> int:
    """Return how many postboxes the entry has whose first is to be `number`; 0 where `line` is no such postbox."""
    flag, _, many, found = _PREFIX.unpack_from(line)
    return int(many) if flag == FIRST and found == number % SEQUENCES else 0


def is_further(line: bytes, number: int) -> bool:
    """Return whether `line` is a further postbox of that number."""
    flag, _, _, found = _PREFIX.unpack_from(line)
    return bool(flag == FURTHER and found == number % SEQUENCES)


def decode(lines: Sequence[bytes]) -> tuple[PostboxHeader, bytes]:
    """Return the header of an entry, and what is behind it."""
    first = lines[0]
    header = PostboxHeader._make(_HEADER.unpack_from(first, _BEFORE))
    if len(lines) == 1:
        return header, first[_BEFORE + HEADER :]
    return header, b"".join([first[_BEFORE + HEADER :], *(line[_BEFORE:] for line in lines[1:])])


def ack_byte(postbox: int, queue: int) -> int:
    """Return the acknowledgement of a postbox: which use of its line it was, 1 to 255, never 0."""
    return postbox // queue % 255 + 1


def ack(postbox: int, queue: int, state: int) -> bytes:
    """Return the line that acknowledges a postbox."""
    return ACKS[state][postbox // queue % 255]


ACKS = tuple([bytes((use, state)).ljust(LINE, b"\0") for use in range(1, 256)] for state in (FREED, KEPT))
"""Lines of acknowledgements, by state and use."""


NUMBER = Struct("<Q")


def line_of(number: int) -> bytes:
    """Return the line that says a number: of a release, or of bytes."""
    return NUMBER.pack(number).ljust(LINE, b"\0")
