"""How a reduction is divided among the ranks of a host."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from conduits.mpi.collectives.slices import Slices


def divided(nbytes, unit, size, leader, least, room):
    return Slices.of(nbytes * unit, unit, size, leader, least=least, room=room)


CASES = (
    st.integers(0, 500), st.sampled_from((1, 4, 8, 24, 32)), st.integers(1, 9), st.integers(0, 8),
    st.sampled_from((32, 100, 256)), st.sampled_from((64, 1000, 32768)),
)  # fmt: skip


@given(*CASES)
def test_every_byte_is_one_worker_s(count, unit, size, leader, least, room):
    slices = divided(count, unit, size, leader % size, least, room)
    assert slices.workers[0] == leader % size
    covered = sorted((each.start, each.stop) for rank in range(size) for each in slices.of_worker(rank))
    assert covered[0][0] == 0
    assert covered[-1][1] == count * unit
    assert all(one[1] == other[0] for one, other in pairwise(covered))
    assert all((stop - start) % unit == 0 for start, stop in covered)


@given(*CASES)
def test_slices_are_where_their_rounds_say(count, unit, size, leader, least, room):
    slices = divided(count, unit, size, leader % size, least, room)
    rounds = list(slices.rounds())
    assert all(stop - start <= max(room, unit) for start, stop, _ in rounds)
    for rank in range(size):
        at = 0
        mine = slices.of_worker(rank)
        assert [each.round for each in mine] == [number for number, each in enumerate(rounds) if rank in each[2]]
        for each in mine:
            start, stop, wanted = rounds[each.round]
            assert start <= each.start <= each.stop <= stop
            assert wanted[rank] == each.stop - each.start
            assert each.at == at
            at += each.stop - each.start


def test_small_operands_are_the_leader_s():
    for nbytes in (0, 8, 256):
        assert Slices.of(nbytes, 8, 4, 2, least=256, room=32768).workers == (2,)
    assert Slices.of(264, 8, 4, 2, least=256, room=32768).workers == (2, 0)
    assert Slices.of(1 << 20, 8, 4, 2, least=256, room=32768).workers == (2, 0, 1, 3)
