"""Passive target synchronisation: locks and flushes."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import trio

import conduit
from extended.front_ends import is_one_of, public, shown
from extended.windows.base import WindowBase, assertion_of
from extended.windows.calls import Call
from extended.windows.constants import LOCK, LOCK_EXCLUSIVE, MODE


class Passive(WindowBase):
    """Synchronisation in which the ranks that are accessed have no part."""

    @public("win")
    def Lock(self, rank: Any, lock_type: Any = LOCK_EXCLUSIVE, assertion: Any = 0) -> Coroutine[Any, Any, None]:
        """Begin an epoch of accesses to a rank, which has no part in it; waits for those who lock it before.

        Cancelled, this rank leaves the queue.

        Args:
            rank: of the window.
            lock_type: LOCK_EXCLUSIVE or LOCK_SHARED.
            assertion: MODE_NOCHECK, where no other rank locks it.

        Raises:
            conduit.BadRequest: a wrong argument.
            WindowError: this rank has locked it already, or another epoch is open.
        """
        call = "win.Lock"
        number = self._member(call, "rank", rank)
        if not is_one_of(lock_type, LOCK):
            raise conduit.BadRequest(
                f"{call}: lock_type={shown(lock_type)} is not known; give LOCK_EXCLUSIVE or LOCK_SHARED of "
                "extended.windows (mpi4py numbers them otherwise)"
            )
        asserted = assertion_of(call, assertion, MODE.NOCHECK)
        return self._lock(self._call(call), number, asserted, shared=lock_type == LOCK.SHARED)

    async def _lock(self, call: Call, rank: int, assertion: MODE, *, shared: bool) -> None:
        self._epochs.open_lock(call, rank, self._rank, shared=shared)
        self._operations.charge("mpi_win_lock")
        try:
            if self._looked_at(assertion):
                await self._operations.lock(rank, call.name, shared=shared)
            else:
                await self._ep.poll()
        except trio.Cancelled:
            self._epochs.lock_cancelled(call, rank)
            raise

    @public("win")
    def Unlock(self, rank: Any) -> Coroutine[Any, Any, None]:
        """End the epoch that `Lock` began: complete all accesses in it.

        Args:
            rank: of the window.

        Raises:
            conduit.BadRequest: no rank.
            WindowError: this rank has not locked it.
        """
        return self._unlock(self._call("win.Unlock"), self._member("win.Unlock", "rank", rank))

    async def _unlock(self, call: Call, rank: int) -> None:
        self._epochs.check_unlock(call, rank)
        self._operations.charge("mpi_win_unlock")
        await self._operations.flush(call.name, (rank,))
        self._epochs.unlocked(call, rank)
        with trio.CancelScope(shield=True):  # the epoch is closed: it could not be called again
            await self._operations.unlock(rank)

    @public("win")
    def Lock_all(self, assertion: Any = 0) -> Coroutine[Any, Any, None]:
        """Begin an epoch of accesses to all ranks, shared with others; each is locked at the first access to it.

        Args:
            assertion: MODE_NOCHECK, where no rank locks one of them alone.

        Raises:
            conduit.BadRequest: another assertion.
            WindowError: another epoch is open.
        """
        call = "win.Lock_all"
        return self._lock_all(self._call(call), assertion_of(call, assertion, MODE.NOCHECK))

    async def _lock_all(self, call: Call, assertion: MODE) -> None:
        await self._ep.poll()
        self._epochs.open_all(call)
        self._operations.charge("mpi_win_lock_all")
        self._operations.lock_all(take=self._looked_at(assertion))

    @public("win")
    def Unlock_all(self) -> Coroutine[Any, Any, None]:
        """End the epoch that `Lock_all` began: complete all accesses in it.

        Raises:
            WindowError: there is none.
        """
        return self._unlock_all(self._call("win.Unlock_all"))

    async def _unlock_all(self, call: Call) -> None:
        self._epochs.check_unlock_all(call)
        self._operations.charge("mpi_win_unlock_all")
        await self._operations.flush(call.name)
        self._epochs.unlocked_all(call)
        with trio.CancelScope(shield=True):  # as in Unlock
            await self._operations.unlock_all()

    @public("win")
    def Flush(self, rank: Any) -> Coroutine[Any, Any, None]:
        """Complete all accesses to a rank, here and there, within the epoch of a lock.

        Args:
            rank: of the window.

        Raises:
            conduit.BadRequest: no rank.
            WindowError: this rank has not locked it.
        """
        return self._flush("win.Flush", "mpi_win_flush", self._member("win.Flush", "rank", rank))

    @public("win")
    def Flush_local(self, rank: Any) -> Coroutine[Any, Any, None]:
        """Complete all accesses to a rank here: buffers may be used again.

        Args:
            rank: of the window.

        Raises:
            conduit.BadRequest: no rank.
            WindowError: this rank has not locked it.
        """
        number = self._member("win.Flush_local", "rank", rank)
        return self._flush("win.Flush_local", "mpi_win_flush_local", number, local=True)

    @public("win")
    def Flush_all(self) -> Coroutine[Any, Any, None]:
        """Complete all accesses, here and there, within the epoch of a lock.

        Raises:
            WindowError: nothing is locked.
        """
        return self._flush("win.Flush_all", "mpi_win_flush_all")

    @public("win")
    def Flush_local_all(self) -> Coroutine[Any, Any, None]:
        """Complete all accesses here: buffers may be used again.

        Raises:
            WindowError: nothing is locked.
        """
        return self._flush("win.Flush_local_all", "mpi_win_flush_local_all", local=True)

    async def _flush_of(self, call: Call, cost: str, rank: int | None, *, local: bool) -> None:
        self._epochs.check_flush(call, rank)
        self._operations.charge(cost)
        ranks = None if rank is None else (rank,)
        if local:
            await self._operations.complete(call.name, ranks)
        else:
            await self._operations.flush(call.name, ranks)

    def _flush(
        self, name: str, cost: str, rank: int | None = None, *, local: bool = False
    ) -> Coroutine[Any, Any, None]:
        return self._flush_of(self._call(name), cost, rank, local=local)

    @public("win")
    def Sync(self) -> Coroutine[Any, Any, None]:
        """Make this rank's own stores and others' accesses visible to each other; here they are, and it polls.

        Raises:
            WindowError: nothing is locked.
        """
        return self._sync(self._call("win.Sync"))

    async def _sync(self, call: Call) -> None:
        self._epochs.check_flush(call)
        self._operations.charge("mpi_win_sync")
        await self._ep.poll()
