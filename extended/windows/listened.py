"""A window's operations that tell what is called, for jobs that are listened to; others have nothing of it.

What the layer below does for them, as the atomic operations of locks, is no call of the program's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from extended.windows.accumulates import Change, has, in_one_call
from extended.windows.operations import Operations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extended.windows.calls import Call


_FLUSHES = ("win.Flush", "win.Flush_all")


class ListenedOperations(Operations):
    """Locks of one rank, flushes and accumulates, each told once."""

    async def lock(self, rank: int, what: str, *, shared: bool) -> None:
        """As of `Operations`."""
        begin = self._ticks()
        await super().lock(rank, what, shared=shared)
        self._tell(begin, "open", what, rank)

    async def unlock(self, rank: int) -> None:
        """As of `Operations`."""
        begin, held = self._ticks(), rank in self._holds
        await super().unlock(rank)
        if held:
            self._tell(begin, "close", "win.Unlock", rank)

    async def flush(self, what: str, ranks: Sequence[int] | None = None) -> None:
        """As of `Operations`; that of a call which gives up a lock is told as that call."""
        begin = self._ticks()
        await super().flush(what, ranks)
        if what in _FLUSHES:
            for rank in range(len(self._shape.members)) if ranks is None else ranks:
                self._tell(begin, "complete", what, rank)

    async def accumulate(self, call: Call, rank: int, start: int, what: Change, cost: str) -> None:
        """As of `Operations`; many elements are no operation on one number, and may be a list of native ones."""
        begin = self._ticks()
        await super().accumulate(call, rank, start, what, cost)
        member = self._shape.members[rank]
        if what.count == 1:
            self._tell(begin, "atomic", call.name, rank)
        elif member.offset is not None and has(self._ep, what.kind, member.offset + start) and not in_one_call(what):
            self._tell(begin, "list", call.name, rank, what.count)

    def _ticks(self) -> int:
        return round(self._ep.now * 1e12)

    def _tell(self, begin: int, level: str, name: str, rank: int, elements: int = 0) -> None:
        listener = self._ep.call_listener
        if listener is not None:
            listener(self._ep.rank, begin, self._ticks(), level, name, self._shape.members[rank].rank, elements)
