"""The payload sizes of a benchmark."""

from collections.abc import Iterator


def sizes(low: int, high: int, max_step: int | None = None) -> Iterator[int]:
    """Yield `low`, then doubled sizes up to `high`, and `high` itself; 0 is followed by 1.

    Args:
        low: the smallest size, bytes.
        high: the largest size, bytes; nothing is yielded where it is below `low`.
        max_step: the largest difference of two sizes; None: any.
    """
    size, last = low, None
    while size <= high:
        yield size
        last = size
        size += max(size, 1) if max_step is None else min(max(size, 1), max_step)
    if last is not None and last != high:
        yield high
