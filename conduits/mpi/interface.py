"""What the conduit asks of an MPI library: mpi4py's own names, of which every one posts and returns.

Real MPI is mpi4py itself.  Nothing waits here, so that a simulated library can stand behind the same names.  Buffers
are objects with the buffer protocol, and all of their bytes are meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol


class PlainRequest(Protocol):
    """A send or a receive that was begun; a persistent one may be begun again and again."""

    def Start(self) -> None:
        """Begin a persistent one."""

    def Test(self) -> bool:
        """Return whether it is over, or was never begun."""

    def Cancel(self) -> None:
        """Ask for its end without a message."""

    def Free(self) -> None:
        """Give a persistent one back that is not under way."""


class PlainComm(Protocol):
    """A communicator: messages in one are never seen in another."""

    def Get_rank(self) -> int:
        """Return this process's rank."""

    def Get_size(self) -> int:
        """Return how many processes belong to it."""

    def Dup(self) -> PlainComm:
        """Return another one of the same processes; collective, and no messages are under way."""

    def Free(self) -> None:
        """Give it back; collective."""

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> PlainRequest:
        """Begin a send; the buffer may be reused when it is over."""

    def Irecv(self, buf: Any, source: int = ..., tag: int = ...) -> PlainRequest:
        """Begin a receive."""

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> PlainRequest:
        """Make a persistent send of one buffer to one rank."""

    def Recv_init(self, buf: Any, source: int = ..., tag: int = ...) -> PlainRequest:
        """Make a persistent receive into one buffer."""


class PlainLibrary(Protocol):
    """What belongs to no communicator."""

    @property
    def pushes(self) -> int:
        """How often in a row to ask after a large payload, which may move only while it is asked after."""

    @property
    def ANY_SOURCE(self) -> int:
        """As `source`: any rank."""

    def startall(self, requests: Sequence[PlainRequest]) -> None:
        """Begin several persistent requests, in order."""


class SharedPiece(NamedTuple):
    """A piece of what one rank writes for others of its host, in memory that they share.

    Attributes:
        start, stop: where it is in what is written, bytes.
        readers: who reads it, ranks of the communicator.
        wanted: how many bytes of it each of them reads, where that is not all; for who is told.
    """

    start: int
    stop: int
    readers: tuple[int, ...]
    wanted: tuple[int, ...] = ()


class SharedTake(NamedTuple):
    """What a rank reads of such a piece.

    Attributes:
        source: who writes it, a rank of the communicator.
        part: which of what it writes in the call.
        number: of the piece.
        start, stop: what is wanted of it, bytes within the piece.
        total: how many bytes are counted on in all pieces together.
        land: takes what was read.
        runs: to how many places it goes.
    """

    source: int
    part: int
    number: int
    start: int
    stop: int
    total: int
    land: Callable[[bytes], object]
    runs: int = 1
