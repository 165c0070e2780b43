"""Sample sort: splitters come from a sample of all keys, each key goes to its splitter's thread and is sorted there."""

import numpy as np

api = "upc"
SAMPLE = 16  # keys of each thread, times the number of threads


def keys(count):
    return np.random.default_rng(5).integers(0, 1 << 60, count)


async def main(t, count="6000"):
    count, x = int(count), t.extended
    block = -(-count // t.THREADS)
    data = await t.all_alloc(count, dtype="i8", block=block)
    first = min(t.MYTHREAD * block, count)
    data.local = keys(count)[first : first + len(data.local)]
    await t.barrier()
    start = t.ep.now

    mine = np.sort(data.local)
    await t.ep.compute(flops=len(mine) * 12)
    sample = mine[np.linspace(0, len(mine) - 1, SAMPLE * t.THREADS).astype(int)] if len(mine) else mine
    everyone = np.sort(np.concatenate([part for part in await gather_uneven(t, sample)]))
    splitters = everyone[np.arange(1, t.THREADS) * len(everyone) // t.THREADS]

    ends = np.searchsorted(mine, splitters)
    pieces = np.split(mine, ends)  # one for each thread
    sizes = await x.all_gather(np.array([len(piece) for piece in pieces]))  # [from, to]
    bucket_begins = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))])
    place = np.cumsum(sizes, axis=0) - sizes + bucket_begins[:-1]  # where a piece begins in the row of all buckets
    buckets = await t.all_alloc(count, dtype="i8", block=block)
    for thread, piece in enumerate(pieces):
        begin = place[t.MYTHREAD, thread]
        buckets[begin : begin + len(piece)] = piece  # a relaxed write: it is there after the barrier
    await t.barrier()

    begin, end = bucket_begins[t.MYTHREAD], bucket_begins[t.MYTHREAD + 1]
    sorted_keys = np.sort(await buckets[begin:end])
    await t.ep.compute(flops=len(sorted_keys) * 12)
    await t.barrier()  # all have read their buckets
    buckets[begin:end] = sorted_keys
    await t.barrier()
    seconds = t.ep.now - start
    found = await buckets.gather_to(0)
    if t.MYTHREAD == 0:
        assert np.array_equal(found, np.sort(keys(count)))
        print(f"{count} keys, median {found[count // 2]}, as sorted serially")
        largest = sizes.sum(axis=0).max() * t.THREADS / count
        print(f"time: {seconds * 1e3:.3f} ms, the largest bucket is {largest:.2f} times the mean")


async def gather_uneven(t, part):
    """Return what all threads give, arrays of any lengths."""
    lengths = await t.extended.all_gather(len(part))
    padded = np.zeros(max(lengths), part.dtype)
    padded[: len(part)] = part
    return [whole[:length] for whole, length in zip(await t.extended.all_gather(padded), lengths, strict=True)]
