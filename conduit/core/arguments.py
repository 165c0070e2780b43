"""Checks of the arguments of the core's calls: each returns the value to use or raises BadRequest."""

from __future__ import annotations

import copy
import math
import operator
import re
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from conduit.contract import Buffer
from conduit.errors import BadRequest
from conduit.words import as_bytes, is_a, plain

_ARGUMENTS = [struct.Struct(f"<{count}i") for count in range(256)]
PACK = [each.pack for each in _ARGUMENTS]
"""Each packs that many handler arguments that fit 32 bits, signed."""
UNUSUAL = (KeyError, IndexError, TypeError, struct.error)
"""What looking up a handler and packing raise where the one or the other is to be looked at more closely."""
UNPACK = {each.size: each.unpack for each in _ARGUMENTS}
_FIELD_NAME = re.compile(":[^:]*:")  # in the format of a buffer; what is left are its types
_SHOWN, _SHOWN_BITS = 200, 256  # of a value in a message: characters, bits of an int


MOST_SECONDS = 1e9
"""Of one act, and of a whole job with a time limit: more is a slip, and far more could not be simulated."""
MOST_WORK = 10**24
"""Operations or bytes of one act; how long they take is another question."""


def shown(value: object) -> str:
    """Return how messages show a value: what has no end, or cannot be shown, by its kind."""
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an int of {value.bit_length()} bits"
    try:
        text = plain(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def integer(call: str, name: str, value: Any) -> int:
    """Return `value` as an int; floats and other types without `__index__` are refused."""
    try:
        return operator.index(value)
    except TypeError:
        raise BadRequest(f"{call}: {name}={shown(value)} {is_a(value)}; pass an int") from None


def status(call: str, name: str, value: Any) -> int:
    """Return `value` as the exit status of a process."""
    code = integer(call, name, value)
    if not 0 <= code <= 255:
        raise BadRequest(f"{call}: {name}={shown(code)} is no exit status; pass an int from 0 to 255, 0 for success")
    return code


def number(call: str, name: str, value: Any, most: float) -> float:
    """Return `value` as a float from 0 to `most`."""
    try:
        result = math.nan if _is_no_number(value) else float(value)
    except OverflowError:  # an int longer than any float
        result = math.inf
    except (TypeError, ValueError):
        raise BadRequest(f"{call}: {name}={shown(value)} {is_a(value)}; pass a number") from None
    if not 0.0 <= result <= most:
        raise BadRequest(
            f"{call}: {name}={shown(value)} is not allowed; pass a finite number of at least 0 and at most {most:g}"
        )
    return result


def _is_no_number(value: Any) -> bool:
    """Say whether `value` is a text or an array, of which `float` would take some."""
    return isinstance(value, str | bytes | bytearray) or getattr(value, "ndim", 0) != 0


def amount(call: str, name: str, value: Any, least: int, most: int) -> int:
    """Return `value` as an int from `least` to `most`."""
    result = integer(call, name, value)
    if not least <= result <= most:
        raise BadRequest(
            f"{call}: {name}={shown(result)} is not allowed; pass an integer of at least {least}"
            + (f" and at most {most}" if result > most else "")
        )
    return result


def rank(call: str, name: str, value: Any, size: int) -> int:
    """Return `value` as a rank of a job of `size`."""
    result = integer(call, name, value)
    if not 0 <= result < size:
        raise BadRequest(f"{call}: {name}={shown(result)} is no rank of this job; ranks go from 0 to {size - 1}")
    return result


def ranks(call: str, name: str, value: Any, size: int) -> Iterable[int]:
    """Return `value` as ranks of a job of `size`; what may change is read anew at every look."""
    if isinstance(value, Collection | Iterator):
        first = tuple(rank(call, name, each, size) for each in value)
        return DynamicRanks(value, first, size) if isinstance(value, Collection) and type(value) is not tuple else first
    if isinstance(value, Iterable):
        return DynamicRanks(value, (), size)
    raise BadRequest(f"{call}: {name}={shown(value)} {is_a(value)}; pass ranks, such as [0, 1]")


def pack(call: str, args: Sequence[Any], most: int) -> bytes:
    """Return handler arguments as little-endian 32-bit integers; unsigned ones wrap."""
    if len(args) > most:
        raise BadRequest(f"{call}: {len(args)} arguments are over max_args={most}; send the rest as a medium payload")
    try:
        return PACK[len(args)](*args)
    except (struct.error, TypeError):  # the latter from `__index__` of an array, say
        return PACK[len(args)](*[_word(call, index, value) for index, value in enumerate(args)])


def _word(call: str, index: int, value: Any) -> int:
    if isinstance(value, float | str | bytes | bytearray | memoryview):
        raise BadRequest(
            f"{call}: args[{index}]={shown(value)} {is_a(value)}; arguments are integers: send anything else as the "
            "payload of a medium message, in bytes"
        )
    word = integer(call, f"args[{index}]", value)
    if not -(1 << 31) <= word < 1 << 32:
        raise BadRequest(
            f"{call}: args[{index}]={shown(word)} does not fit 32 bits; arguments are integers from -2**31 to "
            "2**32 - 1, send a wider one as two"
        )
    return word - (1 << 32) if word >= 1 << 31 else word


def buffer(call: str, name: str, value: Any) -> Buffer:
    """Return `value` as bytes or a flat view of bytes; what is not C-contiguous is refused."""
    if type(value) is bytes:
        return value
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError) as error:
        # Of arrays these are dates, and fields that overlap or are out of order.
        array = isinstance(value, np.ndarray)
        why = f" ({error})" if array else ""
        advice = f"{name}.view('u1')" if array else as_bytes(value)
        raise BadRequest(
            f"{call}: {name} {is_a(value)}, which has no buffer of plain bytes{why}; pass {advice}"
        ) from None
    if not view.c_contiguous:
        raise BadRequest(
            f"{call}: {name} of shape {view.shape} and strides {view.strides} is not C-contiguous; "
            "pass numpy.ascontiguousarray(...) of it"
        )
    if view.nbytes == 0:
        return b""
    if view.format == "B" and view.ndim == 1:
        return view
    if "O" in _FIELD_NAME.sub("", view.format):
        raise BadRequest(
            f"{call}: {name} {is_a(value)} of format {view.format!r}: its elements are references to "
            "objects, which mean nothing on another rank; pass plain numbers, or pickle.dumps(...) of the objects"
        )
    try:
        return view.cast("B")
    except TypeError as error:
        raise BadRequest(f"{call}: {name} of format {view.format!r} cannot be read as bytes ({error})") from None


def payload(call: str, value: Any, most: int, limit: str, way_out: str) -> Buffer:
    """Return a payload of at most `most` bytes, the value of `limit`."""
    data = buffer(call, "payload", value)
    if len(data) > most:
        raise BadRequest(f"{call}: payload of {len(data)} bytes is over {limit}={most}; {way_out}")
    return data


def place(call: str, offset: Any, nbytes: int, size: int, dest: int) -> int:
    """Return `offset` where `nbytes` from it lie in a segment of `size` bytes of rank `dest`."""
    result = integer(call, "offset", offset)
    if nbytes and not 0 <= result <= size - nbytes:
        raise BadRequest(
            f"{call}: {nbytes} bytes at offset={shown(result)} are not inside the segment of rank {dest}, which has "
            f"{size} bytes; {advice_inside(result)}"
        )
    return result


def advice_inside(start: int) -> str:
    """Return what to do where bytes from an offset are not all in a segment."""
    return "offsets begin at 0" if start < 0 else "ask for a larger one with segment= or --segment"


def auxiliary(call: str, offset: Any, nbytes: int, size: int, dest: int) -> int:
    """Return `offset` where `nbytes` from it lie in the `size` auxiliary bytes of rank `dest`."""
    if type(offset) is int and 0 <= offset <= size - nbytes:
        return offset
    result = integer(call, "offset", offset)
    if nbytes and not 0 <= result <= size - nbytes:
        raise BadRequest(
            f"{call}: {nbytes} bytes at offset={shown(result)} are not inside the auxiliary memory of rank {dest}, "
            f"which has {size} bytes; send to what its ep.take_auxiliary has given"
        )
    return result


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a deep copy of the arguments of `run`, as every rank gets one."""
    try:
        return copy.deepcopy(args)
    except Exception as error:
        raise BadRequest(
            f"run: {_first_fixed(args)} cannot be copied ({type(error).__name__}: {error}), but every rank gets a deep "
            "copy of the arguments; pass plain data, and make the rest in main"
        ) from error


def _first_fixed(args: tuple[Any, ...]) -> str:
    for index, value in enumerate(args):
        try:
            copy.deepcopy(value)
        except Exception:
            return f"args[{index}]={shown(value)}"
    return f"args={shown(args)}"


class DynamicRanks:
    """The ranks in a collection of the program's for the report of a deadlock, read anew whenever they are asked for.

    Args:
        collection: the program's; can be iterated any number of times.
        first: what is known to be right; counts where reading it raises, or gives what is no rank.
        size: number of ranks of the job.
    """

    __slots__ = ("_collection", "_first", "_size")

    def __init__(self, collection: Iterable[int], first: tuple[int, ...], size: int) -> None:
        self._collection = collection
        self._first = first
        self._size = size

    def __iter__(self) -> Iterator[int]:
        try:
            ranks = [operator.index(rank) for rank in self._collection]
        except Exception:  # out of the program's object, while the report of another error is made
            return iter(self._first)
        return iter(ranks if all(0 <= rank < self._size for rank in ranks) else self._first)
