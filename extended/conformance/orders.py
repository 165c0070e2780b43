"""Whether some order of atomic operations explains what all ranks saw.

An operation takes effect at one instant between its call and its return.  So there must be an order of all operations
that keeps apart what was apart in time, and in which a model that is one number of numpy gives every rank what it got.
"""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

CALLS = (
    "get", "set", "swap", "compare_swap", "add", "sub", "mul", "min", "max", "and_", "or_", "xor", "inc", "dec",
    "fetch_add", "fetch_sub", "fetch_mul", "fetch_min", "fetch_max", "fetch_and", "fetch_or", "fetch_xor", "fetch_inc",
    "fetch_dec",
)  # fmt: skip

UFUNCS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": np.add,
    "dec": np.subtract,
}


def operands(call: str, first: int, second: int) -> tuple[int, ...]:
    """Give as many of two numbers as a call takes."""
    plain = call.removeprefix("fetch_")
    return () if plain in ("get", "inc", "dec") else (first, second) if plain == "compare_swap" else (first,)


@attrs.frozen
class ObservedOperation:
    """An operation as a rank saw it.

    Attributes:
        call: its name.
        first: its operand, or what compare_swap expects.
        second: what compare_swap stores.
        begun: when it was called, seconds.
        ended: when it had returned.
        got: what it gave.
    """

    call: str
    first: int
    second: int
    begun: float
    ended: float
    got: int | None


def _after(dtype: str, one: ObservedOperation, old: Any) -> tuple[Any, Any]:
    """Give what an operation makes of a number of an integer type, and what it gives."""
    plain = one.call.removeprefix("fetch_").rstrip("_")
    first, second, step = (np.array(n % (1 << 64), np.uint64).astype(dtype)[()] for n in (one.first, one.second, 1))
    if plain == "get":
        return old, old
    if plain in ("set", "swap"):
        return first, old if plain == "swap" else None
    if plain == "compare_swap":
        return second if old == first else old, old
    with np.errstate(all="ignore"):
        new = UFUNCS[plain](old, step if plain in ("inc", "dec") else first)
    return new, old if one.call.startswith("fetch_") else None


def explained(dtype: str, histories: Sequence[Sequence[ObservedOperation]], final: int) -> bool:
    """Say whether some order of the operations gives all results and the final number.

    Args:
        dtype: an integer type; the number was 0 at first.
        histories: what each rank did, one operation after the other.
        final: the number when all had returned.
    """
    seen = set()

    def search(at: tuple[int, ...], value: Any) -> bool:
        if (at, int(value)) in seen:
            return False
        seen.add((at, int(value)))
        heads = [(rank, histories[rank][place]) for rank, place in enumerate(at) if place < len(histories[rank])]
        if not heads:
            return int(value) == final
        for rank, one in heads:
            # What had returned before this one was called comes first.
            if all(other.ended >= one.begun for _, other in heads):
                new, gives = _after(dtype, one, value)
                fits = gives is None or int(gives) == one.got
                if fits and search(tuple(place + (who == rank) for who, place in enumerate(at)), new):
                    return True
        return False

    return search((0,) * len(histories), np.zeros(1, dtype)[0])
