"""Scans: what they send beside their data, and calls that do not match."""

import numpy as np
import pytest

import conduit
from extended import CollectiveMismatch, Extended

OTHERS = {
    "broadcast": lambda x, data, algorithm: x.broadcast(data),
    "gather": lambda x, data, algorithm: x.gather(data),
    "all_gather": lambda x, data, algorithm: x.all_gather(data),
    "reduce": lambda x, data, algorithm: x.reduce(data, root=x.size - 1),
    "all_reduce": lambda x, data, algorithm: x.all_reduce(data),
    "scan of another size": lambda x, data, algorithm: x.scan(np.tile(data, 1024), algorithm=algorithm),
    "scan by another op": lambda x, data, algorithm: x.scan(data, "max", algorithm=algorithm),
}
EAGER, ASKED_FOR = 1, 1024
ALGORITHMS = ["dissemination", "pipelined"]


async def barriers(ep, elements, algorithm):
    x = await Extended.attach(ep)
    await x.barrier()
    if elements is not None:
        await x.scan(np.full(elements, float(ep.rank)), algorithm=algorithm)
    await x.barrier()


def transfers(algorithm, ranks):
    if algorithm == "pipelined":
        return ranks - 1
    return sum(ranks - stride for stride in (1, 2, 4, 8) if stride < ranks)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("elements", [0, EAGER, ASKED_FOR])
def test_a_rank_greets_only_where_its_data_tells_nobody(ranks, algorithm, elements):
    def sent(elements):
        statistics = conduit.run(barriers, elements, algorithm, ranks=ranks, conduit="loggp").statistics
        return sum(each["requests_sent"] for each in statistics)

    requests = 2 if elements == ASKED_FOR else 1
    greetings = 1 if algorithm == "dissemination" and elements != ASKED_FOR else ranks
    assert sent(elements) - sent(None) == transfers(algorithm, ranks) * requests + greetings


@pytest.mark.parametrize("elements", [EAGER, ASKED_FOR])
@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("other", OTHERS)
def test_another_call_of_some_ranks_is_told(ranks, other, elements):
    """Of one alone, and of all but one."""

    async def main(ep, odd, alone):
        x = await Extended.attach(ep)
        data = np.full(elements, float(ep.rank))
        if (ep.rank == odd) is alone:
            await OTHERS[other](x, data, "dissemination")
        else:
            await x.scan(data, algorithm="dissemination")

    name = other.split()[0]
    for odd in range(ranks):
        for alone in (True, False):
            with pytest.raises(CollectiveMismatch, match=rf"scan\(.*{name}\(|{name}\(.*scan\("):
                conduit.run(main, odd, alone, ranks=ranks, conduit="loggp")
