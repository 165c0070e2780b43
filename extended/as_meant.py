"""Arguments as users of numpy mean them, where Python takes them otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_number(value: Any) -> Any:
    """Return an operand as itself, but bools of numpy as Python's and arrays of no dimension as what they hold."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    return bool(value) if isinstance(value, np.bool_) else value


def a_list(value: Any) -> Any:
    """Return a list as itself, but a memoryview as an array: Python goes through none of several dimensions."""
    return np.asarray(value) if isinstance(value, memoryview) else value
