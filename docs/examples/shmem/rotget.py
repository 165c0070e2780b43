"""Every PE gets the number of the next one."""

import numpy as np

api = "shmem"


async def main(pe):
    me, n = pe.my_pe(), pe.n_pes()
    source, found = await pe.full(1, me, "i4"), np.full(1, -1, "i4")
    await pe.get(found, source, (me + 1) % n)
    print(f"PE {me}: source {source[0]}, found {found[0]}")
