"""The gather of bytes among all ranks, on an MPI library in memory."""

from hypothesis import given
from hypothesis import strategies as st

from conduits.mpi.gather import all_gather

from .memory_mpi import comms


def drive(steps, order):
    """Take steps, one generator at a time in some order, until all are over."""
    results = [None] * len(steps)
    left = set(range(len(steps)))
    while left:
        for rank in [rank for rank in order if rank in left]:
            try:
                next(steps[rank])
            except StopIteration as over:
                results[rank] = over.value
                left.discard(rank)
    return results


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=17), st.integers(0, 99), st.randoms())
def test_everybody_gets_what_all_have_given(given_bytes, seed, random):
    ends = comms(len(given_bytes), seed)
    order = list(range(len(given_bytes)))
    random.shuffle(order)
    steps = [all_gather(end, data) for end, data in zip(ends, given_bytes, strict=True)]
    assert drive(steps, order) == [given_bytes] * len(given_bytes)


def test_gathers_of_two_purposes_are_not_mixed_up():
    ends = comms(3, 1)
    first = [all_gather(end, b"a%d" % rank, 0) for rank, end in enumerate(ends)]
    second = [all_gather(end, b"b%d" % rank, 1) for rank, end in enumerate(ends)]
    # Rank 0 has begun the second before the first, all others the other way round.
    next(second[0])
    assert drive(first, range(3)) == [[b"a0", b"a1", b"a2"]] * 3
    assert drive(second, range(3)) == [[b"b0", b"b1", b"b2"]] * 3
