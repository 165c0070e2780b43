"""Why a value cannot be assigned or added to elements of a shared array, in words of its own and not of numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from extended.front_ends import shown

if TYPE_CHECKING:
    import numpy.typing as npt


def misfit(error: Exception, value: Any, shape: tuple[int, ...]) -> str:
    """Return why a value cannot be given to elements in a shape, in words that follow its name."""
    try:
        given = np.shape(value)
    except ValueError:
        return "has parts of different lengths"
    if isinstance(error, OverflowError):
        return f"is {shown(value)}, which is out of range"
    # As numpy spreads what is assigned: lengths of 1, and further ones before the others.
    kept = given[-len(shape) :] if shape else ()
    spread = all(have in (1, want) for have, want in zip(reversed(kept), reversed(shape), strict=False))
    if not spread or any(each != 1 for each in given[: len(given) - len(shape)]):
        return f"has shape {given}"
    return f"is {shown(value)}" if given == () else f"has elements of dtype {np.asarray(value).dtype}"


def out_of_range(given: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Say whether integers have one that a dtype of integers cannot hold, which numpy would take modulo 2**bits."""
    if given.dtype.kind not in "iu" or dtype.kind not in "iu" or not given.size or given.dtype == dtype:
        return False
    limits = np.iinfo(dtype)
    return int(given.min()) < limits.min or int(given.max()) > limits.max
