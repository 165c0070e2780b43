"""Payloads whose every byte tells where it belongs, so that shifted, torn or mixed-up data is seen."""

import numpy as np


def pattern(nbytes: int, key: int = 0) -> bytes:
    """Give ``nbytes`` bytes that depend on their position and on ``key``; none of them is zero.

    Neighbours differ, blocks of 256 bytes differ, and so do two patterns of keys that are less than 251 apart, at
    every position.  Zero is kept for memory that nobody wrote.
    """
    position = np.arange(nbytes, dtype=np.int64)
    values = (position * 7 + (position >> 8) * 13 + (position >> 16) * 29 + key * 31) % 251 + 1
    return bytes(values.astype(np.uint8))


def first_difference(got: bytes, expected: bytes) -> str:
    """Describe where two byte strings part, for a message that helps."""
    if len(got) != len(expected):
        return f"{len(got)} bytes instead of {len(expected)}"
    for index, (left, right) in enumerate(zip(got, expected, strict=True)):
        if left != right:
            return f"byte {index} of {len(got)} is {left:#04x}, not {right:#04x}"
    return "no difference"
