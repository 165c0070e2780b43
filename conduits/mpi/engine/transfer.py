"""The two halves of a message: a send and a receive, from their call to their end."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # what it is made of is the simulation, which a program of MPI may do without
    from conduits.mpi.engine.software import Software

ANY_SOURCE = -2
"""As a receive's source: any rank.  MPICH's number, as are the others."""
ANY_TAG = -1
"""As a receive's tag: any."""
TAG_UB = (1 << 31) - 1
"""The largest tag."""
PROC_NULL = -1
"""As a rank: none.  A send to it or a receive from it is over at once."""


class Mode(IntEnum):
    """When a send is over, and what it relies on."""

    STANDARD = 0
    """Over when its buffer may be used again."""
    SYNCHRONOUS = 1
    """Over when, besides, its receive has been found."""
    READY = 2
    """Its receive is there already; an error where it is not."""


class TransferEngine(Protocol):
    """What a transfer sees of its rank's engine.

    Attributes:
        software: what the library's calls take.
    """

    software: Software

    def charge(self, ticks: int) -> None:
        """Take the CPU for another `ticks` picoseconds."""

    def cancel(self, receive: Receive) -> None:
        """End a receive without a message, unless it has one."""


class Transfer:
    """A send or a receive: what a request stands for.

    Attributes:
        engine: its rank's.
        data: the caller's bytes, to be read or to be written.
        context: of the communicator.
        tag: of the message; of a receive before its match what it was called with.
        over: whether it has ended.
        cancelled: whether it has ended without a message.
        error: what its end is to raise, None where all is well.
    """

    __slots__ = ("cancelled", "context", "data", "engine", "error", "over", "tag")

    def __init__(self, engine: TransferEngine, context: int, tag: int, data: memoryview) -> None:
        self.engine = engine
        self.context = context
        self.tag = tag
        self.data = data
        self.over = False
        self.cancelled = False
        self.error: BaseException | None = None

    def Test(self) -> bool:
        """Return whether it is over; charges what a test costs.

        Raises:
            Exception: `error`.
        """
        self.engine.charge(self.engine.software.test_ps)
        if self.over and self.error is not None:
            raise self.error
        return self.over


class Send(Transfer):
    """The half that gives.

    Attributes:
        dest: to whom, a rank of the world.
        source: this rank's number in the communicator.
        mode: see `Mode`.
        sent: whether the buffer may be used again.
        matched: whether this rank knows that its receive was found; only synchronous sends need that.
        number: of all sends of this rank, which names it in messages about it.
    """

    __slots__ = ("dest", "matched", "mode", "number", "sent", "source")

    def __init__(
        self,
        engine: TransferEngine,
        context: int,
        tag: int,
        data: memoryview,
        dest: int,
        source: int,
        mode: Mode,
        number: int,
    ) -> None:
        self.engine = engine
        self.context = context
        self.tag = tag
        self.data = data
        self.over = self.cancelled = False
        self.error = None
        self.dest = dest
        self.source = source
        self.mode = mode
        self.sent = self.matched = False
        self.number = number

    def Cancel(self) -> None:
        """Do nothing: a send that has begun goes on."""

    def Start(self) -> None:
        """Refuse: it is not persistent."""
        raise TypeError("Start: this request is no persistent one")

    def Free(self) -> None:
        """Do nothing: it goes on by itself."""


class Receive(Transfer):
    """The half that takes.

    Attributes:
        source: from which rank of the communicator, or ANY_SOURCE; after the match the sender.
        nbytes: size of the message that was matched, which may be more than there is room.
        room: how many of these bytes fit the buffer.
        number: of all receives of this rank, which names it in messages about it.
        received: bytes of it that are there, for devices that take it in pieces.
    """

    __slots__ = ("nbytes", "number", "received", "room", "source")

    def __init__(
        self, engine: TransferEngine, context: int, tag: int, data: memoryview, source: int, number: int
    ) -> None:
        self.engine = engine
        self.context = context
        self.tag = tag
        self.data = data
        self.over = self.cancelled = False
        self.error = None
        self.source = source
        self.nbytes = self.room = self.received = 0
        self.number = number

    def match(self, source: int, tag: int, nbytes: int) -> None:
        """Take note of the message that it gets."""
        self.source = source
        self.tag = tag
        self.nbytes = nbytes
        room = len(self.data)
        self.room = nbytes if nbytes < room else room

    def Cancel(self) -> None:
        """End it without a message, unless it has one."""
        self.engine.cancel(self)

    def Start(self) -> None:
        """Refuse: it is not persistent."""
        raise TypeError("Start: this request is no persistent one")

    def Free(self) -> None:
        """Do nothing: it goes on by itself."""
