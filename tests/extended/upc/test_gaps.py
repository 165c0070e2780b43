"""Between the fields of elements there may be gaps: nothing that happens to be in memory travels in them."""

import numpy as np
import pytest

from extended import upc

GAPS = np.dtype([("x", "i1"), ("y", "f8")], align=True)
LITTERS = 0x55, 0xAA


async def main(t, litter):
    def strew():
        for size in range(16, 1100, 16):  # of which numpy gives the memory out again
            np.full(size, litter, np.uint8)

    found = []
    a = await t.all_alloc(16, dtype=GAPS, block=1)
    strew()
    if t.MYTHREAD == 0:
        a[::-1] = (1, 2.0)
        strew()
        a[[3, 3, 4]] = [(3, 4.0)] * 3
        a[1] = (5, 6.0)
        strew()
        found += [await a[1], await a[2:6]]
        await t.fence()
    strew()
    await t.barrier()
    for index in (0, 1, slice(1, 8), slice(None, None, -2), [[5, 0], [1, 1]]):
        found += [await a[index], await a.read(index)]
        strew()
    found += [await a.to_numpy(), await a.gather_to(0)]
    return [each.tobytes() for each in found if each is not None], bytes(a.local.view(np.uint8))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_what_lay_in_memory_is_not_sent(threads):
    first, second = (upc.run(main, litter, threads=threads, conduit="loggp") for litter in LITTERS)
    assert first.values == second.values
    assert first.digest == second.digest
    assert not {bytes((each,)) for each in LITTERS} & {each[1:2] for found, _ in first.values for each in found}
