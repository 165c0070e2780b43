"""The permutations that traffic is sent along: the known vectors of 32 processes, and what holds for any number."""

import pytest

import conduit
from conduits.mpi.commands.patterns import PATTERNS, baseline, destinations

VECTORS = {
    "bit-reversal": [0, 16, 8, 24, 4, 20, 12, 28],
    "perfect-shuffle": [0, 2, 4, 6, 8, 10, 12, 14],
    "baseline": [0, 16, 1, 17, 2, 18, 3, 19],
    "butterfly": [0, 16, 2, 18, 4, 20, 6, 22],
    "cube": list(range(16, 24)),
    "complement": list(range(31, 23, -1)),
    "transpose": [0, 8, 16, 24, 1, 9, 17, 25],
    "neighbor": [1, 0, 3, 2, 5, 4, 7, 6],
}


@pytest.mark.parametrize("pattern", VECTORS)
def test_destinations_of_32_processes(pattern):
    assert destinations(pattern, 32)[:8] == VECTORS[pattern]


@pytest.mark.parametrize("processes", [1, 2, 4, 8, 32, 128])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_is_a_permutation(pattern, processes):
    assert sorted(destinations(pattern, processes)) == list(range(processes))


@pytest.mark.parametrize("processes", [2, 4, 8, 32, 64])
def test_all_stages_together(processes):
    assert destinations("cube-multi", processes) == destinations("complement", processes)
    assert destinations("butterfly-multi", processes) == destinations("perfect-shuffle", processes)
    assert destinations("baseline-multi", processes) == destinations("bit-reversal", processes)
    shuffled = destinations("perfect-shuffle", processes)
    assert [shuffled[each] for each in destinations("baseline", processes)] == list(range(processes))


def test_a_stage_leaves_the_bits_above_it():
    assert [baseline(process, 1) for process in range(8)] == [0, 2, 1, 3, 4, 6, 5, 7]


def test_what_is_refused():
    with pytest.raises(conduit.BadRequest, match=r"pattern='ring' is none of baseline, .*, perfect-shuffle$"):
        destinations("ring", 4)
    with pytest.raises(conduit.BadRequest, match=r"processes=12 is no power of 2"):
        destinations("neighbor", 12)
