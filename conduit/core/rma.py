"""Native one-sided operations as layers above call them: `ep.rma`, where the network has any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from sys import _getframe
from typing import Any, Protocol
from zlib import crc32

from conduit.contract import AtomicOp, Buffer, Complete, Hooks, OneSided, Port, StridedSection
from conduit.core import arguments
from conduit.core.calls import Caller, Guard, guard
from conduit.core.digest import BEGIN, COMPLETE, FLUSH, DigestLog
from conduit.core.refusals import refuse
from conduit.errors import BadRequest
from conduit.words import is_a, many

_PUT, _GET, _ATOMIC, _ARRIVE = range(4)  # in the digest
_MOST = 1 << 63
_NAMES = ("rma_puts", "rma_gets", "rma_atomics", "rma_bytes")


class Completes(Protocol):
    """What calls back when an operation is complete: the rank's dispatch.

    Attributes:
        running: name of the handler that runs now, "" if none does.
    """

    running: str

    def complete(self, then: Complete) -> None:
        """Call `then()` as a handler is called."""


class RmaRank(Caller, Protocol):
    """What these operations see of their rank, which is its endpoint."""

    rank: int
    size: int
    simulated: bool
    _port: Port

    def segment_size(self, rank: int) -> int:
        """Return the size of the segment of `rank` in bytes."""

    def _auxiliary_place(self, call: str, offset: Any, nbytes: int, dest: int) -> int:
        """Return where auxiliary bytes of a rank are, counted from the beginning of its segment."""

    def refuse_in_handler(self, call: str) -> None:
        """Raise HandlerError where a handler of this rank is running."""

    def place_in_segment(self, data: Buffer) -> int | None:
        """Return where in this rank's segment `data` begins, None if it is no view of the segment."""

    def _tell_forgotten(self) -> None:
        """Raise the error of a call that was never awaited."""


def nothing(*_: object) -> None:
    """Take no notice that an operation is complete."""


class Rma:
    """What this rank does to the segments of all ranks, who need do nothing for it.

    A call returns when its operation has begun; `then` is called in a poll of this rank, or at the end of the call,
    when it is complete.  Like a handler it may not send or wait, and sees to no more than itself.  Operations are not
    ordered, but by `fence`.  Each call polls once, is a cancellation point before that, and not after.

    Args:
        ep: the rank's endpoint.
        native: the network's side.
        server: calls back.
        digest_log: where the acts of the rank are logged for the digest, if there is one.
        hooks: whom to tell what happens, None without a listener.
    """

    __slots__ = ("_counts", "_digest_log", "_ep", "_hooks", "_native", "_server")

    def __init__(
        self, ep: RmaRank, native: OneSided, server: Completes, digest_log: DigestLog | None, hooks: Hooks | None
    ) -> None:
        self._ep = ep
        self._server = server
        self._native = native
        self._digest_log = digest_log
        self._hooks = hooks
        self._counts: Counter[str] = Counter(dict.fromkeys(_NAMES, 0))

    @property
    def outstanding(self) -> int:
        """How many operations of this rank have been begun and are not complete."""
        return self._native.outstanding

    def counted(self) -> Mapping[str, int]:
        """Return what has been begun, by name: puts, gets and atomics, and the bytes of puts and gets."""
        return dict(self._counts)

    # -- puts and gets -------------------------------------------------------------------------

    def put(
        self, dest: int, offset: int, data: Any, then: Complete = nothing, *, auxiliary: bool = False
    ) -> Coroutine[Any, Any, None]:
        """Begin to store bytes in the segment of a rank; return when `data` may be changed.

        Args:
            dest: rank that receives, this one included.
            offset: in its segment, bytes.
            data: C-contiguous buffer.
            then: plain function of no arguments, called when the bytes are there for all to see.
            auxiliary: for layers: `offset` is one that `dest` got of `ep.take_auxiliary`.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.put"
        try:
            dest = self._target(call, dest, then)
            given = arguments.buffer(call, "data", data)
            if auxiliary:
                place = self._ep._auxiliary_place(call, offset, len(given), dest)
                return self._signal(guard(self._ep, call), dest, StridedSection(place, len(given)), given, then)
            place = arguments.place(call, offset, len(given), self._ep.segment_size(dest), dest)
            return self._put(guard(self._ep, call), dest, StridedSection(place, len(given)), given, then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    def get(self, dest: int, offset: int, out: Any, then: Complete = nothing) -> Coroutine[Any, Any, None]:
        """Begin to read bytes from the segment of a rank into `out`, which is in use until that is complete.

        Args:
            dest: rank that is read, this one included.
            offset: in its segment, bytes.
            out: C-contiguous writable buffer.
            then: plain function of no arguments, called when `out` is filled.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.get"
        try:
            dest = self._target(call, dest, then)
            view = _writable(call, out)
            place = arguments.place(call, offset, len(view), self._ep.segment_size(dest), dest)
            return self._get(guard(self._ep, call), dest, StridedSection(place, len(view)), view, then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    def put_strided(
        self,
        dest: int,
        offset: int,
        run: int,
        counts: Sequence[int],
        strides: Sequence[int],
        data: Any,
        then: Complete = nothing,
    ) -> Coroutine[Any, Any, None]:
        """Begin to store runs of bytes at regular distances; as `put`.

        Args:
            dest: rank that receives, this one included.
            offset: of the first run in its segment, bytes.
            run: bytes of each run.
            counts: runs along each dimension.
            strides: bytes from one to the next along each dimension, of any sign.
            data: C-contiguous buffer with all runs, those along the last dimension one after the other.
            then: as of `put`.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.put_strided"
        try:
            dest = self._target(call, dest, then)
            given = arguments.buffer(call, "data", data)
            places = self._places(call, dest, offset, run, counts, strides, "data", len(given))
            return self._put(guard(self._ep, call), dest, places, given, then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    def get_strided(
        self,
        dest: int,
        offset: int,
        run: int,
        counts: Sequence[int],
        strides: Sequence[int],
        out: Any,
        then: Complete = nothing,
    ) -> Coroutine[Any, Any, None]:
        """Begin to read runs of bytes at regular distances; as `get`, and places as of `put_strided`.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.get_strided"
        try:
            dest = self._target(call, dest, then)
            view = _writable(call, out)
            places = self._places(call, dest, offset, run, counts, strides, "out", len(view))
            return self._get(guard(self._ep, call), dest, places, view, then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    async def _put(self, unused: Guard, dest: int, places: StridedSection, data: Buffer, then: Complete) -> None:
        self._start(unused)
        nbytes = len(data)
        check = crc32(data) if self._digest_log is not None else 0
        done = partial(self._done, _PUT, dest, nbytes, 0, then)
        if nbytes:
            await self._native.put(dest, places, data, done)
        else:
            await self._at_once(done)
        self._count("rma_puts", _PUT, dest, nbytes, check)

    _signal = _put

    async def _get(self, unused: Guard, dest: int, places: StridedSection, out: memoryview, then: Complete) -> None:
        self._start(unused)
        nbytes = len(out)
        done = partial(self._got, dest, out, then)
        if nbytes:
            await self._native.get(dest, places, out, done)
        else:
            await self._at_once(done)
        self._count("rma_gets", _GET, dest, nbytes, 0)

    def _got(self, dest: int, out: memoryview, then: Complete) -> None:
        check = crc32(out) if self._digest_log is not None else 0
        hooks = self._hooks
        if hooks is not None and hooks.landed is not None and (place := self._ep.place_in_segment(out)) is not None:
            hooks.landed(self._ep.rank, self._ep._port.ticks(), place, len(out), dest)
        self._done(_GET, dest, len(out), check, then)

    # -- atomics -------------------------------------------------------------------------------

    def fetch_add(
        self, dest: int, offset: int, value: int, then: Callable[[int], object] = nothing
    ) -> Coroutine[Any, Any, None]:
        """Begin to add to an integer of 8 bytes.

        Args:
            dest: rank whose segment has it, this one included.
            offset: of it, a multiple of 8.
            value: is added, modulo 2**64.
            then: ``then(old)`` is called when it is done, with the integer before, from 0 to 2**64 - 1.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.fetch_add"
        try:
            dest, place = self._word(call, dest, offset, then)
            operands = (_operand(call, "value", value),)
            return self._atomic(guard(self._ep, call), AtomicOp.FETCH_ADD, dest, place, operands, then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    def swap(
        self, dest: int, offset: int, value: int, then: Callable[[int], object] = nothing
    ) -> Coroutine[Any, Any, None]:
        """Begin to store an integer of 8 bytes and fetch the one before; arguments as `fetch_add`.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.swap"
        try:
            dest, place = self._word(call, dest, offset, then)
            operands = (_operand(call, "value", value),)
            return self._atomic(guard(self._ep, call), AtomicOp.SWAP, dest, place, operands, then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    def compare_swap(
        self, dest: int, offset: int, expected: int, new: int, then: Callable[[int], object] = nothing
    ) -> Coroutine[Any, Any, None]:
        """Begin to store `new` where the integer is `expected`; other arguments as `fetch_add`.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.compare_swap"
        try:
            dest, place = self._word(call, dest, offset, then)
            operands = _operand(call, "expected", expected), _operand(call, "new", new)
            return self._atomic(guard(self._ep, call), AtomicOp.COMPARE_SWAP, dest, place, operands, then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    async def _atomic(
        self,
        unused: Guard,
        op: AtomicOp,
        dest: int,
        place: int,
        operands: tuple[int, ...],
        then: Callable[[int], object],
    ) -> None:
        self._start(unused)

        def done(old: int) -> None:
            self._done(_ATOMIC, dest, op, old & 0x7FFF_FFFF, partial(then, old))

        await self._native.atomic(op, dest, place, operands, done)
        self._count("rma_atomics", _ATOMIC, dest, 0, crc32(repr((op.value, place, operands)).encode()))

    # -- order ---------------------------------------------------------------------------------

    def fence(self, dest: int) -> Coroutine[Any, Any, None]:
        """Return when what this rank puts to `dest` from now on is seen after all that it has put there before.

        Raises:
            BadRequest: no rank.
            HandlerError: called in a handler.
        """
        call = "ep.rma.fence"
        try:
            dest = self._target(call, dest, nothing)
            return self._wait(guard(self._ep, call), partial(self._native.fence, dest))
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    def quiet(self) -> Coroutine[Any, Any, None]:
        """Return when all operations that this rank has begun are complete; their `then` has been called.

        Raises:
            HandlerError: called in a handler.
        """
        self._ep.refuse_in_handler("ep.rma.quiet")
        return self._wait(guard(self._ep, "ep.rma.quiet"), self._native.quiet)

    async def _wait(self, unused: Guard, wait: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._start(unused)
        await wait()

    # -- barriers ------------------------------------------------------------------------------

    @property
    def barriers(self) -> bool:
        """For layers: whether the network has barriers of its own, of all ranks of the job, and so `arrive`."""
        return self._native.barriers

    def arrive(
        self, barrier: tuple[int, int], marked: bool, then: Callable[[bool], object]
    ) -> Coroutine[Any, Any, None]:
        """For layers: arrive at a barrier of the network's own, and go on.

        It is no operation: neither `outstanding` nor `quiet` nor the end of the job knows it.

        Args:
            barrier: two integers that name it on all ranks; several are independent of each other.
            marked: is all that it carries to others.
            then: ``then(any)`` is called when all ranks have arrived, with whether any was marked, as of `put`.  Before
                that this rank does not arrive there again.

        Raises:
            BadRequest: the network has none, or a wrong argument.
            HandlerError: called in a handler.
        """
        call = "ep.rma.arrive"
        try:
            self._target(call, self._ep.rank, then)
            if not self._native.barriers:
                raise BadRequest(f"{call}: this network has no barriers of its own; look at ep.rma.barriers first")
            try:
                lead, count = barrier
            except (TypeError, ValueError):
                raise BadRequest(
                    f"{call}: barrier={arguments.shown(barrier)} names no barrier; pass a tuple of two ints, the same "
                    "on all ranks"
                ) from None
            lead = arguments.integer(call, "barrier[0]", lead)
            count = arguments.integer(call, "barrier[1]", count)
            return self._arrive(guard(self._ep, call), (lead, count), bool(marked), then)
        except BadRequest as error:
            return refuse(self._ep, error, _getframe(1))

    def missing(self, barrier: tuple[int, int]) -> Sequence[int]:
        """For layers: return the ranks that have not arrived at a barrier of which some have, for reports."""
        return self._native.missing(barrier)

    async def _arrive(
        self, unused: Guard, barrier: tuple[int, int], marked: bool, then: Callable[[bool], object]
    ) -> None:
        self._start(unused)
        rank = self._ep.rank

        def done(found: bool) -> None:
            self._done(_ARRIVE, rank, 0, found, partial(then, found))

        await self._native.arrive(barrier, marked, done)
        digest_log = self._digest_log
        if digest_log is not None:
            digest_log += (self._ep._port.ticks(), BEGIN | _ARRIVE, rank, 0, crc32(repr((barrier, marked)).encode()))
            if len(digest_log) > FLUSH:
                digest_log.flush()

    # -- what they have in common --------------------------------------------------------------

    def _target(self, call: str, dest: Any, then: Any) -> int:
        """Return the rank that is meant."""
        if self._server.running:
            self._ep.refuse_in_handler(call)
        if not callable(then):
            raise BadRequest(
                f"{call}: then={arguments.shown(then)} cannot be called; pass a plain function, or leave it out"
            )
        if type(dest) is int and 0 <= dest < self._ep.size:
            return dest
        return arguments.rank(call, "dest", dest, self._ep.size)

    def _word(self, call: str, dest: Any, offset: Any, then: Any) -> tuple[int, int]:
        """Return rank and place of an integer."""
        rank = self._target(call, dest, then)
        place = arguments.place(call, offset, 8, self._ep.segment_size(rank), rank)
        if place % 8:
            raise BadRequest(
                f"{call}: offset={place} is not aligned; pass a multiple of 8, such as {place - place % 8}"
            )
        return rank, place

    def _places(
        self, call: str, dest: int, offset: Any, run: Any, counts: Any, strides: Any, name: str, nbytes: int
    ) -> StridedSection:
        """Return the places of a strided operation, which are inside the segment and as many as the buffer has."""
        along = tuple(
            arguments.amount(call, f"counts[{i}]", each, 0, _MOST)
            for i, each in enumerate(_listed(call, "counts", counts))
        )
        steps = tuple(
            arguments.integer(call, f"strides[{i}]", each) for i, each in enumerate(_listed(call, "strides", strides))
        )
        if len(along) != len(steps):
            raise BadRequest(
                f"{call}: counts={arguments.shown(along)} is {many(len(along), 'number')}, but "
                f"strides={arguments.shown(steps)} {many(len(steps), 'number')}; pass one of each for every dimension"
            )
        start = arguments.integer(call, "offset", offset)
        places = StridedSection(start, arguments.amount(call, "run", run, 0, _MOST), along, steps)
        if nbytes != places.nbytes:
            raise BadRequest(
                f"{call}: {name} has {nbytes} bytes, but {prod(along)} runs of run={places.run} have "
                f"{arguments.shown(places.nbytes)}; pass exactly as many"
            )
        first, last = places.extent()
        size = self._ep.segment_size(dest)
        if nbytes and not 0 <= first <= last <= size:
            raise BadRequest(
                f"{call}: bytes {arguments.shown(first)} to {arguments.shown(last)} are not inside the segment of rank "
                f"{dest}, which has {size} bytes; {arguments.advice_inside(first)}"
            )
        return places

    def _start(self, unused: Guard) -> None:
        """Begin a call that has been awaited."""
        unused.clear()
        if self._ep.forgotten:
            self._ep._tell_forgotten()

    async def _at_once(self, done: Complete) -> None:
        """Do an operation of no bytes."""
        await self._ep._port.poll()
        self._server.complete(done)

    def _count(self, name: str, kind: int, dest: int, nbytes: int, check: int) -> None:
        """Count and log an operation that has been begun."""
        self._counts[name] += 1
        self._counts["rma_bytes"] += nbytes
        digest_log = self._digest_log
        if digest_log is not None:
            digest_log += (self._ep._port.ticks(), BEGIN | kind, dest, nbytes, check)
            if len(digest_log) > FLUSH:
                digest_log.flush()

    def _done(self, kind: int, dest: int, nbytes: int, check: int, then: Complete) -> None:
        """Log an operation that is complete."""
        digest_log = self._digest_log
        if digest_log is not None:
            digest_log += (self._ep._port.ticks(), COMPLETE | kind, dest, nbytes, check)
        then()


class ObservedRma(Rma):
    """The same, which tells of each operation that it has begun it."""

    __slots__ = ()

    async def _put(self, unused: Guard, dest: int, places: StridedSection, data: Buffer, then: Complete) -> None:
        begin, nbytes = self._ep._port.ticks(), len(data)
        await super()._put(unused, dest, places, data, then)
        self._tell(begin, "put", dest, nbytes)

    async def _signal(self, unused: Guard, dest: int, places: StridedSection, data: Buffer, then: Complete) -> None:
        begin, nbytes = self._ep._port.ticks(), len(data)
        await super()._put(unused, dest, places, data, then)
        self._tell(begin, "put", dest, nbytes, "signal")

    async def _get(self, unused: Guard, dest: int, places: StridedSection, out: memoryview, then: Complete) -> None:
        begin = self._ep._port.ticks()
        await super()._get(unused, dest, places, out, then)
        self._tell(begin, "get", dest, len(out))

    async def _atomic(
        self,
        unused: Guard,
        op: AtomicOp,
        dest: int,
        place: int,
        operands: tuple[int, ...],
        then: Callable[[int], object],
    ) -> None:
        begin = self._ep._port.ticks()
        await super()._atomic(unused, op, dest, place, operands, then)
        self._tell(begin, "atomic", dest, 8)

    def _tell(self, begin: int, name: str, dest: int, nbytes: int, level: str = "native") -> None:
        assert self._hooks is not None
        assert self._hooks.called is not None
        self._hooks.called(self._ep.rank, begin, self._ep._port.ticks(), level, name, dest, nbytes)


def _writable(call: str, out: Any) -> memoryview:
    """Return a flat view of a writable buffer."""
    view = arguments.buffer(call, "out", out)
    if not len(view):
        return memoryview(bytearray())
    if not isinstance(view, memoryview) or view.readonly:
        raise BadRequest(
            f"{call}: out is a read-only {type(out).__name__}; pass a writable buffer, such as a bytearray or an array"
        )
    return view


def _listed(call: str, name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, Iterable):
        return value
    raise BadRequest(
        f"{call}: {name}={arguments.shown(value)} {is_a(value)}; pass a tuple of integers, one for every dimension"
    )


def _operand(call: str, name: str, value: Any) -> int:
    return arguments.integer(call, name, value) & (1 << 64) - 1
