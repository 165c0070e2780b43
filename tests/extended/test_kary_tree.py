"""The tree of barriers and of calls on the heap, against what makes a tree."""

import networkx as nx
import pytest

from extended.kary_tree import WIDTH, children_of, parent_of


@pytest.mark.parametrize("size", [*range(1, 30), 1000])
def test_it_is_one_tree_of_all_places_with_few_below_each(size):
    tree = nx.DiGraph([(place, child) for place in range(size) for child in children_of(place, size)])
    tree.add_nodes_from(range(size))
    assert nx.is_arborescence(tree) or size == 1
    assert set(tree) == set(range(size))
    assert max(degree for _, degree in tree.out_degree()) <= WIDTH
    depth = max(nx.shortest_path_length(tree, 0).values())
    assert depth <= sum(1 for level in range(size) if sum(WIDTH**step for step in range(level + 1)) < size)
    for place in range(size):
        assert [parent_of(place)] == (list(tree.predecessors(place)) or [None])
