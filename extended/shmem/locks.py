"""Locks of all PEs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import trio

import conduit
import extended
from conduit.words import many
from extended.front_ends import flag, public
from extended.program_lines import line_here
from extended.shmem.heap import ShmemAllocation
from extended.shmem.transfers import SIGNAL_TYPE, Base

if TYPE_CHECKING:
    from types import TracebackType

LOCKS = "shmem "
"""What the names of locks begin with; number of the allocation and bytes from its start follow."""
_ACQUIRE, _RELEASE = "lock.acquire", "lock.release"
_LOCK_TYPE = np.dtype("i8")
_OF_CALLS = {
    "pe.set_lock": "`await lock.acquire()`, or `async with lock:`",
    "pe.test_lock": "`await lock.acquire(blocking=False)`, which says whether it has taken it",
    "pe.clear_lock": "`await lock.release()`",
    "pe.del_lock": "nothing in its place: it goes with the job",
}
"""What is written of a `ShmemLock` in the place of calls of a symmetric lock."""


class ShmemLocks(Base, ShmemAllocation):
    """Locks and signals, which are symmetric arrays of one element.

    The element itself stays as it is: the queue of a lock is kept by the extended layer, under its allocation.
    """

    def _lock(self, call: str, lock: Any) -> extended.Lock:
        if isinstance(lock, ShmemLock):
            raise conduit.BadRequest(
                f"{call}: lock is of pe.Lock, and this call takes what pe.new_lock returned; write {_OF_CALLS[call]}"
            )
        block, elements = self._blocks.symmetric(call, "lock", lock)
        if elements.dtype != _LOCK_TYPE or elements.size != 1:
            raise conduit.BadRequest(
                f"{call}: lock has {many(elements.size, 'element')} of dtype {elements.dtype}; give what pe.new_lock "
                "returned, or an array of one i8"
            )
        place = self._blocks.offset(block, elements) - block.offset
        return self._x.lock(f"{LOCKS}{block.serial} {place}")

    @public("pe")
    def new_lock(self) -> Any:
        """Allocate a free lock; collective.

        Returns:
            a symmetric array of one i8.
        """
        return self._new_lock("pe.new_lock")

    async def _new_lock(self, call: str) -> Any:
        made = await self._array(call, 1, _LOCK_TYPE, "C", None, 0)
        block, _ = self._blocks.symmetric(call, "lock", made)
        block.made = f"{call} at {line_here()}"
        return made

    @public("pe")
    def del_lock(self, lock: Any) -> Any:
        """Free a lock; collective."""
        self._lock("pe.del_lock", lock)
        return self._free("pe.del_lock", lock)

    @public("pe")
    def set_lock(self, lock: Any) -> Any:
        """Wait until the running task has the lock."""
        call = "pe.set_lock"
        return self._lock(call, lock).acquire(called=call)

    @public("pe")
    def test_lock(self, lock: Any) -> Any:
        """Take the lock if it is free; return False where it was taken, True where somebody has it."""
        call = "pe.test_lock"
        found = self._lock(call, lock)

        async def attempt() -> bool:
            return not await found.try_acquire(called=call)

        return attempt()

    @public("pe")
    def clear_lock(self, lock: Any) -> Any:
        """Complete what was begun on the default context, and release the lock; it cannot be cancelled."""
        call = "pe.clear_lock"
        return _release(self, self._lock(call, lock), call)

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
    def Lock(self) -> Coroutine[Any, Any, ShmemLock]:
        """Make a lock; collective.

        Returns:
            a `ShmemLock`.
        """

        async def make() -> ShmemLock:
            return ShmemLock(self, await self._new_lock("pe.Lock"), self._lock)

        return make()


class ShmemLock:
    """A lock of all PEs; get one by ``await pe.Lock()``, use it by ``async with``.

    Args:
        pe: its PE.
        array: the symmetric array that stands for it.
        find: takes a call and that array, and gives the lock of the extended layer.
    """

    _instead: ClassVar = {
        "lock": "write `await lock.acquire()`, or `async with lock:`",
        "unlock": "write `await lock.release()`",
        "locked": "write `await lock.acquire(blocking=False)`, which takes it if it is free, or says that it is not",
    }

    def __init__(self, pe: ShmemLocks, array: Any, find: Callable[[str, Any], extended.Lock]) -> None:
        self._pe = pe
        self._array = array
        self._find = find

    @public("lock")
    def acquire(self, blocking: Any = True) -> Any:
        """Take the lock.

        Args:
            blocking: whether to wait for it.

        Returns:
            whether the running task has it now.

        Raises:
            conduit.BadRequest: `blocking` is neither True nor False.
        """
        return self._acquire(flag("lock.acquire", "blocking", blocking))

    async def _acquire(self, blocking: bool) -> bool:
        if blocking:
            await self.__aenter__()
            return True
        return await self._find(_ACQUIRE, self._array).try_acquire(called=_ACQUIRE)

    @public("lock")
    def release(self) -> Any:
        """Complete what was begun on the default context, and release the lock; it cannot be cancelled."""
        return _release(self._pe, self._find(_RELEASE, self._array), _RELEASE)

    @public("lock")
    def destroy(self) -> Any:
        """Free the lock; collective."""
        return self._pe.del_lock(self._array)

    async def __aenter__(self) -> None:
        await self._find(_ACQUIRE, self._array).acquire(called=_ACQUIRE)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _release(self._pe, self._find(_RELEASE, self._array), _RELEASE)


async def _release(pe: ShmemLocks, lock: extended.Lock, call: str) -> None:
    with trio.CancelScope(shield=True):  # or no PE would have it again
        await pe.CTX_DEFAULT.stream("ctx.quiet").complete(call)
        await lock.release(called=call)
