"""What it takes to bring a whole array to one thread, by counts of messages on 64 threads."""

import numpy as np
import pytest

from extended import upc

THREADS = 64


async def main(t, how, block):
    a = await t.all_alloc(4 * THREADS, dtype="i4", block=block)
    a.local = a.local_index
    await t.barrier()
    whole = None
    if how == "gather_to":
        whole = await a.gather_to(0)
    elif how == "to_numpy" and t.MYTHREAD == 0:
        whole = await a.to_numpy()
    assert whole is None or np.array_equal(whole, np.arange(4 * THREADS))
    await t.barrier()


def requests(how, block):
    """Return the requests of each thread beyond those of a program that brings nothing."""
    with_it, without = (
        upc.run(main, each, block, threads=THREADS, conduit="loggp").statistics for each in (how, "nothing")
    )
    return [one["requests_sent"] - other["requests_sent"] for one, other in zip(with_it, without, strict=True)]


def test_to_numpy_asks_each_owner_once():
    assert requests("to_numpy", 4) == [THREADS - 1] + [0] * (THREADS - 1)


@pytest.mark.parametrize("block", [1, 4])
def test_gather_to_goes_up_a_tree(block):
    sent = requests("gather_to", block)
    # Two barriers of six steps each; beside these a thread sends its own and those that came to it, in one message.
    assert max(sent) <= 12 + 2
    assert sum(sent) <= THREADS * (12 + 2)


def test_gather_to_moves_no_parts_that_have_no_elements():
    sent = requests("gather_to", "indefinite")
    assert sent == [12] * THREADS


def test_the_indices_of_local_elements_are_made_once():
    """A loop over `a.local[i - a.local_index[0]]` would make all of them anew for each element."""

    async def main(t):
        a = await t.all_alloc(10)
        with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
            a.local_index[0] = 3
        return a.local_index is a.local_index, a.local_index.tolist()

    assert upc.run(main, threads=2, conduit="loggp").values == [(True, [0, 1, 2, 3, 4]), (True, [5, 6, 7, 8, 9])]
