"""What one thread's arrays and calls share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import trio

import conduit
from extended.upc.watch import ReadWatch
from extended.upc.writes import Writes

if TYPE_CHECKING:
    from conduit import Token
    from extended import Extended

_FREE = "one thread frees an array, once for all; where every thread does, write `await t.all_free(a)`"


class Runtime:
    """One thread's part in the shared arrays.

    Args:
        x: the extended layer.
        write_buffer: bytes of relaxed writes that are kept at most.

    Attributes:
        x: as given.
        ep: the endpoint.
        writes: the write buffer.
        watch: notices reads of single elements.
        freed: ids of the arrays that were freed, with who did it.
        arrays: those that this thread has open, by id.
    """

    def __init__(self, x: Extended, write_buffer: int) -> None:
        self.x = x
        self.ep = x.ep
        self.writes = Writes(x, write_buffer)
        self.watch = ReadWatch(native=x.ep.rma is not None)
        self.freed: dict[int, str] = {}
        self.arrays: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._noted: dict[int, list[bool]] = {}  # answers to notices of this thread, by the array's id

    async def connect(self) -> None:
        """Attach what this layer adds, on all ranks, and see to the end of main."""
        await self.ep.attach(self.array_freed, self.array_freed_noted)
        self.ep.on_exit(self.finish)
        self.ep.on_report(self.writes.tell)

    async def finish(self) -> None:
        """Complete what main has left in the write buffer, and give the advice that it has earned."""
        await self.fence()
        advice = self.watch.worst()
        if advice is not None:
            self.ep.warn(advice)

    async def fence(self) -> None:
        """Complete all writes of this thread; polls at least once."""
        self.watch.synchronised()
        await self.writes.complete()

    def check_alive(self, id: int, what: str, using: str) -> None:
        """Refuse the use of an array that was freed.

        Raises:
            conduit.BadRequest: it was.
        """
        who = self.freed.get(id)
        if who is not None:
            advice = _FREE if using == "t.free" else "use arrays before they are freed, and free them after a barrier"
            raise conduit.BadRequest(f"{using}: {what} was freed {who}; {advice}")

    def note_freed(self, id: int, who: str) -> None:
        """Take note that an array was freed: what the program has kept of it, `a.local`, can be written no more."""
        self.freed[id] = who
        array = self.arrays.get(id)
        if array is not None:
            array.memory.local.flags.writeable = False

    # ----------------------------------------------------------------------------------- an array freed by one thread

    async def free(self, id: int, offset: int) -> None:
        """Free an array for all threads, by this one alone: first all learn of it, then its memory is given back.

        Args:
            id: of the array.
            offset: of its memory.

        Raises:
            conduit.BadRequest: another thread was first.
        """
        if id in self._noted:
            raise conduit.BadRequest(f"t.free: another task of this thread frees the array; {_FREE}")
        with trio.CancelScope(shield=True):  # or its memory would be lost: from the first notice on it is freed
            if not (await self._notify(id, [0]))[0]:
                who = self.freed.get(id, "by another thread")
                raise conduit.BadRequest(f"t.free: the array was freed {who}; {_FREE}")
            await self._notify(id, list(range(1, self.ep.size)))
            await self.x.global_free(offset)

    async def _notify(self, id: int, threads: list[int]) -> list[bool]:
        answers = self._noted[id] = []
        for thread in threads:
            await self.ep.request_short(thread, self.array_freed, id & 0xFFFF_FFFF, id >> 32)
        await self.ep.block_until(lambda: len(answers) == len(threads), what="t.free", ranks=threads)
        del self._noted[id]
        return answers

    def array_freed(self, token: Token, low: int, high: int) -> None:
        """Request: an array is being freed; say whether that is new."""
        id = (low & 0xFFFF_FFFF) | (high << 32)
        new = id not in self.freed
        token.reply_short(self.array_freed_noted, low, high, new)
        if new:
            self.note_freed(id, f"by t.free of thread {token.rank}")

    def array_freed_noted(self, token: Token, low: int, high: int, new: int) -> None:
        """Reply: a thread knows it now."""
        self._noted[(low & 0xFFFF_FFFF) | (high << 32)].append(bool(new))
