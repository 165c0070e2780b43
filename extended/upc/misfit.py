"""Why a value cannot be assigned or added to elements of a shared array, in words of its own and not of numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conduit.words import many
from extended.front_ends import shown

if TYPE_CHECKING:
    import numpy.typing as npt


class Misfit(NamedTuple):
    """What is wrong with a value.

    Attributes:
        why: it does not fit, in words that follow its name.
        give: what to give in its place.
    """

    why: str
    give: str


def misfit(error: Exception, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Misfit:
    """Return why a value cannot be given to elements of a dtype in a shape."""
    fields = f"a tuple of {many(len(dtype.names), 'field')}, {', '.join(dtype.names)}" if dtype.names else ""
    one = fields or "one value"
    wanted = f"values of shape {shape}, or one for all" if shape else one
    try:
        given = np.shape(value)
    except ValueError:
        return Misfit("has parts of different lengths", wanted)
    if isinstance(error, OverflowError):
        return Misfit(f"is {shown(value)}, which is out of range", _range(dtype))
    # As numpy spreads what is assigned: lengths of 1, and further ones before the others.
    kept = given[-len(shape) :] if shape else ()
    spread = all(have in (1, want) for have, want in zip(reversed(kept), reversed(shape), strict=False))
    if not spread or any(each != 1 for each in given[: len(given) - len(shape)]):
        return Misfit(f"has shape {given}", wanted)
    kind = np.asarray(value).dtype
    have = f"is {shown(value)}" if given == () else f"has elements of dtype {kind}"
    if dtype.kind not in "iufc":
        return Misfit(have, fields or f"a value of dtype {dtype}" + ", or such values" * bool(shape))
    number = ("real " if kind.kind == "c" else "") + "number"
    is_none = f", which {'is' if given == () else 'are'} no {number}{'s' * (given != ())}"
    return Misfit(have + is_none, f"{number}s" if shape else f"a {number}")


def _range(dtype: np.dtype[Any]) -> str:
    """Return which numbers a dtype holds."""
    if dtype.kind not in "iu":
        return "a smaller number"
    limits = np.iinfo(dtype)
    return f"{limits.min} to {limits.max}"


def out_of_range(given: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Say whether integers have one that a dtype of integers cannot hold, which numpy would take modulo 2**bits."""
    if given.dtype.kind not in "iu" or dtype.kind not in "iu" or not given.size or given.dtype == dtype:
        return False
    limits = np.iinfo(dtype)
    return int(given.min()) < limits.min or int(given.max()) > limits.max
