"""Random barriers: ids, delays, hosts and ways of waiting, against the rule of reference B.6 written out plainly."""

from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from extended import BarrierMismatch, Extended
from extended.barrier import Agreement, Consensus

ids = st.sampled_from((None, None, None, 0, 1, -1, 2**32 - 1, 7))


async def _program(ep, rounds):
    x = await Extended.attach(ep)
    seen = []
    for turn, (given_ids, delays, ways) in enumerate(rounds):
        await ep.compute(delays[ep.rank] * 1e-6)
        ep.segment[0] = turn + 1
        seen.append(await _one(x, given_ids[ep.rank], ways[ep.rank]))
        # All have come to this round, and nobody can be two rounds ahead.
        others = [int((await x.get(rank, 0, 1))[0]) for rank in range(ep.size)]
        assert set(others) <= {turn + 1, turn + 2}
    await x.barrier()
    return seen


async def _one(x, id, way):
    try:
        if way == "whole":
            await x.barrier(id)
        else:
            await x.barrier_notify(id)
            if way == "wait":
                await x.barrier_wait()
            else:
                while not await x.barrier_try(id):
                    await x.ep.compute(1e-6)
    except BarrierMismatch:
        return "mismatch"
    return "agreed"


@given(data=st.data(), ranks=st.sampled_from((1, 2, 3, 5, 8)), ranks_per_host=st.sampled_from((1, 2, 3, 8)))
@settings(max_examples=40)
def test_ranks_agree_or_all_hear_of_the_mismatch(data, ranks, ranks_per_host):
    each = st.lists(ids, min_size=ranks, max_size=ranks)
    delays = st.lists(st.integers(0, 40), min_size=ranks, max_size=ranks)
    ways = st.lists(st.sampled_from(("whole", "wait", "try")), min_size=ranks, max_size=ranks)
    rounds = data.draw(st.lists(st.tuples(each, delays, ways), min_size=1, max_size=5))
    result = conduit.run(_program, rounds, ranks=ranks, ranks_per_host=min(ranks, ranks_per_host), conduit="loggp")
    expected = [
        "mismatch" if len({id % 2**32 for id in given_ids if id is not None}) > 1 else "agreed"
        for given_ids, _, _ in rounds
    ]
    assert list(result.values) == [expected] * ranks


parts = st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=12)


@given(parts=parts, data=st.data())
def test_merging_is_a_matter_of_the_set_of_ids(parts, data):
    """In any order, in any grouping, and some parts more than once."""
    named = {id for id in parts if id is not None}
    again = data.draw(st.lists(st.sampled_from(parts), max_size=5))
    order = data.draw(st.permutations(parts + again))
    cut = data.draw(st.integers(0, len(order)))
    halves = [Consensus(), Consensus()]
    for half, group in zip(halves, (order[:cut], order[cut:]), strict=True):
        for id in group:
            half.merge(Agreement.ANONYMOUS if id is None else Agreement.NAMED, id or 0, 0)
    whole, other = halves
    whole.merge(other.agreement, other.first, other.second)
    assert whole.agreement == min(len(named), 2)
    if whole.agreement == Agreement.NAMED:
        assert {whole.first} == named
    if whole.agreement == Agreement.MISMATCH:
        assert whole.first != whole.second
        assert {whole.first, whole.second} <= named
