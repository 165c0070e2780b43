"""All PEs count at PE 0, with a get and a put that a lock keeps together."""

import numpy as np

api = "shmem"


async def main(pe):
    lock, count, here = await pe.new_lock(), await pe.zeros(1, "i4"), np.zeros(1, "i4")
    await pe.set_lock(lock)
    await pe.get(here, count, 0)
    print(f"{pe.my_pe()}: count is {here[0]}")
    await pe.put(count, here + np.int32(1), 0)
    await pe.clear_lock(lock)
