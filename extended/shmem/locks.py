"""Locks of all PEs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import conduit
import extended
from conduit.words import many
from extended.front_ends import public
from extended.shmem.heap import ShmemAllocation
from extended.shmem.transfers import SIGNAL_TYPE, Base

if TYPE_CHECKING:
    from types import TracebackType

_LOCK_TYPE = np.dtype("i8")


class ShmemLocks(Base, ShmemAllocation):
    """Locks and signals, which are symmetric arrays of one element.

    The element itself stays as it is: the queue of a lock is kept by the extended layer, under its allocation.
    """

    def _lock(self, call: str, lock: Any) -> extended.Lock:
        block, elements = self._blocks.symmetric(call, "lock", lock)
        if elements.dtype != _LOCK_TYPE or elements.size != 1:
            raise conduit.BadRequest(
                f"{call}: lock has {many(elements.size, 'element')} of dtype {elements.dtype}; give what pe.new_lock "
                "returned, or an array of one i8"
            )
        place = self._blocks.offset(block, elements) - block.offset
        return self._x.lock(f"shmem {block.serial} {place}")

    @public("pe")
    def new_lock(self) -> Any:
        """Allocate a free lock; collective.

        Returns:
            a symmetric array of one i8.
        """
        return self._array("pe.new_lock", 1, _LOCK_TYPE, "C", None, 0)

    @public("pe")
    def del_lock(self, lock: Any) -> Any:
        """Free a lock; collective."""
        self._lock("pe.del_lock", lock)
        return self._free("pe.del_lock", lock)

    @public("pe")
    def set_lock(self, lock: Any) -> Any:
        """Wait until the running task has the lock."""
        return self._lock("pe.set_lock", lock).acquire()

    @public("pe")
    def test_lock(self, lock: Any) -> Any:
        """Take the lock if it is free; return False where it was taken, True where somebody has it."""
        found = self._lock("pe.test_lock", lock)

        async def attempt() -> bool:
            return not await found.try_acquire()

        return attempt()

    @public("pe")
    def clear_lock(self, lock: Any) -> Any:
        """Complete what was begun on the default context, and release the lock."""
        found = self._lock("pe.clear_lock", lock)

        async def release() -> None:
            await self.CTX_DEFAULT.complete()
            await found.release()

        return release()

    @public("pe")
    def new_signal(self) -> Any:
        """Allocate a signal of 0; collective.

        Returns:
            a symmetric array of one u8.
        """
        return self._array("pe.new_signal", 1, SIGNAL_TYPE, "C", None, 0)

    @public("pe")
    def del_signal(self, signal: Any) -> Any:
        """Free a signal; collective."""
        return self._free("pe.del_signal", signal)

    @public("pe")
    def Lock(self) -> Any:
        """Make a lock; collective.

        Returns:
            a `ShmemLock`.
        """

        async def make() -> ShmemLock:
            return ShmemLock(self, await self._array("pe.Lock", 1, _LOCK_TYPE, "C", None, 0))

        return make()


class ShmemLock:
    """A lock of all PEs; get one by ``await pe.Lock()``, use it by ``async with``.

    Args:
        pe: its PE.
        array: the symmetric array that stands for it.
    """

    _instead: ClassVar = {
        "lock": "write `await lock.acquire()`, or `async with lock:`",
        "unlock": "write `await lock.release()`",
    }

    def __init__(self, pe: ShmemLocks, array: Any) -> None:
        self._pe = pe
        self._array = array

    @public("lock")
    def acquire(self, blocking: Any = True) -> Any:
        """Take the lock.

        Args:
            blocking: whether to wait for it.

        Returns:
            whether the running task has it now.
        """
        return self._acquire(bool(blocking))

    async def _acquire(self, blocking: bool) -> bool:
        if blocking:
            await self._pe.set_lock(self._array)
            return True
        return not await self._pe.test_lock(self._array)

    @public("lock")
    def release(self) -> Any:
        """Complete what was begun on the default context, and release the lock."""
        return self._pe.clear_lock(self._array)

    @public("lock")
    def destroy(self) -> Any:
        """Free the lock; collective."""
        return self._pe.del_lock(self._array)

    async def __aenter__(self) -> None:
        await self._pe.set_lock(self._array)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._pe.clear_lock(self._array)
