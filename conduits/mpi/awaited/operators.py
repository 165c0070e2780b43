"""Operators of reductions: what two buffers of elements are made into one by."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from conduit import BadRequest
from conduit.words import other_head, plain
from conduits.mpi.awaited import not_here
from conduits.mpi.awaited.datatypes import Datatype
from conduits.mpi.errors import ErrorClass, MpiError

_Array = np.ndarray[Any, Any]
Function = Callable[[memoryview, memoryview, Datatype], object]
"""`function(inbuf, inoutbuf, datatype)`: inout = in op inout, both writable bytes."""
_WRITE = "write `def op(inbuf, inoutbuf, datatype)`, which makes inoutbuf, a buffer of bytes, of both"


class ReductionOp:
    """An operator.

    Args:
        name: MPI's name of it.
        combine: of arrays: (incoming, inout) -> result, for the operators that MPI has.
        groups: of the datatypes that it takes (MPI 4.0, section 6.9.2).
        function: of bytes, for those of programs.
        commute: whether its operands may change places.

    Attributes:
        name: the same.
        is_commutative: the same.
        is_predefined: whether it is MPI's own.
    """

    _instead: ClassVar = not_here.OF_OPERATORS

    __slots__ = ("_combine", "_freed", "_function", "_groups", "is_commutative", "is_predefined", "name")

    def __init__(
        self,
        name: str,
        combine: Callable[[_Array, _Array], _Array] | None = None,
        groups: tuple[str, ...] = (),
        function: Function | None = None,
        *,
        commute: bool = True,
    ) -> None:
        self.name = name
        self._combine = combine
        self._groups = groups
        self._function = function
        self._freed = False
        self.is_commutative = commute
        self.is_predefined = combine is not None

    @classmethod
    def Create(cls, function: Function, commute: bool = False) -> ReductionOp:
        """Return an operator of the program's own.

        Args:
            function: called with two writable buffers of bytes and the datatype: makes inout = in op inout.
            commute: whether its operands may change places.

        Raises:
            BadRequest: no function of these three.
        """
        if not callable(function):
            raise BadRequest(f"Op.Create: function={plain(function)} cannot be called; {_WRITE}")
        if head := other_head(function, 3):
            raise BadRequest(f"Op.Create: function={plain(function)} takes {head}; {_WRITE}")
        if inspect.iscoroutinefunction(function):
            raise BadRequest(f"Op.Create: function={plain(function)} is async, and an operator cannot wait; {_WRITE}")
        return cls("MPI_OP_CREATED", function=function, commute=bool(commute))

    def Free(self) -> None:
        """Give it up; what is under way goes on.

        Raises:
            MpiError: it is MPI's own.
        """
        if self.is_predefined or self is OP_NULL:
            raise MpiError(ErrorClass.ERR_OP, f"Op.Free: {self.name} is MPI's own and cannot be freed")
        self._freed = True  # and calls that have begun still need the function

    def Is_commutative(self) -> bool:
        """Return whether its operands may change places."""
        return self.is_commutative

    def __bool__(self) -> bool:
        return not self._freed and (self._combine is not None or self._function is not None)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, ReductionOp) and not (self or other))

    def __hash__(self) -> int:
        return hash(id(self) if self else None)

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    @property
    def compared(self) -> str:
        """What is the same on all ranks of a call, in words: one of a program's own is another object on each."""
        return self.name if self.is_predefined else f"{self.name} (commute={self.is_commutative})"

    def check(self, datatype: Datatype, what: str) -> None:
        """Raise MpiError where it cannot be applied to a datatype."""
        if not self:
            raise MpiError(ErrorClass.ERR_OP, f"{what}: op={self.name} is no operator, or was freed")
        if self._combine is not None and datatype.group not in self._groups:
            raise MpiError(
                ErrorClass.ERR_OP, f"{what}: op={self.name} does not take {datatype.name}; {_allowed(datatype)}"
            )

    def apply(self, incoming: memoryview, inout: memoryview, datatype: Datatype) -> None:
        """Make inout = incoming op inout, of elements of `datatype`."""
        if self._combine is not None:
            if len(inout):
                one, other = np.frombuffer(incoming, datatype.dtype), np.frombuffer(inout, datatype.dtype)
                with np.errstate(all="ignore"):  # MPI says nothing of a sum that overflows
                    other[...] = self._combine(one, other)
        else:
            assert self._function is not None
            _refuse_result(self._function, self._function(incoming, inout, datatype), inout)


def _refuse_result(function: Function, result: object, inout: memoryview) -> None:
    """Refuse an operator that returns what it should have stored; one that returns its out= has stored it.

    Raises:
        BadRequest: it is such a one.
    """
    if isinstance(result, np.ndarray) and np.may_share_memory(result, np.frombuffer(inout, np.uint8)):
        return
    if isinstance(result, np.ndarray | np.generic | bytes | bytearray | list | tuple):
        raise BadRequest(
            f"Op.Create: function={plain(function)} returned a {type(result).__name__}, which is not used; {_WRITE}, "
            "as by `numpy.frombuffer(inoutbuf, dtype)[:] = result`"
        )


def _located(larger: bool) -> Callable[[_Array, _Array], _Array]:
    def combine(one: _Array, other: _Array) -> _Array:
        mine, its = one["value"], other["value"]
        first = (mine > its) if larger else (mine < its)
        first |= (mine == its) & (one["index"] < other["index"])
        return np.where(first, one, other)

    return combine


_INTEGER, _FLOATING, _LOGICAL, _COMPLEX, _BYTE = "integer", "floating point", "logical", "complex", "byte"
_ALL = (_INTEGER, _FLOATING, _LOGICAL, _COMPLEX, _BYTE, "pair", "character")
OP_NULL = ReductionOp("MPI_OP_NULL")
MAX = ReductionOp("MPI_MAX", np.maximum, (_INTEGER, _FLOATING))
MIN = ReductionOp("MPI_MIN", np.minimum, (_INTEGER, _FLOATING))
SUM = ReductionOp("MPI_SUM", np.add, (_INTEGER, _FLOATING, _COMPLEX))
PROD = ReductionOp("MPI_PROD", np.multiply, (_INTEGER, _FLOATING, _COMPLEX))
LAND = ReductionOp("MPI_LAND", np.logical_and, (_INTEGER, _LOGICAL))
LOR = ReductionOp("MPI_LOR", np.logical_or, (_INTEGER, _LOGICAL))
LXOR = ReductionOp("MPI_LXOR", np.logical_xor, (_INTEGER, _LOGICAL))
BAND = ReductionOp("MPI_BAND", np.bitwise_and, (_INTEGER, _BYTE))
BOR = ReductionOp("MPI_BOR", np.bitwise_or, (_INTEGER, _BYTE))
BXOR = ReductionOp("MPI_BXOR", np.bitwise_xor, (_INTEGER, _BYTE))
MAXLOC = ReductionOp("MPI_MAXLOC", _located(True), ("pair",))
MINLOC = ReductionOp("MPI_MINLOC", _located(False), ("pair",))
_OF_REDUCTIONS = (MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC)
REPLACE = ReductionOp("MPI_REPLACE", lambda one, other: one, _ALL, commute=False)
NO_OP = ReductionOp("MPI_NO_OP", lambda one, other: other, _ALL, commute=False)
_OTHERS = {
    "byte": "numbers of one byte are MPI.UINT8_T",
    "character": "give an array of integers",
    "logical": "to count, give array.astype(numpy.int32)",
}
"""By group, what else to give: where operators are missed."""


def _allowed(datatype: Datatype) -> str:
    """Return in words which operators MPI defines for a datatype."""
    names = [each.name.removeprefix("MPI_") for each in _OF_REDUCTIONS if datatype.group in each._groups]
    has = f"MPI defines {', '.join(names)} for it" if names else "MPI defines none for characters"
    other = _OTHERS.get(datatype.group)
    return f"{has}; {other}" if other else has
