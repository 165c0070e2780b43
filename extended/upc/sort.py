"""Sorting a shared array: a sample sort.

Each thread sorts its elements and gives a sample of them; the sample says which values go to which thread; the threads
exchange them by puts into memory of their own, sort what has come, and write it where it belongs.

Source: W. Frazer and A. McKellar, Samplesort: a sampling approach to minimal storage tree sorting (1970), with the
regular sampling of H. Shi and J. Schaeffer, Parallel sorting by regular sampling (1992).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import trio

from extended.front_ends import name_calls

if TYPE_CHECKING:
    from extended import Handle
    from extended.upc.array import SharedArray
    from extended.upc.runtime import Runtime

_ALIGN = 64
_CALL = "t.all_sort"

name_calls("all_gather", [_CALL])


async def sort(runtime: Runtime, array: SharedArray) -> None:
    """Sort the elements of an array in place; all threads call it together, their writes complete.

    The last step is relaxed writes.
    """
    if not array.size:
        return
    mine = np.sort(array.memory.local)
    ends = np.searchsorted(mine, await _splitters(runtime, mine, array), side="right")
    # From here on threads meet on the heap, and would wait there for ever for one that has been cancelled.
    with trio.CancelScope(shield=True):
        await _exchange(runtime, array, mine, np.concatenate(([0], ends, [len(mine)])))


async def _exchange(runtime: Runtime, array: SharedArray, mine: Any, ends: Any) -> None:
    # Of this thread's sorted elements those between ends[k] and ends[k + 1] are thread k's to sort and to write.
    x, me, threads = runtime.x, runtime.ep.rank, runtime.ep.size
    size = array.dtype.itemsize
    counts = np.asarray(await x.all_gather(np.diff(ends), called=_CALL))  # counts[i, k]: from thread i to thread k
    room = int(counts.sum(0).max()) * size
    scratch = await x.all_alloc(room, _ALIGN, called=f"{_CALL}()")
    before = counts[:me].sum(0)  # where this thread's begin at each other
    handles: list[Handle[Any]] = []
    for thread in range(threads):
        if counts[me, thread]:
            part = mine[ends[thread] : ends[thread + 1]]
            handles.append(await x.put_nb(thread, scratch + int(before[thread]) * size, part.view(np.uint8)))
    await x.wait_all(handles, called=_CALL)
    await x.barrier(called=_CALL)
    arrived = int(counts[:, me].sum())
    come = np.sort(runtime.ep.segment[scratch : scratch + arrived * size].view(array.dtype))
    first = int(counts.sum(0)[:me].sum())
    array.store(np.arange(first, first + arrived, dtype=np.int64), come)
    await x.free(scratch, called=f"{_CALL}()")


async def _splitters(runtime: Runtime, mine: Any, array: SharedArray) -> Any:
    # One value less than there are threads, from the samples of those that have elements.
    threads = runtime.ep.size
    places = np.arange(threads) * len(mine) // threads
    sample = np.zeros(threads, mine.dtype)
    if len(mine):
        sample[:] = mine[places]
    samples = np.asarray(await runtime.x.all_gather(sample, called=_CALL))
    layout = array.memory.layout
    known = np.sort(np.concatenate([samples[thread] for thread in range(threads) if layout.count(thread)]))
    return known[np.arange(1, threads) * len(known) // threads]
