"""Where the elements of one array lie, and their way to and from other threads.

Each thread's elements lie together, at the same offset of every thread's segment.  What goes to one thread, or comes
from it, is one indexed transfer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import trio

if TYPE_CHECKING:
    import numpy.typing as npt

    from extended import Extended, Handle
    from extended.upc.layout import Indices, Layout

    Values = npt.NDArray[Any]


def moved_as(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype by which whole elements are copied.

    Elements of fields are mere bytes for it.  Copied field by field they would keep, in gaps between the fields, what
    happens to be in memory.
    """
    return np.dtype(f"V{dtype.itemsize}") if dtype.names else dtype


class BegunTransfers(list["Handle[Any]"]):
    """Handles of transfers that are begun one after another; those of a task that is cancelled go on.

    Args:
        x: the extended layer, whose next sync waits for those.
    """

    def __init__(self, x: Extended) -> None:
        super().__init__()
        self._x = x

    async def __aenter__(self) -> BegunTransfers:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is trio.Cancelled:
            for handle in self:
                handle.disown()
            await self._x.wait_all(self)  # in a cancelled scope, where a wait ends at once


class ArrayMemory:
    """The memory of one array, as one thread reaches it.

    Args:
        x: the extended layer of the thread.
        layout: which thread has affinity to which element.
        dtype: of the elements.
        offset: where each thread's elements begin in its segment.

    Attributes:
        x, layout, dtype, offset: as given.
        moved: by which elements are copied, see `moved_as`; all that is read or written is of it.
        local: this thread's elements, a view of its segment.
        own_moved: the same, of dtype `moved`.
    """

    __slots__ = ("dtype", "ep", "layout", "local", "moved", "offset", "own_moved", "rank", "x")

    def __init__(self, x: Extended, layout: Layout, dtype: np.dtype[Any], offset: int) -> None:
        self.x = x
        self.ep = x.ep
        self.rank = x.ep.rank
        self.layout = layout
        self.dtype = dtype
        self.offset = offset
        nbytes = layout.count(self.rank) * dtype.itemsize
        self.local: Values = x.ep.segment[offset : offset + nbytes].view(dtype)
        self.moved = moved_as(dtype)
        self.own_moved = self.local.view(self.moved)

    def place(self, flat: int) -> tuple[int, int]:
        """Return owner of an element, and its offset in that thread's segment."""
        return self.layout.owner(flat), self.offset + self.layout.local(flat) * self.dtype.itemsize

    def part_bytes(self, thread: int) -> int:
        """Return the bytes of a thread's elements."""
        return self.layout.count(thread) * self.dtype.itemsize

    def clear(self) -> None:
        """Set this thread's elements to zero."""
        self.local.view(np.uint8)[...] = 0
        self.ep.charge(copied=self.local.nbytes)

    # What waits is named in reports as the program's call, which `call` is.

    async def clear_all(self, call: str) -> None:
        """Set all elements to zero, by this thread alone."""
        async with BegunTransfers(self.x) as handles:
            for thread in range(self.layout.threads):
                handles += [await self.x.memset_nb(thread, self.offset, 0, self.part_bytes(thread))]
            await self.x.wait_all(handles, called=call)

    def own(self, flat: Indices) -> npt.NDArray[np.bool_]:
        """Return which elements are this thread's."""
        mine: npt.NDArray[np.bool_] = self.layout.owner(flat) == self.rank
        return mine

    # ------------------------------------------------------------------------------------------------------------ read

    async def read_one(self, owner: int, offset: int) -> bytes:
        """Return the bytes of one element of another thread."""
        size = self.dtype.itemsize
        by_message = self.ep.rma is None and self.ep.segment_of(owner) is None
        self._count("read", 1, int(by_message), size)
        return (await self.x.get(owner, offset, size)).tobytes()

    async def read(self, flat: Indices, call: str) -> Values:
        """Return elements, one transfer for each thread that has some."""
        values = np.empty(len(flat), self.moved)
        async with BegunTransfers(self.x) as handles:
            parts = await self._begin_read(flat, values, handles)
            await self.x.wait_all(handles, called=call)
        for positions, part in parts:
            if part is not values:
                values[positions] = part
                self.ep.charge(copied=part.nbytes)
        if handles:
            elements = sum(len(part) for _, part in parts)
            messages = sum(handle.messages for handle in handles)
            self._count("read", elements, messages, elements * self.dtype.itemsize)
        return values

    async def _begin_read(self, flat: Indices, values: Values, handles: BegunTransfers) -> list[tuple[Any, Values]]:
        # Copies this thread's elements; returns where those of others belong, and what they come into.
        parts: list[tuple[Any, Values]] = []
        size = self.dtype.itemsize
        for owner, positions in self.layout.by_owner(flat):
            local = self.layout.local(flat[positions])
            if owner == self.rank:
                values[positions] = self.own_moved[local]
                self.ep.charge(copied=2 * len(local) * size)
                continue
            if (local[1:] < local[:-1]).any():  # what lies side by side is then one piece, as it is of writes
                order = np.argsort(local, kind="stable")
                positions = order if isinstance(positions, slice) else positions[order]
                local = local[order]
            part = values if isinstance(positions, slice) else np.empty(len(local), self.moved)
            handles.append(await self.x.get_indexed_nb(owner, self.offset + local * size, size, part))
            parts.append((positions, part))
        return parts

    async def read_all(self, call: str) -> Values:
        """Return all elements in order, one transfer for each thread."""
        parts: list[Values] = []
        async with BegunTransfers(self.x) as handles:
            for thread in range(self.layout.threads):
                part = self.own_moved if thread == self.rank else np.empty(self.layout.count(thread), self.moved)
                parts.append(part)
                if part is not self.own_moved and len(part):
                    handles.append(await self.x.get_nb(thread, self.offset, out=part))
            await self.x.wait_all(handles, called=call)
        values = self._in_order(parts)
        elements = len(values) - len(self.local)
        self._count("read", elements, sum(handle.messages for handle in handles), elements * self.dtype.itemsize)
        return values

    async def gather(self, thread: int, call: str) -> Values | None:
        """Return all elements in order to one thread, None to the others; all threads call it together.

        Parts of much the same length are collected as `gather` of the extended layer chooses, by a tree where that is
        faster.  Where a few threads have nearly all, the thread reads them: a gather would carry as much from each.
        """
        if self.layout.most() * self.layout.threads > 2 * self.layout.size:
            return await self.read_all(call) if thread == self.rank else None
        # Every thread has room for the longest part, so what is sent needs no copy.
        room = self.layout.most() * self.dtype.itemsize
        mine = self.ep.segment[self.offset : self.offset + room]
        rows = await self.x.gather(mine, root=thread, called=f"{call}(...)")
        if rows is None:
            return None
        return self._in_order([row[: self.part_bytes(k)].view(self.moved) for k, row in enumerate(rows)])

    def _in_order(self, parts: list[Values]) -> Values:
        values = np.empty(self.layout.size, self.moved)
        for thread, part in enumerate(parts):
            values[self.layout.indices(thread)] = part
        self.ep.charge(copied=values.nbytes)
        return values

    # ----------------------------------------------------------------------------------------------------------- write

    async def begin_write(self, flat: Indices, values: Values) -> list[Handle[Any]]:
        """Begin to store elements of other threads, none of them twice; one transfer for each thread.

        Returns:
            the handles of the transfers.
        """
        size = self.dtype.itemsize
        async with BegunTransfers(self.x) as handles:
            for owner, positions in self.layout.by_owner(flat):
                data = np.ascontiguousarray(values[positions])
                offsets = self.offset + self.layout.local(flat[positions]) * size
                handles.append(await self.x.put_indexed_nb(owner, offsets, size, data))
        self._count("written", len(flat), sum(handle.messages for handle in handles), len(flat) * size)
        return handles

    async def add(self, flat: Indices, operands: Values, call: str) -> None:
        """Add to elements, each addition atomic; one transfer for each thread that has some."""
        atomic = self.x.atomic(self.dtype)
        remote = 0
        async with BegunTransfers(self.x) as handles:
            for owner, positions in self.layout.by_owner(flat):
                local = self.layout.local(flat[positions])
                offsets = self.offset + local * self.dtype.itemsize
                handles.append(await atomic.accumulate_nb(owner, offsets, operands[positions]))
                remote += len(local) if owner != self.rank else 0
            await self.x.wait_all(handles, called=call)
        if remote:
            self._count("added", remote, sum(handle.messages for handle in handles), remote * self.dtype.itemsize)

    def _count(self, what: str, elements: int, messages: int, nbytes: int) -> None:
        self.ep.count(f"upc_elements_{what}", elements)
        self.ep.count(f"upc_messages_{what}", messages)
        self.ep.count(f"upc_bytes_{what}", nbytes)
