"""One rank on one network: what the core and the job ask of it, and what it may ask of the core."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from types import BuiltinMethodType, CoroutineType, MethodType
from typing import Any, NamedTuple, Protocol, TypeAlias

import attrs

from conduit.contract.message import Buffer, Bytes, Message
from conduit.contract.rma import Complete, OneSided
from conduit.errors import BadRequest


class Awaited(Enum):
    """What kind of thing a task waits for."""

    PREDICATE = "predicate"
    """That what `block_until` was given becomes true."""
    SLOT = "slot"
    """That a request may be sent."""
    SENT = "sent"
    """That a message has left."""
    ATTACH = "attach"
    """That all ranks come to a collective call of start-up."""
    RETURN = "return"
    """That the other ranks return: the rank's own main has, and it serves them."""


@attrs.frozen
class Wait:
    """What one task of a rank waits for, for the report of a deadlock.

    Attributes:
        task: the Trio task.
        what: what it waits for, in words; "" if unsaid.
        since: when the wait began, picoseconds.
        ranks: whom it waits for, as far as is known.
        ready: looks once more whether the wait is over.
        kind: what kind of thing that is.
        error: returns what was raised when that was looked at, which ends the wait too.
        predicate: the function that it is for, None where it is for none.
    """

    task: object
    what: str
    since: int
    ranks: tuple[int, ...]
    ready: Callable[[], bool]
    kind: Awaited = Awaited.PREDICATE
    error: Callable[[], BaseException | None] = lambda: None
    predicate: Callable[[], object] | None = None


class Unhandled(NamedTuple):
    """A message that has arrived and that no pass has taken, for reports.

    Attributes:
        source: rank of the sender.
        word: what the message is, as `Message.word`.
    """

    source: int
    word: int


Hook: TypeAlias = Callable[..., object] | None


@attrs.frozen
class Hooks:
    """Whom a job tells what happens in it: for each kind what to call, None without a listener.

    `conduit.core.observer` says what each is called with.  A port looks once, when it is made: without a listener it
    has no line for it that runs.

    Attributes:
        spent: CPU time.
        carried: links and engines.
        messages: whether messages have an `identity`; a network sets it on the messages that it decodes.  True also for
            listeners to landings, who are told the message that wrote the bytes.
        sent: messages; the core tells of requests and of what a rank sends to itself, the network of replies.
        noticed: messages.
        handled: messages.
        landed: bytes in segments.
        blocked: waits.
        resumed: waits.
        called: native one-sided operations, what layers call (puts, gets, collectives), and messages of a library
            beside Active Messages.
    """

    spent: Hook = None
    carried: Hook = None
    messages: bool = False
    sent: Hook = None
    noticed: Hook = None
    handled: Hook = None
    landed: Hook = None
    blocked: Hook = None
    resumed: Hook = None
    called: Hook = None


class DigestSink(Protocol):
    """What a rank has observably done, as integers, for the digest of its job (E6)."""

    def extend(self, digest_log: Iterable[int], /) -> None:
        """Log acts."""

    def __len__(self) -> int:
        """Return how many numbers wait to be hashed."""
        ...

    def flush(self) -> None:
        """Hash what is there."""


class Core(Protocol):
    """What a port may ask of the core, for its rank; `conduit.core.dispatch.Dispatch` implements it."""

    local: deque[Message]
    """Messages of this rank to itself.  A pass takes them first, like arrived ones."""
    running: str
    """Name of the handler that runs now, "" if none does."""
    attached: int
    """Number of handlers whose `attach` has returned on this rank.  Another rank may return from an attach earlier; a
    message that it sends to a handler with this index or above must be held back until the attach returns here."""
    progress_due: bool
    """Whether `run_progress` is to be awaited, in a task of the rank, after this pass."""
    progressing: bool
    """Whether `run_progress` is running."""
    hooks: Hooks | None
    """Whom to tell what happens, None without any listener."""

    @property
    def digest_log(self) -> DigestSink | None:
        """Where a network logs what programs do on it beside Active Messages; None: it is not wanted."""

    def deliver(self, message: Message) -> Message | None:
        """Run the handler of an arrived message, in the rank's own context.

        The payload of a long message must be complete in the segment.

        Returns:
            The reply to send at once (`is_auto_reply` where the handler made none); None after a reply,
            and where `message` came from this rank itself.
        """
        ...

    async def run_progress(self) -> None:
        """Run what the layers above want to send; never called from inside an event."""
        ...

    def landed(self, when: int, source: int, offset: int, data: Buffer) -> None:
        """Take note that a native operation of `source` has changed these bytes of this rank's segment.

        Args:
            when: in which event, picoseconds.
            source: the rank that began it.
            offset: where.
            data: what is there now.
        """
        ...

    def complete(self, then: Complete) -> None:
        """Call `then()` of a native operation of this rank that is complete, in the rank's own context."""
        ...


_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def refuse_coroutine(result: object, predicate: Callable[[], object] | None = None) -> None:
    """Raise BadRequest if a predicate has returned a coroutine, or a method: as objects they are always true.

    Args:
        result: of the predicate.
        predicate: itself, by which it is known whether a method was named there and not called.
    """
    if isinstance(result, MethodType | BuiltinMethodType):
        code = getattr(predicate, "__code__", None)
        if code is not None and code.co_names[-1:] == (result.__name__,):  # else a value that the program has kept
            raise BadRequest(
                f"ep.block_until: the predicate returned the method {result.__qualname__!r}, which is always true; "
                f"call it there: `{result.__name__}()`"
            )
    elif isinstance(result, CoroutineType):
        own = result.cr_code.co_filename.startswith(_PACKAGE)  # whose name says nothing to the program's author
        result.close()
        raise BadRequest(
            f"ep.block_until: the predicate returned a coroutine{'' if own else f' of {result.__qualname__!r}'}, which "
            "is always true; "
            "pass a plain function that returns the answer itself"
        )


class Port(ABC):
    """How one rank sends, polls and waits on one network.

    All coroutines are cancellation points at their start; a request is not one from the moment it
    has its slot.  At most 10 messages are handled in one pass.
    """

    rank: int

    @property
    @abstractmethod
    def segment(self) -> Bytes:
        """Return this rank's segment and the auxiliary bytes behind it: the memory itself, writable, from zero.

        It begins at an address that is a multiple of `SEGMENT_ALIGNED`.
        """

    @property
    def rma(self) -> OneSided | None:
        """Native one-sided operations, None where this network has none, or is not to use them."""
        return None

    def release(self) -> None:  # noqa: B027  not all have any
        """Hold the memory of the segment no longer: the job has failed, and it is not looked at any more."""

    def segment_of(self, rank: int) -> Bytes | None:
        """Return the segment of `rank` where this process can read and write it itself, else None."""
        return self.segment if rank == self.rank else None

    @abstractmethod
    def ticks(self) -> int:
        """Return this rank's clock: picoseconds since the start of the job, never going back."""

    @abstractmethod
    async def start(self) -> None:
        """Build queues and connections; called once by the rank's own task, before anything else.

        Tasks that the program starts are descendants of this one; handlers run in its context.
        """

    @abstractmethod
    async def serve(self) -> None:
        """Poll, this rank's main being over, until every rank's is and every message sent was handled (E1)."""

    @abstractmethod
    async def allgather(self, data: bytes) -> Sequence[bytes]:
        """Give `data` to all ranks and return theirs, by rank; collective; polls while it waits."""

    @abstractmethod
    async def request(self, dest: int, message: Message) -> None:
        """Poll once, wait for a slot (polling), send.  The payload may be reused on return."""

    @abstractmethod
    async def poll(self) -> None:
        """Handle what has arrived, at most 10 messages."""

    @abstractmethod
    async def block_until(self, predicate: Callable[[], object], what: str, ranks: Iterable[int]) -> None:
        """Poll until `predicate()` is true; it is evaluated after every pass that ran a handler.

        What is true at once, without having been waited for, goes through `refuse_coroutine`.

        `what` and `ranks` are for `waits`, and `ranks` is read whenever that is called: it may change.
        """

    @abstractmethod
    async def compute(self, ticks: int) -> None:
        """Keep this rank's CPU busy for `ticks` picoseconds without polling; not cut short."""

    @abstractmethod
    def charge(self, ticks: int) -> None:
        """As `compute`, at once and plain: the time is added to what the CPU does now."""

    def charge_library(self, ticks: int) -> None:
        """As `charge`; listeners are told that it is what a vendor's library adds to a call."""
        self.charge(ticks)

    @abstractmethod
    def work_ticks(self, flops: int, threads: int, copied: int) -> int:
        """Return what `flops` operations on `threads` CPUs and `copied` bytes cost, picoseconds."""

    @abstractmethod
    async def shielded(self, action: Callable[[], Awaitable[object]]) -> None:
        """Await `action()` shielded from the caller's cancellation."""

    @abstractmethod
    def fail(self, error: BaseException) -> None:
        """End the whole job because of `error` of this rank, from anywhere, at once.

        SystemExit carries an exit status and is no error.
        """

    async def leave_if_ending(self) -> None:
        """Raise in a job that is ending what every call raises there; in another do nothing, and let no time pass."""
        return

    @abstractmethod
    def request_pass(self) -> None:
        """Make the next poll a pass, because `core.progress_due` has become true."""

    def close(self) -> None:
        """Give back what the port holds: the job is over, however it has ended, and no call comes any more."""
        return

    def handler_context(self) -> Callable[..., Any] | None:
        """Return the `run` of the context for handlers, None where the current one is right."""
        return None

    def statistics(self) -> Mapping[str, int]:
        """Return counts of the network's own for `result.statistics`."""
        return {}

    def waits(self) -> Sequence[Wait]:
        """Return what this rank's tasks wait for."""
        return ()

    def slots_in_use(self) -> Sequence[str]:
        """Return one line for each kind of slot in use, for the report of a deadlock."""
        return ()

    def undelivered(self) -> int:
        """Return how many messages have arrived and were not handled."""
        return 0

    def unhandled(self) -> Sequence[Unhandled]:
        """Return what these are, as far as it can be seen without taking them."""
        return ()

    def untellable(self) -> Sequence[str]:
        """Return what could not be told of this for a report, in sentences without an end, each with the reason."""
        return ()

    def unended(self) -> tuple[str, str]:
        """Return which part of the network's own has not done what it must, and what that is; ("", "") for none.

        Where the network waits on purpose the part is "", beside what it waits for.  It is asked where nothing can
        happen any more, and where the predicates of `waits()` have been asked since.
        """
        return "", ""
