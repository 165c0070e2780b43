"""Collective calls that some ranks alone make, and that end there: a warning of those that have not made them."""

import re

import pytest

import conduit
from extended import Extended, shmem

pytestmark = pytest.mark.filterwarnings("ignore:.*must make the same collective calls")
_RULE = "all ranks of a team must make the same collective calls in the same order"


def _warnings(call, who, *, late=0.0, ranks=3, conduit_="loggp"):
    """Return what each rank is warned of where those for which `who` is true call `call` after the others' mains."""

    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        if who(ep.rank):
            await ep.compute(late)
            await call(x)

    found = conduit.run(main, ranks=ranks, conduit=conduit_).warnings
    return [[text for text in each if _RULE in text] for each in found]


@pytest.mark.parametrize("late", [0.0, 1e-2])
@pytest.mark.parametrize("network", ["loggp", "sci", "sunfire", "startx", "t3e"])
def test_a_broadcast_of_the_root_alone(network, late):
    def line():
        return broadcast.__code__.co_firstlineno + 1

    async def broadcast(x):
        await x.broadcast([1])

    zero, *others = _warnings(broadcast, lambda rank: rank == 0, late=late, conduit_=network)
    assert zero == []
    expected = f"rank 0 called broadcast(root=0) at {__file__}:{line()}, and this rank has not: {_RULE}"
    assert all(each in ([], [expected]) for each in others)  # by a tree, the first ones alone hear of it
    assert [expected] in others


@pytest.mark.parametrize("name", ["gather", "reduce"])
def test_a_call_of_all_but_the_root(name):
    zero, *others = _warnings(lambda x: getattr(x, name)(1), lambda rank: rank > 0)
    assert others == [[], []]
    assert len(zero) == 1
    assert re.match(rf"rank [12] called {name}\(root=0, .*:\d+, and this rank has not: ", zero[0])


def test_a_scan_of_the_first_rank_alone():
    zero, *others = _warnings(lambda x: x.scan(1), lambda rank: rank == 0)
    assert zero == []
    assert all(re.match(r"rank 0 called scan\(", each[0]) for each in others)


def test_one_more_call_of_one_rank():
    async def twice(x):
        await x.broadcast([1])
        if x.ep.rank == 0:
            await x.broadcast([2])

    found = _warnings(twice, lambda rank: True)
    assert found[0] == []
    assert sum(map(len, found)) >= 1


def test_calls_of_all_are_not_told():
    async def several(x):
        await x.broadcast([1])
        await x.gather(1)
        handle = await x.all_reduce_nb(1)
        await x.barrier()
        await handle

    assert _warnings(several, lambda rank: True) == [[], [], []]


def test_a_broadcast_of_shmem_has_the_name_that_the_program_gives_it():
    async def main(pe):
        a = await pe.zeros(1)
        b = await pe.zeros(1)
        if pe.my_pe() == 0:
            await pe.broadcast(b, a, 0)

    zero, one = shmem.run(main, pes=2, conduit="loggp").warnings
    assert not zero
    assert one[0].startswith("PE 0 called pe.broadcast")
