"""Atomic operations by the network's own ones (`ep.rma`), which are on integers of 8 bytes.

A type has all its operations natively or none, because a native one and one by a handler are not atomic to each other.
What the hardware has no operation for is made of compare and swap, tried again while another rank comes between; that
needs nothing of any rank, and so it is done to its end once it has begun.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from extended.arithmetic import Op
from extended.events import GET, PUT, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from conduit import Endpoint
    from extended.arithmetic import Number, NumberType
    from extended.events import Events
    from extended.transfers import Send, Transfers

    Begin = Callable[[Callable[[int], object]], Coroutine[Any, Any, None]]

_SIZE = 8


class NativeAtomics:
    """One rank's atomic operations on those types that the hardware has.

    Args:
        ep: the rank's endpoint.
        events: its outstanding operations.
        transfers: what issues operations of several pieces.
    """

    def __init__(self, ep: Endpoint, events: Events, transfers: Transfers) -> None:
        self._ep = ep
        self._events = events
        self._transfers = transfers

    def has(self, kind: NumberType) -> bool:
        """Say whether all operations on numbers of a type are native."""
        return self._ep.rma is not None and kind.size == _SIZE and not kind.floating

    async def perform(
        self, call: str, kind: NumberType, op: int, dest: int, offset: int, operands: Sequence[Number]
    ) -> Number:
        """Do one operation, on the own rank too; return the number before it."""
        rma = self._ep.rma
        assert rma is not None
        place = dest, offset
        values = [int(operand) for operand in operands]
        if op == Op.SET:
            old = await self._do(call, PUT, dest, partial(rma.swap, *place, values[0]))
        elif op == Op.COMPARE_SWAP:
            old = await self._do(call, PUT, dest, partial(rma.compare_swap, *place, values[0], values[1]))
        elif op in (Op.GET, Op.ADD, Op.SUB):
            added = {Op.GET: 0, Op.ADD: values[0] if values else 0}.get(Op(op), -values[0] if values else 0)
            old = await self._do(call, GET if op == Op.GET else PUT, dest, partial(rma.fetch_add, *place, added))
        else:
            await self._ep.poll()
            with trio.CancelScope(shield=True):
                old = await self._try(call, kind, op, dest, offset, values[0])
        return kind.rounded(old)

    async def _try(self, call: str, kind: NumberType, op: int, dest: int, offset: int, operand: int) -> int:
        """Apply an operation that the hardware does not have; return the bits before."""
        rma = self._ep.rma
        assert rma is not None
        old = await self._do(call, GET, dest, partial(rma.fetch_add, dest, offset, 0))
        while True:
            new = int(kind.result(op, kind.rounded(old), operand))
            found = await self._do(call, PUT, dest, partial(rma.compare_swap, dest, offset, old, new))
            if found == old:
                return old
            old = found

    async def _do(self, call: str, kind: int, dest: int, begin: Begin) -> int:
        """Do one native operation; return the bits before."""
        operation = Operation(kind, call, dest)
        number = self._events.enter_native(operation)
        before: list[int] = []

        def done(old: int) -> None:
            before.append(old)
            self._events.piece_done(number)

        await self._transfers.native(number, begin(done))
        await self._events.finish(operation)
        return before[0]

    async def accumulate(
        self, operation: Operation, kind: NumberType, op: int, dest: int, starts: Sequence[int], operands: Sequence[int]
    ) -> None:
        """Begin to apply an operation to many numbers, one by one; where the hardware does not have it, do it."""
        rma = self._ep.rma
        assert rma is not None
        if op in (Op.ADD, Op.SUB):
            number = self._events.enter_native(operation, len(starts))

            def done(_: int) -> None:
                self._events.piece_done(number)

            def send(start: int, operand: int) -> Send:
                return partial(rma.fetch_add, dest, start, operand if op == Op.ADD else -operand, done)

            await self._transfers.issue(operation, number, map(send, starts, operands))
            return
        operation.native = True
        await self._ep.poll()
        with trio.CancelScope(shield=True):
            for start, operand in zip(starts, operands, strict=True):
                await self._try(operation.call, kind, op, dest, start, operand)
