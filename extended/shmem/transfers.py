"""Puts, gets and signals.

A symmetric array has one offset on all PEs, so a transfer is a put or get of the extended layer at that offset.  A put
returns when its source may be changed, and need not be complete then: its handle stays with its context, for fence and
quiet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from conduit.words import many
from extended.front_ends import integer, is_one_of, public, shown
from extended.shmem import arguments
from extended.shmem.constants import SIGNAL
from extended.shmem.contexts import Ctx, OperationStream

if TYPE_CHECKING:
    from extended import Extended
    from extended.shmem.arguments import Array
    from extended.shmem.heap import Allocations

SIGNAL_TYPE = np.dtype("u8")


class Base:
    """What the parts of a PE share: its layer, heap and contexts."""

    _x: Extended
    _blocks: Allocations
    CTX_DEFAULT: Ctx

    def _stream(self, call: str, ctx: Any) -> OperationStream:
        if ctx is None:
            return self.CTX_DEFAULT.stream(call)
        if not isinstance(ctx, Ctx):
            raise conduit.BadRequest(
                f"{call}: ctx={shown(ctx)} is no context; give one of pe, or None for the default one"
            )
        return ctx.stream(call)

    def _rank(self, call: str, pe: Any, stream: OperationStream) -> int:
        team = stream.team.members(call)
        return team.job_rank(arguments.pe_number(call, pe, team.size))

    def _not_freed(self, call: str, name: str, array: Any) -> None:
        block = self._blocks.find(array) if isinstance(array, np.ndarray) else None
        if block is not None and block.freed:
            raise conduit.BadRequest(f"{call}: {name} was freed; use arrays before they are freed")


class ShmemTransfers(Base):
    """Puts return when their source may be changed, gets when the target is filled; `_nbi` forms at once."""

    def _put(
        self, call: str, target: Any, source: Any, pe: Any, size: Any, ctx: Any
    ) -> tuple[OperationStream, int, int, Array]:
        stream = self._stream(call, ctx)
        offset, there = self._blocks.place(call, "target", target)
        data = self._local(call, "source", source, target)
        arguments.same_dtype(call, there, data)
        rank = self._rank(call, pe, stream)
        count = arguments.elements(call, size, {"target": there.size, "source": data.size})
        return stream, rank, offset, data[:count]

    def _local(self, call: str, name: str, value: Any, beside: Array) -> Array:
        """Return the elements of an array of this PE, symmetric or not; a copy where they do not lie in that order.

        Args:
            call: the call.
            name: the argument.
            value: the array.
            beside: the symmetric array whose elements they go with, one by one.
        """
        given = arguments.array_of(call, name, value)
        self._not_freed(call, name, given)
        array = arguments.beside(given, beside)
        elements = arguments.rows(array)
        return array.flatten() if elements is None else elements

    @public("pe")
    def put(self, target: Any, source: Any, pe: Any, size: Any = None, ctx: Any = None) -> Any:
        """Put elements of `source` into `target` on another PE; return when `source` may be changed.

        Args:
            target: symmetric array.
            source: any array of the same dtype.
            pe: who receives.
            size: number of elements; None for as many as both have.
            ctx: None for the default context.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        stream, rank, offset, data = self._put("pe.put", target, source, pe, size, ctx)
        return self._begin_put(stream, rank, offset, data, bulk=False)

    @public("pe")
    def put_nbi(self, target: Any, source: Any, pe: Any, size: Any = None, ctx: Any = None) -> Any:
        """Begin a put; arguments as `put`, `source` in use until `quiet`."""
        stream, rank, offset, data = self._put("pe.put_nbi", target, source, pe, size, ctx)
        return self._begin_put(stream, rank, offset, data, bulk=True)

    async def _begin_put(self, stream: OperationStream, rank: int, offset: int, data: Array, *, bulk: bool) -> None:
        stream.put(await stream.left.begun(self._x.put_nb(rank, offset, data, bulk=bulk)), rank)

    @public("pe")
    def iput(
        self, target: Any, source: Any, pe: Any, tst: Any = 1, sst: Any = 1, size: Any = None, ctx: Any = None
    ) -> Any:
        """Put every `sst`-th element of `source` to every `tst`-th place of `target`; else as `put`.

        Args:
            target: symmetric array.
            source: any array of the same dtype.
            pe: who receives.
            tst: elements from one place to the next in `target`.
            sst: the same of `source`.
            size: number of elements that are put; None for as many as fit.
            ctx: None for the default context.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        call = "pe.iput"
        stream = self._stream(call, ctx)
        offset, there = self._blocks.place(call, "target", target)
        data = self._local(call, "source", source, target)
        arguments.same_dtype(call, there, data)
        rank = self._rank(call, pe, stream)
        far, near = _step(call, "tst", tst), _step(call, "sst", sst)
        rooms = {"target": arguments.strided(there.size, far), "source": arguments.strided(data.size, near)}
        taken = data[::near][: arguments.elements(call, size, rooms)]

        async def begin() -> None:
            self._x.ep.charge(copied=taken.nbytes)
            steps = (far * taken.itemsize,)
            stream.put(await stream.left.begun(self._x.put_strided_nb(rank, offset, steps, taken.copy())), rank)

        return begin()

    def _get(
        self, call: str, target: Any, source: Any, pe: Any, size: Any, ctx: Any
    ) -> tuple[OperationStream, int, int, Array, int]:
        stream = self._stream(call, ctx)
        offset, there = self._blocks.place(call, "source", source)
        self._not_freed(call, "target", target)
        here = arguments.array_of(call, "target", target, writable=True)
        arguments.same_dtype(call, here, there)
        here = arguments.beside(here, source)
        rank = self._rank(call, pe, stream)
        return stream, rank, offset, here, arguments.elements(call, size, {"target": here.size, "source": there.size})

    @public("pe")
    def get(self, target: Any, source: Any, pe: Any, size: Any = None, ctx: Any = None) -> Any:
        """Get elements of `source` on another PE into `target`.

        Args:
            target: any array.
            source: symmetric array of the same dtype.
            pe: who is read.
            size: number of elements; None for as many as both have.
            ctx: None for the default context.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        return self._fetch(*self._get("pe.get", target, source, pe, size, ctx))

    async def _fetch(self, stream: OperationStream, rank: int, offset: int, here: Array, count: int) -> None:
        elements = arguments.rows(here)
        if elements is not None:
            await stream.left.begun(self._x.get(rank, offset, out=elements[:count]))
        else:
            found = np.empty(count, here.dtype)
            await self._x.get(rank, offset, out=found)
            self._x.ep.charge(copied=found.nbytes)
            here.flat[:count] = found

    @public("pe")
    def get_nbi(self, target: Any, source: Any, pe: Any, size: Any = None, ctx: Any = None) -> Any:
        """Begin a get; arguments as `get`, `target` is filled when `quiet` returns."""
        stream, rank, offset, here, count = self._get("pe.get_nbi", target, source, pe, size, ctx)
        elements = arguments.rows(here)
        if elements is None:
            return self._fetch(stream, rank, offset, here, count)  # done at once: it could not be copied later
        out = elements[:count]

        async def begin() -> None:
            stream.get(await stream.left.begun(self._x.get_nb(rank, offset, out=out)))

        return begin()

    @public("pe")
    def iget(
        self, target: Any, source: Any, pe: Any, tst: Any = 1, sst: Any = 1, size: Any = None, ctx: Any = None
    ) -> Any:
        """Get every `sst`-th element of `source` to every `tst`-th place of `target`; arguments as `iput`."""
        call = "pe.iget"
        stream, rank, offset, here, _ = self._get(call, target, source, pe, None, ctx)
        there = arguments.array_of(call, "source", source)
        near, far = _step(call, "tst", tst), _step(call, "sst", sst)
        rooms = {"target": arguments.strided(here.size, near), "source": arguments.strided(there.size, far)}
        count = arguments.elements(call, size, rooms)
        elements = arguments.rows(here)

        async def fetch() -> None:
            out = np.empty(count, here.dtype) if elements is None else elements[::near][:count]
            await stream.left.begun(self._x.get_strided(rank, offset, (far * out.itemsize,), out))
            if elements is None:
                self._x.ep.charge(copied=out.nbytes)
                here.flat[: near * count : near] = out

        return fetch()

    # --------------------------------------------------------------------------------------------------------- signals

    @public("pe")
    def put_signal(
        self,
        target: Any,
        source: Any,
        pe: Any,
        signal: Any,
        value: Any,
        sigop: Any,
        size: Any = None,
        ctx: Any = None,
    ) -> Any:
        """Put elements, and change a signal on that PE when they are there.

        Args:
            target: symmetric array.
            source: any array of the same dtype.
            pe: who receives.
            signal: what `new_signal` gave.
            value: of 64 bits.
            sigop: `SIGNAL_SET` or `SIGNAL_ADD`.
            size: number of elements; None for as many as both have.
            ctx: None for the default context.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        return self._put_signal("pe.put_signal", target, source, pe, signal, value, sigop, size, ctx)

    @public("pe")
    def put_signal_nbi(
        self,
        target: Any,
        source: Any,
        pe: Any,
        signal: Any,
        value: Any,
        sigop: Any,
        size: Any = None,
        ctx: Any = None,
    ) -> Any:
        """As `put_signal`, which is done when it returns: allowed, since `_nbi` promises no more than `quiet`."""
        return self._put_signal("pe.put_signal_nbi", target, source, pe, signal, value, sigop, size, ctx)

    def _put_signal(
        self, call: str, target: Any, source: Any, pe: Any, signal: Any, value: Any, sigop: Any, size: Any, ctx: Any
    ) -> Any:
        stream, rank, offset, data = self._put(call, target, source, pe, size, ctx)
        place = self._signal(call, signal)[0]
        number = integer(call, "value", value, -(1 << 63), (1 << 64) - 1, "an integer of 64 bits")
        if not is_one_of(sigop, SIGNAL):
            raise conduit.BadRequest(f"{call}: sigop={shown(sigop)} is not known; give pe.SIGNAL_SET or pe.SIGNAL_ADD")
        atomic = self._x.atomic("u8")
        change = atomic.set if sigop == SIGNAL.SET else atomic.add

        async def send() -> None:
            await stream.left.begun(self._x.put(rank, offset, data))
            await stream.left.begun(change(rank, place, number))

        return send()

    def _signal(self, call: str, signal: Any) -> tuple[int, Array]:
        place, elements = self._blocks.place(call, "signal", signal)
        if elements.dtype != SIGNAL_TYPE or elements.size != 1:
            raise conduit.BadRequest(
                f"{call}: signal has {many(elements.size, 'element')} of dtype {elements.dtype}; give what "
                "pe.new_signal returned, or an array of one u8"
            )
        return place, elements

    @public("pe")
    def fence(self, ctx: Any = None) -> Any:
        """Order the puts that were begun on a context before those that follow; None for the default context."""
        return self._stream("pe.fence", ctx).order("pe.fence")

    @public("pe")
    def quiet(self, ctx: Any = None) -> Any:
        """Complete what was begun on a context; None for the default context."""
        return self._stream("pe.quiet", ctx).quiet("pe.quiet")


def _step(call: str, name: str, step: Any) -> int:
    return integer(call, name, step, 1, arguments.MOST, "a distance of elements, 1 or more")
