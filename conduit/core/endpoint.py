"""The client side of the core: what a program calls on its endpoint."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import lru_cache
from sys import _getframe
from typing import Any, ClassVar, NoReturn, Protocol, SupportsIndex
from zlib import crc32

import attrs
import numpy as np

from conduit.contract import Buffer, Bytes, Category, Core, Costs, LayerReport, Limits, Message, Port, word_of
from conduit.contract.memory import address_of
from conduit.core import arguments, threads
from conduit.core.calls import Guard, guard, is_interrupted, tell_others
from conduit.core.digest import FLUSH, SEND, WAKE, DigestLog
from conduit.core.functions_given import Action, action, refuse_later, run_later, runs_later
from conduit.core.handlers import WAITS, Handler, HandlerTable, code_of, describe, mismatch
from conduit.core.of_others import OF_OTHERS
from conduit.core.refusals import refuse
from conduit.core.rma import ObservedRma, Rma
from conduit.core.started import Started, started_at
from conduit.errors import BadRequest, HandlerError
from conduit.words import is_a

_PS_PER_S = 1e12
_NOBODY: tuple[int, ...] = ()
_SHORT, _MEDIUM, _LONG, _LONG_ASYNC = (word_of(0, category, is_request=True) for category in Category)
_READ_ONLY = frozenset(
    {"rank", "size", "limits", "costs", "rma", "simulated", "host", "hosts", "segment", "max_segment"}
)
LATER = (
    "a handler may reply through its token and use ep.charge; let it set a flag and do the rest after block_until, or "
    "in ep.on_progress"
)
"""What to do in the place of a call that waits, where a handler makes it."""
_INSTEAD = {"ep.compute": "let it call ep.charge with the same cost, which takes the time without waiting"}
_MOST_SECONDS = arguments.MOST_SECONDS
_MOST_THREADS = 1 << 20  # CPUs that work together, more than any host has
_MOST_COUNTED = (1 << 63) - 1
_COPIES = 256  # sizes of copies whose cost is remembered
_NO_MORE = "nothing: the job is over, or a loop awaits none of its calls"  # in the place of a handler's name
_UNUSUAL = arguments.UNUSUAL
_KIND = _SHORT | _MEDIUM | _LONG | _LONG_ASYNC  # the bits of a word that tell them apart


class Dispatcher(Core, Protocol):
    """What handles the messages that arrive for the endpoint's rank: `conduit.core.dispatch.Dispatch`.

    Attributes:
        progress: what the layers above want to be run after a pass.
    """

    progress: list[Action]

    def connect(self, port: Port) -> None:
        """Take the port whose messages it handles."""

    def want_progress(self) -> None:
        """Ask for a run of `progress` at the next poll."""

    def counted(self) -> Mapping[str, int]:
        """Return what it has counted, by name."""


@attrs.define
class Sent:
    """Counts of what a rank has sent: what programs asked for, so no automatic replies and no attach.

    Replies are counted with the handlers that make them (`conduit.core.dispatch.Dispatch`).
    """

    requests_sent: int = 0
    payload_bytes_sent: int = 0
    payload_bytes_off_host: int = 0


class Endpoint:
    """One rank's access to the job: given to the program, never made by it.

    Every call that sends or waits is awaited; its arguments are checked when it is called.  The
    others are plain and take no simulated time, `charge` and `exit` excepted.

    Attributes:
        rank: this rank, from 0.
        size: number of ranks of the job.
        limits: what one message may carry (`max_args`, `max_medium`, `max_long_request`,
            `max_long_reply`, the last three in bytes).
        costs: what the network says of its own messages (`off_host`, `on_host`: start-up and time per byte,
            seconds; `copy_byte`), None where it does not know; the same on every rank.
        host: index of this rank's host.
        hosts: the host of every rank, by rank; one tuple for all ranks of the job.
        ranks_on_host: the ranks of that host, sorted, this one included.
        simulated: whether time is virtual.
        segment: this rank's segment, a writable array of uint8; the memory itself.
        max_segment: bytes of the largest segment that the network gives a rank, None where it gives any.
        rma: the network's native one-sided operations, None where it has none.
    """

    _instead: ClassVar = OF_OTHERS
    _called: ClassVar = "ep"
    _for_layers: ClassVar = frozenset(
        {
            "call_listener",
            "charge_library",
            "forgotten",
            "larger_segment",
            "layer_report",
            "library_cost",
            "note_send",
            "on_report",
            "place_in_segment",
            "refuse_attach",
            "refuse_calls",
            "refuse_forgotten",
            "reporters",
            "shielded",
            "started_at",
            "take_auxiliary",
            "take_library_costs",
        }
    )
    """Public for layers above and for who makes endpoints, not for programs: no hint names them."""

    __slots__ = (
        "_attached",
        "_attaches",
        "_auxiliary_bytes",
        "_auxiliary_taken",
        "_copies",
        "_digest_log",
        "_dispatch",
        "_exits",
        "_indices",
        "_larger_segment",
        "_left",
        "_library_costs",
        "_no_attach",
        "_of_layers",
        "_over",
        "_packers",
        "_port",
        "_random",
        "_seed",
        "_segment_bytes",
        "_segment_start",
        "_told",
        "_watched",
        "costs",
        "counts",
        "forgotten",
        "handlers",
        "host",
        "hosts",
        "limits",
        "max_segment",
        "rank",
        "reporters",
        "rma",
        "segment",
        "simulated",
        "size",
        "warnings",
    )

    def __init__(
        self,
        rank: int,
        hosts: tuple[int, ...],
        limits: Limits,
        segment_bytes: int,
        seed: int,
        *,
        costs: Costs,
        simulated: bool,
        max_segment: int | None = None,
        larger_segment: Callable[[int], str] | None = None,
        digest_log: DigestLog | None = None,
    ) -> None:
        self.rank = rank
        self.max_segment = max_segment
        self._larger_segment = larger_segment
        self.size = len(hosts)
        self.limits = limits
        self._packers = arguments.PACK[: limits.max_args + 1]
        self.costs = costs
        self.simulated = simulated
        self.host = hosts[rank]
        self.handlers = HandlerTable()
        self._indices = self.handlers.indices
        self._attaches = 0  # attaches begun, a ticket lock: each waits until `_attached` reaches its number
        self._attached = 0  # attaches that are over, accepted or refused
        self._no_attach = ""  # why handlers are refused, if they are
        self._copies: dict[int, int] = {}  # what copies of some sizes cost, ticks
        self.counts = Sent()
        self._of_layers: dict[str, int] = {}  # what layers above count
        self.forgotten: list[BadRequest] = []
        self._told = False  # whether the job has heard of the first of them
        self._over = False
        self.warnings: list[str] = []
        self.reporters: list[Callable[[LayerReport], object]] = []  # of `on_report`
        self.hosts = hosts
        self._segment_bytes = segment_bytes
        self._auxiliary_bytes = 0
        self._auxiliary_taken = 0
        self._watched: list[tuple[range, Callable[[int, int, bytes], object]]] = []  # auxiliary bytes, and who is told
        self._seed = seed
        self._random: random.Random | None = None
        self._digest_log = digest_log
        self._exits: list[Action] = []
        self._left = False  # whether they have been run

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; those that programs read are set once."""
        if name in _READ_ONLY and hasattr(self, name):
            instead = "; to change its bytes, write ep.segment[:] = ..." if name == "segment" else ""
            raise BadRequest(f"ep.{name} = {arguments.shown(value)} is not allowed: it is read-only{instead}")
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            raise BadRequest(
                f"ep.{name} = {arguments.shown(value)}: an endpoint takes no attributes of a program's; keep it in a "
                "variable, or in an object of your own"
            ) from None

    def __repr__(self) -> str:
        return f"<Endpoint of rank {self.rank} of {self.size}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled, alone or in what holds it.

        Raises:
            TypeError: always, as Python has it of what cannot be pickled.
        """
        raise TypeError(
            f"cannot pickle or copy {self!r}: it stays on its rank, as layers do and all else that has it; give values "
            "or arrays in its place"
        )

    def _serve(self, server: Dispatcher) -> None:
        """Take what handles the messages that arrive."""
        self._dispatch = server

    def _connect(self, port: Port) -> None:
        """Take the port that the conduit made for this rank."""
        self._port = port
        self.segment: Bytes = port.segment[: self._segment_bytes]
        self._segment_start = address_of(self.segment)
        self._auxiliary_bytes = port.segment.nbytes - self._segment_bytes
        self._dispatch.connect(port)
        native = port.rma
        kind = Rma if self.call_listener is None else ObservedRma
        self.rma = (
            None if native is None else kind(self, native, self._dispatch, self._digest_log, self._dispatch.hooks)
        )

    # -- where and when ------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """This rank's clock in seconds since the start of the job; it never goes back."""
        return self._port.ticks() / _PS_PER_S

    @property
    def ranks_on_host(self) -> tuple[int, ...]:
        """The ranks of this rank's host, sorted."""
        return _ranks_by_host(self.hosts)[self.host]

    @property
    def call_listener(self) -> Callable[..., object] | None:
        """What a layer tells of its calls that this rank makes, None where no observer listens.

        It is called as `conduit.core.observer.CallListener.called`, with this rank.  A layer looks once, when it is
        attached: without a listener it has no line for it that runs.
        """
        hooks = self._dispatch.hooks
        return None if hooks is None else hooks.called

    @property
    def random(self) -> random.Random:
        """A generator of this rank's own, seeded by the job's seed and the rank."""
        if self._random is None:
            self._random = random.Random(f"{self._seed}/rank/{self.rank}")
        return self._random

    def segment_size(self, rank: int) -> int:
        """Return the size of the segment of `rank` in bytes."""
        arguments.rank("segment_size", "rank", rank, self.size)
        return self._segment_bytes

    def larger_segment(self, nbytes: int) -> str:
        """Return what to do for segments of that size, over `max_segment`, for errors: "use sci:patched=yes".

        It goes after "or".  "" where nothing helps, as far as the network knows.

        Raises:
            BadRequest: no number of bytes.
        """
        wanted = arguments.amount("ep.larger_segment", "nbytes", nbytes, 0, _MOST_COUNTED)
        return self._larger_segment(wanted) if self._larger_segment is not None else ""

    def segment_of(self, rank: int) -> Bytes | None:
        """Return the segment of `rank` itself, where this rank can read and write it as its own; else None.

        Real ranks of one host may; simulated ones cannot, because their machine's costs are on the way.
        """
        found = self._port.segment_of(arguments.rank("segment_of", "rank", rank, self.size))
        return None if found is None else found[: self._segment_bytes]

    def take_auxiliary(self, nbytes: int, landed: Callable[[int, int, bytes], object] | None = None) -> range:
        """Give a layer memory that no program sees: where long payloads and puts may land beside the segment.

        Args:
            nbytes: how much it wants.
            landed: plain function, called as ``landed(source, offset, data)`` when a native operation of the rank
                `source` has changed bytes there.  That is at the time of the landing and in no handler: it may take
                note and call `want_progress`, nothing else.

        Returns:
            its offsets, for `request_long(..., auxiliary=True)` and `rma.put(..., auxiliary=True)` of other ranks;
            fewer or none where the network has no more (`Conduit.auxiliary`), or others have taken it.

        Raises:
            BadRequest: no number of bytes, or no function.

        Source: GASNet's auxiliary segment, which its implementation keeps to itself.
        """
        wanted = arguments.amount("ep.take_auxiliary", "nbytes", nbytes, 0, _MOST_COUNTED)
        if landed is not None and not callable(landed):
            raise BadRequest(
                f"ep.take_auxiliary: landed={arguments.shown(landed)} cannot be called; pass a plain function, or "
                "leave it out"
            )
        start = self._auxiliary_taken
        self._auxiliary_taken = min(start + wanted, self._auxiliary_bytes)
        taken = range(start, self._auxiliary_taken)
        if landed is not None:
            self._watched.append((taken, landed))
        return taken

    def _auxiliary_place(self, call: str, offset: Any, nbytes: int, dest: int) -> int:
        """Return where auxiliary bytes of a rank are, counted from the beginning of its segment."""
        return self._segment_bytes + arguments.auxiliary(call, offset, nbytes, self._auxiliary_bytes, dest)

    def _landed_behind(self, source: int, place: int, data: bytes) -> None:
        """Tell the layer whose auxiliary bytes a native operation has changed."""
        offset = place - self._segment_bytes
        for taken, landed in self._watched:
            if offset in taken:
                landed(source, offset, data)

    def host_of(self, rank: int) -> int:
        """Return the index of the host of `rank`."""
        if type(rank) is not int or not 0 <= rank < self.size:
            rank = arguments.rank("host_of", "rank", rank, self.size)
        return self.hosts[rank]

    # -- attach --------------------------------------------------------------------------------

    def attach(self, *handlers: Handler) -> Coroutine[Any, Any, None]:
        """Add handlers to the table; collective, may be repeated to add more.

        Every rank passes as many functions with the same names in the same order.  When the call
        returns, all ranks have them, so that messages may be sent at once.

        Args:
            *handlers: ordinary functions or bound methods, `handler(token, *args)` for short and
                `handler(token, payload, *args)` for medium and long messages.

        Raises:
            BadRequest: something that is no handler, one that is attached already, more than 255
                in all, or, from every rank, tables that differ between ranks.
            HandlerError: called in a handler.
        """
        self.refuse_in_handler("ep.attach")
        if self._no_attach:
            raise BadRequest(f"ep.attach: {self._no_attach}")
        try:
            self.handlers.check(handlers)
        except BadRequest as error:
            return refuse(self, error, _getframe(1))
        return self._attach(guard(self, "ep.attach"), handlers, self._attached)

    async def _attach(self, unused: Guard, handlers: tuple[Handler, ...], attached: int) -> None:
        unused.clear()
        if self.forgotten:
            self._tell_forgotten()
        turn = self._attaches
        self._attaches += 1
        try:
            if turn > self._attached:
                await self._turn_to_attach(turn)
            if turn > attached:  # others have attached since the call
                self.handlers.check(handlers)
            await self._attach_in_turn(handlers)
        finally:
            self._attached += 1

    async def _turn_to_attach(self, turn: int) -> None:
        """Wait until the earlier attaches of this rank are over: the index of our first handler depends on theirs."""

        def come() -> bool:
            return self._attached == turn

        await self._port.shielded(lambda: self._port.block_until(come, "an attach that this rank called before", ()))

    async def _attach_in_turn(self, handlers: tuple[Handler, ...]) -> None:
        names = "\n".join(handler.__name__ for handler in handlers).encode()
        before = len(self.handlers.entries)
        self.handlers.add(handlers)  # before the all-gather: the first that leaves it may send to the others at once
        try:
            tables = await self._port.allgather(names)
        except BaseException as error:
            self._port.fail(error)  # an attach that some rank left can never end (S6)
            raise
        problem = mismatch(tables, self.rank)
        if problem:
            self.handlers.cut(before)
            raise BadRequest(problem)
        self._dispatch.attached = len(self.handlers.entries)

    # -- requests ------------------------------------------------------------------------------

    def request_short(self, dest: int, handler: Handler, *args: Any) -> Coroutine[Any, Any, None]:
        """Send a short request: arguments alone.

        Polls at least once; waits, polling, while no slot to `dest` is free.

        Args:
            dest: rank to run the handler on, this one included.
            handler: an attached function.
            *args: at most `limits.max_args` integers of 32 bits, signed or unsigned; they arrive
                signed.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        if self._dispatch.running:
            self.refuse_in_handler("ep.request_short")
        try:
            if dest.__class__ is not int or not 0 <= dest < self.size:
                dest = arguments.rank("ep.request_short", "dest", dest, self.size)
            try:
                index = self._indices[handler]
                packed = self._packers[len(args)](*args)
            except _UNUSUAL:
                index = self.handlers.index("ep.request_short", handler)
                packed = arguments.pack("ep.request_short", args, self.limits.max_args)
        except BadRequest as error:
            return refuse(self, error, _getframe(1))
        frame = _getframe(1)
        return self._request(
            Guard((self, "ep.request_short", frame.f_code, frame.f_lasti)),
            dest,
            Message(_SHORT | index, packed, b"", 0, 0, self.rank),
        )

    def request_medium(self, dest: int, handler: Handler, payload: Any, *args: Any) -> Coroutine[Any, Any, None]:
        """Send a medium request: the handler gets the payload in a buffer of its own.

        Args:
            dest: rank to run the handler on.
            handler: an attached function.
            payload: C-contiguous buffer of at most `limits.max_medium` bytes; not kept after return.
            *args: as for `request_short`.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.request_medium"
        if self._dispatch.running:
            self.refuse_in_handler(call)
        try:
            if dest.__class__ is not int or not 0 <= dest < self.size:
                dest = arguments.rank(call, "dest", dest, self.size)
            try:
                index = self._indices[handler]
                packed = self._packers[len(args)](*args)
            except _UNUSUAL:
                index = self.handlers.index(call, handler)
                packed = arguments.pack(call, args, self.limits.max_args)
            if type(payload) is bytes and len(payload) <= self.limits.max_medium:
                data: Buffer = payload
            else:
                way_out = "send it with request_long"
                data = arguments.payload(call, payload, self.limits.max_medium, "max_medium", way_out)
        except BadRequest as error:
            return refuse(self, error, _getframe(1))
        frame = _getframe(1)
        return self._request(
            Guard((self, call, frame.f_code, frame.f_lasti)),
            dest,
            Message(_MEDIUM | index, packed, data, 0, len(data), self.rank),
        )

    def request_long(
        self, dest: int, handler: Handler, payload: Any, offset: int, *args: Any, auxiliary: bool = False
    ) -> Coroutine[Any, Any, None]:
        """Send a long request: the payload lands in `dest`'s segment before the handler runs.

        Args:
            dest: rank to run the handler on.
            handler: an attached function.
            payload: C-contiguous buffer of at most `limits.max_long_request` bytes; not kept after
                return.
            offset: bytes from the start of `dest`'s segment; with an empty payload any integer.
            *args: as for `request_short`.
            auxiliary: for layers: `offset` is one that `dest` got of `take_auxiliary`.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        try:
            message = self._long("ep.request_long", _LONG, dest, handler, payload, offset, args, auxiliary=auxiliary)
        except BadRequest as error:
            return refuse(self, error, _getframe(1))
        return self._request(guard(self, "ep.request_long"), int(dest), message)

    def request_long_async(
        self, dest: int, handler: Handler, payload: Any, offset: int, *args: Any
    ) -> Coroutine[Any, Any, None]:
        """Send a long request whose source stays in use until the reply.

        Args, Raises: as `request_long`.  The payload must not change until the reply's handler has
        begun, and the request's handler must reply, else the job ends with HandlerError.
        """
        try:
            message = self._long("ep.request_long_async", _LONG_ASYNC, dest, handler, payload, offset, args)
        except BadRequest as error:
            return refuse(self, error, _getframe(1))
        return self._request(guard(self, "ep.request_long_async"), int(dest), message)

    def _long(
        self,
        call: str,
        kind: int,
        dest: int,
        handler: Handler,
        payload: Any,
        offset: int,
        args: tuple[Any, ...],
        *,
        auxiliary: bool = False,
    ) -> Message:
        if self._dispatch.running:
            self.refuse_in_handler(call)
        dest = arguments.rank(call, "dest", dest, self.size)
        index = self.handlers.index(call, handler)
        packed = arguments.pack(call, args, self.limits.max_args)
        most = self.limits.max_long_request
        data = arguments.payload(call, payload, most, "max_long_request", "send it in pieces")
        if auxiliary:
            place = self._auxiliary_place(call, offset, len(data), dest)
        else:
            place = arguments.place(call, offset, len(data), self._segment_bytes, dest)
        message = Message(kind | index, packed, data, place if data else 0, len(data), self.rank)
        # Real memory is aligned as it is, and to look where the payload lies takes longer than the rest of the call.
        message.address = (self.place_in_segment(data) or 0) if self.simulated else 0
        return message

    async def _request(self, unused: Guard, dest: int, message: Message) -> None:
        unused.clear()
        if self.forgotten:
            self._tell_forgotten()
        if message.nbytes and message.word & _KIND != _LONG_ASYNC:
            message.payload = bytes(message.payload)  # the first step of the call (S4); bytes are not copied
        if dest == self.rank:
            await self._request_self(message)
        else:
            await self._port.request(dest, message)
            self.counts.requests_sent += 1
            self.note_send(message, dest)

    async def _request_self(self, message: Message) -> None:
        await self._port.poll()  # may be cancelled; from here on the message is as good as sent (S2)
        self.counts.requests_sent += 1
        self.note_send(message, self.rank)
        self._dispatch.local.append(message)
        self._port.request_pass()

    def note_send(self, message: Message, dest: int) -> None:
        """Log a message to `dest` and count its bytes: what programs asked for, so no automatic replies."""
        if message.nbytes:
            self._note_payload(message, dest)
            return
        digest_log = self._digest_log
        if digest_log is not None:
            digest_log += (self._port.ticks(), SEND | message.word, dest, 0, crc32(message.args))
            if len(digest_log) > FLUSH:
                digest_log.flush()

    def _note_payload(self, message: Message, dest: int) -> None:
        nbytes = message.nbytes
        counts = self.counts
        counts.payload_bytes_sent += nbytes
        if self.hosts[dest] != self.host:
            counts.payload_bytes_off_host += nbytes
        digest_log = self._digest_log
        if digest_log is not None:
            check = crc32(message.payload, crc32(message.args))
            digest_log += (self._port.ticks(), SEND | message.word, dest, nbytes, check)
            if len(digest_log) > FLUSH:
                digest_log.flush()

    # -- waiting and working -------------------------------------------------------------------

    def poll(self) -> Coroutine[Any, Any, None]:
        """Handle what has arrived, at most 10 messages; costs at least 1 ns of this rank's time."""
        self.refuse_in_handler("ep.poll")
        return self._poll(guard(self, "ep.poll"))

    async def _poll(self, unused: Guard) -> None:
        unused.clear()
        if self.forgotten:
            self._tell_forgotten()
        await self._port.poll()

    def block_until(
        self, predicate: Callable[[], object], *, what: str = "", ranks: Iterable[int] = _NOBODY
    ) -> Coroutine[Any, Any, None]:
        """Poll until `predicate()` is true; already true: return without polling.

        A handler of this rank, or another task of it, makes it true.

        Args:
            predicate: a plain function of no arguments, evaluated any number of times.
            what: what is waited for, for the report of a deadlock.
            ranks: whom it waits for, for the same report.  A collection is read again when that is made, an iterable
                without a length only then, so that it may say who is missing by then.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.block_until"
        if self._dispatch.running:
            self.refuse_in_handler(call)
        try:
            try:
                if predicate.__code__.co_flags & WAITS:  # there is a code nearly always
                    _refuse_waiting(call, predicate)
            except AttributeError:
                if _flags_of(call, predicate) & WAITS:
                    _refuse_waiting(call, predicate)
            if what.__class__ is not str and not isinstance(what, str):
                raise BadRequest(f"{call}: what={arguments.shown(what)} {is_a(what)}; pass a str")
            if ranks is not _NOBODY:
                for rank in ranks if type(ranks) is tuple else (None,):
                    if type(rank) is not int or not 0 <= rank < self.size:
                        ranks = arguments.ranks(call, "ranks", ranks, self.size)
                        break
        except BadRequest as error:
            return refuse(self, error, _getframe(1))
        frame = _getframe(1)
        return self._block_until(Guard((self, call, frame.f_code, frame.f_lasti)), predicate, what, ranks)

    async def _block_until(
        self, unused: Guard, predicate: Callable[[], object], what: str, ranks: Iterable[int]
    ) -> None:
        unused.clear()
        if self.forgotten:
            self._tell_forgotten()
        await self._port.block_until(predicate, what, ranks)
        digest_log = self._digest_log
        if digest_log is not None:
            digest_log += (self._port.ticks(), WAKE)
            if len(digest_log) > FLUSH:
                digest_log.flush()

    def compute(
        self, seconds: float | None = None, *, flops: int | None = None, threads: int = 1
    ) -> Coroutine[Any, Any, None]:
        """Do local work of a known cost, during which nothing is polled and no timeout cuts in.

        Args:
            seconds: how long it takes; or
            flops: floating-point operations, on
            threads: that many CPUs of the host; with `flops` alone.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler; use `charge` there.
        """
        call = "ep.compute"
        if self._dispatch.running:
            self.refuse_in_handler(call)
        try:
            if seconds is None:
                if flops is None:
                    _refuse_work(call, seconds, flops)
                ticks = self._cost(call, 0.0, flops, 0, threads)
            else:
                if flops is not None:
                    _refuse_work(call, seconds, flops)
                if type(threads) is not int or threads != 1:
                    _refuse_threads(call, seconds, threads)
                ticks = self._cost(call, seconds, 0, 0, 1)
        except BadRequest as error:
            return refuse(self, error, _getframe(1))
        return self._compute(guard(self, call), ticks)

    async def _compute(self, unused: Guard, ticks: int) -> None:
        unused.clear()
        if self.forgotten:
            self._tell_forgotten()
        await self._port.compute(ticks)

    def charge(self, seconds: float = 0.0, *, flops: int = 0, copied: int = 0) -> None:
        """Add the cost of local work to this rank's CPU, at once; also in handlers.

        Args:
            seconds: a time.
            flops: floating-point operations.
            copied: bytes copied from memory to memory.

        Raises:
            BadRequest: a wrong argument.
        """
        if type(copied) is int and type(seconds) is float and not seconds and type(flops) is int and not flops:
            # Nearly always, and of few sizes.
            ticks = self._copies.get(copied)
            if ticks is None:
                ticks = self._cost("ep.charge", 0.0, 0, copied, 1)
                if len(self._copies) < _COPIES:
                    self._copies[copied] = ticks
        else:
            ticks = self._cost("ep.charge", seconds, flops, copied, 1)
        self._port.charge(ticks)

    def charge_library(self, seconds: float) -> None:
        """Add what a vendor's library takes for a call (`library_cost`) to this rank's CPU, as `charge` adds work.

        Args:
            seconds: a time.

        Raises:
            BadRequest: a wrong argument.
        """
        self._port.charge_library(self._cost("ep.charge_library", seconds, 0, 0, 1))

    def _cost(self, call: str, seconds: float, flops: int, copied: int, threads: int) -> int:
        if type(seconds) is float and 0.0 <= seconds <= _MOST_SECONDS:
            time = seconds
        else:
            time = arguments.number(call, "seconds", seconds, _MOST_SECONDS)
        ticks = round(time * _PS_PER_S)
        if type(flops) is type(copied) is type(threads) is int and threads == 1 and not flops and not copied:
            return ticks
        return ticks + self._work(call, flops, copied, threads)

    def _work(self, call: str, flops: int, copied: int, threads: int) -> int:
        operations = int(arguments.number(call, "flops", flops, arguments.MOST_WORK))
        nbytes = arguments.amount(call, "copied", copied, 0, arguments.MOST_WORK)
        count = arguments.amount(call, "threads", threads, 1, _MOST_THREADS)
        work = self._port.work_ticks(operations, count, nbytes) if operations or nbytes else 0
        if work > _MOST_SECONDS * _PS_PER_S:
            given = f"flops={operations}" if operations else f"copied={nbytes}"
            raise BadRequest(
                f"{call}: {given} would take {work / _PS_PER_S:.3g} s on this host; pass what takes at most "
                f"{_MOST_SECONDS:g} s"
            )
        return work

    def exit(self, code: int = 0) -> NoReturn:
        """End the job at once everywhere; `run` raises SystemExit(code).

        Args:
            code: exit status, 0 to 255.

        Raises:
            SystemExit: always.
            BadRequest: no such status, of which the system would keep 8 bits, and 256 be 0; or called in a thread that
                runs no rank.
        """
        threads.refuse_plain_elsewhere("ep.exit")
        error = SystemExit(arguments.status("ep.exit", "code", code))
        self._port.fail(error)
        raise error

    # -- for layers above ----------------------------------------------------------------------

    def on_exit(self, function: Action) -> None:
        """Run an async function of no arguments once this rank's main has returned.

        Last registered, first run; others may still be in their main.  Not after an error or exit.

        Raises:
            BadRequest: no such function, or this rank has run what was registered already.
        """
        if self._left:
            raise BadRequest(
                f"ep.on_exit: this rank's main has returned, and what was registered has been run; register "
                f"{describe(function)} before"
            )
        self._exits.append(action("ep.on_exit", function))

    def on_progress(self, function: Action) -> None:
        """Register an async function of no arguments to be run after `want_progress()`.

        The next poll of this rank runs it, after the handlers and before predicates.  It may send
        and wait, is not re-entered and is not cancelled with the call that polled.

        Raises:
            BadRequest: no such function.
        """
        self._dispatch.progress.append(action("ep.on_progress", function))

    def want_progress(self) -> None:
        """Ask for what `on_progress` registered; plain, so that handlers can."""
        self._dispatch.want_progress()

    def shielded(self, function: Action) -> Awaitable[None]:
        """Await an async function of no arguments, which is not cancelled with the task that calls.

        For a rank's part in what all ranks do: as a shielded scope of Trio's, and cheaper.
        """
        return self._port.shielded(function)

    def on_report(self, function: Callable[[LayerReport], object]) -> None:
        """Let a layer tell what it knows of this rank when a report is made of a job that gets no further.

        Args:
            function: a plain function of one argument, `told`, called then and at no other time.  `told.note(text)`
                adds a line about this rank, `told.advise(text)` what to do.  `told.waits_now(task, text, ranks=None)`
                says what a task waits for as it stands by then, and whom, in the place of the `what` and the `ranks` of
                its wait.  `told.holds(task, what, place)` says what a task holds since which line, and
                `told.wants(what, wait="", held="")` that this rank waits for what another holds, in a wait of that
                `what`, which is `held` where one that it names holds it: the report then tells who is to let go of it,
                and before which call.  `told.part(name, members, come, waits, everybody=False)` says how often this
                rank has come to what `members` do together, and `waits` which of its waits is for which turn: the
                report then names the ranks that have not come.  `told.clue(clue)` adds what means something beside the
                clues of other ranks alone, which the report asks for advice (`conduit.contract.Clue`).
                `told.says_once(what, short)` lets a long name come once.  What it raises is left out.

        Raises:
            BadRequest: no function.
        """
        if not callable(function):
            raise BadRequest(
                f"ep.on_report: function={arguments.shown(function)} cannot be called; pass a plain function of one "
                "argument"
            )
        refuse_later("ep.on_report", function)
        self.reporters.append(function)

    def started_at(self, task: Started) -> str:
        """Return the line of the program that started a task which runs no line of it, as text; "" for another.

        `nursery.start_soon(x.call)`, with a call of a layer, leaves no other line for what that layer says.

        Args:
            task: a task of Trio.
        """
        where = started_at(task)
        return "" if where is None else f"{where[0]}:{where[1]}"

    def layer_report(self) -> LayerReport:
        """Return what the layers report about this rank, and which function of them raises."""
        told = LayerReport()
        for function in self.reporters:
            try:
                if runs_later(given := function(told)):
                    told.note(run_later(given, f"{describe(function)}, given to ep.on_report"))
            except Exception as error:  # no report is lost by it
                told.note(f"{describe(function)}, given to ep.on_report, raised {type(error).__name__}: {error}")
        return told

    def refuse_attach(self, why: str) -> None:
        """Refuse handlers from here on; for layers whose programs do without Active Messages.

        Args:
            why: for who calls attach all the same, and what to do instead.

        Raises:
            BadRequest: `why` is no str.
        """
        if not isinstance(why, str):
            raise BadRequest(f"ep.refuse_attach: why={arguments.shown(why)} {is_a(why)}; pass a str")
        self._no_attach = why

    def warn(self, text: str) -> None:
        """Add a warning, shown after the job and kept in `result.warnings[rank]`.

        Raises:
            BadRequest: `text` is no str.
        """
        if not isinstance(text, str):
            raise BadRequest(f"ep.warn: text={arguments.shown(text)} {is_a(text)}; pass a str")
        self.warnings.append(text)

    def take_library_costs(self, costs: Mapping[str, float]) -> None:
        """Take what `library_cost` tells; for who makes the endpoint."""
        self._library_costs = costs

    def library_cost(self, name: str) -> float:
        """Return what a vendor's library adds to a call, in seconds, 0.0 where the network lists none.

        Args:
            name: of the call, as the network's page calls it: "mpi_get".

        Raises:
            BadRequest: `name` is no str.
        """
        if not isinstance(name, str):
            raise BadRequest(
                f"ep.library_cost: name={arguments.shown(name)} {is_a(name)}; pass the name of a call, a str"
            )
        return self._library_costs.get(name, 0.0)

    def count(self, name: str, n: int = 1) -> None:
        """Add to a count of a layer's own, shown in `result.statistics[rank]`; plain, takes no time.

        Args:
            name: what is counted; begin it with the layer's name, so that it is no other's.
            n: how many more, 0 or above; of 0 the name is listed all the same.

        Raises:
            BadRequest: `name` is no str or one that the core or the network counts itself, or `n` no such integer.
        """
        if not isinstance(name, str):
            raise BadRequest(f"ep.count: name={arguments.shown(name)} {is_a(name)}; pass a str")
        if name not in self._of_layers and (who := self._who_counts(name)):
            raise BadRequest(f"ep.count: name={name!r} is counted by the {who} itself; pass a name of the layer's own")
        more = arguments.amount("ep.count", "n", n, 0, _MOST_COUNTED)
        self._of_layers[name] = self._of_layers.get(name, 0) + more

    def _who_counts(self, name: str) -> str:
        """Return who counts something by that name already, "" for nobody."""
        return "core" if name in self._counted() else "network" if name in self._port.statistics() else ""

    def refuse_calls(self) -> None:
        """Let every further call raise: so many were forgotten that the program makes them in a loop (E4)."""
        # Where a handler's name stands, because every call looks there already: no second test on the hot path.
        self._dispatch.running = _NO_MORE

    @property
    def in_handler(self) -> bool:
        """Whether a handler of this rank is running."""
        return self._dispatch.running not in ("", _NO_MORE)

    def refuse_in_handler(self, call: str) -> None:
        """Raise HandlerError where a handler of this rank is running, which may not make `call`."""
        if self._dispatch.running:
            if self._dispatch.running is _NO_MORE:
                self._refuse_forgetful()
            raise HandlerError(
                f"{call}: called in handler {self._dispatch.running!r}, which may not wait; "
                + _INSTEAD.get(call, LATER)
            )

    def refuse_forgotten(self) -> None:
        """Raise BadRequest where the program has thrown a call away that it never awaited.

        For layers above that are about to refuse another call, which may come of that.
        """
        if self.forgotten:
            self._tell_forgotten()

    def place_in_segment(self, data: Buffer) -> int | None:
        """Return where in this rank's segment `data` begins, None if it is no view of the segment."""
        if not isinstance(data, memoryview) or not data.nbytes:
            return None
        offset = address_of(np.frombuffer(data, np.uint8)) - self._segment_start
        return offset if 0 <= offset <= self._segment_bytes - data.nbytes else None

    def _refuse_forgetful(self) -> NoReturn:
        error = BadRequest(str(self.forgotten[-1]))
        if not (self._told or self._over):
            self._told = True
            self._port.fail(error)
        raise error

    def _tell_forgotten(self) -> None:
        """Raise the error of a call that was never awaited, which ends the job, once; or that the job is over."""
        error = self.forgotten[0]
        if self._over or threads.is_elsewhere():  # from another thread the job cannot be ended
            raise error
        if is_interrupted():
            self.forgotten.clear()
            raise KeyboardInterrupt  # again, rather than an error for what it has thrown away
        if not self._told:
            self._told = True
            tell_others(self.forgotten)
            self._port.fail(error)  # the program may catch it
            raise error

    def _counted(self) -> Mapping[str, int]:
        """Return what the core has counted for this rank, sorted by name, then what layers above have."""
        native = self.rma.counted() if self.rma is not None else {}
        counts = {**attrs.asdict(self.counts), **self._dispatch.counted(), **native}
        return dict(sorted(counts.items())) | self._of_layers

    def _end_job(self) -> None:
        """Refuse every further call: programs may have kept the endpoint, or a layer, when the job is over."""
        # Both are what every call tests already: no second test on the hot path.  A call is refused when it is made,
        # since nobody would hear any more of one that is not awaited; what was called before, when it is awaited.
        self._over = True
        self._dispatch.running = _NO_MORE
        self.forgotten[:] = [
            BadRequest(
                f"this call is on the endpoint of rank {self.rank} of a job that is over; make calls while main runs, "
                "and return from it what is wanted afterwards"
            )
        ]

    def _let_go(self) -> None:
        """Hold the memory of the segment no longer, since the job has failed and the port has let go of it."""
        object.__setattr__(self, "segment", self._port.segment)  # which is empty now
        self._dispatch.connect(self._port)

    async def _run_exits(self) -> None:
        while self._exits:
            await self._exits.pop()()
        self._left = True


@lru_cache(maxsize=16)
def _ranks_by_host(hosts: tuple[int, ...]) -> Mapping[int, tuple[int, ...]]:
    """Return the ranks of each host, sorted: reckoned once for all ranks of a job, which have one tuple of hosts."""
    found: dict[int, list[int]] = {}
    for rank, host in enumerate(hosts):
        found.setdefault(host, []).append(rank)
    return {host: tuple(ranks) for host, ranks in found.items()}


def _refuse_work(call: str, seconds: object, flops: object) -> NoReturn:
    """Say that work is given twice or not at all."""
    both = f"seconds={arguments.shown(seconds)} and flops={arguments.shown(flops)}"
    given = "neither" if seconds is None else both
    raise BadRequest(f"{call}: {given} given; pass one of the two, seconds= or flops=")


def _refuse_threads(call: str, seconds: object, threads: object) -> None:
    """Refuse CPUs beside a time, which nothing is divided by, but for one of them.

    Raises:
        BadRequest: there are others.
    """
    count = arguments.integer(call, "threads", threads)
    if count == 1:
        return
    raise BadRequest(
        f"{call}: threads={arguments.shown(count)} goes with flops=, not with seconds={arguments.shown(seconds)}, "
        "which are how long the work takes on however many CPUs; leave threads out and pass the seconds that remain, "
        "or pass flops="
    )


def _refuse_waiting(call: str, predicate: Callable[[], object]) -> NoReturn:
    """Say that a predicate gives no answer."""
    raise BadRequest(
        f"{call}: predicate={describe(predicate)} is async or a generator function, so that what it returns is always "
        "true; pass an ordinary function"
    )


def _flags_of(call: str, predicate: object) -> int:
    """Return the flags of the code that a call of `predicate` begins with."""
    code = code_of(predicate)
    if code is None:
        what = "its `is_set`, or another" if hasattr(predicate, "is_set") else "a"
        raise BadRequest(
            f"{call}: predicate={arguments.shown(predicate)} cannot be called; pass {what} function of no arguments, "
            "`lambda: ...`, which is called again and again"
        )
    return code.co_flags
