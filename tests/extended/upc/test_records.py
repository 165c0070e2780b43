"""Elements that are records: what a read gives is the program's own."""

import pytest

from extended import upc

RECORD = [("x", "i4"), ("y", "f8")]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("whose", ["own", "other"])
def test_a_record_that_was_read_is_a_copy(whose, strict):
    async def main(t):
        a = await t.all_alloc(2, dtype=RECORD, block=1)
        a.local["x"] = 1
        await t.barrier()
        index = t.MYTHREAD if whose == "own" else 1 - t.MYTHREAD
        found = await (a.read(index) if strict else a[index])
        await t.barrier()
        a.local["x"] = 2
        before = int(found["x"])
        found["x"] = 3
        await t.barrier()
        return before, int(found["x"]), int(a.local["x"][0])

    assert upc.run(main, threads=2).values == [(1, 3, 2)] * 2
