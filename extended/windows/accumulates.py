"""What accumulates do, and those that the network does by itself.

The network's atomic operations are on integers of 8 bytes.  On elements of such a type all accumulates are native or
none, because a native one and one by a handler are not atomic to each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import trio

from extended.windows.buffers import Array
from extended.windows.operators import (
    BAND,
    BOR,
    BXOR,
    COMPARE_AND_SWAP,
    DTYPES,
    MAX,
    MIN,
    NO_OP,
    PROD,
    REPLACE,
    SUM,
    apply,
)  # fmt: skip

if TYPE_CHECKING:
    from conduit import Endpoint
    from extended import Atomic, Extended, Handle

_NAMES = {
    SUM.code: "add", PROD.code: "mul", MAX.code: "max", MIN.code: "min", BAND.code: "and_", BOR.code: "or_",
    BXOR.code: "xor",
}  # fmt: skip
_FETCHING = {code: f"fetch_{name.rstrip('_')}" for code, name in _NAMES.items()} | {REPLACE.code: "swap"}


@attrs.frozen
class Change:
    """What an accumulate does to elements.

    Attributes:
        code: of the operation.
        kind: which of `DTYPES`.
        count: of elements.
        given: operands; for a swap what is compared, then what is stored; None where none are needed.
        out: where the elements before go, None where the caller does not want them.
    """

    code: int
    kind: int
    count: int
    given: Array | None
    out: Array | None

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return self.count * DTYPES[self.kind].itemsize

    @property
    def commutes(self) -> int | None:
        """The operation with which it may change places, None where it may not."""
        exact = DTYPES[self.kind].kind in "iub" and self.code < REPLACE.code
        return self.code if exact and self.out is None else None


def has(ep: Endpoint, kind: int, place: int) -> bool:
    """Say whether the network does accumulates of a type at an offset of a segment by itself."""
    dtype = DTYPES[kind]
    return ep.rma is not None and dtype.kind in "iu" and dtype.itemsize == 8 and not place % 8


def in_one_call(what: Change) -> bool:
    """Say whether the extended layer has a call for an accumulate of many elements."""
    return what.out is None and what.code in _NAMES


async def perform(x: Extended, dest: int, place: int, what: Change) -> Handle[None] | None:
    """Do an accumulate, or begin it, by the network's own operations.

    Args:
        x: the extended layer.
        dest: rank of the job.
        place: offset in its segment, bytes.
        what: the accumulate.

    Returns:
        what to wait for, None where it is done.
    """
    dtype = DTYPES[what.kind]
    words = x.atomic(dtype, told=False)
    if in_one_call(what):
        places = np.arange(place, place + what.nbytes, dtype.itemsize)
        return await words.accumulate_nb(dest, places, what.given, _NAMES[what.code])
    await x.ep.poll()
    with trio.CancelScope(shield=True):  # begun, it is done to its end
        before = [await _one(words, dest, place + 8 * i, what, i) for i in range(what.count)]
    if what.out is not None:
        what.out.view(dtype)[:] = before
    return None


async def _one(words: Atomic, dest: int, place: int, what: Change, number: int) -> Any:
    """Do the operation on one element; return the one before."""
    if what.code == NO_OP.code:
        return await words.get(dest, place)
    assert what.given is not None
    given = int(what.given[number])
    if what.code == COMPARE_AND_SWAP:
        return await words.compare_swap(dest, place, given, int(what.given[1]))
    if what.code in _FETCHING:
        return await getattr(words, _FETCHING[what.code])(dest, place, given)
    # A logical operation, which no network has: tried again while another rank comes between.
    old = await words.get(dest, place)
    while True:
        new = np.array([old], DTYPES[what.kind])
        apply(what.code, new, what.given[number : number + 1])
        found = await words.compare_swap(dest, place, old, int(new[0]))
        if found == old:
            return old
        old = found
