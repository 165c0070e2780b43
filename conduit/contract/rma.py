"""Native one-sided operations: what a rank does to the segments of all ranks, who need do nothing for it.

A port has them or not (`Port.rma`).  They need neither a poll nor a handler of their target, so that each of them ends
by the hardware alone: nothing that ranks wait for can hold one up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from conduit.contract.message import Buffer

Complete: TypeAlias = Callable[[], object]
"""Is called once, in a poll of the rank that began an operation, when that is complete; it may not send or wait."""


class AtomicOp(IntEnum):
    """An atomic operation on an integer of 8 bytes."""

    FETCH_ADD = 0
    SWAP = 1
    COMPARE_SWAP = 2


class StridedSection(NamedTuple):
    """Runs of bytes at regular distances in a segment, run [i, j, ...] at ``offset + i*strides[0] + j*strides[1] ...``.

    Attributes:
        offset: of the first run, bytes.
        run: bytes of each.
        counts: runs along each dimension; none of a single one.
        strides: bytes from one to the next along each dimension, of any sign.
    """

    offset: int
    run: int
    counts: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return self.run * prod(self.counts)

    def extent(self) -> tuple[int, int]:
        """Return the offsets of the first byte and behind the last, where there are any."""
        reach = [(count - 1) * stride for count, stride in zip(self.counts, self.strides, strict=True)]
        return self.offset + sum(min(0, far) for far in reach), self.offset + sum(
            max(0, far) for far in reach
        ) + self.run

    def starts(self) -> Iterator[int]:
        """Yield the offset of each run, the last dimension fastest."""
        for index in product(*map(range, self.counts)):
            yield self.offset + sum(map(int.__mul__, index, self.strides))


class OneSided(ABC):
    """The native operations of one rank; arguments have been checked.

    All coroutines are cancellation points at their start and poll once; what they then begin is not cancelled.  Two
    operations are not ordered, but by `fence`, and by waiting until one is complete.  Those of a rank on itself too go
    by the hardware.

    Attributes:
        outstanding: how many have been begun and are not complete.
        barriers: whether the network has barriers of its own, of all ranks of the job: `arrive` and `missing`.
    """

    outstanding: int
    barriers: bool = False

    @abstractmethod
    async def put(self, dest: int, places: StridedSection, data: Buffer, then: Complete) -> None:
        """Begin to store `data`; return when it may be changed.  Complete: every rank sees all of it there."""

    @abstractmethod
    async def get(self, dest: int, places: StridedSection, out: memoryview, then: Complete) -> None:
        """Begin to read into `out`, flat and writable, which is in use until that is complete."""

    @abstractmethod
    async def atomic(
        self, op: AtomicOp, dest: int, offset: int, operands: tuple[int, ...], then: Callable[[int], object]
    ) -> None:
        """Begin an operation on the integer at `offset`; ``then(old)`` gets the one before, all without a sign.

        Args:
            op: which; all of them on one integer are atomic to each other, and to no other access.
            dest: rank whose segment has the integer.
            offset: of it, a multiple of 8.
            operands: what is added; the new one; or the expected one, then the new one.
            then: is called when it is complete.
        """

    @abstractmethod
    async def fence(self, dest: int) -> None:
        """Return when what this rank puts to `dest` from now on is seen after all that it has put there before."""

    @abstractmethod
    async def quiet(self) -> None:
        """Return when all operations that this rank has begun are complete; their `then` has been called."""

    async def arrive(self, barrier: tuple[int, int], marked: bool, then: Callable[[bool], object]) -> None:
        """Arrive at a barrier of all ranks, and go on; ``then(any)`` is called when all have, as `Complete`.

        It is no operation: `outstanding` does not count it, `quiet` and the end of the job do not wait for it.

        Args:
            barrier: names it on all ranks; several are independent of each other.
            marked: is all that it carries.
            then: is called with whether some rank was marked; before that this rank does not arrive there again.
        """
        raise NotImplementedError(f"{type(self).__name__} has no barriers of its own; look at `barriers` first")

    def missing(self, barrier: tuple[int, int]) -> Sequence[int]:
        """Return, for reports, who has not arrived at a barrier at which some ranks have; () if that is unknown."""
        return ()
