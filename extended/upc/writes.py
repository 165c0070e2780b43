"""When relaxed writes leave a thread, and when they are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import conduit
from conduit.words import many
from extended.left_behind import LeftBehind
from extended.program_lines import program_line
from extended.upc.memory import BegunTransfers

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from extended import Extended
    from extended.program_lines import SourceLine
    from extended.reporting import ReportSink
    from extended.upc.buffer import Pending
    from extended.upc.memory import ArrayMemory


class Buffered(Protocol):
    """What the buffer asks of an array.

    Attributes:
        memory: where its elements lie.
        pending: its entries.
        dtype: of its elements.
    """

    memory: ArrayMemory
    pending: Pending

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""

    def check_alive(self, call: str, with_what: str = "") -> None:
        """Refuse what comes after the array was freed."""


class Writes:
    """The write buffer of one thread, over all its arrays.

    Args:
        x: the extended layer of the thread.
        capacity: bytes from which on the buffer goes out at the next awaited call.

    Attributes:
        left: what cancelled tasks have left under way, which the next `complete` ends.
    """

    def __init__(self, x: Extended, capacity: int) -> None:
        self._x = x
        self._ep = x.ep
        self._capacity = capacity
        self._held = 0  # bytes of the entries, at most
        self._arrays: dict[Buffered, SourceLine] = {}  # those with entries, and the line that made their first
        self._sending = False
        self.left = LeftBehind(x)

    def added(self, array: Buffered, nbytes: int) -> None:
        """Take note of entries of an array, which are in the buffer now."""
        if array not in self._arrays:
            self._arrays[array] = program_line()
        self._held += nbytes

    async def make_room(self) -> None:
        """Send the buffer if it is full; every awaited call that is no fence begins with this."""
        if self._held >= self._capacity:
            # What was written more than once has been counted more than once until now.
            self._held = sum(array.pending.compact() for array in self._arrays)
            if self._held >= self._capacity:
                await self.complete()

    async def settle(self, array: Buffered) -> None:
        """Complete the writes to an array, as an awaited call on it that is no fence does first."""
        await self.make_room()
        await self.complete(array)

    async def complete(self, array: Buffered | None = None) -> None:
        """Send what is in the buffer, of one array or of all, and return when it has arrived; polls at least once.

        Cancelled, what had not arrived is in the buffer again.
        """
        while self._sending:
            await self._ep.block_until(lambda: not self._sending, what="the write buffer, which another task sends")
        chosen = list(self._arrays) if array is None else [array] * (array in self._arrays)
        if not chosen and not self.left.some:
            await self._ep.poll()
            return
        for each in chosen:
            self._check_alive(each)
        self._sending = True
        try:
            await self._send(chosen)
        except BaseException:
            for each in chosen:
                if each.pending.leaving is not None:
                    each.pending.put_back()
            self.left.add()
            raise
        finally:
            self._sending = False
            self._recount(chosen)

    def _check_alive(self, array: Buffered) -> None:
        """Refuse to send what was written to an array that is freed: once, so that other writes are not lost with it.

        Raises:
            conduit.BadRequest: it was.
        """
        what = f"with {array.pending.nbytes} bytes written by `a[i] = v` and not sent"
        try:
            array.check_alive("the write buffer", what)
        except conduit.BadRequest:
            self._arrays.pop(array, None)
            self._recount(())
            raise

    async def _send(self, arrays: Iterable[Buffered]) -> None:
        await self.left.complete()  # transfers that a cancelled task began may be on their way with older values
        async with BegunTransfers(self._x) as handles:
            for array in arrays:
                handles += await array.memory.begin_write(*array.pending.take())
            await self._x.wait_all(handles, called="a[i] = v")
        for array in arrays:
            array.pending.leaving = None

    def _recount(self, arrays: Iterable[Buffered]) -> None:
        for array in arrays:
            if not array.pending:
                self._arrays.pop(array, None)
        self._held = sum(array.pending.nbytes for array in self._arrays)

    def tell(self, sink: ReportSink) -> None:
        """Tell of the writes that nothing has sent: another thread that waits for one waits for ever."""
        if self._sending:
            return
        for array, (file, line) in self._arrays.items():
            count = array.pending.compact() // array.dtype.itemsize
            are = ", the first at {}:{}, are" if count > 1 else " at {}:{} is"
            sink.note(f"{many(count, 'element')} written{are.format(file, line)} not sent yet")
            sink.advise(
                f"`a[i] = v` sends nothing before its thread comes to a fence: where another thread waits for what "
                f"{file}:{line} writes, write `await t.fence()` after it"
            )
