"""What collectives should give, said in plain numpy, and arrays to give to them."""

from typing import Any

import numpy as np

DTYPES = ("u1", "<i4", ">i4", "f4", ">f8", "c8", "?", "S3", "<U2", "M8[ns]", "m8[D]", "V5", "i2,>f4", "(2,)u1,S1")
NUMERIC = ("u1", "<i4", ">i2", "f4", ">f8", "c8", "?")


def array(rank: int, shape: Any, dtype: Any = "<i8", key: int = 0) -> Any:
    """Give a rank's array: every byte depends on rank, position and key, and is at most 127 (bools: 0 or 1)."""
    kind: Any = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int)) * kind.itemsize
    position = np.arange(count)
    data = (position * 7 + rank * 31 + key * 13 + position // 251) % 127 + 1
    if kind.kind == "?":
        data %= 2
    if kind.kind == "U":  # one small character in each four bytes
        data[np.arange(count) % 4 != (0 if kind.str[0] == "<" else 3)] = 0
    if kind.kind in "fc" or kind == np.dtype("i2,>f4"):
        return (
            small(rank, shape, dtype, key) if kind.fields is None else data.astype(np.uint8).view(kind).reshape(shape)
        )
    return data.astype(np.uint8).view(kind).reshape(shape)


def small(rank: int, shape: Any, dtype: Any = "<i8", key: int = 0) -> Any:
    """Give a rank's numbers: small integers, exact in every dtype, sums of a few ranks included."""
    position = np.arange(int(np.prod(shape, dtype=int)))
    return ((position * 5 + rank * 3 + key) % 4).astype(dtype).reshape(shape)


def rows(size: int, shape: Any, dtype: Any = "<i8", key: int = 0) -> Any:
    """Give the arrays of all ranks, one row each."""
    return stacked([array(rank, shape, dtype, key) for rank in range(size)])


def stacked(arrays: Any) -> Any:
    """Give arrays as rows of one, in their dtype; numpy.stack would change its byte order."""
    found = np.zeros((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for row, each in zip(found.reshape(len(arrays), -1), arrays, strict=True):
        row[:] = each.reshape(-1)
    return found


def same(found: Any, expected: Any) -> bool:
    """Say whether an array has exactly the bytes, dtype and shape of another."""
    assert isinstance(found, np.ndarray | np.generic), type(found)
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes(), (found, expected)
    return True


def folded(arrays: Any, op: Any) -> Any:
    """Combine arrays from left to right."""
    total = arrays[0]
    for each in arrays[1:]:
        total = op(total, each)
    return total


def concatenated(left: Any, right: Any) -> Any:
    """Combine two words of digits, base 10**6, into one: associative, and no two orders give the same.

    A word is [digits, 10 to the number of digits].
    """
    return np.array([left[0] * right[1] + right[0], left[1] * right[1]], left.dtype)
