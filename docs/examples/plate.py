"""Heat in a plate: each thread holds some rows, and reads the rows next to its own before every step."""

import numpy as np

api = "upc"
SHADES = " .:-=+*#%@"


def begin(n):
    """Return the plate: cold, with a hot left half of the upper rim."""
    plate = np.zeros((n, n))
    plate[0, : n // 2] = 100.0
    return plate


def stepped(field):
    """Return all rows but the first and the last, one step later; the outermost columns stay as they are."""
    new = field[1:-1].copy()
    new[:, 1:-1] = 0.25 * (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:])
    return new


def serial(n, steps):
    plate = begin(n)
    for _ in range(steps):
        plate[1:-1] = stepped(plate)
    return plate


def draw(plate):
    height, width = 12, 48
    for row in plate[:: -(-len(plate) // height)]:
        print("".join(SHADES[min(int(heat / 10), 9)] for heat in row[:: -(-len(row) // width)]))


async def main(t, n="48", steps="300"):
    n, steps = int(n), int(steps)
    rows = -(-n // t.THREADS)  # of each thread; the last ones may have fewer
    old = await t.all_alloc((n, n), dtype="f8", block=rows * n)
    new = await t.all_alloc((n, n), dtype="f8", block=rows * n)
    first = min(t.MYTHREAD * rows, n)
    last = min(first + rows, n)
    old.local = begin(n)[first:last].reshape(-1)
    new.local = old.local
    inner = slice(max(first, 1), min(last, n - 1))  # the rim stays as it is
    await t.barrier()
    start = t.ep.now
    for _ in range(steps):
        own = old.local.reshape(-1, n)
        if inner.start < inner.stop:
            above = own[:0] if first == 0 else (await old[first - 1])[None]
            below = own[:0] if last == n else (await old[last])[None]
            field = np.concatenate([above, own, below])
            new.local.reshape(-1, n)[inner.start - first : inner.stop - first] = stepped(field)
            await t.ep.compute(flops=4 * n * (inner.stop - inner.start))
        await t.barrier()
        old, new = new, old
    seconds = t.ep.now - start
    plate = await old.gather_to(0)
    if t.MYTHREAD == 0:
        assert np.array_equal(plate, serial(n, steps))
        draw(plate)
        print(f"{plate.sum():.6f} in all after {steps} steps, as in a serial run")
        print(f"time: {seconds * 1e3:.3f} ms")
