"""Functions that are taken for operations of reductions and are none: they reduce one array, and do not join two."""

from __future__ import annotations

import numpy as np

import conduit

_MEANT = {"sum": "sum", "prod": "prod", "min": "min", "max": "max", "amin": "min", "amax": "max"}


def refuse_reduction(call: str, function: object) -> None:
    """Refuse Python's `sum` and numpy's reductions, which may give a wrong result of two arrays.

    Args:
        call: the public call.
        function: what a program has given as an operation.

    Raises:
        conduit.BadRequest: it is one of these.
    """
    numpys = getattr(function, "__module__", "") == "numpy" and not isinstance(function, np.ufunc)
    name = getattr(function, "__name__", "")
    if (numpys or function is sum) and (meant := _MEANT.get(name)):
        raise conduit.BadRequest(
            f"{call}: op={name} reduces a single array, and an operation makes one of two; write op={meant!r}"
        )
