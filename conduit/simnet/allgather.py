"""The all-gather at attach, outside the network: start-up costs are charged, not performed (rule M)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conduit.sim import Kernel


class Allgather:
    """One all-gather of bytes.

    Args:
        kernel: the job's time.
        ranks: number of ranks.
        ticks: what it takes once all ranks have come, picoseconds.
        tell: called when it is over.

    Attributes:
        over: whether all ranks have come and each has the data of all.
    """

    def __init__(self, kernel: Kernel, ranks: int, ticks: int, tell: Callable[[], None]) -> None:
        self.over = False
        self._kernel = kernel
        self._ranks = ranks
        self._ticks = ticks
        self._tell = tell
        self._data: dict[int, bytes] = {}
        self._alike: dict[bytes, bytes] = {}  # one object for all equal ones: every rank compares its own with all
        self._all: tuple[bytes, ...] = ()

    def give(self, rank: int, data: bytes) -> None:
        """Contribute the data of `rank`; the last one completes it."""
        self._data[rank] = self._alike.setdefault(data, data)
        if len(self._data) == self._ranks:
            self._kernel.at(self._kernel.now + self._ticks, self._end)

    def missing(self) -> tuple[int, ...]:
        """Return the ranks that have not come yet."""
        return tuple(rank for rank in range(self._ranks) if rank not in self._data)

    def data(self) -> Sequence[bytes]:
        """Return what the ranks gave, by rank: one tuple for all of them."""
        return self._all

    def _end(self) -> None:
        self.over = True
        self._all = tuple(self._data[rank] for rank in range(self._ranks))
        self._tell()
