"""The plain interface of a simulated library: MPI's own names, each of which posts, charges the CPU and returns.

Every call is made with the CPU's turn taken, and its caller keeps the turn until the worker is idle (`worker`).
`send_bytes` and `receive_bytes` are for callers that make no other call in the turn, with bytes that were checked.
Nothing here polls: the rank's port does, while a task waits.  So `Test` only looks at a flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from conduits.mpi.engine.buffered import AttachedBuffer
from conduits.mpi.engine.completed import CompletedRequest
from conduits.mpi.engine.contexts import GROUP, HIDDEN, P2P, ContextNumbers
from conduits.mpi.engine.device import IncomingMessage
from conduits.mpi.engine.engine import Engine
from conduits.mpi.engine.persistent import PersistentCalls
from conduits.mpi.engine.schedule import Schedule, Steps
from conduits.mpi.engine.sharing import TAGS, HostExchange, Share, SharedReading
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG, PROC_NULL, Mode, Receive, Send
from conduits.mpi.errors import ErrorClass, MpiError
from conduits.mpi.interface import PlainRequest, SharedPiece, SharedTake

_STANDARD = Mode.STANDARD


class Found:
    """A message that was taken out of what waits, for one receive: what MPI calls a message handle.

    Attributes:
        source, tag, nbytes: of the message.
    """

    __slots__ = ("_arrival", "_engine", "nbytes", "source", "tag")

    def __init__(self, engine: Engine, arrival: IncomingMessage) -> None:
        self._engine = engine
        self._arrival: IncomingMessage | None = arrival
        self.source, self.tag, self.nbytes = arrival.source, arrival.tag, arrival.nbytes

    def Irecv(self, buf: Any) -> Receive:
        """Begin to receive it; once."""
        arrival, self._arrival = self._arrival, None
        if arrival is None:
            raise MpiError(ErrorClass.ERR_REQUEST, "Message.Irecv: this message has been received already")
        return self._engine.receive_found(arrival, writable(buf))

    def Recv(self, buf: Any) -> Receive:
        """As `Irecv`; what it returns is over as soon as the bytes are there."""
        return self.Irecv(buf)


class EngineLibrary:
    """One rank's MPI library; see `conduits.mpi.interface.PlainLibrary`.

    Args:
        engine: the rank's.

    Attributes:
        engine: the same.
        world: the communicator of all ranks.
        alone: that of this rank alone.
        buffer: where buffered sends are kept.
        numbers: of contexts.
        tags: how many tags collective calls have, from 0 on; then they begin again.
        pushes: how often to ask in a row after a large payload: here asking moves nothing.
    """

    ANY_SOURCE = ANY_SOURCE
    tags = TAGS
    pushes = 1

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.numbers = ContextNumbers(engine.rank, engine.size)
        self.buffer = AttachedBuffer(lambda nbytes: engine.charge(engine.host.copy_ticks(nbytes)))
        self.world = EngineComm(self, tuple(range(engine.size)), engine.rank, self.contexts(), "MPI_COMM_WORLD")
        self.alone = EngineComm(self, (engine.rank,), 0, self.contexts(), "MPI_COMM_SELF")

    def contexts(self) -> int:
        """Return the first of the contexts for a new communicator, as far as this rank knows."""
        return self.numbers.take()

    def next_context(self) -> int:
        """Begin to agree upon a new communicator's contexts: return what this rank proposes as the first of them.

        The highest of all ranks' wins; `agreed` ends the agreement.
        """
        return self.numbers.propose()

    def agreed(self, context: int) -> None:
        """End an agreement, with the number that was taken."""
        self.numbers.agreed(context)

    def make(self, group: tuple[int, ...], context: int, name: str) -> Steps:
        """Return a communicator whose ranks have agreed upon its contexts; None where this rank is no member."""
        yield from ()  # on real MPI it takes steps
        if self.engine.rank not in group:
            return None
        return EngineComm(self, group, group.index(self.engine.rank), context, name)

    def startall(self, requests: Sequence[PlainRequest]) -> None:
        """Begin several persistent requests, in order."""
        for request in requests:
            request.Start()

    def schedule(self, steps: Steps, what: str = "") -> Schedule:
        """Begin a call that consists of many; see `conduits.mpi.engine.schedule`."""
        return self.engine.schedule(steps, what)


class EngineComm(PersistentCalls):
    """A communicator.

    Args:
        library: the rank's.
        group: its ranks, each by its number in the world.
        rank: this rank's number in it.
        context: the first of its contexts, the same on all of its ranks.
        name: for reports.

    Attributes:
        library, group, context, name: as given.
    """

    __slots__ = ("_engine", "_rank", "context", "group", "library", "name")

    HIDDEN = HIDDEN
    GROUP = GROUP

    def __init__(self, library: EngineLibrary, group: tuple[int, ...], rank: int, context: int, name: str) -> None:
        self.library = library
        self.group = group
        self.context = context
        self.name = name
        self._engine = library.engine
        self._rank = rank

    def Get_rank(self) -> int:
        """Return this process's rank."""
        return self._rank

    def Get_size(self) -> int:
        """Return how many processes belong to it."""
        return len(self.group)

    def Dup(self) -> EngineComm:
        """Return another one of the same ranks.

        It makes up the context by itself, so all ranks of the world must have made the same communicators before: for
        who prepares a job.  Programs make theirs by an agreement of the ranks.
        """
        return EngineComm(self.library, self.group, self._rank, self.library.contexts(), f"a duplicate of {self.name}")

    def Split_type(self, split_type: int = 0, key: int = 0) -> EngineComm:
        """Return the communicator of the ranks that share this one's host; as `Dup`."""
        hosts = self._engine.hosts
        mine = hosts[self._engine.rank]
        group = tuple(each for each in self.group if hosts[each] == mine)
        return EngineComm(
            self.library,
            group,
            group.index(self._engine.rank),
            self.library.contexts(),
            f"a host's part of {self.name}",
        )

    def Free(self) -> None:
        """Give it back; what was begun in it goes on, and its contexts are never given again."""
        exchange = self._engine.device.exchange
        if exchange is not None:
            exchange.freed(self.context + HIDDEN, self.group)

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the job at once."""
        raise SystemExit(errorcode)

    # -- sends -----------------------------------------------------------------------------------------

    def Isend(
        self, buf: Any, dest: int, tag: int = 0, *, mode: Mode = Mode.STANDARD, hidden: int = P2P
    ) -> Send | CompletedRequest:
        """Begin a send of all bytes of a buffer; a memoryview is one of bytes."""
        if dest == PROC_NULL:
            return CompletedRequest()
        data = buf if buf.__class__ is memoryview else readable(buf)
        return self._engine.begin_send(self.group[dest], self.context + hidden, self._rank, tag, data, mode)

    def send_bytes(self, data: memoryview, dest: int, tag: int) -> Send | CompletedRequest:
        """As `Isend`, as the turn's only call: where nothing is in their way, the bytes go at once."""
        if dest == PROC_NULL:
            return CompletedRequest()
        engine, group = self._engine, self.group
        return engine.begin_send(group[dest], self.context, self._rank, tag, data, _STANDARD, engine.sends_at_once)

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Send | CompletedRequest:
        """Begin a send that is over only when its receive was found."""
        return self.Isend(buf, dest, tag, mode=Mode.SYNCHRONOUS)

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Send | CompletedRequest:
        """Begin a send whose receive is there already."""
        return self.Isend(buf, dest, tag, mode=Mode.READY)

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> CompletedRequest:
        """Begin a send from the attached buffer, into which it copies the bytes now.

        Raises:
            MpiError: there is no room in it.
            NetworkError: nothing gets there any more.
        """
        if dest != PROC_NULL:
            self.library.buffer.send(readable(buf), lambda data: self.Isend(data, dest, tag))
        return CompletedRequest()

    # -- receives --------------------------------------------------------------------------------------

    def Irecv(
        self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, *, hidden: int = P2P
    ) -> Receive | CompletedRequest:
        """Begin a receive into a buffer, at most as many bytes as it has; a memoryview is one of bytes."""
        if source == PROC_NULL:
            return CompletedRequest()
        data = buf if buf.__class__ is memoryview and not buf.readonly else writable(buf)
        return self._engine.begin_receive(self.context + hidden, source, tag, data)

    def receive_bytes(self, data: memoryview, source: int, tag: int) -> Receive | CompletedRequest:
        """As `Irecv`, into bytes that can be written, as the turn's only call."""
        if source == PROC_NULL:
            return CompletedRequest()
        return self._engine.begin_receive(self.context, source, tag, data)

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> IncomingMessage | CompletedRequest | None:
        """Return the message that such a receive would get, None while there is none; it stays where it is."""
        self._engine.charge(self._engine.software.test_ps)
        if source == PROC_NULL:
            return CompletedRequest()
        return self._engine.find(self.context, source, tag, take=False)

    def Improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Found | None:
        """Take out the message that such a receive would get; None while there is none."""
        self._engine.charge(self._engine.software.test_ps)
        arrival = self._engine.extract(self.context, source, tag)
        return None if arrival is None else Found(self._engine, arrival)

    # -- memory that the ranks of a host share ---------------------------------------------------------

    @property
    def exchange(self) -> HostExchange | None:
        """How ranks of one host read what another one has written; None where the library cannot."""
        return self._engine.device.exchange

    def share_pieces(
        self, data: memoryview, pieces: Sequence[SharedPiece], tag: int, part: int, *, hidden: int
    ) -> Share:
        """Begin to write pieces of `data` for others of this rank's host."""
        world = [piece._replace(readers=self._world(piece.readers)) for piece in pieces]
        return self._engine.begin_share(self.context + hidden, tag, part, data, world, False)

    def count_call(self, readers: Sequence[int], tag: int, part: int, *, hidden: int) -> Share:
        """Begin to tell others of this rank's host that it has come to a call."""
        piece = SharedPiece(0, 0, self._world(readers))
        return self._engine.begin_share(self.context + hidden, tag, part, memoryview(b""), [piece], True)

    def take_pieces(self, takes: Sequence[SharedTake], tag: int, *, hidden: int, counts: bool = False) -> SharedReading:
        """Begin to read what others of this rank's host write, in this order."""
        group = self.group
        world = [take._replace(source=group[take.source]) for take in takes]
        return self._engine.begin_reading(self.context + hidden, tag, world, counts)

    def _world(self, ranks: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.group[rank] for rank in ranks)

    def has(self, source: int, tag: int) -> bool:
        """Return whether a probe would find anything; free of cost."""
        return source == PROC_NULL or self._engine.has(self.context, source, tag)


def readable(buf: Any) -> memoryview:
    """Return the bytes of a buffer."""
    return _bytes(memoryview(buf))


def writable(buf: Any) -> memoryview:
    """Return the bytes of a buffer that can be written.

    Raises:
        TypeError: it cannot.
    """
    view = memoryview(buf)
    if view.readonly:
        raise TypeError("a receive's buffer is read-only")
    return _bytes(view)


def _bytes(view: memoryview) -> memoryview:
    if view.format == "B" and view.ndim == 1:
        return view
    return view.cast("B") if view.nbytes else memoryview(b"")
