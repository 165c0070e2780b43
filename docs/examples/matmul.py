"""C = A B, all three distributed by columns: each block of A's columns is broadcast in turn, and used by everybody.

Source: the matrix product of single precision in the StarT-X paper.
"""

import numpy as np

api = "upc"


def matrices(n):
    """Return A and B of small whole numbers, whose product single precision holds exactly."""
    draw = np.random.default_rng(2)
    return draw.integers(-9, 10, (n, n)).astype("f4"), draw.integers(-9, 10, (n, n)).astype("f4")


async def main(t, n="96"):
    n = int(n)
    columns = -(-n // t.THREADS)  # of each thread; the last ones may have fewer
    # Row j of these arrays is column j of the matrix, so that a block is some whole columns.
    a = await t.all_alloc((n, n), dtype="f4", block=columns * n)
    b = await t.all_alloc((n, n), dtype="f4", block=columns * n)
    c = await t.all_alloc((n, n), dtype="f4", block=columns * n)
    first = min(t.MYTHREAD * columns, n)
    last = min(first + columns, n)
    whole_a, whole_b = matrices(n)
    a.local = whole_a.T[first:last].reshape(-1)
    b.local = whole_b.T[first:last].reshape(-1)
    own_b = b.local.reshape(-1, n)
    product = c.local.reshape(-1, n)
    await t.barrier()
    start = t.ep.now
    for owner in range(t.THREADS):
        begin, end = min(owner * columns, n), min((owner + 1) * columns, n)
        if begin == end:
            break
        part = a.local if owner == t.MYTHREAD else np.empty((end - begin) * n, "f4")
        part = await t.extended.broadcast(part, root=owner, out=part)
        product += own_b[:, begin:end] @ part.reshape(-1, n)
        await t.ep.compute(flops=2 * n * (end - begin) * (last - first))
    await t.barrier()
    seconds = t.ep.now - start
    found = await c.gather_to(0)
    if t.MYTHREAD == 0:
        assert np.array_equal(found.T, whole_a @ whole_b)
        print(f"{n} x {n}, trace of the product {np.trace(found):.0f}, as in a serial run")
        print(f"time: {seconds * 1e3:.3f} ms, {2 * n**3 / seconds / 1e6:.1f} MFLOP/s")
