"""What a collective would take by one algorithm or another, as far as the network says what its messages cost.

Small data is rehearsed (`small`), and so is all of an all_to_all.  Of other large data, which is asked for first, the
model is plainer: a message takes its sender and its receiver for their shares of the start-up and of its bytes, and is
at its destination after all of these; what answers it comes while bytes are on their way.  Ranks of a host share the
way out of it.  The model ranks algorithms; it does not predict times.  Sizes are rounded up to powers of two, so that
few answers serve all calls, and each is worked out once for all ranks of a job.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from extended.collectives import trees
from extended.collectives.algorithms.model import rounded
from extended.collectives.algorithms.small import EXCHANGED, SHAPES, SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from extended.collectives.algorithms.model import Estimate, Model
    from extended.collectives.trees import Shape
    from extended.topology import Topology

ROUNDING = 1e-9
"""By what part sums of the same costs may differ that were added in another order: far more than they do."""


def best(call: str, model: Model, topology: Topology, nbytes: int) -> str | None:
    """Return the algorithm that takes least by the model, of those that have an estimate; None where none has.

    Args:
        call: the collective.
        model: of the network.
        topology: of the team.
        nbytes: of one rank's contribution or share.
    """
    return _best(call, model, topology, rounded(nbytes, model.eager_bytes))


@lru_cache(maxsize=1024)
def _best(call: str, model: Model, topology: Topology, nbytes: int) -> str | None:
    estimates = (SMALL if nbytes <= model.eager_bytes else LARGE).get(call, {})
    # Without levels it is a tree; operands meet in rank order.
    levels = topology.shared and (topology.contiguous or call not in ("reduce", "all_reduce"))
    times = {
        name: estimate(model, topology, nbytes) for name, estimate in estimates.items() if levels or name != "two_level"
    }
    if not times:
        return None
    enough = min(times.values()) * (1 + ROUNDING)
    return next(name for name, seconds in times.items() if seconds <= enough)  # the first of equals


class _Cpus:
    """When the CPU of each rank is free, and the messages that take it."""

    def __init__(self, model: Model, topology: Topology) -> None:
        self._model, self._topology = model, topology
        self.free = [0.0] * topology.size

    def message(self, source: int, dest: int, nbytes: int, *, asked: bool = False, times: int = 1) -> float:
        """Send as soon as the sender can; return when the receiver has it, and is free again.

        Args:
            source: rank of the team.
            dest: rank of the team.
            nbytes: how much.
            asked: whether the receiver has asked for it from the beginning.
            times: how often it is sent.
        """
        model, groups = self._model, self._topology.group_of
        near = groups[source] == groups[dest]
        way = model.way(nbytes, on_host=near)
        count, taking = way.messages(nbytes), nbytes * way.receive_byte
        ask = model.asked(on_host=near)
        begun = max(self.free[source], ask if asked else self.free[dest] + ask)
        self.free[source] = begun + way.sender(nbytes)
        arrived = begun + way.start - way.receive + nbytes * way.byte
        taken = max(self.free[dest], arrived - taking) + times * (count * way.receive + taking)
        self.free[dest] = max(taken, arrived + way.receive)
        return self.free[dest]

    def copy(self, rank: int, nbytes: int) -> None:
        """Let a rank copy."""
        self.free[rank] += nbytes * self._model.copy_byte


def _times(model: Model, topology: Topology, dest: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Return how often is sent what some ranks have for one at once: twice from those that are too many together."""
    groups = topology.group_of
    near = {source: groups[source] == groups[dest] for source in sizes}
    ways = {source: model.way(nbytes, on_host=near[source]) for source, nbytes in sizes.items()}
    flying = {
        each: sum(min(sizes[source], ways[source].flight_bytes) for source in sizes if near[source] == each)
        for each in (True, False)
    }
    return {source: 1 + (flying[near[source]] > ways[source].crowd_bytes) for source in sizes}


def _scatter(shape: Shape) -> Callable[[Model, Topology, int], float]:
    def estimate(model: Model, topology: Topology, nbytes: int) -> float:
        nodes, cpus = trees.nodes(shape, topology), _Cpus(model, topology)
        if not isinstance(nodes[0].order, range):
            cpus.copy(0, topology.size * nbytes)
        due = [0]
        for rank in due:
            for child in nodes[rank].children:
                cpus.message(rank, child.rank, (child.high - child.low) * nbytes)
                due.append(child.rank)
        return max(cpus.free)

    return estimate


def _gather(shape: Shape) -> Callable[[Model, Topology, int], float]:
    def estimate(model: Model, topology: Topology, nbytes: int) -> float:
        nodes, cpus = trees.nodes(shape, topology), _Cpus(model, topology)
        order = [0]
        for rank in order:
            order.extend(child.rank for child in nodes[rank].children)
        for rank in reversed(order):
            node = nodes[rank]
            cpus.copy(rank, nbytes if node.children else 0)
            sizes = {child.rank: (child.high - child.low) * nbytes for child in node.children}
            times = _times(model, topology, rank, sizes)
            for source in reversed(sizes):
                cpus.message(source, rank, sizes[source], asked=True, times=times[source])
        if not isinstance(nodes[0].order, range):
            cpus.copy(0, topology.size * nbytes)
        return cpus.free[0]

    return estimate


def _down_and_up(shape: Shape) -> Callable[[Model, Topology, int], float]:
    up = _gather(shape)

    def estimate(model: Model, topology: Topology, nbytes: int) -> float:
        cpus, nodes, whole = _Cpus(model, topology), trees.nodes(shape, topology), topology.size * nbytes
        due = [0]
        for rank in due:
            for child in nodes[rank].children:
                cpus.message(rank, child.rank, whole)
                due.append(child.rank)
        return up(model, topology, nbytes) + max(cpus.free)

    return estimate


def _step(model: Model, topology: Topology, distance: int, nbytes: int) -> float:
    """Return a step in which every rank sends to the one `distance` on."""
    size, groups = topology.size, topology.group_of
    leaving = Counter(groups[rank] for rank in range(size) if groups[rank] != groups[(rank + distance) % size])
    off = model.transfer(model.way(nbytes, on_host=False), nbytes, max(leaving.values())) if leaving else 0.0
    on = model.transfer(model.way(nbytes, on_host=True), nbytes) if leaving.total() < size else 0.0
    return max(on, off) + model.asked(on_host=not leaving)


def _dissemination(model: Model, topology: Topology, nbytes: int) -> float:
    took, have = (topology.size + 1) * nbytes * model.copy_byte, 1
    while have < topology.size:
        count = min(have, topology.size - have)
        took += _step(model, topology, have, count * nbytes)
        have += count
    return took


def _ring(model: Model, topology: Topology, nbytes: int) -> float:
    asked = model.asked(on_host=len(topology.groups) == 1)
    # Blocks are asked for some steps ahead.
    return asked + (topology.size - 1) * (_step(model, topology, 1, nbytes) - asked)


LARGE: Mapping[str, Mapping[str, Estimate]] = {
    "scatter": {name: _scatter(shape) for name, shape in SHAPES.items()},
    "gather": {name: _gather(shape) for name, shape in SHAPES.items()},
    "all_gather": {
        "dissemination": _dissemination,
        "ring": _ring,
        "tree": _down_and_up(trees.halving),
        "two_level": _down_and_up(trees.two_level),
    },
    "all_to_all": EXCHANGED,
}
"""Estimates by call and algorithm, of data that is asked for."""
