"""Payloads whose every byte tells where it belongs, so that shifted, torn or mixed-up data is seen."""

import numpy as np

_INSIDE = (np.arange(256) * 7 % 251).astype(np.uint16)
"""What the place in a block of 256 bytes adds."""


def pattern(nbytes: int, key: int = 0) -> bytes:
    """Give ``nbytes`` bytes that depend on their position and on ``key``; none of them is zero.

    Neighbours differ, blocks of 256 bytes differ, and so do two patterns of keys that are less than 251 apart, at
    every position.  Zero is kept for memory that nobody wrote.
    """
    # Of the byte at position p: (p * 7 + (p >> 8) * 13 + (p >> 16) * 29 + key * 31) % 251 + 1.
    block = np.arange(-(-nbytes // 256), dtype=np.int64)
    first = (block * (256 * 7 + 13) + (block >> 8) * 29 + key * 31) % 251
    values = np.add.outer(first.astype(np.uint16), _INSIDE)
    values %= 251
    values += 1
    return values.astype(np.uint8).tobytes()[:nbytes]


def first_difference(got: bytes, expected: bytes) -> str:
    """Describe where two byte strings part, for a message that helps."""
    if got == expected:
        return "no difference"
    if len(got) != len(expected):
        return f"{len(got)} bytes instead of {len(expected)}"
    index = next(index for index, (left, right) in enumerate(zip(got, expected, strict=True)) if left != right)
    return f"byte {index} of {len(got)} is {got[index]:#04x}, not {expected[index]:#04x}"
