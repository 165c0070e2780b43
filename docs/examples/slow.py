"""Rank 0 adds up an array of rank 1."""

import numpy as np

from extended import Extended


async def main(ep):
    x = await Extended.attach(ep)
    await x.barrier()
    total = 0.0
    if ep.rank == 0:
        for index in range(200):
            total += (await x.get(1, 8 * index, 8)).view(np.float64)[0]
        print(f"the sum is {total}")
    await x.barrier()
