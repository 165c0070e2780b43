"""What the awaited names need of the rank that they are called on."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeVar

import trio

from conduit import current as current_endpoint
from conduit.contract import Clue
from conduit.errors import ConduitError
from conduit.words import many
from conduits.mpi.awaited.failed_calls import FailedCall, FailedCalls
from conduits.mpi.awaited.lent import LentBuffers
from conduits.mpi.awaited.open_requests import OpenRequests
from conduits.mpi.awaited.status import Status
from conduits.mpi.collectives.channel import Tally
from conduits.mpi.engine.transfer import PROC_NULL

_T = TypeVar("_T")


_FAILED = 4  # collective calls of a rank that a report names
_NO_PROGRAM = ("conduits.mpi.", "conduit.")


class RequestPlace(NamedTuple):
    """Where a program has begun a request.

    Attributes:
        call: its name.
        file: of the program.
        line: in it.
    """

    call: str
    file: str
    line: int

    @classmethod
    def here(cls, call: str) -> RequestPlace:
        """Return the line that is running: the innermost that is not of this package, or that started the task."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_NO_PROGRAM):
            frame = frame.f_back
        if frame.f_globals.get("__name__", "").startswith("trio."):
            with suppress(ConduitError):  # made after its job, in another task of Trio
                file, _, line = current_endpoint().started_at(trio.lowlevel.current_task()).rpartition(":")
                if file:
                    return cls(call, file, int(line))
        return cls(call, frame.f_code.co_filename, frame.f_lineno)


class Words(Protocol):
    """How a communicator tells of a call."""

    def words(self, call: str, peer: int, tag: int) -> str:
        """Return what is waited for in it."""
        ...

    def ranks_of(self, peer: int) -> Sequence[int]:
        """Return whom it waits for, by numbers in the world."""
        ...


class TransferComm(Words, Protocol):
    """A communicator whose sends and receives a process makes.

    Attributes:
        plain: the communicator of the plain interface.
    """

    plain: Any


class Both(Protocol):
    """A send and a receive that one call has begun."""

    def over(self) -> bool:
        """Return whether both are over."""
        ...

    def left(self) -> tuple[bool, bool]:
        """Return which of them are still to end."""
        ...

    def what(self) -> str:
        """Return what the call still waits for, in words."""
        ...

    def ranks(self) -> Sequence[int]:
        """Return whom it still waits for, by numbers in the world."""
        ...


class Told(Protocol):
    """What `conduit.Endpoint.on_report` calls with."""

    def note(self, text: str, messages: int = 0) -> None:
        """Add a line about this rank, and about so many messages that it has not handled."""
        ...

    def told_by_waits(self, messages: int) -> None:
        """Say that waits of their senders tell of so many messages that this rank has not handled."""
        ...

    def waits_now(self, task: object, text: str, ranks: Iterable[int] | None = None) -> None:
        """Say what a task waits for by now, and whom."""
        ...

    def clue(self, clue: Clue) -> None:
        """Add what means something beside what other ranks tell."""
        ...

    def part(
        self,
        name: str,
        members: Iterable[int],
        come: int,
        waits: Mapping[str, int],
        *,
        everybody: bool = False,
        turns: Sequence[Any] = (),
    ) -> None:
        """Say how often this rank has come to what `members` do together."""
        ...


class CallRecord(Protocol):
    """Where the collective calls of all ranks are compared: `conduits.mpi.awaited.same_calls`."""

    def called(
        self, context: int, group: Sequence[int], number: int, call: str, given: Any, rank: int, name: str
    ) -> None:
        """Take note of a call, and refuse one of which it is known that others have called another."""
        ...

    def absent(self, context: int, group: Sequence[int], number: int) -> Sequence[int]:
        """Return the ranks that have not made a call which some rank has, as far as that is known here."""
        ...


class PlainCall(Protocol):
    """How a process calls plain functions of MPI; see `Process`."""

    def __call__(self, function: Callable[..., _T], /, *args: Any) -> Coroutine[Any, Any, _T]:
        """Call one."""


class Process(ABC):
    """One rank, simulated or real.

    Args:
        library: its plain interface: `conduits.mpi.engine.plain.EngineLibrary`, or what does the same on real MPI.
        rank: its number in the world.
        hosts: the host of every rank.

    Attributes:
        library, rank, hosts: as given.
        handles: what the awaited names keep for the rank.
        collectives: which algorithms collectives take where a program names none: `STYLES` of
            `conduits.mpi.collectives.algorithms`.
        tally: where the messages of collectives are counted, None where they are not.
        same_calls: where the collective calls of all ranks are compared, or of a process kept; None where they are not.
        unwaited: how many requests were begun and not waited for, by call and line of the program.
        lent: the buffers of what was begun and not waited for.
        failed_calls: the last collective calls that have failed on this rank, or were cancelled there.
        ended: whether its job is over, so that every call is refused.
        tested: returns what a report is to say of the requests that were tested last, "" for nothing; None where the
            rank has waited since.
        call: awaited as `call(function, *args)`, calls a plain function of MPI; returns what it does when the CPU has
            done what it began.
    """

    call: PlainCall
    collectives = "flat"
    tally: Tally | None = None
    same_calls: CallRecord | None = None
    ended = False

    def __init__(self, library: Any, rank: int, hosts: Sequence[int]) -> None:
        self.library = library
        self.rank = rank
        self.hosts = tuple(hosts)
        self.handles: dict[str, Any] = {}
        self.unwaited: Counter[RequestPlace] = Counter()
        self.lent = LentBuffers(self._watch_buffers, RequestPlace.here)
        self.failed_calls: deque[FailedCall] = deque(maxlen=_FAILED)
        self.tested: Callable[[], str] | None = None

    @abstractmethod
    async def wait(self, over: Callable[[], object], what: str, ranks: Sequence[int]) -> None:
        """Poll until `over()`, which costs nothing and has no effect.

        Args:
            over: asked after each pass.
            what: what is waited for, in words, for the report of a deadlock.
            ranks: the ranks that it waits for.
        """

    async def wait_for(self, over: Callable[[], object], requests: OpenRequests) -> None:
        """As `wait`, for requests of the program."""
        await self.wait(over, requests.words(), list(requests))

    async def finished(self, request: Any, comm: Words, call: str, peer: int, tag: int) -> None:
        """Poll until a send or a receive is over that `call` has just begun.

        Args:
            request: of the plain interface; not over yet.
            comm: the communicator of the call, for reports.
            call: its name.
            peer: the other rank.
            tag: of the message.
        """
        await self.wait(lambda: request.over, comm.words(call, peer, tag), comm.ranks_of(peer))

    async def exchanged(self, exchange: Both) -> None:
        """Poll until a send and a receive that one call has begun are over.

        Args:
            exchange: both of them; one is not over yet.
        """
        # On real MPI the answer may change at any time: what is waited for is never a change of an answer.
        if all(exchange.left()):
            await self.wait(lambda: not all(exchange.left()), exchange.what(), exchange.ranks())
        if not exchange.over():  # one of them, so that the wait names the other one alone
            await self.wait(exchange.over, exchange.what(), exchange.ranks())

    async def sent(self, begun: Any, comm: Words, call: str, dest: int, tag: int) -> None:
        """Poll until a send that has begun is over; raise what it has failed with."""
        if not begun.over:
            await self.finished(begun, comm, call, dest, tag)
        if begun.error is not None:
            raise begun.error

    async def _guarded_send(self, unused: list[Any], comm: TransferComm, data: memoryview, dest: int, tag: int) -> None:
        """Send; `unused` is the guard of the call (`conduit.call_guard`)."""
        unused.clear()
        begun = await self.call(comm.plain.Isend, data, dest, tag)
        if not begun.over or begun.error is not None:
            await self.sent(begun, comm, "Send", dest, tag)

    async def _guarded_receive(
        self, unused: list[Any], comm: TransferComm, data: memoryview, source: int, tag: int, status: Status | None
    ) -> None:
        """Receive; as `_guarded_send`."""
        unused.clear()
        begun = await self.call(comm.plain.Irecv, data, source, tag)
        if not begun.over:
            try:
                await self.finished(begun, comm, "Recv", source, tag)
            except BaseException as error:
                words = comm.words("Recv", source, tag)
                if await self.taken_back(error, begun, lambda: begun.over, words, comm.ranks_of(source)):
                    raise
        if status is not None:
            status.fill(begun)
        if begun.error is not None:
            raise begun.error

    def _watch_buffers(self, some: bool) -> None:
        """Look at the buffers of sends and receives that wait by themselves as long as some are lent, else at none."""
        if self.ended:
            return
        if some:
            self._guarded_send = self._watched_send  # type: ignore[method-assign]
            self._guarded_receive = self._watched_receive  # type: ignore[method-assign]
        else:
            del self._guarded_send, self._guarded_receive

    def _watched_send(
        self, unused: list[Any], comm: TransferComm, data: memoryview, dest: int, tag: int
    ) -> Coroutine[Any, Any, None]:
        if dest != PROC_NULL:
            self.lent.look("Send", data)
        return type(self)._guarded_send(self, unused, comm, data, dest, tag)

    def _watched_receive(
        self, unused: list[Any], comm: TransferComm, data: memoryview, source: int, tag: int, status: Status | None
    ) -> Coroutine[Any, Any, None]:
        if source != PROC_NULL:
            self.lent.look("Recv", None, data)
        return type(self)._guarded_receive(self, unused, comm, data, source, tag, status)

    async def taken_back(
        self, error: BaseException, receive: Any, over: Callable[[], object], what: str, ranks: Sequence[int]
    ) -> bool:
        """Take back a receive whose wait `error` has ended; return True: it gets no message, or the job is over.

        A cancelled receive that has its message already, which no other would get, completes first: that returns False.

        Args:
            error: a cancellation, or what ends the job.
            receive: of the plain interface.
            over: whether it, and what else the call has begun, is over.
            what: as `wait` has it.
            ranks: as `wait` has them.
        """
        receive.Cancel()
        if receive.cancelled or not isinstance(error, trio.Cancelled):
            return True
        with trio.CancelScope(shield=True):  # on real MPI it may yet end without a message
            await self.wait(lambda: receive.over and (receive.cancelled or over()), what, ranks)
        return bool(receive.cancelled)

    def has_sent(self, comm: TransferComm, call: str, dest: int, tag: int) -> None:  # noqa: B027
        """Take note of a send of the program's that has begun; where time is virtual, for what is never received."""

    @abstractmethod
    async def poll(self) -> None:
        """Poll once."""

    def go_alone(self, warn: Callable[[str], None]) -> None:  # noqa: B027  not all have anything to note
        """The program is one of MPI alone, without Active Messages.

        Args:
            warn: `conduit.Endpoint.warn`, which may also be called as the job ends.
        """

    def tell(self, told: Told) -> None:
        """Tell what this rank knows when a report is made of a job that gets no further."""
        if self.tested is not None and (text := self.tested()):
            told.note(text)
        if self.failed_calls:
            told.clue(FailedCalls(tuple(dict.fromkeys(self.failed_calls))))

    async def finish(self) -> None:  # noqa: B027  where time is virtual the job waits by itself
        """Wait, when the rank's main is over, until all that it has begun is away."""

    def warnings(self) -> list[str]:
        """Return what to warn of when the rank's main is over: requests that it has not waited for, shared buffers."""
        return [
            f"{many(count, 'request')} of {call}, begun at {file}:{line}, never waited for: `await` the Wait() of each"
            ", or give them to MPI.Request.Waitall"
            for (call, file, line), count in self.unwaited.items()
            if count > 0
        ] + self.lent.warnings()

    @abstractmethod
    def copied(self, nbytes: int) -> None:
        """Take the CPU for a copy of `nbytes` bytes; in plain calls."""

    @abstractmethod
    def worked(self, nbytes: int) -> None:
        """Take the CPU for combining two operands of `nbytes` bytes each; in plain calls."""


CURRENT: ContextVar[Process | None] = ContextVar("conduits.mpi.process", default=None)
"""That of the rank whose task runs."""


def current(what: str) -> Process:
    """Return the process of the running task.

    Raises:
        ConduitError: no rank runs here.
    """
    process = CURRENT.get()
    if process is None:
        raise ConduitError(
            f"{what}: no rank of a job on MPI runs here; call it inside a program that MPI.run runs, or that "
            '`conduit run` runs and that has `api = "mpi"` at its top'
        )
    return process
