"""Results in a numpy.matrix, of which every view has two dimensions."""

import numpy as np
import pytest

import conduit
from extended import Extended

ROWS = np.arange(18).reshape(3, 6)

CALLS = {
    "broadcast": (lambda x, out: x.broadcast(ROWS if x.rank == 0 else None, out=out), lambda rank: ROWS),
    "gather": (lambda x, out: x.gather(ROWS[x.rank], root=1, out=out), lambda rank: ROWS if rank == 1 else None),
    "all_gather": (lambda x, out: x.all_gather(ROWS[x.rank], out=out), lambda rank: ROWS),
    "all_to_all": (lambda x, out: x.all_to_all(ROWS + x.rank, out=out), lambda rank: ROWS[rank] + [[0], [1], [2]]),
    "all_reduce": (lambda x, out: x.all_reduce(ROWS, out=out), lambda rank: 3 * ROWS),
    "all_reduce by a function": (lambda x, out: x.all_reduce(ROWS, lambda a, b: a + b, out=out), lambda rank: 3 * ROWS),
    "scan": (lambda x, out: x.scan(ROWS, out=out), lambda rank: (rank + 1) * ROWS),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("call", CALLS)
def test_a_matrix_is_filled(call, order):
    make, wanted = CALLS[call]

    async def main(ep):
        x = await Extended.attach(ep)
        out = np.zeros(ROWS.shape, "i8", order=order).view(np.matrix)
        found = await make(x, out)
        return None if found is None else (found is out, found.tolist())

    values = conduit.run(main, ranks=3, conduit="loggp").values
    for rank, found in enumerate(values):
        expected = wanted(rank)
        assert found == (None if expected is None else (True, expected.tolist()))
