"""Tori against graphs: routes exist, are shortest, and go through the dimensions in order."""

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.sim.topology import Torus, near_cubic

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


def graph(shape: tuple[int, ...], *, both_ways: bool) -> nx.DiGraph:
    """The same torus as a graph, built coordinate by coordinate."""
    made = nx.DiGraph()
    torus = Torus(shape)
    places = {torus.coordinates(node): node for node in range(torus.nodes)}
    made.add_nodes_from(places.values())
    for place, node in places.items():
        for dimension, side in enumerate(shape):
            if side > 1:
                there = list(place)
                there[dimension] = (there[dimension] + 1) % side
                made.add_edge(node, places[tuple(there)])
                if both_ways:
                    made.add_edge(places[tuple(there)], node)
    return made


@given(shapes, st.data(), st.booleans())
def test_routes_are_shortest_paths_of_the_graph(shape, data, both_ways):
    torus = Torus(shape, both_ways=both_ways)
    source, target = (data.draw(st.integers(0, torus.nodes - 1)) for _ in range(2))
    oracle = graph(shape, both_ways=both_ways)

    steps = torus.route(source, target)
    nodes = [node for node, _, _ in steps] + [target]

    assert nodes[0] == source
    assert all(oracle.has_edge(*edge) for edge in pairwise(nodes))
    assert len(steps) == nx.shortest_path_length(oracle, source, target) == torus.distance(source, target)


@given(shapes, st.data(), st.booleans())
def test_routes_go_through_the_dimensions_in_order(shape, data, both_ways):
    torus = Torus(shape, both_ways=both_ways)
    source, target = (data.draw(st.integers(0, torus.nodes - 1)) for _ in range(2))
    dimensions = [dimension for _, dimension, _ in torus.route(source, target)]
    assert dimensions == sorted(dimensions)
    assert torus.turns(source, target) == max(0, len(set(dimensions)) - 1)


def test_a_one_way_ring_goes_round():
    ring = Torus((4,))
    assert ring.route(3, 1) == [(3, 0, True), (0, 0, True)]
    assert ring.distance(1, 0) == 3


def test_a_two_way_ring_takes_the_shorter_way():
    ring = Torus((5,), both_ways=True)
    assert ring.route(1, 4) == [(1, 0, False), (0, 0, False)]


def test_the_paper_s_torus():
    torus = Torus((4, 2))
    assert torus.nodes == 8
    assert torus.coordinates(6) == (2, 1)
    assert torus.route(0, 5) == [(0, 0, True), (1, 1, True)]
    assert torus.turns(0, 5) == 1


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        (1, (1, 1, 1)),
        (9, (3, 2, 2)),
        (12, (3, 2, 2)),
        (16, (3, 3, 2)),
        (27, (3, 3, 3)),
        (28, (4, 3, 3)),
        (1024, (11, 10, 10)),
    ],
)
def test_near_cubic_shapes(nodes, shape):
    assert near_cubic(nodes) == shape


@given(st.integers(1, 5000))
def test_near_cubic_is_the_smallest_that_holds_the_nodes(nodes):
    a, b, c = near_cubic(nodes)
    assert a >= b >= c >= a - 1
    sides = range(1, 20)
    volumes = [x * y * z for x in sides for y in sides for z in sides if x >= y >= z >= x - 1]
    assert a * b * c == min(volume for volume in volumes if volume >= nodes)
