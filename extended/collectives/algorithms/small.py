"""What collectives of small data, and all_to_all of any, would take by each algorithm: as messages of a rehearsal."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from extended.collectives import trees
from extended.collectives.algorithms.exchanges import WINDOW
from extended.collectives.algorithms.rehearsal import NOBODY, Step, down, exchange, up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from extended.collectives.algorithms.model import Estimate, Model
    from extended.collectives.trees import Shape
    from extended.topology import Topology

REPEATED = 4
"""Calls one behind the other, where ranks leave one before others.  Assumed: as many as a short loop has."""

REHEARSED = 64
"""Steps of a ring or of an exchange in pairs of which all are rehearsed; of more, as many evenly spread."""

SHAPES = {"flat": trees.flat, "tree": trees.halving, "two_level": trees.two_level}


def _on(size: int, distance: int) -> list[int]:
    """Return whom ranks send to that send so far on."""
    return [(rank + distance) % size for rank in range(size)]


def _broadcast(shape: Shape, model: Model, topology: Topology, nbytes: int) -> float:
    return down(model, topology, shape, lambda ranks: nbytes)


def _reduce(shape: Shape, model: Model, topology: Topology, nbytes: int) -> float:
    return up(model, topology, shape, lambda ranks: nbytes)


def _scatter(shape: Shape, model: Model, topology: Topology, nbytes: int) -> float:
    return _turned(shape, model, topology, nbytes) + down(model, topology, shape, lambda ranks: ranks * nbytes)


def _gather(shape: Shape, model: Model, topology: Topology, nbytes: int) -> float:
    took = _turned(shape, model, topology, nbytes) + up(model, topology, shape, lambda ranks: ranks * nbytes)
    return took * (2 if _crowds(shape, model, topology, nbytes) else 1)


def _crowds(shape: Shape, model: Model, topology: Topology, nbytes: int) -> bool:
    """Say whether too much comes to the root of a gather that is called again and again: ranks below do not wait."""
    way = model.way(nbytes, on_host=False)
    if math.isinf(way.crowd_bytes):
        return False
    hosts = topology.group_of
    sizes = [(child.high - child.low) * nbytes for child in shape(topology, 0, 0).children if hosts[child.rank]]
    coming = sum(min(REPEATED * size, way.flight_bytes) for size in sizes if size <= model.eager_bytes)
    return coming > way.crowd_bytes


def _turned(shape: Shape, model: Model, topology: Topology, nbytes: int) -> float:
    """Return what the root takes to bring all blocks into the order of its tree, or into their own."""
    in_order = isinstance(shape(topology, 0, 0).order, range)
    return 0.0 if in_order else topology.size * nbytes * model.copy_byte


def _up_and_down(shape: Shape, model: Model, topology: Topology, nbytes: int) -> float:
    return _gather(shape, model, topology, nbytes) + _broadcast(shape, model, topology, topology.size * nbytes)


def _reduced_and_down(shape: Shape, model: Model, topology: Topology, nbytes: int) -> float:
    return _reduce(shape, model, topology, nbytes) + _broadcast(shape, model, topology, nbytes)


def _collected(model: Model, topology: Topology, nbytes: int) -> float:
    """Return what an all_gather by dissemination takes."""
    steps: list[Step] = []
    have = 1
    while have < topology.size:
        count = min(have, topology.size - have)
        steps.append(Step(_on(topology.size, -have), count * nbytes, 0 if steps else nbytes))
        have += count
    return exchange(model, topology, steps) + topology.size * nbytes * model.copy_byte


def _ring(model: Model, topology: Topology, nbytes: int) -> float:
    steps = [Step(_on(topology.size, 1), nbytes)] * min(topology.size - 1, REHEARSED)
    return exchange(model, topology, steps, asked=WINDOW - 1) * (topology.size - 1) / max(1, len(steps))


def _pairwise(ahead: int, model: Model, topology: Topology, nbytes: int) -> float:
    last = topology.size - 1
    count = min(last, REHEARSED)
    steps = [Step(_on(topology.size, 1 + number * last // count), nbytes) for number in range(count)]
    return exchange(model, topology, steps, ahead=ahead, asked=WINDOW - 1) * last / max(1, count)


def _spread(model: Model, topology: Topology, nbytes: int) -> float:
    """Return what an all_to_all takes where several blocks come to a rank at once; too many are sent twice."""
    once = _pairwise(WINDOW - 1, model, topology, nbytes)
    near = len(topology.groups) == 1
    way = model.way(nbytes, on_host=near)
    coming = min(WINDOW, topology.size - 1) * min(nbytes, way.flight_bytes)
    return once * (2 if nbytes > model.eager_bytes and coming > way.crowd_bytes else 1)


def _sorted(model: Model, topology: Topology, nbytes: int) -> float:
    """Return what an all_to_all by dissemination takes."""
    size, stride = topology.size, 1
    steps: list[Step] = []
    while stride < size:
        moving = sum(1 for way in range(size) if way & stride) * nbytes
        steps.append(Step(_on(size, stride), moving, 2 * moving))
        stride *= 2
    return exchange(model, topology, steps) + 2 * size * nbytes * model.copy_byte


def _exchanged(model: Model, topology: Topology, nbytes: int) -> float:
    """Return what an all_reduce by dissemination takes."""
    size, stride = topology.size, 1
    core = 1 << (size.bit_length() - 1)
    extra = size - core
    ranks = [*range(1, 2 * extra, 2), *range(2 * extra, size)]  # that take part, by their places

    def among(partner: Callable[[int], int]) -> list[int]:
        dests = [NOBODY] * size
        for place, rank in enumerate(ranks):
            dests[rank] = ranks[partner(place)]
        return dests

    steps = []
    while stride < core:
        steps.append(Step(among(partial(int.__xor__, stride)), nbytes))
        stride *= 2
    if extra:
        folds = [rank + 1 if rank < 2 * extra and rank % 2 == 0 else NOBODY for rank in range(size)]
        unfolds = [rank - 1 if rank < 2 * extra and rank % 2 else NOBODY for rank in range(size)]
        steps = [Step(folds, nbytes), *steps, Step(unfolds, nbytes)]
    each = len(topology.groups[0])
    return exchange(model, topology, steps, alike=not extra and not each & (each - 1))


def _each(estimate: Callable[[Shape, Model, Topology, int], float], names: Sequence[str]) -> dict[str, Estimate]:
    return {name: partial(estimate, SHAPES[name]) for name in names}


LEVELS = ("tree", "two_level")

EXCHANGED: Mapping[str, Estimate] = {"pairwise": partial(_pairwise, 0), "spread": _spread}
"""Of an all_to_all, those by which no block travels twice; of large data too."""

SMALL: Mapping[str, Mapping[str, Estimate]] = {
    "scatter": {**_each(_scatter, tuple(SHAPES)), "binomial": partial(_scatter, trees.binomial)},
    "gather": _each(_gather, tuple(SHAPES)),
    "all_gather": {"dissemination": _collected, "ring": _ring, **_each(_up_and_down, LEVELS)},
    "all_to_all": {
        "pairwise": EXCHANGED["pairwise"],
        "dissemination": _sorted,
        "spread": EXCHANGED["spread"],
    },
    "all_reduce": {"dissemination": _exchanged, **_each(_reduced_and_down, LEVELS)},
}
"""Estimates by call and algorithm, of data that is sent without being asked for.

None of broadcast and reduce, whose ranks leave them at different times: in a loop, as programs call them, the next one
begins where this one is over, and what takes least alone is not what takes least again and again.
"""
