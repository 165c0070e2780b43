"""What a rank writes once and others of its host read, in memory that they share: the requests for either.

A device that can do this has a `HostExchange`.  Other than messages such data match nothing: who reads names the call,
the writer, and which of what it writes in the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conduits.mpi.engine.transfer import Transfer, TransferEngine
from conduits.mpi.interface import SharedPiece, SharedTake

TAGS = 1 << 30
"""How many tags collective calls have; then they begin again."""
_NOTHING = memoryview(b"")


def comes_after(tag: int, other: int) -> bool:
    """Say whether the call with a tag is a later one of its communicator than that with another.

    They are less than half of all tags apart.
    """
    return 0 < (tag - other) % TAGS < TAGS // 2


class Share(Transfer):
    """What one rank writes; over when all of it is written.

    Attributes:
        part: which of what it writes in the call.
        pieces: in order; readers and takes name ranks of the world here.
        counts: whether it is a mere count of calls, which never goes down: it has no data, and nobody need say that it
            was read, since a later one says as much.
    """

    __slots__ = ("counts", "part", "pieces")

    def __init__(
        self, engine: TransferEngine, context: int, tag: int, data: memoryview, part: int,
        pieces: Sequence[SharedPiece], counts: bool,
    ) -> None:  # fmt: skip
        super().__init__(engine, context, tag, data)
        self.part = part
        self.pieces = pieces
        self.counts = counts


class SharedReading(Transfer):
    """What a rank reads of others; over when it has taken all.

    Attributes:
        takes: in the order in which it takes them.
        counts: whether they are mere counts, as `Share` has it.
        wrong: of the first that is not of the size that was counted on: who has written it, a rank of the world, and
            how many bytes that are.
    """

    __slots__ = ("counts", "takes", "wrong")

    def __init__(
        self, engine: TransferEngine, context: int, tag: int, takes: Sequence[SharedTake], counts: bool
    ) -> None:
        super().__init__(engine, context, tag, _NOTHING)
        self.takes = takes
        self.counts = counts
        self.wrong: tuple[int, int, int] | None = None


class HostExchange(Protocol):
    """One rank's use of the memory that it shares with the ranks of its host.

    Attributes:
        piece: bytes of the largest piece.
        slice: bytes that each rank combines in its turn.
    """

    piece: int
    slice: int

    def share(self, share: Share) -> None:
        """Begin to write; `engine.ended(share)` follows."""

    def read(self, reading: SharedReading) -> None:
        """Begin to read; `engine.ended(reading)` follows."""

    def freed(self, context: int, members: Sequence[int]) -> None:
        """Take note that this rank has given a communicator back.

        Args:
            context: of its collectives.
            members: its ranks, by their numbers in the world.
        """
