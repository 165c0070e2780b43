"""How reductions make two operands one."""

from __future__ import annotations

from collections.abc import Callable

from conduits.mpi.collectives.channel import CollectiveChannel

Apply = Callable[[memoryview, memoryview], object]
"""`apply(incoming, inout)`: inout = incoming op inout."""


class Combining:
    """An operator on elements of one datatype.

    Args:
        channel: of the call, for this rank's CPU.
        apply: makes its second operand the result of both.
        unit: bytes of an element.
        op: MPI's name of the operator, "" where the program has made it.
        datatype: MPI's name of the elements.

    Attributes:
        apply, unit, op, datatype: the same.
    """

    __slots__ = ("_channel", "apply", "datatype", "op", "unit")

    def __init__(self, channel: CollectiveChannel, apply: Apply, unit: int, op: str = "", datatype: str = "") -> None:
        self._channel = channel
        self.apply = apply
        self.unit = unit
        self.op = op
        self.datatype = datatype

    def __call__(self, low: memoryview, high: memoryview) -> memoryview:
        """Return what the operands of lower ranks and of higher ranks make together; it lies where `high` was."""
        if len(high):
            self.apply(low, high)
            self._channel.worked(len(high))
        return high


def room_like(data: memoryview) -> memoryview:
    """Return memory for another operand."""
    return memoryview(bytearray(len(data)))
