"""Reductions to all on numbers of ranks that are no power of two: what they send, and calls that do not match."""

import numpy as np
import pytest

import conduit
from extended import CollectiveMismatch, Extended

OTHERS = {
    "broadcast": lambda x, data: x.broadcast(data),
    "gather": lambda x, data: x.gather(data),
    "all_gather": lambda x, data: x.all_gather(data),
    "reduce": lambda x, data: x.reduce(data, root=x.size - 1),
    "all_reduce": lambda x, data: x.all_reduce(data, "max"),
    "scan": lambda x, data: x.scan(data),
}


async def barriers(ep, elements):
    x = await Extended.attach(ep)
    await x.barrier()
    if elements:
        await x.all_reduce(np.full(elements, float(ep.rank)), algorithm="dissemination")
    await x.barrier()


@pytest.mark.parametrize(("ranks", "folded"), [(2, 0), (3, 1), (4, 0), (5, 1), (6, 2), (7, 3), (8, 0)])
@pytest.mark.parametrize(("elements", "requests", "told"), [(1, 1, 1), (1024, 2, 0)], ids=["eager", "asked for"])
def test_who_waits_tells_whom_it_waits_for_and_nobody_else(ranks, folded, elements, requests, told):
    def sent(elements):
        statistics = conduit.run(barriers, elements, ranks=ranks, conduit="loggp").statistics
        return sum(each["requests_sent"] for each in statistics)

    core = ranks - folded
    transfers = core * (core.bit_length() - 1) + 2 * folded
    assert sent(elements) - sent(0) == transfers * requests + folded * told


@pytest.mark.parametrize("elements", [1, 1024])
@pytest.mark.parametrize("ranks", [3, 5, 6, 7])
@pytest.mark.parametrize("other", OTHERS)
def test_another_call_of_any_rank_is_told(ranks, other, elements):
    async def main(ep, odd):
        x = await Extended.attach(ep)
        data = np.full(elements, float(ep.rank))
        await (OTHERS[other](x, data) if ep.rank == odd else x.all_reduce(data))

    for odd in range(ranks):
        with pytest.raises(CollectiveMismatch, match=rf"all_reduce\(.*{other}\(|{other}\(.*all_reduce\("):
            conduit.run(main, odd, ranks=ranks, conduit="loggp")
