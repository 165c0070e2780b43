"""What the calls of non-contiguous transfers ask of the places that they are given, and copies of these.

The lists and strides of the program are copied when the call is made, so that they may be changed afterwards.  All
messages name the element that is wrong.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from conduit.words import is_a, many
from extended import checks
from extended.as_meant import a_list
from extended.vis.region import StridedRegion
from extended.vis.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import SupportsIndex, TypeAlias

    import numpy.typing as npt

    Wide = npt.NDArray[Any]  # of dtype object where a value has more than 64 bits
    Offsets: TypeAlias = Iterable[SupportsIndex] | npt.NDArray[np.integer[Any]]
    Pieces: TypeAlias = Iterable[tuple[SupportsIndex, SupportsIndex]] | npt.NDArray[np.integer[Any]]
    Strides: TypeAlias = Iterable[SupportsIndex] | npt.NDArray[np.integer[Any]]

_MOST = (1 << 63) - 1


def offsets(call: str, given: Any) -> Wide:
    """Return a list of offsets as a new array.

    Raises:
        conduit.BadRequest: no list of integers.
    """
    given = a_list(given)
    if isinstance(given, np.ndarray):
        if given.ndim != 1:
            raise conduit.BadRequest(
                f"{call}: offsets is an array of shape {given.shape}; give one of one dimension, such as "
                "offsets.reshape(-1)"
            )
        if given.dtype.kind == "b":  # numpy takes those of 0 and 1 for a mask
            raise conduit.BadRequest(
                f"{call}: offsets is an array of {many(given.size, 'bool')}, a mask; give the offsets in bytes, "
                "such as numpy.flatnonzero(mask) * size for elements of that size"
            )
        if given.dtype.kind == "i":
            return given.astype(np.int64)
    elif not _iterable(given):
        raise conduit.BadRequest(f"{call}: offsets {is_a(given)}; give a list of integers")
    listed: list[Any] = list(given)
    try:
        return np.fromiter(map(index, listed), np.int64, len(listed))
    except (TypeError, OverflowError):
        return _wide([checks.integer(call, f"offsets[{number}]", each) for number, each in enumerate(listed)])


def element_size(call: str, nbytes: object) -> int:
    """Return the size of the elements of an indexed transfer.

    Raises:
        conduit.BadRequest: no number of bytes, or more than an array can have.
    """
    size = checks.count(call, "nbytes", nbytes)
    if size > _MOST:
        raise conduit.BadRequest(
            f"{call}: nbytes={checks.shown(size)} is more than any memory has; give the size of one element, at "
            "most 2**63 - 1 bytes"
        )
    return size


def pieces(call: str, given: Any) -> Wide:
    """Return a list of (offset, nbytes) as a new array of shape (n, 2).

    Raises:
        conduit.BadRequest: no list of pairs of integers, or a negative number of bytes.
    """
    given = a_list(given)
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == 2 and given.dtype.kind == "i":
        if not (given[:, 1] < 0).any():
            return given.astype(np.int64)
    elif not _iterable(given):
        raise conduit.BadRequest(f"{call}: pieces {is_a(given)}; give a list of (offset, nbytes)")
    listed: list[int] = []
    for number, piece in enumerate(given):
        try:
            offset, nbytes = piece
        except (TypeError, ValueError):
            raise conduit.BadRequest(
                f"{call}: pieces[{number}]={checks.shown(piece)} is no pair; give a list of (offset, nbytes)"
            ) from None
        listed.append(checks.integer(call, f"pieces[{number}][0]", offset))
        listed.append(checks.count(call, f"pieces[{number}][1]", nbytes))
    return _wide(listed).reshape(-1, 2)


def strides(call: str, given: Any, name: str, array: npt.NDArray[Any]) -> tuple[int, ...]:
    """Return the strides of an array's elements there, one for each dimension.

    Raises:
        conduit.BadRequest: no list of as many integers as the array has dimensions.
    """
    given = a_list(given)
    if not _iterable(given):
        raise conduit.BadRequest(
            f"{call}: strides {is_a(given)}; give a tuple with the bytes between elements there, one "
            f"number for each of the array's {array.ndim} dimensions"
        )
    steps = tuple(checks.integer(call, f"strides[{number}]", each) for number, each in enumerate(given))
    if len(steps) != array.ndim:
        raise conduit.BadRequest(
            f"{call}: strides={checks.shown(steps)} is not as long as the shape {array.shape} of {name}; give one "
            f"for each of its {array.ndim} dimensions"
        )
    return steps


def _iterable(given: object) -> bool:
    # An array of no dimensions has the method, and it raises.
    return hasattr(given, "__iter__") and not isinstance(given, str | bytes) and getattr(given, "shape", None) != ()


def _wide(values: list[int]) -> Wide:
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array(values, object)


# ------------------------------------------------------------------------------------------------- inside the segment


def check_runs(bounds: checks.Bounds, call: str, name: str, dest: object, starts: Wide, lengths: Wide | int) -> int:
    """Check that runs lie in the segment of a rank; of no bytes the offset is not looked at.  Returns the rank.

    What has more than 64 bits passes only as the offset of no bytes.

    Raises:
        conduit.BadRequest: `dest` is no rank, or a run is not all inside.
    """
    owner, size = bounds.segment(call, dest)
    if isinstance(lengths, int):
        lengths = np.full(len(starts), lengths, np.int64)
    # Compared so that nothing overflows.
    wrong = np.flatnonzero((lengths > 0) & ((starts < 0) | (lengths > size) | (starts > size - lengths)))
    if len(wrong):
        number = int(wrong[0])
        start, nbytes = int(starts[number]), int(lengths[number])
        what = f"{name}[{number}], offset {checks.shown(start)} with {checks.shown(nbytes)} bytes,"
        raise bounds.outside(call, what, start, start + nbytes, owner)
    return owner


def check_lattice(bounds: checks.Bounds, call: str, dest: object, region: StridedRegion) -> int:
    """Check that a strided section lies in the segment of a rank, if it has any bytes.  Returns the rank.

    Raises:
        conduit.BadRequest: `dest` is no rank, or some of it is outside.
    """
    owner, size = bounds.segment(call, dest)
    if region.nbytes:
        start, stop = region.extent()
        if start < 0 or stop > size:
            what = f"offset={checks.shown(region.base)} with these strides"
            raise bounds.outside(call, what, start, stop, owner)
    return owner


def check_apart(call: str, name: str, array: npt.NDArray[Any], steps: tuple[int, ...], region: StridedRegion) -> None:
    """Refuse the strides of a put, inside a segment, by which two elements have a byte in common there.

    Raises:
        conduit.BadRequest: they have; as a rule the strides are those of elements, not of bytes.
    """
    if not region.overlaps():
        return
    size = array.itemsize
    wide = [step * size for step in steps]
    small = any(abs(step) < size for step, count in zip(steps, array.shape, strict=True) if count > 1)
    fits = small and not StridedRegion.of(0, array.shape, wide, size).overlaps()
    raise conduit.BadRequest(
        f"{call}: strides={list(steps)} lets elements of {name} overlap there, which have {many(size, 'byte')} each; "
        "strides are in bytes, from one element to the next"
        + (f": write {wide}" if fits else ", and no two elements may share a byte")
    )


def check_total(call: str, name: str, there: int, here: int) -> None:
    """Refuse a buffer that has not exactly the bytes of the places.

    Raises:
        conduit.BadRequest: the sizes differ.
    """
    if there != here:
        raise conduit.BadRequest(
            f"{call}: {name} has {here} bytes, but the places there have {there}; give exactly as many"
        )


def of_pieces(array: Wide) -> Runs:
    """Return the runs of a vector transfer."""
    return _runs(array[:, 0], array[:, 1])


def of_offsets(starts: Wide, nbytes: int) -> Runs:
    """Return the runs of an indexed transfer."""
    return _runs(starts, np.full(len(starts), nbytes, np.int64))


def _runs(starts: Wide, lengths: Wide) -> Runs:
    if starts.dtype == object:  # those of more than 64 bits have no bytes
        starts = np.where(lengths > 0, starts, 0)
    return Runs.of(starts.astype(np.int64, copy=False), lengths.astype(np.int64, copy=False))


def of_strides(array: npt.NDArray[Any], offset: SupportsIndex, steps: tuple[int, ...]) -> StridedRegion:
    """Return the strided section of a transfer."""
    return StridedRegion.of(index(offset), array.shape, steps, array.itemsize)
