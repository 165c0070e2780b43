"""Every algorithm of every collective against numpy, without a network."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from conduits.mpi.collectives.algorithms import ALGORITHMS, STYLES, named, ordered, usual
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.combining import Combining
from conduits.mpi.errors import MpiError

from .memory_ranks import run

SIZES = (*range(1, 9), 11, 16, 17)


def placements(size):
    """Return hosts of ranks: one each, one for all, four in order, and up to four as a seed has it."""
    chance = np.random.default_rng(size)
    several = [[rank // -(-size // hosts) for rank in range(size)] for hosts in (1, 4)]
    return [list(range(size)), *several, chance.integers(0, 4, size).tolist()]


def cases(collective):
    return pytest.mark.parametrize("name", ALGORITHMS[collective])


def everywhere(chosen=SIZES):
    for size in chosen:
        for number, hosts in enumerate(placements(size)):
            yield size, hosts, {"buffered": number % 2 == 1, "seed": number}


def data(rank, count):
    return np.random.default_rng([rank, count]).integers(-9, 9, count)


def view(array):
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(bytearray())


@cases("Barrier")
def test_no_rank_leaves_a_barrier_before_all_have_come(name):
    for size, hosts, options in everywhere():
        come = []

        def begin(channel, come=come, size=size):
            come.append(channel.rank)
            yield from ALGORITHMS["Barrier"][name].run(channel)
            assert len(come) == size

        run(hosts, begin, **options)


@cases("Bcast")
@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_broadcast(name, count):
    for size, hosts, options in everywhere():
        for root in {0, size // 2, size - 1}:
            buffers = [data(rank, count) for rank in range(size)]

            def begin(channel, buffers=buffers, root=root):
                return ALGORITHMS["Bcast"][name].run(channel, view(buffers[channel.rank]), root)

            run(hosts, begin, **options)
            assert all((each == data(root, count)).all() for each in buffers)


@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("in_place", [False, True])
@cases("Scatter")
def test_scatter(name, in_place, gap):
    for size, hosts, options in everywhere():
        for root in {0, size // 2, size - 1}:
            whole = data(99, size * (3 + gap))
            results = [np.full(3, -100) for _ in range(size)]

            def begin(channel, whole=whole, results=results, root=root):
                places = tuple((rank * 8 * (3 + gap), 24) for rank in range(channel.size))
                blocks = Blocks(view(whole), places) if channel.rank == root else None
                mine = None if in_place and channel.rank == root else view(results[channel.rank])
                return ALGORITHMS["Scatter"][name].run(channel, blocks, mine, root)

            run(hosts, begin, **options)
            for rank, each in enumerate(results):
                expected = np.full(3, -100) if in_place and rank == root else whole[rank * (3 + gap) :][:3]
                assert (each == expected).all()


@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("in_place", [False, True])
@cases("Gather")
def test_gather(name, in_place, gap):
    for size, hosts, options in everywhere():
        for root in {0, size // 2, size - 1}:
            whole = np.full((size, 3 + gap), -100)
            if in_place:
                whole[root, :3] = data(root, 3)

            def begin(channel, whole=whole, root=root):
                places = tuple((rank * 8 * (3 + gap), 24) for rank in range(channel.size))
                blocks = Blocks(view(whole), places) if channel.rank == root else None
                mine = None if in_place and channel.rank == root else view(data(channel.rank, 3))
                return ALGORITHMS["Gather"][name].run(channel, mine, blocks, root)

            run(hosts, begin, **options)
            assert (whole[:, :3] == [data(rank, 3) for rank in range(size)]).all()
            assert (whole[:, 3:] == -100).all()


def sizes_and_places(size, layout):
    """Return the elements of each block, and where it begins: alike, of all sizes, with gaps, and backwards."""
    counts = [4] * size if layout in ("alike", "backwards") else [(rank * 5) % 4 for rank in range(size)]
    gap = 0 if layout in ("alike", "sizes") else 1
    places, at = [], gap
    for rank in reversed(range(size)) if layout == "backwards" else range(size):
        places.append(at)
        at += counts[rank] + gap
    return counts, places[::-1] if layout == "backwards" else places, at


@pytest.mark.parametrize("layout", ["alike", "sizes", "gaps", "backwards"])
@cases("Allgather")
def test_all_gather(name, layout):
    for size, hosts, options in everywhere():
        counts, places, length = sizes_and_places(size, layout)
        buffers = [np.full(length, -100) for _ in range(size)]
        expected = np.full(length, -100)
        for rank in range(size):
            own = slice(places[rank], places[rank] + counts[rank])
            buffers[rank][own] = expected[own] = data(rank, counts[rank])

        def begin(channel, buffers=buffers, counts=counts, places=places):
            where = tuple((place * 8, count * 8) for place, count in zip(places, counts, strict=True))
            return ALGORITHMS["Allgather"][name].run(channel, Blocks(view(buffers[channel.rank]), where))

        run(hosts, begin, **options)
        assert all((each == expected).all() for each in buffers)


@pytest.mark.parametrize("count", [0, 1, 3])
@cases("Alltoall")
def test_all_to_all(name, count):
    for size, hosts, options in everywhere():
        sends = [data(rank, size * count).reshape(size, count) for rank in range(size)]
        receives = [np.full((size, count), -100) for _ in range(size)]

        def begin(channel, sends=sends, receives=receives):
            rank, size = channel.rank, channel.size
            blocks = [Blocks.equal(view(each[rank]), size) for each in (sends, receives)]
            return ALGORITHMS["Alltoall"][name].run(channel, *blocks)

        run(hosts, begin, **options)
        for rank in range(size):
            assert (receives[rank] == [sends[other][rank] for other in range(size)]).all()


def test_blocks_between_ranks_of_one_host_pass_no_leader():
    for hosts, messages in (
        ([0] * 6, 6 * 5),
        # Inside: 3 x 2 and 2 x 1.  Between: two to their leader and back, one likewise, and one each way.
        ([0, 1, 0, 1, 0], 3 * 2 + 2 * 1 + 2 * (2 + 1) + 2),
    ):
        size = len(hosts)
        sends = [data(rank, size).reshape(size, 1) for rank in range(size)]
        receives = [np.full((size, 1), -100) for _ in range(size)]

        def begin(channel, sends=sends, receives=receives, size=size):
            blocks = [Blocks.equal(view(each[channel.rank]), size) for each in (sends, receives)]
            return ALGORITHMS["Alltoall"]["two-level"].run(channel, *blocks)

        assert run(hosts, begin)[1] == messages
        for rank in range(size):
            assert (receives[rank] == [sends[other][rank] for other in range(size)]).all()


def test_on_one_host_nobody_leads():
    size = 8  # three rounds, in each of which every rank sends
    assert run([0] * size, lambda channel: ALGORITHMS["Barrier"]["two-level"].run(channel))[1] == 3 * size

    def gather(channel):
        blocks = Blocks.equal(memoryview(bytearray(size)), size)
        return ALGORITHMS["Allgather"]["two-level"].run(channel, blocks)

    assert run([0] * size, gather)[1] == 3 * size


@cases("Alltoallv")
def test_all_to_all_of_several_sizes(name):
    for size, hosts, options in everywhere():
        counts = np.random.default_rng(size).integers(0, 4, (size, size))
        sends = [[data(rank * 100 + other, counts[rank, other]) for other in range(size)] for rank in range(size)]
        receives = [np.full(counts[:, rank].sum(), -100) for rank in range(size)]

        def begin(channel, sends=sends, receives=receives, counts=counts):
            rank = channel.rank
            out = Blocks.of_sizes(view(np.concatenate(sends[rank])), [8 * int(each) for each in counts[rank]])
            into = Blocks.of_sizes(view(receives[rank]), [8 * int(each) for each in counts[:, rank]])
            return ALGORITHMS["Alltoallv"][name].run(channel, out, into)

        run(hosts, begin, **options)
        for rank in range(size):
            assert (receives[rank] == np.concatenate([sends[other][rank] for other in range(size)])).all()


# -- reductions: sums where the operator has to commute, else products of matrices -------------------------


def add(incoming, inout):
    np.frombuffer(inout, np.int64)[...] += np.frombuffer(incoming, np.int64)


def multiply(incoming, inout):
    """Elements are matrices of 2 x 2 numbers modulo 2**64: their product is associative and does not commute."""
    one, other = (np.frombuffer(each, np.int64).reshape(-1, 2, 2) for each in (incoming, inout))
    other[...] = one @ other


@cache
def operand(rank, count):
    return np.random.default_rng([7, rank, count]).integers(-9, 9, (count, 4))


@cache
def product(ranks, count, free):
    """Return what the operands of the first ranks make together, in their order."""
    if ranks == 1:
        return operand(0, count)
    before, last = (each.reshape(-1, 2, 2) for each in (product(ranks - 1, count, free), operand(ranks - 1, count)))
    return (before + last if free else before @ last).reshape(-1, 4)


def fits(collective, name, hosts):
    order = ALGORITHMS[collective][name].order
    consecutive = sum(one != other for one, other in pairwise(hosts)) + 1 == len(set(hosts))
    return order == "ranks" or (order == "hosts" and consecutive)


def both(collective, name):
    """Yield the cases of a reduction: sums everywhere, and products where the order is kept."""
    for size, hosts, options in everywhere():
        for free in (True, False):
            if free or fits(collective, name, hosts):
                for count in (1, 11):
                    yield size, hosts, options, free, count


def combining(channel, free):
    return Combining(channel, add if free else multiply, 32)


@cases("Reduce")
def test_reduce(name):
    for size, hosts, options, free, count in both("Reduce", name):
        for root in {0, size // 2, size - 1}:

            def begin(channel, root=root, free=free, count=count):
                own = view(operand(channel.rank, count).copy())
                return ALGORITHMS["Reduce"][name].run(channel, own, combining(channel, free), root)

            results, _ = run(hosts, begin, **options)
            assert [each is not None for each in results] == [rank == root for rank in range(size)]
            assert results[root] == view(product(size, count, free))


@cases("Allreduce")
def test_allreduce(name):
    for size, hosts, options, free, count in both("Allreduce", name):

        def begin(channel, free=free, count=count):
            own = view(operand(channel.rank, count).copy())
            return ALGORITHMS["Allreduce"][name].run(channel, own, combining(channel, free))

        results, _ = run(hosts, begin, **options)
        expected = view(product(size, count, free))
        assert all(each == expected for each in results)


@cases("Allreduce")
def test_allreduce_has_the_same_bits_everywhere(name):
    def floats(incoming, inout):
        np.frombuffer(inout)[...] += np.frombuffer(incoming)

    for _, hosts, options in everywhere():

        def begin(channel):
            own = np.random.default_rng(channel.rank).normal(size=20) * 10.0 ** (channel.rank % 7)
            return ALGORITHMS["Allreduce"][name].run(channel, view(own), Combining(channel, floats, 8))

        results, _ = run(hosts, begin, **options)
        assert all(each == results[0] for each in results)


@pytest.mark.parametrize("alike", [True, False])
@cases("Reduce_scatter")
def test_reduce_scatter(name, alike):
    for size, hosts, options, free, _ in both("Reduce_scatter", name):
        counts = [2] * size if alike else [(rank * 5) % 4 for rank in range(size)]

        def begin(channel, free=free, counts=counts):
            blocks = Blocks.of_sizes(view(operand(channel.rank, sum(counts)).copy()), [each * 32 for each in counts])
            return ALGORITHMS["Reduce_scatter"][name].run(channel, blocks, combining(channel, free))

        results, _ = run(hosts, begin, **options)
        assert b"".join(results) == (view(product(size, sum(counts), free)) if sum(counts) else b"")
        assert [len(each) // 32 for each in results] == counts


@pytest.mark.parametrize("own", [True, False])
@cases("Scan")
def test_scans(name, own):
    for size, hosts, options, free, count in both("Scan", name):

        def begin(channel, free=free, count=count):
            mine = view(operand(channel.rank, count).copy())
            return ALGORITHMS["Scan"][name].run(channel, mine, combining(channel, free), own)

        results, _ = run(hosts, begin, **options)
        for rank in range(size):
            if rank or own:
                assert results[rank] == view(product(rank + own, count, free))
            else:
                assert results[rank] is None


# -- their form ---------------------------------------------------------------------------------------------


def test_a_binomial_tree_takes_a_message_a_rank_and_leaders_one_a_host():
    def begin(channel):
        data = np.full(3, channel.rank)
        return ALGORITHMS["Bcast"][begin.name].run(channel, view(data), 5)

    for begin.name in ("linear", "binomial", "two-stage"):
        assert run([rank // 4 for rank in range(16)], begin)[1] == 15


def test_sizes_that_differ_are_found_out():
    def begin(channel):
        return ALGORITHMS["Bcast"]["binomial"].run(channel, memoryview(bytearray(8 + 8 * channel.rank)), 0)

    with pytest.raises(MpiError, match="a collective: rank 0 sent 8 bytes where 16 were counted on"):
        run([0, 1], begin)


def test_every_usual_algorithm_exists_and_the_ordered_ones_keep_the_order():
    for collective in ALGORITHMS:
        for style in STYLES:
            assert usual(collective, style) in named(collective, style)
    for call in ("Reduce", "Allreduce", "Iallreduce", "Reduce_scatter", "Reduce_scatter_block"):
        assert named(call)[ordered(call)].order == "ranks"
