"""Numbers of contexts: whatever overlaps, two communicators that have a rank in common have different ones."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduits.mpi.engine.contexts import CONTEXTS, END, OWN, ContextNumbers
from conduits.mpi.errors import MpiError

RANKS = 4
groups = st.lists(st.sets(st.integers(0, RANKS - 1), min_size=1), min_size=1, max_size=8)


@given(groups, st.data())
def test_communicators_with_a_rank_in_common_differ_however_they_are_made(groups, data):
    numbers = [ContextNumbers(rank, RANKS) for rank in range(RANKS)]
    # Each rank comes to each of its agreements and leaves it when all have come, in any order of all these steps.
    to_come = [(place, rank) for place, group in enumerate(groups) for rank in group]
    proposed = [{} for _ in groups]
    to_leave = []
    made = {}
    while to_come or to_leave:
        steps = [("come", *each) for each in to_come] + [("leave", *each) for each in to_leave]
        step, place, rank = data.draw(st.sampled_from(steps))
        if step == "come":
            to_come.remove((place, rank))
            proposed[place][rank] = numbers[rank].propose()
            if len(proposed[place]) == len(groups[place]):
                made[place] = max(proposed[place].values())
                to_leave += [(place, each) for each in groups[place]]
        else:
            to_leave.remove((place, rank))
            numbers[rank].agreed(made[place])
    for (one, first), (other, second) in itertools.combinations(made.items(), 2):
        if groups[one] & groups[other]:
            assert abs(first - second) >= CONTEXTS
    assert all(0 <= each <= END - CONTEXTS for each in made.values())


def test_one_agreement_after_the_other_takes_the_lowest_numbers():
    numbers = ContextNumbers(0, 2)
    for turn in range(5):
        assert numbers.propose() == turn * CONTEXTS
        numbers.agreed(turn * CONTEXTS)


def test_ordinary_numbers_end_where_those_of_single_ranks_begin():
    numbers = ContextNumbers(1, 2)
    numbers.lowest = OWN - CONTEXTS
    assert numbers.propose() == OWN - CONTEXTS
    numbers.agreed(OWN - CONTEXTS)
    with pytest.raises(MpiError, match=r"rank 1 has no number left for a communicator: it has made too many"):
        numbers.propose()
