"""The bytes of a message: a header, room for all arguments, then a payload.

    0   word    what it is, as `conduit.contract.Message.word`; number of arguments in bits 11 to 15; see below
    4   source  rank
    8   slot    of the request, at its sender
    12  nbytes  of the payload
    16  offset  of a long payload in the receiver's segment
    24          arguments, 32 bits each, little-endian
    88          payload

A message without a payload always has 88 bytes, so that one persistent send serves all of them.
"""

from __future__ import annotations

from struct import Struct

HEADER = Struct("<IIIIQ")
ARGS = HEADER.size
MAX_ARGS = 16
BARE = ARGS + 4 * MAX_ARGS
"""Bytes of a message without a payload, and where a payload begins."""

ARGS_SHIFT = 11
ARGS_MASK = 31
KEPT = 0x107FF
"""The bits of a word that belong to the message itself."""
PLACED = 1 << 17
"""The long payload is in the segment already: its sender has written it there."""
APART = 1 << 18
"""The long payload follows as an MPI message of its own, on the same communicator, with the tag `slot + 1`."""

TAG = 0
"""Of messages."""


def word_of(data: bytes) -> int:
    """Return `Message.word` of the message that begins with `data`."""
    return int.from_bytes(data[:4], "little") & KEPT


def payload_tag(slot: int) -> int:
    """Return the tag of a payload that is a message of its own."""
    return slot + 1
