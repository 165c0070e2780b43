"""The T3E's barrier units: a tree over the torus, as deep as its nodes are far from their middle."""

import itertools

import numpy as np
import pytest

import conduit
from conduit.sim.topology import Torus
from conduits.t3e.barrier import distances
from extended import Extended

SHAPES = {1: (1, 1, 1), 2: (2, 1, 1), 5: (5, 1, 1), 16: (8, 2, 1), 64: (8, 8, 1), 256: (8, 8, 4), 512: (8, 8, 8)}
NS = 1e-9


def radius(shape):
    """Return how far the farthest of some nodes is from that of the machine which is nearest to all, by trying each."""
    nodes = np.array(list(itertools.product(*map(range, shape))))
    found = []
    for root in itertools.product(range(8), repeat=3):
        way = np.abs(nodes - root)
        found.append(np.minimum(way, 8 - way).sum(axis=1).max())
    return int(min(found))


@pytest.mark.parametrize("ranks", SHAPES)
def test_the_tree_is_as_deep_as_the_radius_of_its_nodes(ranks):
    assert max(distances(Torus((8, 8, 8), both_ways=True), range(ranks))) == radius(SHAPES[ranks])


async def barriers(ep, late):
    """Return when this rank came to a barrier and when it left, nanoseconds; one rank comes late."""
    x = await Extended.attach(ep)
    await ep.compute(1e-3 - ep.now)
    if ep.rank == late:
        await ep.compute(1e-5)
    came = ep.now
    await x.barrier()
    return came / NS, ep.now / NS


@pytest.mark.parametrize("ranks", [1, 5, 64])
def test_a_barrier_takes_two_accesses_and_the_tree_up_and_down(ranks):
    """Of each rank behind the last one: a poll, an access, the way up of that one, its own way down, and a look."""
    ways = distances(Torus((8, 8, 8), both_ways=True), range(ranks))
    for late in {0, ranks - 1}:
        values = conduit.run(barriers, late, ranks=ranks, conduit="t3e").values
        last = values[late][0]
        for way, (_, left) in zip(ways, values, strict=True):
            assert left - last == pytest.approx(10 + 200 + 80 * (ways[late] + way) + 200 + 5, abs=5.01)


def test_with_messages_alone_there_is_no_barrier_of_the_networks_own():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        return ep.rma is None

    result = conduit.run(main, ranks=3, conduit="t3e:rma=am")
    assert result.values == [True] * 3
    assert sum(each["requests_sent"] for each in result.statistics) > 0
