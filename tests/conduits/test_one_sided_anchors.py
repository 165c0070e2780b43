"""The anchors of the Origin 2000 and the T3E-600 hold, and contention alone tells one pattern from another."""

import time
from math import nan

import pytest

import conduit
from conduits import origin, t3e
from extended import Extended, shmem
from extended.scaling import harness
from extended.scaling.by_shmem import ByShmem
from extended.windows import Win

MACHINES = ("origin", "t3e")
GETS = {"origin": (2.5, 102.0, 7740.0), "t3e": (3.7, 40.0, 3010.0)}  # us; sh.*.get.8, 10k, 1m
HOT = {"origin": 43.8, "t3e": 18.6}  # h.t3.*.shmem.256
TREE = {"origin": 33.0, "t3e": 26.0}  # h.t4.*.shmem.16
MPI = {"origin": 45.1, "t3e": 35.3}  # sh.*.mpi2.get_fence16
SIZES = (8, 10_000, 1_000_000)
US = 1e6


async def distant(ep, sizes, partners):
    """Rank 0 gets from one partner after the other; the mean for each size, microseconds."""
    if ep.rank:
        return None
    out = memoryview(bytearray(max(sizes)))
    means = []
    for size in sizes:
        taken = 0.0
        for partner in partners:
            begin = ep.now
            await ep.rma.get(partner, 0, out[:size])
            taken += ep.now - begin
        means.append(taken / len(partners) * US)
    return means


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_an_isolated_get_takes_what_its_anchors_say(machine):
    spec, partners = f"{machine}", range(1, 256)
    found = conduit.run(distant, SIZES, partners, ranks=256, conduit=spec, segment=max(SIZES)).values[0]
    assert found == pytest.approx(GETS[machine], rel=0.01)


@pytest.mark.parametrize("machine", MACHINES)
def test_beyond_the_largest_anchor_the_last_slope_goes_on(machine):
    sizes = (10_000, 1_000_000, 3_000_000)
    small, large, larger = conduit.run(distant, sizes, [1], conduit=machine, segment=sizes[-1]).values[0]
    assert (larger - large) / 2e6 == pytest.approx((large - small) / 990_000, rel=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_get_of_the_extended_layer_takes_no_more(machine):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank:
            return None
        begin = ep.now
        await x.get(1, 0, 8)
        middle = ep.now
        await ep.rma.get(1, 0, bytearray(8))
        return middle - begin, ep.now - middle

    by_layer, native = conduit.run(main, conduit=machine).values[0]
    assert by_layer == pytest.approx(native, rel=1e-9)


async def all_at_once(ep, partner, turns):
    """Every rank gets 8 bytes from its partner; the time of each, microseconds."""
    await ep.attach()
    source = partner(ep.rank, ep.size)
    out = bytearray(8)
    begin = ep.now
    for _ in range(turns if source != ep.rank else 0):
        await ep.rma.get(source, 0, out)
    return (ep.now - begin) * US


def from_root(rank, size):
    return 0


def from_neighbour(rank, size):
    return (rank - 1) % size


def run_all(machine, partner, turns=1, ranks=256):
    return conduit.run(all_at_once, partner, turns, ranks=ranks, conduit=machine).values


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_a_hot_memory_serves_as_its_anchor_says(machine):
    assert max(run_all(machine, from_root)) == pytest.approx(HOT[machine], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_contention_alone_tells_one_pattern_from_another(machine):
    """Without it every get takes its uncontended sum, whoever else gets; with it those from one memory wait."""
    ranks = 32
    alone = {
        partner: [
            conduit.run(distant_from, rank, partner(rank, ranks), ranks=ranks, conduit=machine).values[rank]
            if partner(rank, ranks) != rank
            else 0.0
            for rank in range(ranks)
        ]
        for partner in (from_root, from_neighbour)
    }
    for partner, sums in alone.items():
        assert run_all(f"{machine}:contention=no", partner, ranks=ranks) == pytest.approx(sums, rel=1e-9)
    hot, near = (run_all(machine, partner, ranks=ranks) for partner in (from_root, from_neighbour))
    assert near == pytest.approx(alone[from_neighbour], rel=0.02)
    service = (HOT[machine] - GETS[machine][0]) / 254
    assert max(hot) > max(alone[from_root]) + 0.8 * (ranks - 2) * service


async def distant_from(ep, getter, source):
    """One rank gets 8 bytes, all others are idle."""
    await ep.attach()
    if ep.rank != getter:
        return nan
    begin = ep.now
    await ep.rma.get(source, 0, bytearray(8))
    return (ep.now - begin) * US


async def tree(ep):
    """Broadcast 8 bytes by the binary tree of puts, fences and waits, with its barrier; the trials, microseconds."""
    pe = await shmem.attach(ep)
    library = await ByShmem.made(pe, await pe.zeros(2))
    library.use(1)
    return [seconds * US for seconds in await harness.tree(library, 1, "put", 3, whole=True)]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_tree_of_puts_and_fences_takes_what_its_anchor_says(machine):
    """The first trial is thrown away, as in the paper."""
    _, *found = conduit.run(tree, ranks=16, conduit=machine).values[0]
    assert found == pytest.approx([TREE[machine]] * 2, rel=0.01)


async def get_and_fence(ep):
    """An MPI-2 get from the left neighbour and a fence, as a layer would make them; microseconds."""
    x = await Extended.attach(ep)
    for _ in range(3):
        await x.barrier()
    begin = ep.now
    ep.charge(ep.library_cost("mpi_get"))
    await ep.rma.get((ep.rank - 1) % ep.size, 0, bytearray(8))
    ep.charge(4 * ep.library_cost("mpi_win_fence_doubling"))
    await ep.rma.quiet()
    await x.barrier()
    return (ep.now - begin) * US


@pytest.mark.parametrize("machine", MACHINES)
def test_an_mpi_get_and_its_fence_take_what_their_anchor_says(machine):
    found = conduit.run(get_and_fence, ranks=16, conduit=machine).values
    assert sum(found) / len(found) == pytest.approx(MPI[machine], rel=0.05)


async def fences(ep, free):
    """A fence of two ranks and one of all, from a common start, microseconds; `free`: without a part of its own."""
    if free:
        ep.take_library_costs({})
    x = await Extended.attach(ep)
    pair = await x.split(ep.rank // 2)
    found = []
    for team in (pair, x):
        win = await Win.Allocate(8, comm=team, checks=False)
        await win.Fence()
        await x.barrier()
        await ep.compute(1e-4 - ep.now % 1e-4)
        begin = ep.now
        await win.Fence()
        found.append((ep.now - begin) * US)
        await win.Free()
    return found


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("ranks", "doublings"), [(2, 1), (12, 4), (16, 4), (32, 5)])
def test_the_own_part_of_a_fence_grows_as_the_logarithm_of_its_ranks(machine, ranks, doublings):
    """Of its own ranks, not of the job's.  What is beside it is the machine's."""
    own = {"t3e": 26.4, "origin": 26.97}[machine] / 4
    with_it, without = (conduit.run(fences, free, ranks=ranks, conduit=machine).values for free in (False, True))
    for place, times in enumerate((1, doublings)):
        # Who looks when another one writes waits for that: a little more or less.
        grown = [one[place] - other[place] for one, other in zip(with_it, without, strict=True)]
        assert grown == pytest.approx([times * own] * ranks, abs=0.5)


def test_a_library_cost_that_nobody_lists_is_zero():
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"ep\.library_cost: name=3 is an int; pass the name of a call"):
            ep.library_cost(3)
        return ep.library_cost("nothing"), ep.library_cost("mpi_get")

    assert conduit.run(main, conduit="loggp").values[0] == (0.0, 0.0)
    assert conduit.run(main, conduit="t3e").values[0] == (0.0, pytest.approx(1.992e-6))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "partner"),
    [
        pytest.param(machine, partner, marks=[] if row == column else [pytest.mark.every])
        for row, machine in enumerate(MACHINES)
        for column, partner in enumerate((from_root, from_neighbour))
    ],
)
def test_256_ranks_that_get_a_hundred_times_are_quick_to_simulate(machine, partner):
    begin = time.process_time()
    run_all(machine, partner, turns=100)
    assert time.process_time() - begin < 10


def test_the_mean_way_of_the_constants_is_that_of_the_machine():
    fabric = t3e.port.build(None, t3e.port.T3eOptions())
    hops = [len(fabric.steps(0, node)) - 2 for node in range(1, 256)]
    assert sum(hops) / 255 == pytest.approx(t3e.constants.HOPS.value, abs=1e-6)
    fabric = origin.port.build(None, origin.port.OriginOptions())
    routers = [fabric.routers(0, node) for node in range(128) for _ in range(2)][2:]
    assert sum(routers) / 254 == pytest.approx(origin.constants.ROUTERS.value, abs=1e-6)
