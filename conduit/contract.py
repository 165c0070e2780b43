"""What a network must provide: a `Conduit` per job, a `Port` per rank.

The core does all that does not depend on the network: argument checks, the handler table, tokens
and the reply-once rule, messages of a rank to itself, counts, errors.  A port moves messages and
decides when they are noticed.  docs/contract.md numbers the rules; `conduit conform` checks them.

Simulated networks rarely implement `Port` themselves: `conduit.simnet.SimulatedPort` does, for
any set of `Path`s (docs/writing_a_conduit.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from types import CoroutineType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from conduit.errors import BadRequest

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
LONG = Category.LONG << 9  # set in long and in long-async
CONTROL = 1 << 16


def word_of(handler: int, category: int, *, is_request: bool, control: bool = False) -> int:
    """Return the word that says what a message is: handler 0-7, request 8, category 9-10, control 16."""
    return handler | is_request << 8 | category << 9 | control << 16


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
            control (bit 16); bits 11-15 are left for the argument count of a header.
        args: the arguments, packed as little-endian 32-bit integers.
        payload: the bytes of a medium or long message; of an arrived long one `b""`, because they
            are in the segment by then.  Of a long-async request, and of a long reply out of the
            replier's own segment, it is a view that the network may read until delivery.
        offset: where a long payload goes in the receiver's segment, bytes.
        nbytes: size of the payload.
        address: where a long payload lies in its sender's segment, for networks to which alignment
            matters; 0 for one from elsewhere, since buffers of their own are aligned.
        source: rank of the sender.
        slot: for the receiving path: what identifies the place of the request's reply.
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
        return Category(self.word >> 9 & 3)

    @property
    def control(self) -> bool:
        """Whether no handler runs: the bare answer to a request whose handler made no reply."""
        return bool(self.word & CONTROL)


def _limit(limits: object, field: attrs.Attribute[int], value: int) -> None:
    """Refuse what is less than every network carries."""
    least = 16 if field.name == "max_args" else 512
    if not isinstance(value, int) or value < least:
        raise ValueError(f"Limits: {field.name}={value} is not allowed; pass an int of at least {least}")


@attrs.frozen
class Limits:
    """What a conduit carries in one message.

    Attributes:
        max_args: 32-bit arguments of any message, at least 16.
        max_medium: bytes of a medium payload, request or reply, at least 512.
        max_long_request: bytes of a long request's payload, at least 512.
        max_long_reply: bytes of a long reply's payload, at least 512.
    """

    max_args: int = attrs.field(validator=_limit)
    max_medium: int = attrs.field(validator=_limit)
    max_long_request: int = attrs.field(validator=_limit)
    max_long_reply: int = attrs.field(validator=_limit)


def _kind(constant: Constant, field: object, value: str) -> None:
    """Refuse a kind that nobody counts."""
    if value not in ("fact", "anchor", "assumed"):
        raise ValueError(
            f"constant {constant.name!r}: kind={value!r} is not allowed; pass 'fact', 'anchor' or 'assumed'"
        )


@attrs.frozen
class Constant:
    """A number behind a simulated network, and where it comes from.

    Attributes:
        name: what `conduit show` calls it.
        value: the number, or a short text.
        unit: "ns", "us", "us/byte", "bytes", "MB/s" (10**6) and so on; "-" for none.
        kind: "fact" and "anchor" come from a paper, "assumed" from a stated reason.
        source: the id of the fact or anchor, with the arithmetic where there is any, or the reason.
    """

    name: str
    value: object
    unit: str
    kind: Literal["fact", "anchor", "assumed"] = attrs.field(validator=_kind)
    source: str


@attrs.frozen
class JobSetup:
    """The job for which a conduit is made.

    Attributes:
        ranks: number of ranks.
        hosts: host index of every rank.
        segment: bytes of every rank's segment.
        seed: of everything random.
    """

    ranks: int
    hosts: tuple[int, ...]
    segment: int
    seed: int


def _rows(table: RawTable, field: object, rows: Sequence[Sequence[object]]) -> None:
    """Refuse rows that do not fill the columns."""
    for row in rows:
        if len(row) != len(table.columns):
            raise ValueError(f"table {table.title!r}: the row {row} does not have a cell for each of {table.columns}")


@attrs.frozen
class RawTable:
    """One table of a driver's own benchmarks, for `conduit raw`.

    Attributes:
        title: what stands above it.
        columns: titles, with units.
        rows: a cell for each column: a text, a number, which is shown with three decimals if it is a float, or None.
        note: what stands below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]] = attrs.field(validator=_rows)
    note: str = ""


@attrs.frozen
class Wait:
    """What one task of a rank waits for, for the report of a deadlock.

    Attributes:
        task: the Trio task.
        what: what it waits for, in words; "" if nobody said.
        since: when the wait began, picoseconds.
        ranks: whom it waits for, as far as is known.
        ready: looks once more whether the wait is over.
    """

    task: object
    what: str
    since: int
    ranks: tuple[int, ...]
    ready: Callable[[], bool]


Door: TypeAlias = Callable[..., object] | None


@attrs.frozen
class Doors:
    """Whom a job tells what happens in it: for each kind what to call, None where nobody listens.

    `conduit.core.observer` says what each is called with.  A port looks once, when it is made: where nobody listens it
    has no line for it that runs.

    Attributes:
        spent: CPU time.
        carried: links and engines.
        messages: whether messages have an `identity`, which a network gives to those that it makes of arrived bytes.
        sent: messages.
        noticed: messages.
        handled: messages.
        landed: bytes in segments.
        blocked: waits.
        resumed: waits.
    """

    spent: Door = None
    carried: Door = None
    messages: bool = False
    sent: Door = None
    noticed: Door = None
    handled: Door = None
    landed: Door = None
    blocked: Door = None
    resumed: Door = None


class Core(Protocol):
    """What a port may ask of the core: it is the endpoint of the port's rank."""

    local: deque[Message]
    """Messages of this rank to itself.  A pass takes them first, like arrived ones."""
    running: str
    """Name of the handler that runs now, "" if none does."""
    progress_due: bool
    """Whether `run_progress` is to be awaited, in a task of the rank, after this pass."""
    progressing: bool
    """Whether `run_progress` is running."""
    doors: Doors | None
    """Whom to tell what happens, None where nobody listens to anything."""

    def deliver(self, message: Message) -> Message | None:
        """Run the handler of an arrived message, in the rank's own context.

        The payload of a long message must be complete in the segment.

        Returns:
            The reply to send at once (`control` where the handler made none); None after a reply,
            and where `message` came from this rank itself.
        """
        ...

    async def run_progress(self) -> None:
        """Run what the layers above want to send; never called from inside an event."""
        ...


def refuse_coroutine(result: object) -> None:
    """Raise BadRequest where a predicate has returned a coroutine, which is true whatever would come of it."""
    if isinstance(result, CoroutineType):
        result.close()
        raise BadRequest(
            f"ep.block_until: the predicate returned a coroutine of {result.__qualname__!r}, which is always true; "
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
        """Return this rank's segment: the memory itself, writable, from zero."""

    @abstractmethod
    def ticks(self) -> int:
        """Return this rank's clock: picoseconds since the start of the job, never going back."""

    @abstractmethod
    async def start(self) -> None:
        """Build queues and connections; called once by every rank before anything else."""

    @abstractmethod
    async def exchange(self, data: bytes) -> Sequence[bytes]:
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

    @abstractmethod
    def nudge(self) -> None:
        """Make the next poll a pass, because `core.progress_due` has become true."""

    def handler_context(self) -> Callable[..., Any] | None:
        """Return the `run` of the context for handlers, None where the current one is right."""
        return None

    def statistics(self) -> Mapping[str, int]:
        """Return counts of the network's own for `result.statistics`."""
        return {}

    def waits(self) -> Sequence[Wait]:
        """Return what this rank's tasks wait for."""
        return ()

    def occupied(self) -> Sequence[str]:
        """Return one line for each kind of slot in use, for the report of a deadlock."""
        return ()

    def undelivered(self) -> int:
        """Return how many messages have arrived and were not handled."""
        return 0


class Conduit(ABC):
    """One network, for one job.

    Args:
        options: an instance of `Options`.
        setup: the job.
        world: the simulation kernel of the job, where `simulated`.
    """

    name: ClassVar[str]
    """As in the entry point; the registry refuses another."""
    summary: ClassVar[str] = ""
    """One line for `conduit list`."""
    simulated: ClassVar[bool] = True
    Options: ClassVar[type]
    """An attrs class made of `conduit.options.option` fields."""
    constants: ClassVar[tuple[Constant, ...]] = ()

    def __init__(self, options: Any, setup: JobSetup, world: Any) -> None:
        self.options = options
        self.setup = setup
        self.world = world

    @classmethod
    @abstractmethod
    def limits(cls, options: Any) -> Limits:
        """Return what one message may carry under `options`."""

    @abstractmethod
    def port(self, rank: int, core: Core) -> Port:
        """Return the port of `rank`, which hands what arrives to `core`."""

    @classmethod
    def max_segment(cls, options: Any) -> int | None:
        """Return the largest segment in bytes, None where there is no limit."""
        return None

    @classmethod
    def check_segment(cls, options: Any, segment: int) -> None:
        """Raise BadRequest where the network refuses a segment of that size."""
        largest = cls.max_segment(options)
        if largest is not None and segment > largest:
            raise BadRequest(
                f"segment={segment} bytes is over the {largest} that {cls.name!r} can give; ask for at most that"
            )

    @classmethod
    def max_ranks_per_host(cls, options: Any) -> int | None:
        """Return how many ranks one host holds, None where any number does."""
        return None

    @classmethod
    def max_hosts(cls, options: Any) -> int | None:
        """Return how many hosts the network can have, None where any number."""
        return None

    @classmethod
    def placement(cls, options: Any, ranks: int, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank: consecutive ranks share one.

        Raises:
            BadRequest: it does not fit; the text names the smallest `ranks_per_host` that does.
        """
        most, hosts = cls.max_ranks_per_host(options), cls.max_hosts(options)
        smallest = 1 if hosts is None else -(-ranks // hosts)
        if most is not None and smallest > most:
            raise BadRequest(
                f"ranks={ranks} does not fit on {cls.name!r}, with room for {most} ranks on each of {hosts} hosts; "
                f"use at most {(hosts or 1) * most}"
            )
        chosen = smallest if ranks_per_host is None else ranks_per_host
        if chosen < smallest or (most is not None and chosen > most):
            raise BadRequest(
                f"ranks_per_host={chosen} does not fit {ranks} ranks on {cls.name!r}; the smallest that does is "
                f"{smallest}" + (f", the largest {most}" if most is not None else "")
            )
        return tuple(rank // chosen for rank in range(ranks))

    @classmethod
    def thresholds(cls, options: Any) -> tuple[int, ...]:
        """Return payload sizes at which the network changes its way of sending, for the tests."""
        return ()

    @classmethod
    def raw_tables(cls, options: Any) -> Sequence[RawTable]:
        """Return the driver's own benchmarks, nothing where there is no driver."""
        return ()

    @classmethod
    def raw_time(cls, options: Any, category: Category, nbytes: int, *, round_trip: bool) -> float | None:
        """Return what the bare driver takes for `nbytes`, in seconds, None where there is none."""
        return None
