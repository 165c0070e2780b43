"""What is one number to a user of numpy, though Python does not take it for one."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return an operand as itself, but bools of numpy as Python's and arrays of no dimension as what they hold."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    return bool(value) if isinstance(value, np.bool_) else value
