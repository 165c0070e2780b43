"""Heat in a rod: each rank holds a part of it, and puts its ends into its neighbours before every step."""

import numpy as np

from extended import Extended

CELLS = 50  # of each rank; one more at each end holds the neighbour's


async def main(ep, steps="40"):
    x = await Extended.attach(ep)
    # Two copies of the halo, used in turn: a neighbour may be one step ahead.
    halos = ep.segment[:32].view("f8").reshape(2, 2)
    rod = np.zeros(CELLS + 2)
    rod[1:-1] = 100.0 if ep.rank == 0 else 0.0
    start = ep.now
    for step in range(int(steps)):
        turn = step % 2
        if ep.rank > 0:
            await x.put_nbi(ep.rank - 1, 16 * turn + 8, rod[1:2])
        if ep.rank < ep.size - 1:
            await x.put_nbi(ep.rank + 1, 16 * turn, rod[-2:-1])
        await x.sync()
        await x.barrier()
        rod[0] = halos[turn, 0] if ep.rank > 0 else rod[1]
        rod[-1] = halos[turn, 1] if ep.rank < ep.size - 1 else rod[-2]
        rod[1:-1] += 0.25 * (rod[:-2] - 2 * rod[1:-1] + rod[2:])
        await ep.compute(flops=4 * CELLS)
    await x.put(0, 64 + 8 * ep.rank, rod[1:-1].sum())
    await x.barrier()
    if ep.rank == 0:
        heat = ep.segment[64 : 64 + 8 * ep.size].view("f8")
        assert np.isclose(heat.sum(), 100.0 * CELLS)  # nothing is lost
        print("heat of each rank:", " ".join(f"{part:.3f}" for part in heat))
        print(f"time: {(ep.now - start) * 1e3:.3f} ms")
