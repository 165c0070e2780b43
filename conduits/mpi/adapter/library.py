"""The plain interface of the awaited names on mpi4py: what `conduits.mpi.engine.plain` is on a simulated library.

Every call posts and returns.  MPI's progress is made where requests are asked after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Any, NoReturn

from conduit.words import many
from conduits.mpi.adapter.transfer import Begun, ExtractedMessage, ProbedMessage, own_error
from conduits.mpi.awaited.peers import peer_in_words
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.engine.buffered import AttachedBuffer
from conduits.mpi.engine.completed import CompletedRequest
from conduits.mpi.engine.contexts import CONTEXTS, GROUP, HIDDEN, P2P, ContextNumbers
from conduits.mpi.engine.persistent import PersistentCalls
from conduits.mpi.engine.schedule import Schedule, Steps
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG, PROC_NULL
from conduits.mpi.errors import ErrorClass, MpiError

_LOGICAL = ("MPI_LAND", "MPI_LOR", "MPI_LXOR")
_NUMBERS_ALONE = ("MPI_SUM", "MPI_PROD")
_BEFORE = -1
"""Number of the communicators that there are before a program makes any; the ranks tell the two apart."""
_TOO_MANY = "Too many communicators"
"""What MPICH and its kin say where there is no room for another one."""
_TRIES = 100
"""How often MPI is asked for a message, or for the end of a receive, before it is taken at its word."""


class Library:
    """One process's MPI.

    Args:
        mpi: the module mpi4py.MPI.
        everyone: mpi4py's communicator of all ranks; what is sent here is sent in duplicates of it.

    Attributes:
        mpi: as given.
        status: of whatever was asked after last.
        under_way: the requests that are not over, in the order in which they were begun.
        world: the communicator of all ranks.
        alone: that of this rank alone.
        buffer: where buffered sends are kept.
        sends, receives: how many have begun.
        tags: as of `conduits.mpi.engine.plain.EngineLibrary`: as many as MPI has.
        collectives: how many have begun, each by one call: which messages MPI makes of them, it does not say.
    """

    def __init__(self, mpi: Any, everyone: Any) -> None:
        self.mpi = mpi
        self.status = mpi.Status()
        self.under_way: dict[Begun, None] = {}
        self.buffer = AttachedBuffer(lambda nbytes: None)
        self.sends = self.receives = self.collectives = 0
        self._everyone = everyone
        self._schedules: list[Schedule] = []
        self._later: list[tuple[list[Schedule], Callable[[], object]]] = []  # what waits for the ends of which of them
        size, rank = everyone.Get_size(), everyone.Get_rank()
        # MPI tells communicators apart by itself; the number is the tag of the messages that make one.
        self.tags: int = everyone.Get_attr(mpi.TAG_UB) + 1
        self._numbers = ContextNumbers(rank, size, self.tags)
        self._comms: list[AdapterComm] = []
        self.world = self._kept(everyone, tuple(range(size)), "MPI_COMM_WORLD")
        self.alone = self._kept(mpi.COMM_SELF, (rank,), "MPI_COMM_SELF")

    def _kept(self, comm: Any, group: tuple[int, ...], name: str) -> AdapterComm:
        return self._made([comm.Dup() for _ in range(CONTEXTS)], group, _BEFORE, name)

    def _made(self, comms: Sequence[Any], group: tuple[int, ...], context: int, name: str) -> AdapterComm:
        made = AdapterComm(self, comms, group, context, name)
        self._comms.append(made)
        return made

    def next_context(self) -> int:
        """Begin to agree upon the number of a new communicator: return what this rank proposes; the highest wins.

        `agreed` ends the agreement.
        """
        return self._numbers.propose()

    def agreed(self, context: int) -> None:
        """End an agreement, with the number that was taken."""
        self._numbers.agreed(context)

    def make(self, group: tuple[int, ...], context: int, name: str) -> Steps:
        """Make a communicator whose ranks have agreed upon its number; returns None where this rank is no member.

        Raises:
            MpiError: MPI has refused it.
        """
        if self._everyone.Get_rank() not in group:
            return None
        making: Any = Making(
            self, self._everyone, group, context, name, lambda comms: self._made(comms, group, context, name)
        )
        yield [making]
        return making.result()

    def schedule(self, steps: Steps, what: str = "") -> Schedule:
        """Begin a call that consists of many; it goes on in `progress`."""
        made = Schedule(lambda: None, steps, what)
        made.go_on()
        if not made.over:
            self._schedules.append(made)
        return made

    def progress(self) -> None:
        """Carry on all calls that consist of many."""
        if self._schedules:
            self._schedules = [each for each in self._schedules if not (each.ready() and each.go_on())]
            if self._later:
                self._do_later()

    def when_carried_out(self, act: Callable[[], object]) -> None:
        """Do something as soon as all calls are over that consist of many and are under way now."""
        self._later.append(([*self._schedules], act))
        self._do_later()

    def _do_later(self) -> None:
        later, self._later = self._later, []
        for schedules, act in later:
            if all(each.over for each in schedules):
                act()
            else:
                self._later.append((schedules, act))

    def quiet(self) -> bool:
        """Return whether all that this rank has begun to send, and all that it takes part in, is over."""
        self.progress()
        return not self._schedules and not any(not each.receives and not each.over for each in list(self.under_way))

    def unsent(self) -> list[str]:
        """Return the calls of which messages of this rank are still to be sent, or which it takes part in, in words."""
        parts = dict.fromkeys(f"its part in {each.what}" for each in self._schedules)
        return [*parts, *(each.what for each in self.under_way if not each.receives)]

    def unreceived(self) -> list[str]:
        """Return, in words, the messages that MPI has for this rank and that nobody has received; takes them out.

        To be called when all ranks have sent what they had to.  MPI need not know by then of all that have come.
        """
        found: dict[tuple[str, str, int], list[int]] = {}
        for comm in self._comms:
            for message in comm.left():
                who = peer_in_words(message.source, comm.group[message.source])
                found.setdefault((comm.name, who, message.tag), []).append(message.nbytes)
        return [
            f"{many(len(sizes), 'message')} from {who}, tag {tag}, on {name}, {many(sum(sizes), 'byte')}"
            f"{' together' * (len(sizes) > 1)}, never received"
            for (name, who, tag), sizes in found.items()
        ]

    def unasked(self) -> frozenset[int]:
        """Return, by numbers in the world, whose messages MPI has for this rank that no receive asks for."""
        return frozenset(comm.group[source] for comm in self._comms for source in comm.unasked())

    def close(self) -> None:
        """Give everything back; nothing is sent any more by anybody."""
        for request in list(self.under_way):
            request.Cancel()
        for comm in self._comms:
            comm.give_back()


class Making:
    """A communicator that is being made.

    MPI knows no such call that returns before all ranks have come, so it is made in a thread, while the rank's other
    tasks go on.

    Args:
        library: the rank's.
        everyone: the communicator that its group is a part of.
        group: its ranks.
        context: its number, which tells it apart from those that are made at the same time.
        name: of the communicator.
        made: makes the result.
    """

    error = None  # `result` raises it

    def __init__(
        self,
        library: Library,
        everyone: Any,
        group: Sequence[int],
        context: int,
        name: str,
        made: Callable[[list[Any]], AdapterComm],
    ) -> None:
        self._library = library
        self._name = name
        self._made = made
        self._comms: list[Any] = []
        self._error: Any = None
        self._begin = (everyone, everyone.Get_group().Incl(list(group)), context)
        self._thread = Thread(target=self._run, name="makes a communicator", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether it is made."""
        return not self._thread.is_alive()

    def result(self) -> AdapterComm:
        """Return it.

        Raises:
            MpiError: MPI has refused it.
        """
        self._thread.join()
        if self._error is not None:
            error = own_error(self._library.mpi, self._error, self._name)
            if _TOO_MANY in str(error):
                error = MpiError(error.Get_error_class(), f"{error}; Free gives those back that are needed no longer")
            raise error
        return self._made(self._comms)

    def _run(self) -> None:
        everyone, group, context = self._begin
        try:
            for number in range(CONTEXTS):
                self._comms.append(everyone.Create_group(group, context + number))
        except self._library.mpi.Exception as error:
            self._error = error
            for comm in self._comms:
                comm.Free()
        finally:
            group.Free()


class AdapterComm(PersistentCalls):
    """A communicator.

    Args:
        library: the rank's.
        comms: mpi4py's, one for each purpose: for programs, for collectives, for agreements of a part of its ranks.
        group: its ranks, each by its number in the world.
        context: its number.
        name: for reports.

    Attributes:
        group, context, name: as given.
    """

    __slots__ = ("_comms", "_library", "_mpi", "_rank", "context", "group", "name")

    HIDDEN = HIDDEN
    GROUP = GROUP

    def __init__(self, library: Library, comms: Sequence[Any], group: tuple[int, ...], context: int, name: str) -> None:
        self._library = library
        self._mpi = library.mpi
        self._comms = list(comms)
        self._rank: int = self._comms[P2P].Get_rank()
        self.group = group
        self.context = context
        self.name = name

    def Get_rank(self) -> int:
        """Return this process's rank."""
        return self._rank

    def Get_size(self) -> int:
        """Return how many processes belong to it."""
        return len(self.group)

    def Free(self) -> None:
        """Give it back; what was begun in it goes on.  Again: no effect."""
        self._library.when_carried_out(self.give_back)  # MPI knows of no messages that are still to be begun

    def give_back(self) -> None:
        """Give MPI its communicators back.  Again: no effect."""
        comms, self._comms = self._comms, []
        for comm in comms:
            comm.Free()

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the job at once."""
        raise SystemExit(errorcode)

    # -- sends -----------------------------------------------------------------------------------------

    def Isend(self, buf: Any, dest: int, tag: int = 0, *, hidden: int = P2P) -> Begun | CompletedRequest:
        """Begin a send of all bytes of a buffer."""
        return self._send("Isend", buf, dest, tag, hidden)

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Begun | CompletedRequest:
        """Begin a send that is over only when its receive was found."""
        return self._send("Issend", buf, dest, tag)

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Begun | CompletedRequest:
        """Begin a send whose receive is there already; MPI need not notice where it is not."""
        return self._send("Irsend", buf, dest, tag)

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> CompletedRequest:
        """Begin a send from the attached buffer, into which it copies the bytes now.

        Raises:
            MpiError: there is no room in it.
        """
        if dest != PROC_NULL:
            self._library.buffer.send(memoryview(buf).cast("B"), lambda data: self._send("Isend", data, dest, tag))
        return CompletedRequest()

    # -- receives --------------------------------------------------------------------------------------

    def Irecv(
        self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, *, hidden: int = P2P
    ) -> Begun | CompletedRequest:
        """Begin a receive into a buffer, at most as many bytes as it has."""
        if source == PROC_NULL:
            return CompletedRequest()
        mpi = self._mpi
        source, tag = self._wanted(source, tag)
        try:
            request = self._comm(hidden, "Irecv").Irecv([buf, mpi.BYTE], source, tag)
        except mpi.Exception as error:
            raise own_error(mpi, error, f"Irecv from {source}, tag {tag}, on {self.name}") from None
        self._library.receives += 1
        return Begun(self._library, request, buf, f"a receive on {self.name}", receives=True)

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> ProbedMessage | CompletedRequest | None:
        """Return the message that such a receive would get, None while there is none; it stays where it is."""
        if source == PROC_NULL:
            return CompletedRequest()
        return ProbedMessage(self._library) if self.has(source, tag) else None

    def Improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> ExtractedMessage | None:
        """Take out the message that such a receive would get; None while there is none."""
        comm = self._comm(P2P, "Improbe")
        message = comm.Improbe(*self._wanted(source, tag), self._library.status)
        return None if message is None else ExtractedMessage(self._library, message)

    def has(self, source: int, tag: int) -> bool:
        """Return whether a probe would find anything."""
        if source == PROC_NULL:
            return True
        found: bool = self._comm(P2P, "Iprobe").Iprobe(*self._wanted(source, tag), self._library.status)
        return found

    def unasked(self) -> list[int]:
        """Return whose messages of the program's no receive has asked for; they stay where they are."""
        if not self._comms or not any(self.has(ANY_SOURCE, ANY_TAG) for _ in range(_TRIES)):
            return []
        return [source for source in range(self.Get_size()) if self.has(source, ANY_TAG)]

    def left(self) -> Iterator[ExtractedMessage]:
        """Yield the messages of the program's that no receive has asked for, which are received as if one had."""
        tries = _TRIES if self._comms else 0
        while tries:
            message = self.Improbe()
            if message is None:
                tries -= 1  # each moves messages on
                continue
            begun = message.Irecv(bytearray(message.nbytes))
            any(begun.over for _ in range(_TRIES))  # it has come, so that it is over at once or soon
            yield message

    # -- collectives of MPI's own ----------------------------------------------------------------------

    def collective(self, call: str, *args: Any) -> Begun:
        """Begin one of MPI's non-blocking collectives.

        Args:
            call: its name.
            args: buffers as bytes (`memoryview`), with blocks (`Blocks`), or of elements (with `elements`), and what
                else mpi4py's call takes.
        """
        given = [self._buffer(each) for each in args]
        try:
            request = getattr(self._comm(HIDDEN, call), call)(*given)
        except self._mpi.Exception as error:
            raise own_error(self._mpi, error, f"{call} on {self.name}") from None
        self._library.collectives += 1
        return Begun(self._library, request, given, f"{call} of the MPI library")

    def operator(self, op: str, datatype: str) -> Any:
        """Return MPI's own operator of a name, None where the program has made it or MPI refuses it for a datatype."""
        if not op or datatype == "MPI_WCHAR":
            return None
        if datatype == "MPI_C_BOOL" and op in _NUMBERS_ALONE:
            return None
        if op in _LOGICAL and datatype in ("MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE"):
            return None
        return getattr(self._mpi, op.removeprefix("MPI_"))

    def elements(self, data: memoryview | None, datatype: str) -> Any:
        """Return a buffer of elements; of None: the data are in place."""
        if data is None:
            return self._mpi.IN_PLACE
        return [data, getattr(self._mpi, datatype.removeprefix("MPI_"))]

    # -- inside ----------------------------------------------------------------------------------------

    def _comm(self, purpose: int, call: str) -> Any:
        """Return mpi4py's communicator for a purpose.

        Raises:
            MpiError: it was given back: another task has freed the communicator while a call was under way.
        """
        if not self._comms:
            raise MpiError(
                ErrorClass.ERR_COMM,
                f"{call}: {self.name} was freed while this call was under way; free a communicator when all its calls "
                "have returned",
            )
        return self._comms[purpose]

    def _send(self, call: str, buf: Any, dest: int, tag: int, hidden: int = P2P) -> Begun | CompletedRequest:
        if dest == PROC_NULL:
            return CompletedRequest()
        mpi = self._mpi
        try:
            request = getattr(self._comm(hidden, call), call)([buf, mpi.BYTE], dest, tag)
        except mpi.Exception as error:
            raise own_error(mpi, error, f"{call} to {dest}, tag {tag}, on {self.name}") from None
        self._library.sends += 1
        return Begun(self._library, request, buf, f"{call} to {dest}, tag {tag}, on {self.name}")

    def _wanted(self, source: int, tag: int) -> tuple[int, int]:
        """Return source and tag as this MPI numbers them."""
        mpi = self._mpi
        return mpi.ANY_SOURCE if source == ANY_SOURCE else source, mpi.ANY_TAG if tag == ANY_TAG else tag

    def _buffer(self, given: Any) -> Any:
        """Return a buffer of a collective as mpi4py takes it."""
        if isinstance(given, Blocks):
            return [
                given.view,
                [size for _, size in given.places],
                [start for start, _ in given.places],
                self._mpi.BYTE,
            ]
        return [given, self._mpi.BYTE] if isinstance(given, memoryview) else given
