"""Datagrams as bytes: a header of 48 bytes, and behind it a part of a message.

    bytes 0-3     rank of the sender
    byte  4       flags: DATA (it has a part of a message), REPLY (of a reply)
    byte  5       0
    bytes 6-7     slot of the message
    bytes 8-15    number of the datagram in its stream
    bytes 16-19   where the part begins in the message
    bytes 20-23   size of the message
    bytes 24-35   acknowledgement of requests: the first number that is missing, 8 bytes, and a map of those after it,
                  bit 0 for the missing one itself
    bytes 36-47   acknowledgement of replies

Little-endian.  A message is the header of `conduit.simnet.header` and its payload.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_HEAD = struct.Struct("<IBxHQIIQIQI")
SIZE = _HEAD.size
DATA = 1
REPLY = 2
MAX_WINDOW = 32
"""As many numbers as a map has bits."""


class Acknowledgement(NamedTuple):
    """What a receiver has of one stream.

    Attributes:
        missing: the first number that has not arrived.
        later: bit i tells whether number `missing` + i has.
    """

    missing: int = 0
    later: int = 0


class Datagram(NamedTuple):
    """A datagram; see above.

    Attributes:
        source: rank of the sender.
        flags: DATA, REPLY.
        slot: of the message.
        number: in its stream.
        at: where the part begins in the message, bytes.
        size: of the message, bytes.
        requests, replies: acknowledgements of what the receiver has sent.
        part: the part.
    """

    source: int
    flags: int
    slot: int
    number: int
    at: int
    size: int
    requests: Acknowledgement
    replies: Acknowledgement
    part: bytes


def pack(datagram: Datagram) -> bytes:
    """Return the bytes of a datagram."""
    source, flags, slot, number, at, size, requests, replies, part = datagram
    return _HEAD.pack(source, flags, slot, number, at, size, *requests, *replies) + part


def unpack(data: bytes) -> Datagram:
    """Return the datagram that `data` is.

    Raises:
        ValueError: it is shorter than a header, or tells of what cannot be.
    """
    if len(data) < SIZE:
        raise ValueError(f"a datagram of {len(data)} bytes has no header; there must be at least {SIZE}")
    source, flags, slot, number, at, size, missing, later, reply_missing, reply_later = _HEAD.unpack_from(data)
    part = data[SIZE:]
    if flags & ~(DATA | REPLY) or at + len(part) > size:
        raise ValueError(f"flags {flags:#x}, {len(part)} bytes at {at} of {size}: no datagram of this protocol")
    return Datagram(
        source, flags, slot, number, at, size, Acknowledgement(missing, later),
        Acknowledgement(reply_missing, reply_later), part,
    )  # fmt: skip
