"""One Active Message, as the core and a port hand it to each other."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Buffer: TypeAlias = bytes | bytearray | memoryview
Bytes: TypeAlias = npt.NDArray[np.uint8]


class Category(IntEnum):
    """The categories of Active Messages; the values fit two bits of a header.

    `LONG_ASYNC` is a long request whose source the network may read until the reply is there; it
    is always a request.
    """

    SHORT = 0
    MEDIUM = 1
    LONG = 2
    LONG_ASYNC = 3


# Bits of `Message.word`.
REQUEST = 1 << 8
CATEGORY_SHIFT = 9
CATEGORY = 3 << CATEGORY_SHIFT  # the mask of a category
LONG = Category.LONG << CATEGORY_SHIFT  # set in long and in long-async
AUTO_REPLY = 1 << 16


def word_of(handler: int, category: int, *, is_request: bool, auto_reply: bool = False) -> int:
    """Return the word that says what a message is: handler 0-7, request 8, category 9-10, automatic reply 16."""
    return handler | is_request << 8 | category << CATEGORY_SHIFT | auto_reply << 16


class Identity(NamedTuple):
    """Which message it is: the same at both ends, though nothing of it travels.

    A request and its reply differ in `reply` alone.

    Attributes:
        source: rank that made the request.
        dest: rank to which that went.
        number: how many requests `source` had made before.
        reply: whether it is the reply.
    """

    source: int
    dest: int
    number: int
    reply: bool = False


class Message:
    """One Active Message on its way between the core and a port.

    Made once at each end of every message, hence the single word and the positional arguments.

    Attributes:
        word: handler index (bits 0-7), request and not reply (bit 8), category (bits 9-10), and
            automatic reply (bit 16); bits 11-15 are left for the argument count of a header.
        args: the arguments, packed as little-endian 32-bit integers.
        payload: the bytes of a medium or long message; of an arrived long one `b""`, because they
            are in the segment by then.  Of a long-async request, and of a long reply out of the
            replier's own segment, it is a view that the network may read until delivery.
        offset: where a long payload goes in the receiver's segment, bytes.
        nbytes: size of the payload.
        address: where a long payload lies in its sender's segment, for networks to which alignment
            matters; 0 for one from elsewhere, since buffers of their own are aligned, and where time is real.
        source: rank of the sender.
        slot: set by the receiving transport: identifies the slot reserved for the reply to this request.
    """

    __slots__ = ("address", "args", "begun", "identity", "nbytes", "offset", "payload", "slot", "source", "word")

    address: int  # set for long payloads only
    begun: int  # when its call began, picoseconds; set as `identity` is
    identity: Identity  # set where somebody listens to messages only, and never on its way

    def __init__(
        self,
        word: int,
        args: bytes = b"",
        payload: Buffer = b"",
        offset: int = 0,
        nbytes: int = 0,
        source: int = -1,
        slot: Any = None,
    ) -> None:
        self.word = word
        self.args = args
        self.payload = payload
        self.offset = offset
        self.nbytes = nbytes
        self.source = source
        self.slot = slot

    @property
    def handler(self) -> int:
        """Index of the handler at the receiver, 0 to 254."""
        return self.word & 255

    @property
    def is_request(self) -> bool:
        """Whether it is a request, not a reply."""
        return bool(self.word & REQUEST)

    @property
    def category(self) -> Category:
        """Short, medium, long or long-async."""
        return Category(self.word >> CATEGORY_SHIFT & 3)

    @property
    def is_auto_reply(self) -> bool:
        """Whether it is the automatic empty reply to a request whose handler made none; it runs no handler."""
        return bool(self.word & AUTO_REPLY)
