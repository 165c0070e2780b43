"""Locks of all threads, which are fences too."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import trio

from extended.front_ends import public, shown

if TYPE_CHECKING:
    from types import TracebackType

    from extended import Lock
    from extended.upc.runtime import Runtime


class SharedLock:
    """A lock by its name, one for all threads and fair; get it by ``t.lock(name)``, use it by ``async with``.

    Writes before a release are complete before another thread has the lock.

    Attributes:
        name: as given.
    """

    _instead: ClassVar = {
        "lock": "write `await lock.acquire()`, or `async with lock:`",
        "unlock": "write `await lock.release()`",
        "locked": "write `await lock.try_acquire()`, which takes it if it is free, or says that it is not",
    }

    def __init__(self, runtime: Runtime, lock: Lock) -> None:
        self._runtime = runtime
        self._lock = lock
        self.name = lock.name

    @public("lock")
    async def acquire(self) -> None:
        """Complete this thread's writes, and wait until the running task has the lock.

        Raises:
            conduit.BadRequest: the running task holds it already.
        """
        await self._runtime.fence()
        await self._lock.acquire()

    @public("lock")
    async def try_acquire(self) -> bool:
        """Complete this thread's writes, and take the lock if it is free.

        Returns:
            whether the running task has it now.
        """
        await self._runtime.fence()
        return await self._lock.try_acquire()

    @public("lock")
    async def release(self) -> None:
        """Complete this thread's writes, and release the lock; neither is cancelled.

        Raises:
            conduit.BadRequest: the running task does not hold it.
        """
        with trio.CancelScope(shield=True):  # or nobody would have it again
            await self._runtime.fence()
            await self._lock.release()

    async def __aenter__(self) -> SharedLock:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # The next holder is to see what was written, also by a body that was cancelled.
        with trio.CancelScope(shield=True):
            try:
                await self._runtime.fence()
            finally:
                await self._lock.release()

    def __repr__(self) -> str:
        return f"<SharedLock {shown(self.name)}>"
