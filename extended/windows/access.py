"""Puts, gets and accumulates."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from conduit.words import many
from extended.front_ends import integer, public, shown
from extended.windows import buffers, operators
from extended.windows.accumulates import Change
from extended.windows.base import WindowBase
from extended.windows.constants import PROC_NULL

if TYPE_CHECKING:
    from extended.windows.buffers import Array


class Access(WindowBase):
    """Accesses to the parts of a window; each is complete when its epoch ends, or by a flush."""

    @public("win")
    def Put(self, origin: Any, target_rank: Any, target: Any = None) -> Coroutine[Any, Any, None]:
        """Begin to store elements in a rank's part; `origin` is in use until the epoch ends, or a flush.

        Args:
            origin: an array, [array, dtype], [array, count] or [array, count, dtype].
            target_rank: of the window; PROC_NULL: nothing is accessed.
            target: None, a displacement, (disp, count) or (disp, count, dtype).

        Raises:
            conduit.BadRequest: a wrong argument.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Put"
        given = buffers.elements(call, "origin", origin)
        rank, start = self._target(call, target_rank, target, given)
        return self._access(self._operations.put(self._call(call), rank, start, given.view(np.uint8)), rank)

    @public("win")
    def Get(self, origin: Any, target_rank: Any, target: Any = None) -> Coroutine[Any, Any, None]:
        """Begin to read elements of a rank's part into `origin`, which is filled when the epoch ends, or by a flush.

        Args:
            origin: an array, [array, dtype], [array, count] or [array, count, dtype].
            target_rank: of the window; PROC_NULL: nothing is accessed.
            target: None, a displacement, (disp, count) or (disp, count, dtype).

        Raises:
            conduit.BadRequest: a wrong argument.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Get"
        out = buffers.elements(call, "origin", origin, writable=True)
        rank, start = self._target(call, target_rank, target, out)
        return self._access(self._operations.get(self._call(call), rank, start, out.view(np.uint8)), rank)

    @public("win")
    def Accumulate(
        self, origin: Any, target_rank: Any, target: Any = None, op: Any = operators.SUM
    ) -> Coroutine[Any, Any, None]:
        """Begin to combine elements into those of a rank's part, each of them atomically.

        Args:
            origin: as of `Put`.
            target_rank: of the window; PROC_NULL: nothing is accessed.
            target: as of `Put`, of the same dtype.
            op: an operation of this module.

        Raises:
            conduit.BadRequest: a wrong argument, or an operation that is not for the dtype.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Accumulate"
        given = buffers.elements(call, "origin", origin)
        rank, start = self._target(call, target_rank, target, given, same=True)
        code, kind = self._operation(call, op, given)
        what = Change(code, kind, given.size, given, None)
        return self._accumulate(call, rank, start, what, "mpi_accumulate")

    @public("win")
    def Get_accumulate(
        self, origin: Any, result: Any, target_rank: Any, target: Any = None, op: Any = operators.SUM
    ) -> Any:
        """Begin to combine elements into those of a rank's part, and to bring those before to `result`.

        Args:
            origin: as of `Put`; not looked at with NO_OP, where it may be None.
            result: as many elements of the same dtype, filled when the epoch ends, or by a flush.
            target_rank: of the window; PROC_NULL: nothing is accessed.
            target: as of `Put`, of the same dtype.
            op: an operation of this module.

        Raises:
            conduit.BadRequest: a wrong argument, or an operation that is not for the dtype.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Get_accumulate"
        return self._fetch(call, "mpi_get_accumulate", origin, result, target_rank, target, op)

    @public("win")
    def Fetch_and_op(
        self, origin: Any, result: Any, target_rank: Any, target_disp: Any = 0, op: Any = operators.SUM
    ) -> Any:
        """Begin to combine one element into one of a rank's part, and to bring that before to `result`.

        Args:
            origin: one element; not looked at with NO_OP, where it may be None.
            result: one element of the same dtype, filled when the epoch ends, or by a flush.
            target_rank: of the window; PROC_NULL: nothing is accessed.
            target_disp: displacement there.
            op: an operation of this module.

        Raises:
            conduit.BadRequest: a wrong argument, or an operation that is not for the dtype.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Fetch_and_op"
        _one(call, "result", buffers.elements(call, "result", result, writable=True))
        disp = integer(call, "target_disp", target_disp, 0, buffers.MOST, "a displacement, 0 or more")
        return self._fetch(call, "mpi_fetch_and_op", origin, result, target_rank, disp, op)

    def _fetch(
        self, call: str, cost: str, origin: Any, result: Any, target_rank: Any, target: Any, op: Any
    ) -> Coroutine[Any, Any, None]:
        out = buffers.elements(call, "result", result, writable=True)
        code, kind = self._operation(call, op, out)
        given = None
        if op is not operators.NO_OP:
            given = _alike(call, "origin", buffers.elements(call, "origin", origin), out)
        rank, start = self._target(call, target_rank, target, out, same=True)
        what = Change(code, kind, out.size, given, out.view(np.uint8))
        return self._accumulate(call, rank, start, what, cost)

    @public("win")
    def Compare_and_swap(
        self, origin: Any, compare: Any, result: Any, target_rank: Any, target_disp: Any = 0
    ) -> Coroutine[Any, Any, None]:
        """Begin to store one element where there is another, and to bring that before to `result`.

        Args:
            origin: one element, which is stored.
            compare: one element; what is stored where it is equal.
            result: one element, filled when the epoch ends, or by a flush.
            target_rank: of the window; PROC_NULL: nothing is accessed.
            target_disp: displacement there.

        Raises:
            conduit.BadRequest: a wrong argument, or a dtype that is neither integers nor bool.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Compare_and_swap"
        out = _one(call, "result", buffers.elements(call, "result", result, writable=True))
        kind = operators.kind(call, None, out.dtype)
        new = _alike(call, "origin", buffers.elements(call, "origin", origin), out)
        expected = _alike(call, "compare", buffers.elements(call, "compare", compare), out)
        disp = integer(call, "target_disp", target_disp, 0, buffers.MOST, "a displacement, 0 or more")
        rank, start = self._target(call, target_rank, disp, out, same=True)
        given = np.concatenate([expected, new])
        what = Change(operators.COMPARE_AND_SWAP, kind, 1, given, out.view(np.uint8))
        return self._accumulate(call, rank, start, what, "mpi_compare_and_swap")

    def _operation(self, call: str, op: Any, elements: Array) -> tuple[int, int]:
        operation = operators.operator(call, op)
        return operation.code, operators.kind(call, operation, elements.dtype)

    def _accumulate(self, call: str, rank: int, start: int, what: Change, cost: str) -> Coroutine[Any, Any, None]:
        return self._access(self._operations.accumulate(self._call(call), rank, start, what, cost), rank)

    def _target(self, call: str, target_rank: Any, target: Any, given: Array, *, same: bool = False) -> tuple[int, int]:
        """Return a rank, and where in its memory a target begins, bytes; `same`: it has the dtype of `given`."""
        rank = self._member(call, "target_rank", target_rank, null=True)
        there = buffers.target(call, target, given)
        if same and there.dtype != given.dtype:
            raise conduit.BadRequest(
                f"{call}: target={shown(target)} has dtype {there.dtype} and the elements here {given.dtype}; an "
                "accumulate is on elements of one dtype"
            )
        if rank == PROC_NULL:
            return rank, 0
        member = self._shape.members[rank]
        start = there.disp * member.disp_unit
        if start + there.nbytes > member.nbytes and there.nbytes:
            raise conduit.BadRequest(
                f"{call}: target={shown(target)}{', as long as origin,' * (target is None)} is bytes {start} to "
                f"{start + there.nbytes - 1} of rank {rank}, whose part has {member.nbytes} "
                f"(disp_unit={member.disp_unit}); stay inside"
            )
        return rank, start

    def _access(self, begin: Coroutine[Any, Any, None], rank: int) -> Coroutine[Any, Any, None]:
        if rank != PROC_NULL:
            return begin
        begin.close()
        return self._ep.poll()


def _one(call: str, name: str, elements: Array) -> Array:
    if elements.size != 1:
        raise conduit.BadRequest(f"{call}: {name} has {many(elements.size, 'element')}; give one, such as a[3:4]")
    return elements


def _alike(call: str, name: str, elements: Array, out: Array) -> Array:
    """Return operands that go with a result."""
    if elements.size != out.size or elements.dtype != out.dtype:
        raise conduit.BadRequest(
            f"{call}: {name} has {many(elements.size, 'element')} of dtype {elements.dtype} and result {out.size} of "
            f"{out.dtype}; give as many of one dtype"
        )
    if np.may_share_memory(elements, out):
        raise conduit.BadRequest(f"{call}: {name} and result share memory; give arrays that do not")
    return elements
