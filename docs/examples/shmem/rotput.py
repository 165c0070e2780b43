"""Every PE puts its number to the next one; after the barrier it is there."""

import numpy as np

api = "shmem"


async def main(pe):
    me, n = pe.my_pe(), pe.n_pes()
    target = await pe.full(1, -1, "i4")
    await pe.put(target, np.full(1, me, "i4"), (me + 1) % n)
    await pe.barrier_all()
    print(f"PE {me}: target {target[0]}")
