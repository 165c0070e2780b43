"""As lock.py, with the lock as an object."""

import numpy as np

api = "shmem"


async def main(pe):
    lock, count, here = await pe.Lock(), await pe.zeros(1, "i4"), np.zeros(1, "i4")
    async with lock:
        await pe.get(here, count, 0)
        print(f"{pe.my_pe()}: count is {here[0]}")
        await pe.put(count, here + np.int32(1), 0)
    await lock.destroy()
