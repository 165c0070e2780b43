"""Which requests of a call are still open, for the report of a job that gets no further."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from conduit.words import many


class OpenRequest(NamedTuple):
    """A request that was open when a wait began.

    Attributes:
        plain: that of the plain interface.
        what: the call and whom it concerns.
        ranks: the ranks of the world that it waits for; read when they are asked for.
    """

    plain: Any
    what: str
    ranks: Iterable[int]


class OpenRequests:
    """The requests that a call waits for; iterated, the ranks that those have to wait for that are open by now.

    Args:
        begun: those that were open when the wait began.
        over: how many others the call was given, that were over by then.
    """

    def __init__(self, begun: Sequence[OpenRequest], over: int) -> None:
        self._begun = begun
        self._over = over

    def __iter__(self) -> Iterator[int]:
        return iter(sorted({rank for each in self._open() for rank in each.ranks}))

    def words(self) -> str:
        """Return the first that is open by now, and how many more, and how many are over."""
        left = self._open()
        if not left:  # the wait is about to end
            return self._begun[0].what
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        over = self._over + len(self._begun) - len(left)
        others = f" ({many(over, 'other')} {'is' if over == 1 else 'are'} over)" if over else ""
        return f"{left[0].what}{more}{others}" if more or others else left[0].what  # which may be more than its letters

    def _open(self) -> list[OpenRequest]:
        return [each for each in self._begun if not each.plain.over]
