"""Communicators that tell what is called, for jobs that are listened to; others have nothing of it.

A message is told where it is sent, those that a collective sends under the collective's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conduit import Endpoint
from conduits.mpi.awaited.collective import Beginning
from conduits.mpi.awaited.comm import Comm
from conduits.mpi.awaited.process import Process
from conduits.mpi.engine.contexts import P2P
from conduits.mpi.engine.persistent import PersistentCalls
from conduits.mpi.engine.transfer import PROC_NULL
from conduits.mpi.interface import SharedPiece

_INTERNAL = ("Dup", "Clone", "Split", "Split_type", "Create", "Create_group")
"""Collective calls that move none of the program's data."""
_AGREEMENT = "new communicator"
"""What sends the messages in which ranks agree upon a communicator."""


def listen(process: Process, ep: Endpoint) -> None:
    """Let the communicators that a rank has from the start, and those made of them, tell who listens to its job."""
    for name in ("world", "alone"):
        process.handles[name] = ListenedComm(process, ListenedPlain(getattr(process.library, name), ep))


class ListenedPlain(PersistentCalls):
    """A communicator of the plain interface that tells what is sent in it.

    Args:
        plain: the communicator.
        ep: the rank's endpoint.

    Attributes:
        ep: the same.
        collectives: by the tag of their messages, names of the calls that are under way or over.
    """

    __slots__ = ("_plain", "collectives", "ep")

    def __init__(self, plain: Any, ep: Endpoint) -> None:
        self._plain = plain
        self.ep = ep
        self.collectives: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    @property
    def name(self) -> str:
        """For reports."""
        name: str = self._plain.name
        return name

    @name.setter
    def name(self, name: str) -> None:
        self._plain.name = name

    def Isend(self, buf: Any, dest: int, tag: int = 0, *, hidden: int = P2P) -> Any:
        """As of the communicator."""
        begin = self.now()
        begun = self._plain.Isend(buf, dest, tag, hidden=hidden)
        self._sent(begin, buf, dest, "send" if hidden == P2P else self.collectives.get(tag, _AGREEMENT))
        return begun

    def send_bytes(self, data: memoryview, dest: int, tag: int) -> Any:
        """As `Isend`: what is told of a send ends before its bytes go."""
        return self.Isend(data, dest, tag)

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """As of the communicator."""
        return self._send(self._plain.Issend, buf, dest, tag)

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """As of the communicator."""
        return self._send(self._plain.Irsend, buf, dest, tag)

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """As of the communicator."""
        return self._send(self._plain.Ibsend, buf, dest, tag)

    def share_pieces(self, data: memoryview, pieces: Sequence[SharedPiece], tag: int, part: int, *, hidden: int) -> Any:
        """As of the communicator; told as messages to all that read."""
        begin, read = self.now(), Counter[int]()
        begun = self._plain.share_pieces(data, pieces, tag, part, hidden=hidden)
        for start, stop, readers, wanted in pieces:
            read.update(dict(zip(readers, wanted or [stop - start] * len(readers), strict=True)))
        self._read(begin, read, tag)
        return begun

    def count_call(self, readers: Sequence[int], tag: int, part: int, *, hidden: int) -> Any:
        """As of the communicator; told as messages to all that look."""
        begin = self.now()
        begun = self._plain.count_call(readers, tag, part, hidden=hidden)
        self._read(begin, dict.fromkeys(readers, 0), tag)
        return begun

    def Irecv(self, *args: Any, **named: Any) -> Any:
        """As of the communicator."""
        return self._plain.Irecv(*args, **named)

    def receive_bytes(self, data: memoryview, source: int, tag: int) -> Any:
        """As of the communicator."""
        return self._plain.receive_bytes(data, source, tag)

    def now(self) -> int:
        """Return this rank's time, picoseconds."""
        return round(self.ep.now * 1e12)

    def tell(self, begin: int, level: str, name: str, peer: int, nbytes: int) -> None:
        """Tell of a call that has begun at a time."""
        listener = self.ep.call_listener
        assert listener is not None
        listener(self.ep.rank, begin, self.now(), level, name, peer, nbytes)

    def _send(self, send: Callable[..., Any], buf: Any, dest: int, tag: int) -> Any:
        begin = self.now()
        begun = send(buf, dest, tag)
        self._sent(begin, buf, dest, "send")
        return begun

    def _read(self, begin: int, read: Mapping[int, int], tag: int) -> None:
        for reader, nbytes in read.items():
            self.tell(begin, "message", self.collectives.get(tag, _AGREEMENT), self._plain.group[reader], nbytes)

    def _sent(self, begin: int, buf: Any, dest: int, name: str) -> None:
        if dest != PROC_NULL:
            self.tell(begin, "message", name, self._plain.group[dest], memoryview(buf).nbytes)


class ListenedComm(Comm):
    """A communicator on one that tells, which tells of collectives too."""

    __slots__ = ()

    plain: ListenedPlain

    def _beginning(self, call: str, beginning: Beginning) -> Callable[[], Any]:
        plain, tag = self.plain, self._next_tag()
        begin = super()._beginning(call, beginning)
        plain.collectives[tag] = call

        def told() -> Any:
            since = plain.now()
            begun = begin()
            if call not in _INTERNAL:
                plain.tell(since, "collective", call, -1, beginning.given.nbytes)
            return begun

        return told

    def _like(self, plain: Any) -> Comm:
        return ListenedComm(self.process, ListenedPlain(plain, self.plain.ep))
