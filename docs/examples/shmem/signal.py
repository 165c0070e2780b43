"""A vector goes round the ring, and a signal with it tells each PE that all of it is there."""

import numpy as np

api = "shmem"


async def main(pe, length="300"):
    me, n = pe.my_pe(), pe.n_pes()
    vector, told = await pe.zeros(int(length), "i8"), await pe.new_signal()
    if me == 0:
        await pe.put_signal(vector, np.ones(vector.size, "i8"), 1 % n, told, 1, pe.SIGNAL_SET)
    hops = await pe.signal_wait_until(told, pe.CMP_GT, 0)
    print(f"PE {me}: {hops} hops, every element {vector.min()}")
    if me:
        await pe.put_signal(vector, vector + 1, (me + 1) % n, told, hops + 1, pe.SIGNAL_SET)
