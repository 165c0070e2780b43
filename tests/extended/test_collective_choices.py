"""The algorithms that collectives choose by what networks say of their messages, against all others, as measured."""

import pytest

import conduit
from extended import Extended
from extended.collectives.algorithms import TABLE, pick
from extended.commands.testcoll import CollectiveBlock, _run, _suits

CALLS = 4
FACTOR = 1.25

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
    return took, pick(call, x.topology, nbytes, None, x.model)


@pytest.mark.parametrize(("network", "ranks", "call", "nbytes"), CASES)
def test_the_choice_takes_little_more_than_the_best(network, ranks, call, nbytes):
    took, chosen = conduit.run(measured, call, nbytes, conduit=network, ranks=ranks).values[0]
    assert took[chosen] <= FACTOR * min(took.values()), (chosen, took)
