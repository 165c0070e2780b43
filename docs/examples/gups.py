"""GUPS, or RandomAccess: random elements of a large table are updated, one by one and then in bunches."""

import numpy as np

api = "upc"


def updates(thread, threads, size, count):
    """Return the elements that a thread updates; those of all threads together are the same for any number of them."""
    everybody = np.random.default_rng(1).integers(0, size, count)
    return everybody[thread::threads]


async def main(t, size="4096", count="1024", bunch="256"):
    size, count, bunch = int(size), int(count), int(bunch)
    table = await t.all_alloc(size, dtype="i8", block=1)
    mine = updates(t.MYTHREAD, t.THREADS, size, count)
    seconds = {}

    await t.barrier()
    start = t.ep.now
    for i in mine:
        await table.add_at(i, 1)  # a message and its answer for each
    await t.barrier()
    seconds["one by one"] = t.ep.now - start

    start = t.ep.now
    for at in range(0, len(mine), bunch):
        await table.add_at(mine[at : at + bunch], 1)  # a message for each owner
    await t.barrier()
    seconds["in bunches"] = t.ep.now - start

    found = await table.gather_to(0)
    if t.MYTHREAD == 0:
        wanted = np.zeros(size, dtype="i8")
        np.add.at(wanted, updates(0, 1, size, count), 2)
        assert np.array_equal(found, wanted)
        print(f"{found.sum()} updates of {size} elements, at most {found.max()} of one, as in a serial run")
        for how, took in seconds.items():
            print(f"time: {how} {took * 1e3:.3f} ms, {count / took / 1e9:.6f} GUPS")
