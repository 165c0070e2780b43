"""What every call of this layer asks of its arguments, and the words in which it says no.

The functions are called when a call is made, before anything is sent.  Each message names the call, the argument, its
value, what is allowed and what to do.
"""

from __future__ import annotations

from contextlib import suppress
from operator import index

import numpy as np

import conduit
from conduit.words import is_a, plain
from extended.as_meant import as_number

VALUE_BYTES = 8
"""The largest value put or got as an integer, in bytes."""


_SHOWN, _SHOWN_BITS = 200, 256  # of a value in a message: characters, bits of an int


_PUT_FLOATS = "; for a float write `x.put(dest, offset, numpy.float64(value))`"
_BEFORE = "the rank before rank 0 is `(ep.rank - 1) % ep.size`"
"""What is meant by -1."""


def shown(value: object) -> str:
    """Return how messages show a value: what has no end, or cannot be shown, by its kind."""
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an int of {value.bit_length()} bits"
    try:
        text = plain(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def integer(call: str, name: str, value: object, floats: str = "") -> int:
    """Return an integer argument as an int.

    Args:
        call: the public call.
        name: of the argument.
        value: as given.
        floats: what to write for a float, where there is a place for those.

    Raises:
        conduit.BadRequest: `value` has no ``__index__`` (a float, a string).
    """
    if type(value) is int:
        return value
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise conduit.BadRequest(
            f"{call}: {name}={shown(value)} {is_a(value)}; it must be an integer{_for_float(name, value, floats)}"
        ) from None


def _for_float(name: str, value: object, floats: str) -> str:
    """Say what to write for a float; "" for what is none."""
    if not isinstance(value, float):
        return ""
    return floats or ", as `//` gives in the place of `/`" + (f", or int({name})" if value.is_integer() else "")


def count(call: str, name: str, value: object) -> int:
    """Return a number of bytes, which is an integer of 0 or more.

    Raises:
        conduit.BadRequest: not an integer, or negative.
    """
    number = integer(call, name, value)
    if number < 0:
        raise conduit.BadRequest(f"{call}: {name}={shown(number)} is negative; a number of bytes is 0 or more")
    return number


def flag(call: str, name: str, value: object) -> bool:
    """Return a yes-or-no argument as a bool.

    Raises:
        conduit.BadRequest: anything but True or False (0 and 1 mean the same).
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    with suppress(TypeError):  # without `__index__`, or an array, which has one that raises
        number = index(value)  # type: ignore[arg-type]
        if number in (0, 1):
            return bool(number)
    raise conduit.BadRequest(f"{call}: {name}={shown(value)} is neither True nor False; give one of them")


class Bounds:
    """Which ranks there are, and how far their segments reach.

    Args:
        ep: the rank's endpoint.
    """

    __slots__ = ("_ep", "_sizes")

    def __init__(self, ep: conduit.Endpoint) -> None:
        self._ep = ep
        self._sizes: dict[int, int] = {}  # of the ranks that this one has talked to

    def check(self, call: str, dest: object, offset: object, nbytes: int) -> None:
        """Check that bytes lie in the segment of a rank; of no bytes the offset is not looked at.

        Raises:
            conduit.BadRequest: `dest` is no rank, `offset` no integer, or the bytes are not all inside.
        """
        # Nearly all calls are right and made with plain integers: this one line is all that they pay.
        if type(dest) is int and type(offset) is int and 0 <= offset <= self._sizes.get(dest, -1) - nbytes:
            return
        owner = self._rank(call, dest)
        start = integer(call, "offset", offset)
        if not nbytes:
            return
        size = self._sizes[owner] = self._ep.segment_size(owner)
        if start < 0 or start + nbytes > size:
            raise self.outside(call, f"offset={shown(start)} with {shown(nbytes)} bytes", start, start + nbytes, owner)

    def segment(self, call: str, dest: object) -> tuple[int, int]:
        """Return a rank as an int, and the bytes of its segment.

        Raises:
            conduit.BadRequest: `dest` is no rank.
        """
        owner = self._rank(call, dest)
        return owner, self._ep.segment_size(owner)

    def outside(self, call: str, what: str, start: int, stop: int, owner: int) -> conduit.BadRequest:
        """Return the error for bytes `start` to `stop` (exclusive) that are not all in a rank's segment."""
        size = self._ep.segment_size(owner)
        if start < 0:
            return conduit.BadRequest(
                f"{call}: {what} begins before the segment of rank {owner}, which has {size} bytes; offsets begin at 0"
            )
        return conduit.BadRequest(
            f"{call}: {what} is bytes {shown(start)} to {shown(stop - 1)}, but the segment of rank {owner} has {size} "
            "bytes; stay below that, or start the job with a larger segment="
        )

    def _rank(self, call: str, dest: object) -> int:
        number = integer(call, "dest", dest)
        if not 0 <= number < self._ep.size:
            raise conduit.BadRequest(
                f"{call}: dest={shown(number)} is no rank of this job; its ranks are 0 to {self._ep.size - 1}, "
                + ("choose one of them or start the job with more (ranks=)" if number >= 0 else _BEFORE)
            )
        return number


def value_size(call: str, nbytes: object) -> int:
    """Return the size of a value in bytes.

    Raises:
        conduit.BadRequest: not an integer from 1 to 8.
    """
    number = integer(call, "nbytes", nbytes)
    if not 1 <= number <= VALUE_BYTES:
        raise conduit.BadRequest(
            f"{call}: nbytes={shown(number)} is not possible for a value, which has 1 to {VALUE_BYTES} bytes; use "
            "put or get for more"
        )
    return number


def value(call: str, number: object, nbytes: int) -> int:
    """Return an integer that fits into `nbytes` bytes, signed or unsigned.

    Raises:
        conduit.BadRequest: not an integer, or one that does not fit.
    """
    integral = integer(call, "value", as_number(number), _PUT_FLOATS)
    low, high = -(1 << (8 * nbytes - 1)), (1 << (8 * nbytes)) - 1
    if not low <= integral <= high:
        raise conduit.BadRequest(
            f"{call}: value={shown(integral)} does not fit into nbytes={nbytes}, which hold {low} to {high}; give "
            "more bytes or mask the value"
        )
    return integral


def byte(call: str, number: object) -> int:
    """Return the value of one byte.

    Raises:
        conduit.BadRequest: not an integer from 0 to 255.
    """
    integral = integer(call, "byte", number)
    if not 0 <= integral <= 255:
        raise conduit.BadRequest(f"{call}: byte={shown(integral)} is no byte; give 0 to 255, such as {integral & 255}")
    return integral


def barrier_id(call: str, id: object) -> int | None:
    """Return a barrier's id as a signed integer of 32 bits, or None for an anonymous one.

    Raises:
        conduit.BadRequest: not an integer, or one of more than 32 bits.
    """
    if id is None:
        return None
    number = integer(call, "id", id)
    if not -(1 << 31) <= number < 1 << 32:
        raise conduit.BadRequest(
            f"{call}: id={shown(number)} is wider than 32 bits; give {-(1 << 31)} to {(1 << 32) - 1}, or None for an "
            "anonymous barrier"
        )
    return number - (1 << 32) if number >= 1 << 31 else number
