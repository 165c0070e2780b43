"""The algorithms that collectives choose by what networks say of their messages, against all others, as measured."""

from itertools import product

import numpy as np
import pytest

import conduit
from extended import Extended
from extended.collectives.algorithms import TABLE, pick
from extended.collectives.operators import Operator
from extended.commands.testcoll import CollectiveBlock, _run, _suits

CALLS = 4
FACTOR = 1.25
REDUCTIONS = ("all_reduce", "scan")

CASES = [
    # On most networks the root of a flat gather or scatter has an automatic reply for each message, too.
    ("sci", 8, "gather", 64),
    ("sunfire", 8, "gather", 8),
    ("sunfire", 16, "gather", 8),
    ("startx", 8, "scatter", 8),
    ("sunfire", 8, "all_gather", 1024),
    # Of the bytes a sender is taken for a part alone.
    ("startx", 8, "scatter", 1024),
    ("sunfire", 8, "scatter", 1024),
    ("sunfire", 16, "scatter", 1024),
    # Automatic replies that are no messages take nothing.
    ("t3e", 8, "gather", 64),
    ("origin", 8, "gather", 1024),
]


async def measured(ep, call, nbytes):
    """Return what calls take by each algorithm, one behind the other, and the automatic choice."""
    x = await Extended.attach(ep)
    took = {}
    for algorithm in 2 * tuple(TABLE[call]):  # first for connections and pools
        block = CollectiveBlock(section="A", call=call, algorithm=algorithm, nbytes=nbytes)
        if not _suits(x, block):
            continue
        await x.barrier()
        begun = ep.now
        await _run(x, block, CALLS, nb=False)
        await x.barrier()
        took[algorithm] = ep.now - begun
    operator = Operator(call, "sum", np.dtype("f8"), (nbytes // 8,)) if call in REDUCTIONS else None
    return took, pick(call, x.topology, nbytes, operator, x.model)


@pytest.mark.parametrize(("network", "ranks", "call", "nbytes"), CASES)
def test_the_choice_takes_little_more_than_the_best(network, ranks, call, nbytes):
    took, chosen = conduit.run(measured, call, nbytes, conduit=network, ranks=ranks).values[0]
    assert took[chosen] <= FACTOR * min(took.values()), (chosen, took)


def costs_of(network, ranks, per_host, call, nbytes):
    """Return what the choice takes, as a part of what the best one does."""
    run = conduit.run(measured, call, nbytes, conduit=network, ranks=ranks, ranks_per_host=per_host)
    (took, chosen), *others = run.values
    assert {each for _, each in others} == {chosen}, "ranks disagree"
    return took[chosen] / min(took.values())


SHARED = [
    ("loggp", 8, 2, "all_reduce", 16384),
    ("sunfire", 4, 2, "all_reduce", 16384),
    ("origin", 4, 2, "all_reduce", 16384),
    ("sci", 8, 2, "scan", 16384),
    ("startx", 4, 2, "scan", 1024),
    ("loggp:set=ethernet100", 8, 1, "scan", 16384),
    ("udp", 4, 2, "scan", 16384),
    ("sunfire", 4, 2, "all_to_all", 65536),
    ("udp", 16, 2, "gather", 1024),  # leaves begin the next call, and all of theirs together is too much for the root
    ("udp", 4, 2, "all_to_all", 262144),
]


@pytest.mark.parametrize(("network", "ranks", "per_host", "call", "nbytes"), SHARED)
def test_the_choice_in_a_loop_takes_little_more_than_the_best(network, ranks, per_host, call, nbytes):
    bound = 1.5 if (network, call) == ("udp", "gather") else FACTOR  # which nothing but crowds decides
    assert costs_of(network, ranks, per_host, call, nbytes) <= bound


@pytest.mark.slow
@pytest.mark.every
@pytest.mark.parametrize("network", ["loggp", "sci", "sunfire", "startx", "origin", "udp", "mpi:library=scampi"])
def test_choices_of_reductions_are_good_as_a_whole(network):
    cells = product((4, 8), (1, 2), REDUCTIONS, (8, 1024, 16384, 65536))
    ratios = sorted(costs_of(network, *cell) for cell in cells)
    assert sum(ratios) / len(ratios) < 1.15
    assert ratios[len(ratios) * 3 // 4] < FACTOR


def test_a_function_of_whole_arrays_is_not_cut():
    async def main(ep):
        x = await Extended.attach(ep)
        operator = Operator("scan", lambda left, right: left + right, np.dtype("f8"), (8192,))
        return {call: pick(call, x.topology, 65536, operator, x.model) for call in REDUCTIONS}

    for chosen in conduit.run(main, conduit="loggp", ranks=8).values:
        assert chosen["scan"] == "dissemination"
        assert chosen["all_reduce"] != "pipelined"
