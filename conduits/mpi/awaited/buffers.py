"""What programs give as buffers, as mpi4py takes them, and the bytes that are meant.

`array`, `[array, datatype]`, `[array, count]`, `[array, count, datatype]`, `[array, count, displacement, datatype]` and
`[array, (count, displacement), datatype]`; where each rank has a part of its own, there may be lists of counts and of
displacements, and one displacement is the distance of parts. What is None or left out is found out: the datatype of the
array, the count that fills it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import attrs
import numpy as np

from conduit import BadRequest
from conduit.contract.memory import address_of
from conduit.words import is_a, plain
from conduits.mpi.awaited import datatypes
from conduits.mpi.awaited.datatypes import BYTE, Datatype
from conduits.mpi.errors import ErrorClass, MpiError

_NUMBERS = np.generic | int | float | complex
_CONCRETE: Mapping[object, type] = {
    **dict.fromkeys((np.generic, np.number, np.inexact, np.floating), np.float64),
    **dict.fromkeys((np.integer, np.signedinteger), np.int64),
    np.unsignedinteger: np.uint64,
    np.complexfloating: np.complex128,
    **dict.fromkeys((np.flexible, np.character), np.bytes_),
}
"""For classes of numpy's that stand for several dtypes, one of these."""
NO_BYTES = memoryview(bytearray())
"""Of None, where nothing is meant."""


class InPlace:
    """The type of `IN_PLACE`."""

    def __repr__(self) -> str:
        return "MPI.IN_PLACE"


class Bottom:
    """The type of `BOTTOM`."""

    def __repr__(self) -> str:
        return "MPI.BOTTOM"


IN_PLACE = InPlace()
"""Instead of a collective's other buffer: the data are where the result goes."""
BOTTOM = Bottom()
"""MPI's address 0, which is refused."""


class Span:
    """The bytes of a buffer that are meant.

    Attributes:
        view: the bytes.
        datatype: of the elements.
        count: how many.
        source: the object that the program gave.
    """

    __slots__ = ("count", "datatype", "source", "view")

    def __init__(self, view: memoryview, datatype: Datatype, count: int, source: Any = None) -> None:
        self.view = view
        self.datatype = datatype
        self.count = count
        self.source = source

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements."""
        return np.frombuffer(self.view, self.datatype.dtype)


@attrs.frozen
class VectorBuffer:
    """A buffer of which each rank has a part.

    Attributes:
        view: all bytes of the buffer.
        datatype: of the elements.
        counts: elements of each part.
        displacements: where each begins, in elements.
        source: the object that the program gave.
    """

    view: memoryview
    datatype: Datatype
    counts: tuple[int, ...]
    displacements: tuple[int, ...]
    source: Any = attrs.field(default=None, eq=False, repr=False)

    def part(self, rank: int) -> memoryview:
        """Return the bytes of a rank's part."""
        extent = self.datatype.extent
        start = self.displacements[rank] * extent
        return self.view[start : start + self.counts[rank] * extent]

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Of each part where it begins, and its size, bytes."""
        extent = self.datatype.extent
        return tuple(
            (place * extent, count * extent) for place, count in zip(self.displacements, self.counts, strict=True)
        )


def _read(data: Any, given: Any, what: str, *, writable: bool, combined: bool = False) -> tuple[memoryview, Datatype]:
    """Return the bytes of an object, and the datatype of its elements: the given one, whatever they are themselves."""
    if data is BOTTOM:
        raise MpiError(ErrorClass.ERR_BUFFER, f"{what}: BOTTOM is no buffer here; give an array")
    datatype = None if given is None else datatype_of(given, what)
    if data is None:
        if datatype is None:
            raise BadRequest(
                f"{what}=None is no buffer, but for PROC_NULL; give an array, or b'' for no data; a call that changes "
                "an array, such as a.sort(), gives None"
            )
        return NO_BYTES, datatype
    if not isinstance(data, np.ndarray):
        view = _memory(data, what)
        if writable and view.readonly:
            raise BadRequest(f"{what}: the buffer is read-only; receive into one that can be written")
        array = np.asarray(view)
        own = BYTE if isinstance(data, bytes | bytearray) else None
    else:
        array, own = np.asarray(data), None  # of a matrix every view has two dimensions
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise BadRequest(
                f"{what}: the array of shape {array.shape} and strides {array.strides} is not contiguous; send "
                "numpy.ascontiguousarray(array), receive into another array and copy from that"
            )
        if writable and not array.flags.writeable:
            raise BadRequest(f"{what}: the array is read-only; receive into one that can be written")
    if array.dtype.hasobject:
        raise BadRequest(
            f"{what}: the array's elements are Python objects, which have no bytes to send; give an array of numbers, "
            "or pickle to bytes"
        )
    datatype = datatype or own or _own(array.dtype, what, combined)
    _refuse_unaligned(array.dtype, datatype, what)
    return (array.reshape(-1, order="A").view(np.uint8).data if array.nbytes else NO_BYTES), datatype


def _memory(data: Any, what: str) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        raise BadRequest(
            f"{what}={_short(data)} is no buffer; give an array, bytes, or a list such as [array, count, MPI.DOUBLE]"
        ) from None
    if not view.c_contiguous:
        raise BadRequest(f"{what}: the buffer is not contiguous; give one that is")
    return view


def _own(dtype: np.dtype[Any], what: str, combined: bool) -> Datatype:
    """Return the datatype of an array's elements that the program has given none for."""
    if dtype.kind not in "mMUV" and not dtype.isnative:
        raise BadRequest(f"{what}: the array's {dtype.str} is not in this machine's byte order; convert it")
    return datatypes.of(dtype, what, combined=combined)


def _refuse_unaligned(dtype: np.dtype[Any], datatype: Datatype, what: str) -> None:
    """Refuse a structured array whose elements are not as long as the pairs that they are said to be."""
    if datatype.is_pair and dtype.names is not None and dtype.itemsize != datatype.extent:
        raise BadRequest(
            f"{what}: the array's elements have {dtype.itemsize} bytes, those of {datatype.name} {datatype.extent}, as "
            "in C; give numpy.dtype the fields of that type, and align=True"
        )


def _short(value: Any) -> str:
    text = plain(value)
    return text if len(text) < 60 else f"{text[:56]} ..."


def of_mpi4py(value: object) -> bool:
    """Say whether a value is an object of mpi4py itself, whose names are those here."""
    return type(value).__module__.partition(".")[0] == "mpi4py"


def datatype_of(given: Any, what: str) -> Datatype:
    """Return the datatype that a program gives as one, or by numpy's code.

    Raises:
        BadRequest: it is none.
        MpiError: it is null.
    """
    if isinstance(given, str):
        return datatypes.named(given, what)
    if isinstance(given, Datatype):
        if given.is_null:
            raise MpiError(
                ErrorClass.ERR_TYPE, f"{what}: DATATYPE_NULL is no datatype of data; give MPI.INT or another"
            )
        return given
    if of_mpi4py(given):
        raise BadRequest(f"{what}: the datatype is of mpi4py itself; write `from conduits.mpi import MPI` at the top")
    raise BadRequest(f"{what}: {_short(given)} is no datatype; give MPI.INT, MPI.DOUBLE or another, or numpy's code")


def is_one(given: Any) -> bool:
    """Return whether it is one integer, and not several."""
    try:
        index(given)
    except TypeError:
        return False
    return True


def whole(
    given: Any, what: str, low: int = 0, error: ErrorClass = ErrorClass.ERR_COUNT, high: int | None = None
) -> int:
    """Return an integer argument.

    Raises:
        BadRequest: it is none.
        MpiError: it is less than `low`, or greater than `high`.
    """
    try:
        number = index(given)
    except TypeError:
        raise BadRequest(f"{what}={_short(given)} is no integer") from None
    if number < low:
        raise MpiError(error, f"{what}={number} is less than {low}")
    if high is not None and number > high:
        raise MpiError(error, f"{what}={number} is greater than {high}")
    return number


_ARRAY, _BY_DTYPE = np.ndarray, datatypes.BY_DTYPE


def bytes_of(given: Any, call: str, name: str = "buf", *, writable: bool = False) -> memoryview:
    """Return the bytes that a buffer of one part means: the `view` of `span`, quickly for an array of numbers.

    Args:
        given: as a program gives it.
        call: of the communicator, for errors.
        name: of the argument, for errors.
        writable: whether something is received into it.
    """
    if given.__class__ is _ARRAY and given.dtype in _BY_DTYPE:
        try:
            view = given.data.cast("B")
        except TypeError:  # empty, or not contiguous in C's order
            return span(given, f"Comm.{call}: {name}", writable=writable).view
        if not (writable and view.readonly):
            return view
    return span(given, f"Comm.{call}: {name}", writable=writable).view


def _span_of(array: np.ndarray[Any, Any], writable: bool) -> Span | None:
    """Return what an array of numbers means, quickly; None where `_read` has to look closer."""
    datatype = _BY_DTYPE.get(array.dtype)
    if datatype is None:
        return None
    try:
        view = array.data.cast("B")
    except TypeError:
        return None
    return None if writable and view.readonly else Span(view, datatype, array.size, array)


def span(given: Any, what: str, *, writable: bool = False, combined: bool = False) -> Span:
    """Return what a buffer of one part means.

    Args:
        given: as a program gives it.
        what: the call and the argument, for errors.
        writable: whether something is received into it.
        combined: whether it holds operands of a reduction, for errors.

    Raises:
        BadRequest: it is no buffer, or one that mpi4py refuses.
        MpiError: of a count or datatype that MPI refuses.
    """
    if isinstance(given, Span):
        return given
    if given.__class__ is _ARRAY and (quick := _span_of(given, writable)) is not None:
        return quick
    if not isinstance(given, list | tuple):
        view, datatype = _read(given, None, what, writable=writable, combined=combined)
        return Span(view, datatype, len(view) // datatype.extent, given)
    data, count, displacement, datatype_given = _simple(given, what)
    view, datatype = _read(data, datatype_given, what, writable=writable, combined=combined)
    start = displacement * datatype.extent
    if count is None:
        left = len(view) - start
        _refuse_part_of_element(left, datatype, what, "a count")
        count = left // datatype.extent
    if start < 0 or start + count * datatype.extent > len(view):
        raise BadRequest(
            f"{what}: {count} elements of {datatype.name} from element {displacement} on take "
            f"{count * datatype.extent} bytes, the buffer has {len(view)}; give at most that"
        )
    return Span(view[start : start + count * datatype.extent], datatype, count, data)


def _refuse_part_of_element(nbytes: int, datatype: Datatype, what: str, missing: str) -> None:
    """Refuse a buffer that ends within an element, where nothing says how many elements are meant."""
    if nbytes % datatype.extent:
        raise BadRequest(
            f"{what}: the buffer's {nbytes} bytes are no multiple of the {datatype.extent} of {datatype.name}; give "
            f"{missing}, or another datatype"
        )


def _refuse_numbers(given: Sequence[Any], what: str) -> None:
    """Refuse a list that is meant as what is sent, and not as an array with its count and datatype."""
    if given and all(isinstance(each, int | float | complex | list | tuple) for each in given):
        kind = type(given).__name__
        raise BadRequest(
            f"{what}={_short(given)} is a {kind} of numbers, which has no bytes to send or to receive into; give an "
            f"array: numpy.array({_short(given)})"
        )


_SIMPLE = "[array, count, datatype]"
_PARTS = "[array, counts, displacements, datatype]"
"""How the lists are, for errors."""


def _is_datatype(given: Any) -> bool:
    """Return whether an item of a list stands for a datatype; None may stand for anything."""
    return isinstance(given, Datatype | str) or of_mpi4py(given)


def _items(given: Sequence[Any], what: str, order: str, *, listed: bool) -> tuple[Any, Any, Any, Any]:
    """Return data, count, displacement and datatype of a list, None for what it leaves to be found out.

    Args:
        given: the list.
        what: the call and the argument, for errors.
        order: what such a list is, for errors.
        listed: whether count and displacement may be together in a list too, and not only in a tuple.
    """
    _refuse_numbers(given, what)
    if not 2 <= len(given) <= 4:
        raise BadRequest(f"{what}: a list of {len(given)} items is no buffer; give [array, datatype] or {order}")
    data, count, *rest = given
    displacement = rest[0] if len(rest) == 2 else None
    datatype = rest[-1] if rest else None
    if not rest and _is_datatype(count):
        count, datatype = None, count
    elif len(rest) < 2 and (isinstance(count, tuple) or (listed and isinstance(count, list))):
        if len(count) != 2:
            raise BadRequest(
                f"{what}: {_short(count)} are not two, in the place of (count, displacement); counts of several ranks "
                "are a list"
            )
        count, displacement = count
    known = datatype is None or _is_datatype(datatype)
    _refuse_disorder((count, displacement) if known else (count, displacement, datatype), what, order)
    if not known:
        raise BadRequest(
            f"{what}: {_short(datatype)} is in the place of the datatype; give {order}, and with what "
            "does not begin at the array's start [array, (count, displacement), datatype]"
        )
    if data is None and datatype is None:
        raise BadRequest(f"{what}: None has no datatype; for an empty buffer give [None, 0, MPI.BYTE] or another")
    return data, count, displacement, datatype


def _simple(given: Sequence[Any], what: str) -> tuple[Any, int | None, int, Any]:
    """Return data, count, displacement and datatype of a list, as `_items`."""
    data, count, displacement, datatype = _items(given, what, _SIMPLE, listed=True)
    return (
        data,
        None if count is None else whole(count, f"{what}: count"),
        0 if displacement is None else whole(displacement, f"{what}: displacement"),
        datatype,
    )


def _refuse_disorder(rest: Sequence[Any], what: str, order: str) -> None:
    """Refuse a datatype that is not the last item of a list, or is numpy's."""
    for each in rest:
        if _is_datatype(each):
            raise BadRequest(f"{what}: the datatype, {_short(each)}, is not the last item; give {order}")
        if isinstance(each, np.dtype) or (isinstance(each, type) and issubclass(each, _NUMBERS)):
            dtype = np.dtype(_CONCRETE.get(each, each))
            name = datatypes.of(dtype, what).name.replace("_", ".", 1)
            raise BadRequest(
                f"{what}: {getattr(each, '__name__', each)} is a dtype of numpy's; give {name}, as in {order}"
            )


def parts(given: Any, size: int, what: str, *, writable: bool = False) -> VectorBuffer:
    """Return what a buffer means of which each of `size` ranks has a part, of sizes of their own.

    Without counts all have as many elements, but the first ones, which have one more where there is a rest.

    Raises:
        BadRequest, MpiError: as `span`.
    """
    data, counts_given, places_given, datatype_given = (
        _items(given, what, _PARTS, listed=False) if isinstance(given, list | tuple) else (given, None, None, None)
    )
    view, datatype = _read(data, datatype_given, what, writable=writable)
    elements = len(view) // datatype.extent
    if counts_given is None:
        _refuse_part_of_element(len(view), datatype, what, "counts")
        each, more = divmod(elements, size)
        counts = (each + 1,) * more + (each,) * (size - more)
    elif is_one(counts_given):
        counts = (whole(counts_given, f"{what}: count"),) * size
    else:
        counts = numbers(counts_given, size, f"{what}: counts")
    if places_given is None:
        places, at = [], 0
        for count in counts:
            places.append(at)
            at += count
        displacements = tuple(places)
    elif is_one(places_given):
        apart = whole(places_given, f"{what}: displacement")
        displacements = tuple(rank * apart for rank in range(size))
    else:
        displacements = numbers(places_given, size, f"{what}: displacements")
    for rank, (count, place) in enumerate(zip(counts, displacements, strict=True)):
        if count and place + count > elements:
            raise BadRequest(
                f"{what}: the part of rank {rank}, {count} elements from {place} on, leaves the buffer, which has "
                f"{elements} of {datatype.name}"
            )
    if writable:
        _refuse_overlap(counts, displacements, what)
    return VectorBuffer(view, datatype, counts, displacements, data)


def _refuse_overlap(counts: Sequence[int], displacements: Sequence[int], what: str) -> None:
    """Refuse parts that are received, where some element is in two of them.

    Raises:
        MpiError: there is one.
    """
    order = sorted((place, rank) for rank, place in enumerate(displacements) if counts[rank])
    for (place, rank), (after, other) in itertools.pairwise(order):
        if place + counts[rank] > after:
            raise MpiError(
                ErrorClass.ERR_BUFFER,
                f"{what}: the parts of rank {rank}, {counts[rank]} elements from {place} on, and of rank {other}, "
                f"{counts[other]} from {after} on, overlap; no element is received twice: give other displacements",
            )


def equal_parts(given: Any, size: int, what: str, *, writable: bool = False) -> VectorBuffer:
    """Return what a buffer means of which each of `size` ranks has a part of the same size; a count is that of one.

    Raises:
        BadRequest, MpiError: as `span`.
    """
    data, count, displacement, datatype_given = (
        _simple(given, what) if isinstance(given, list | tuple) else (given, None, 0, None)
    )
    view, datatype = _read(data, datatype_given, what, writable=writable)
    elements = len(view) // datatype.extent - displacement
    if count is None:
        if elements % size or len(view) % datatype.extent:
            raise BadRequest(
                f"{what}: the buffer's {len(view)} bytes from element {displacement} of {datatype.name} on cannot be "
                f"divided among {size} ranks; give a count"
            )
        count = elements // size
    if (displacement and elements < 0) or count * size > elements:
        raise BadRequest(
            f"{what}: {count} elements of {datatype.name} for each of {size} ranks, from element {displacement} on, "
            f"take {count * size * datatype.extent} bytes, the buffer has {max(elements, 0) * datatype.extent}"
        )
    places = tuple(displacement + rank * count for rank in range(size))
    return VectorBuffer(view, datatype, (count,) * size, places, data)


def numbers(given: Any, size: int, what: str) -> tuple[int, ...]:
    """Return one integer for each of `size` ranks.

    Raises:
        BadRequest: they are none, or not so many, or have no order or no length: a set, a dict, an iterator.
        MpiError: one is negative.
    """
    if isinstance(given, Mapping) or not (hasattr(given, "__getitem__") and hasattr(given, "__len__")):
        raise BadRequest(
            f"{what}={_short(given)} {is_a(given)}, whose items have no order that counts; give a list or an array of "
            f"{size} integers, one for each rank"
        )
    try:
        found = tuple(whole(each, what) for each in given)
    except TypeError:
        raise BadRequest(f"{what}={_short(given)} are no integers, one for each of {size} ranks") from None
    if len(found) != size:
        raise BadRequest(f"{what}: {len(found)} numbers for {size} ranks; give one for each")
    return found


def disjoint(one: memoryview, other: memoryview) -> bool:
    """Return whether two runs of bytes have none in common."""
    if not (one.nbytes and other.nbytes):
        return True
    return not np.may_share_memory(np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8))


def share_bytes(one: Span | VectorBuffer, other: Span | VectorBuffer) -> bool:
    """Return whether two buffers have bytes in common among those that are meant; what lies in a gap is not."""
    here, there = sorted(_extents(one)), sorted(_extents(other))
    at = 0
    for start, end in here:
        while at < len(there) and there[at][1] <= start:
            at += 1
        if at < len(there) and there[at][0] < end:
            return True
    return False


def _extents(buffer: Span | VectorBuffer) -> list[tuple[int, int]]:
    """Return where in memory the parts that are meant begin and end."""
    if not buffer.view.nbytes:
        return []
    first = address_of(np.frombuffer(buffer.view, np.uint8))
    if isinstance(buffer, Span):
        return [(first, first + buffer.view.nbytes)]
    return [(first + place, first + place + size) for place, size in buffer.places if size]
