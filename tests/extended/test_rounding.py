"""Sums of floats are rounded by the order of an algorithm, and by nothing of the network (X75)."""

import math

import numpy as np
import pytest

import conduit
from extended import Extended

ALGORITHMS = {
    "all_reduce": ("dissemination", "tree", "two_level", "pipelined"),
    "reduce": ("flat", "tree", "two_level", "pipelined"),
    "scan": ("dissemination", "pipelined"),
}
NETWORKS = [
    "sci",
    "sunfire",
    "startx",
    "udp",
    "origin",
    "mpi:library=scampi",
    "mpi:library=sunmpi",
    "mpi:library=start",
]
SIZES = [3, 700, 3000]  # small data, of several pieces or none by the network


def terms(rank, size):
    return np.random.default_rng(rank).random(size)


async def main(ep, size):
    x = await Extended.attach(ep)
    mine = terms(ep.rank, size)
    results = {}
    for call, algorithms in ALGORITHMS.items():
        for algorithm in algorithms:
            got = await getattr(x, call)(mine, algorithm=algorithm)
            results[call, algorithm] = None if got is None else got.tobytes()
    return results


@pytest.fixture(scope="module")
def expected():
    return {size: conduit.run(main, size, ranks=13, ranks_per_host=2, conduit="loggp").values for size in SIZES}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_same_algorithm_gives_the_same_bits_on_all_networks(network, size, expected):
    got = conduit.run(main, size, ranks=13, ranks_per_host=2, conduit=network)
    assert got.values == expected[size]


def test_so_it_does_where_each_rank_has_a_host():
    values = [conduit.run(main, 700, ranks=7, conduit=network).values for network in ("loggp", "t3e", "t3e:rma=am")]
    assert values[0] == values[1] == values[2]


def test_other_algorithms_give_the_same_but_for_the_last_bits(expected):
    sums = [
        math.fsum(column) for column in np.array([terms(rank, 3000) for rank in range(13)]).T
    ]  # rounded once, by no order
    found = [np.frombuffer(expected[3000][0]["all_reduce", each]) for each in ALGORITHMS["all_reduce"]]
    for each in found:
        assert np.allclose(each, sums, rtol=13 * np.finfo(float).eps, atol=0)
    assert len({each.tobytes() for each in found}) > 1
