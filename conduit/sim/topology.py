"""Shapes of networks and routes through them, by arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

Step: TypeAlias = tuple[int, int, bool]
"""One link of a route: the node it leaves, the dimension along which it leads, and whether forward,
towards the larger coordinate (around the ring)."""
Arc: TypeAlias = tuple[int, int, int, int]
"""The part of a route along one ring: the dimension, the ring's first node, the place in the ring where it begins,
and the links, negative where it leads backwards."""


class Torus:
    """Rings in one, two or three dimensions, routed dimension by dimension.

    Nodes are numbered with the first coordinate running fastest.

    Args:
        shape: nodes along each dimension, 1 or more.
        both_ways: whether a ring carries both ways and the shorter is taken (forward where they are
            equally long).  SCI rings carry one way.
    """

    def __init__(self, shape: tuple[int, ...], *, both_ways: bool = False) -> None:
        self.shape = shape
        self.both_ways = both_ways
        self.nodes = 1
        for side in shape:
            self.nodes *= side

    def coordinates(self, node: int) -> tuple[int, ...]:
        """Return the place of `node` along each dimension."""
        place = []
        for side in self.shape:
            node, here = divmod(node, side)
            place.append(here)
        return tuple(place)

    def route(self, source: int, target: int) -> list[Step]:
        """Return the links from `source` to `target`: all of the first dimension, then the next."""
        return self.follow(source, self.steps(source, target))

    def follow(self, source: int, steps: Sequence[int]) -> list[Step]:
        """Return the links that lead from `source` by as many `steps` along each dimension as `steps` gives."""
        found: list[Step] = []
        for dimension, base, here, count in self.arcs(source, steps):
            ring, forward = self.ring(dimension, base), count > 0
            places = range(here, here + count, 1 if forward else -1)
            found += [(ring[place % len(ring)], dimension, forward) for place in places]
        return found

    def arcs(self, source: int, steps: Sequence[int]) -> list[Arc]:
        """Return the parts of a route that leads from `source` by `steps`, one for each ring it goes along."""
        found: list[Arc] = []
        node, rest, stride = source, source, 1
        for dimension, side in enumerate(self.shape):
            rest, here = divmod(rest, side)
            count = steps[dimension]
            if count:
                base = node - here * stride
                found.append((dimension, base, here, count))
                node = base + (here + count) % side * stride
            stride *= side
        return found

    def ring(self, dimension: int, base: int) -> range:
        """Return the nodes of the ring along `dimension` whose first node is `base`, in order."""
        stride = prod(self.shape[:dimension])
        return range(base, base + self.shape[dimension] * stride, stride)

    def steps(self, source: int, target: int) -> list[int]:
        """Return the steps that a route makes along each dimension, negative where it goes backwards."""
        found = []
        for side in self.shape:
            source, here = divmod(source, side)
            target, there = divmod(target, side)
            steps = (there - here) % side
            if self.both_ways and steps > side - steps:
                steps -= side
            found.append(steps)
        return found

    def distance(self, source: int, target: int) -> int:
        """Return the number of links from `source` to `target`."""
        return sum(map(abs, self.steps(source, target)))

    def turns(self, source: int, target: int) -> int:
        """Return how often the route changes from one dimension to another."""
        return max(0, sum(map(bool, self.steps(source, target))) - 1)


def near_cubic(nodes: int) -> tuple[int, int, int]:
    """Return the smallest 3D shape for `nodes` whose sides differ by at most one, longest side first."""
    side = 1
    while (side + 1) ** 3 <= nodes:
        side += 1
    for longer in range(4):
        shape = tuple(side + 1 if dimension < longer else side for dimension in range(3))
        if shape[0] * shape[1] * shape[2] >= nodes:
            return shape[0], shape[1], shape[2]
    raise AssertionError("a cube with one more on each side holds them all")
