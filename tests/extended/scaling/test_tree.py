"""The binary tree of the broadcast."""

import pytest

from extended.scaling.tree import children, is_leaf, parent

SIZES = [1, 2, 3, 5, 8, 16, 17, 31, 100, 256]


@pytest.mark.parametrize("size", SIZES)
def test_every_pe_but_the_root_has_one_parent_that_knows_it(size):
    found = {child: rank for rank in range(size) for child in children(rank, size)}
    assert sorted(found) == list(range(1, size))
    assert all(found[rank] == parent(rank) for rank in range(1, size))


@pytest.mark.parametrize("size", SIZES)
def test_a_leaf_has_no_children(size):
    assert all(not children(rank, size) for rank in range(size) if is_leaf(rank, size))


def test_the_root_of_sixteen_serves_the_largest_subtree_first():
    assert children(0, 16) == [8, 4, 2, 1]
    assert children(8, 16) == [12, 10, 9]
    assert children(8, 11) == [10, 9]
