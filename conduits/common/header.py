"""The header of an Active Message as bytes: 16 bytes and 4 for each argument.

    bytes 0-3    handler (bits 0-7), request (8), category (9-10), argument count (11-15), control (16)
    bytes 4-7    payload size
    bytes 8-15   offset in the receiver's segment (long)
    bytes 16-    arguments, 32 bits each

Little-endian.  Used by the shared memory of a host and by networks without a layout of their own.
"""

from __future__ import annotations

import struct

from conduit.contract import Message

_HEAD = struct.Struct("<IIq")
SIZE = _HEAD.size
MAX_SIZE = SIZE + 4 * 16


def pack(message: Message) -> bytes:
    """Return the header of `message`."""
    args = message.args
    word = (
        message.handler
        | message.is_request << 8
        | message.category << 9
        | len(args) >> 2 << 11
        | message.control << 16
    )
    return _HEAD.pack(word, message.nbytes, message.offset) + args


def unpack(data: bytes) -> Message:
    """Return a message with the header that `data` begins with, its payload still empty."""
    word, nbytes, offset = _HEAD.unpack_from(data)
    end = SIZE + (word >> 11 & 31) * 4
    return Message(
        word >> 9 & 3,
        word & 255,
        data[SIZE:end],
        b"",
        offset,
        nbytes=nbytes,
        is_request=bool(word >> 8 & 1),
        control=bool(word >> 16 & 1),
    )
