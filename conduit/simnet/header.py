"""The header of an Active Message as bytes: 16 bytes and 4 for each argument.

    bytes 0-3    handler (bits 0-7), request (8), category (9-10), argument count (11-15), automatic reply (16)
    bytes 4-7    payload size
    bytes 8-15   offset in the receiver's segment (long)
    bytes 16-    arguments, 32 bits each

Little-endian.  Used by the shared memory of a host and by networks without a layout of their own.
"""

from __future__ import annotations

import struct

from conduit.contract import Message

FORMAT = "IIq"
"""The 16 bytes, as `struct` writes them."""
_HEAD = struct.Struct(f"<{FORMAT}")
_UNPACK = [struct.Struct(f"<{FORMAT}{4 * count}s").unpack_from for count in range(32)]  # by the number of arguments
SIZE = _HEAD.size
MAX_SIZE = SIZE + 4 * 16
COUNT = 31 << 11
"""Where the word has the number of arguments; shifted by 9 to the right it is their bytes."""
_WORD = ~COUNT  # where it has what it is in memory


def pack(message: Message) -> bytes:
    """Return the header of `message`."""
    args = message.args
    return _HEAD.pack(message.word | len(args) << 9, message.nbytes, message.offset) + args


def word_of(data: bytes | bytearray | memoryview) -> int:
    """Return `Message.word` of the message whose header `data` begins with."""
    return int.from_bytes(data[:4], "little") & _WORD


def unpack(data: bytes, source: int, slot: int) -> Message:
    """Return the message whose header, and medium payload if any, `data` is.

    Args:
        data: header, and behind it what else the slot holds.
        source: rank of the sender.
        slot: number of the slot.
    """
    word, nbytes, offset, args = _UNPACK[data[1] >> 3](data)
    payload = data[SIZE + len(args) :][:nbytes] if nbytes else b""
    return Message(word & _WORD, args, payload, offset, nbytes, source, slot)
