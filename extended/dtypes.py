"""Dtypes as text that other ranks make them from again: exactly the same ones, or none."""

from __future__ import annotations

from ast import literal_eval
from typing import Any

import numpy as np

RECORD = "record"
"""Stands for numpy.record."""


def dtype_text(dtype: np.dtype[Any]) -> str:
    """Return a dtype as readable text, such as ``<f8``; one of fields is spelled as a literal.

    Raises:
        ValueError: a dtype that cannot be made again from its text: of another package, or with a title that is no
            literal.
    """
    spelled = _spelled(dtype)
    if isinstance(spelled, str):
        return spelled
    text = repr(spelled)
    try:
        again = read_dtype(text)
    except (ValueError, SyntaxError):
        raise ValueError(f"dtype {dtype} has a title that is no literal") from None
    if again != dtype or again.type is not dtype.type:
        raise ValueError(f"dtype {dtype} is not made of numpy's own")
    return text


def read_dtype(text: str) -> np.dtype[Any]:
    """Return the dtype that `dtype_text` was given."""
    return _read(literal_eval(text)) if text[0] in "{(" else np.dtype(text)


def _spelled(dtype: np.dtype[Any]) -> Any:
    # Literals like those that `numpy.dtype` takes; not `dtype.descr`, which has no fields that overlap.
    if dtype.subdtype is not None:
        return _spelled(dtype.subdtype[0]), dtype.subdtype[1]
    if dtype.fields is None:
        if np.dtype(dtype.str) != dtype:
            raise ValueError(f"dtype {dtype} is not one of numpy's own")
        return dtype.str
    fields = [dtype.fields[name] for name in dtype.names or ()]
    spelled = {
        "names": list(dtype.names or ()),
        "formats": [_spelled(field[0]) for field in fields],
        "offsets": [field[1] for field in fields],
        "titles": [field[2] if len(field) > 2 else None for field in fields],
        "itemsize": dtype.itemsize,
        "aligned": dtype.isalignedstruct,
    }
    if dtype.type is np.void:
        return spelled
    # Numbers whose parts have names, and numpy.record.
    return RECORD if dtype.type is np.record else dtype.str, spelled


def _read(spelled: Any) -> np.dtype[Any]:
    # Inverse of `_spelled`.
    made: Any = spelled
    if isinstance(spelled, dict):
        made = {**spelled, "formats": [_read(each) for each in spelled["formats"]]}
    elif isinstance(spelled, tuple):
        first, second = spelled
        made = np.record if first == RECORD else _read(first), _read(second) if isinstance(second, dict) else second
    found: np.dtype[Any] = np.dtype(made)
    return found
