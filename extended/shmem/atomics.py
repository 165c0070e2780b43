"""Atomic operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import conduit
from conduit.words import many
from extended.front_ends import public, shown
from extended.shmem import arguments
from extended.shmem.transfers import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from extended.shmem.arguments import Array

_INTEGERS = ("i4", "u4", "i8", "u8")
_FLOATS = ("f4", "f8")
_OPS = {"set": "set", "inc": "inc", "add": "add", "and": "and_", "or": "or_", "xor": "xor"}
_FETCHING = {**{op: f"fetch_{op}" for op in ("inc", "add", "and", "or", "xor")}, "set": "swap"}
_FOR_FLOATS = ("get", "set", "swap")


class ShmemAtomics(Base):
    """Operations on one element that no other such operation can tear apart.

    Every one is complete when it returns, the `_nbi` forms too.  Integers of 4 and 8 bytes have all of them, taken
    modulo 2**bits; floats can be fetched, set and swapped.
    """

    def _amo(
        self, call: str, method: str, target: Any, operands: dict[str, Any], pe: Any, ctx: Any, fetch: Any = None
    ) -> Coroutine[Any, Any, Any]:
        stream = self._stream(call, ctx)
        name = "source" if method == "get" else "target"
        offset, elements = self._blocks.place(call, name, target)
        rank = self._rank(call, pe, stream)
        kind = elements.dtype.newbyteorder("<").str[1:]
        allowed = _INTEGERS + _FLOATS if method in _FOR_FLOATS else _INTEGERS
        if kind not in allowed or elements.dtype.byteorder == ">":
            raise conduit.BadRequest(f"{call}: {name} has dtype {elements.dtype}; give one of {', '.join(allowed)}")
        if elements.size != 1:
            raise conduit.BadRequest(f"{call}: {name} has {many(elements.size, 'element')}; give one, such as a[3:4]")
        if offset % elements.itemsize:
            raise conduit.BadRequest(
                f"{call}: {name} is not aligned to its {elements.itemsize} bytes; give an array that is"
            )
        values = [arguments.number_for(call, each, value, elements.dtype) for each, value in operands.items()]
        result = None if fetch is None else self._result(call, fetch, elements)
        perform: Callable[..., Coroutine[Any, Any, Any]] = getattr(self._x.atomic(kind), method)

        async def apply() -> Any:
            before = await stream.left.begun(perform(rank, offset, *values))
            if result is None:
                return before
            result[...] = before
            return None

        return apply()

    def _result(self, call: str, fetch: Any, elements: Array) -> Array:
        self._not_freed(call, "fetch", fetch)
        array = arguments.array_of(call, "fetch", fetch, writable=True)
        if array.dtype != elements.dtype or array.size != 1:
            raise conduit.BadRequest(
                f"{call}: fetch has {many(array.size, 'element')} of dtype {array.dtype}; give one of dtype "
                f"{elements.dtype}"
            )
        return array

    def _op(self, call: str, op: Any, names: dict[str, str]) -> str:
        name = str(op).lower() if isinstance(op, str) else None
        if name not in names:
            raise conduit.BadRequest(f"{call}: op={shown(op)} is not known; give one of {', '.join(names)}")
        return name

    @public("pe")
    def atomic_set(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Store `value`."""
        return self._amo("pe.atomic_set", "set", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch(self, source: Any, pe: Any, ctx: Any = None) -> Any:
        """Return the element."""
        return self._amo("pe.atomic_fetch", "get", source, {}, pe, ctx)

    @public("pe")
    def atomic_fetch_nbi(self, fetch: Any, source: Any, pe: Any, ctx: Any = None) -> Any:
        """Store the element in `fetch`."""
        return self._amo("pe.atomic_fetch_nbi", "get", source, {}, pe, ctx, fetch)

    @public("pe")
    def atomic_swap(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Store `value`; return the element before."""
        return self._amo("pe.atomic_swap", "swap", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_swap_nbi(self, fetch: Any, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Store `value`, and the element before in `fetch`."""
        return self._amo("pe.atomic_swap_nbi", "swap", target, {"value": value}, pe, ctx, fetch)

    @public("pe")
    def atomic_compare_swap(self, target: Any, cond: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Store `value` where the element is `cond`; return the element before."""
        operands = {"cond": cond, "value": value}
        return self._amo("pe.atomic_compare_swap", "compare_swap", target, operands, pe, ctx)

    @public("pe")
    def atomic_compare_swap_nbi(self, fetch: Any, target: Any, cond: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """As `atomic_compare_swap`, the element before in `fetch`."""
        operands = {"cond": cond, "value": value}
        return self._amo("pe.atomic_compare_swap_nbi", "compare_swap", target, operands, pe, ctx, fetch)

    @public("pe")
    def atomic_inc(self, target: Any, pe: Any, ctx: Any = None) -> Any:
        """Add 1."""
        return self._amo("pe.atomic_inc", "inc", target, {}, pe, ctx)

    @public("pe")
    def atomic_fetch_inc(self, target: Any, pe: Any, ctx: Any = None) -> Any:
        """Add 1; return the element before."""
        return self._amo("pe.atomic_fetch_inc", "fetch_inc", target, {}, pe, ctx)

    @public("pe")
    def atomic_fetch_inc_nbi(self, fetch: Any, target: Any, pe: Any, ctx: Any = None) -> Any:
        """Add 1, and store the element before in `fetch`."""
        return self._amo("pe.atomic_fetch_inc_nbi", "fetch_inc", target, {}, pe, ctx, fetch)

    @public("pe")
    def atomic_add(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Add `value`."""
        return self._amo("pe.atomic_add", "add", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_add(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Add `value`; return the element before."""
        return self._amo("pe.atomic_fetch_add", "fetch_add", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_add_nbi(self, fetch: Any, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Add `value`, and store the element before in `fetch`."""
        return self._amo("pe.atomic_fetch_add_nbi", "fetch_add", target, {"value": value}, pe, ctx, fetch)

    @public("pe")
    def atomic_and(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Keep the bits that `value` has as well."""
        return self._amo("pe.atomic_and", "and_", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_and(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Keep the bits that `value` has as well; return the element before."""
        return self._amo("pe.atomic_fetch_and", "fetch_and", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_and_nbi(self, fetch: Any, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Keep the bits that `value` has as well, and store the element before in `fetch`."""
        return self._amo("pe.atomic_fetch_and_nbi", "fetch_and", target, {"value": value}, pe, ctx, fetch)

    @public("pe")
    def atomic_or(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Set the bits that `value` has."""
        return self._amo("pe.atomic_or", "or_", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_or(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Set the bits that `value` has; return the element before."""
        return self._amo("pe.atomic_fetch_or", "fetch_or", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_or_nbi(self, fetch: Any, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Set the bits that `value` has, and store the element before in `fetch`."""
        return self._amo("pe.atomic_fetch_or_nbi", "fetch_or", target, {"value": value}, pe, ctx, fetch)

    @public("pe")
    def atomic_xor(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Turn the bits that `value` has."""
        return self._amo("pe.atomic_xor", "xor", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_xor(self, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Turn the bits that `value` has; return the element before."""
        return self._amo("pe.atomic_fetch_xor", "fetch_xor", target, {"value": value}, pe, ctx)

    @public("pe")
    def atomic_fetch_xor_nbi(self, fetch: Any, target: Any, value: Any, pe: Any, ctx: Any = None) -> Any:
        """Turn the bits that `value` has, and store the element before in `fetch`."""
        return self._amo("pe.atomic_fetch_xor_nbi", "fetch_xor", target, {"value": value}, pe, ctx, fetch)

    @public("pe")
    def atomic_op(self, target: Any, value: Any, op: Any, pe: Any, ctx: Any = None) -> Any:
        """Apply an operation of `AMO`."""
        name = self._op("pe.atomic_op", op, _OPS)
        operands = {} if name == "inc" else {"value": value}
        return self._amo("pe.atomic_op", _OPS[name], target, operands, pe, ctx)

    @public("pe")
    def atomic_fetch_op(self, target: Any, value: Any, op: Any, pe: Any, ctx: Any = None) -> Any:
        """Apply an operation of `AMO`; return the element before."""
        name = self._op("pe.atomic_fetch_op", op, _FETCHING)
        operands = {} if name == "inc" else {"value": value}
        return self._amo("pe.atomic_fetch_op", _FETCHING[name], target, operands, pe, ctx)

    @public("pe")
    def atomic_fetch_op_nbi(self, fetch: Any, target: Any, value: Any, op: Any, pe: Any, ctx: Any = None) -> Any:
        """Apply an operation of `AMO`, and store the element before in `fetch`."""
        name = self._op("pe.atomic_fetch_op_nbi", op, _FETCHING)
        operands = {} if name == "inc" else {"value": value}
        return self._amo("pe.atomic_fetch_op_nbi", _FETCHING[name], target, operands, pe, ctx, fetch)
