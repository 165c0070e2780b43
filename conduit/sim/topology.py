"""Shapes of networks and routes through them, by arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

Step: TypeAlias = tuple[int, int, bool]
"""One link of a route: the node it leaves, the dimension along which it leads, and whether forward,
towards the larger coordinate (around the ring)."""


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
        node = source
        for dimension, count in enumerate(steps):
            ring, forward = self.ring(node, dimension), count > 0
            found += [(ring[place], dimension, forward) for place in range(0, count, 1 if forward else -1)]
            node = ring[count]
        return found

    def ring(self, node: int, dimension: int) -> list[int]:
        """Return the nodes of the ring along `dimension` that `node` is on, from it on; those before it come last."""
        side, stride = self.shape[dimension], prod(self.shape[:dimension])
        here = node // stride % side
        first = node - here * stride
        return [first + (here + place) % side * stride for place in range(side)]

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
