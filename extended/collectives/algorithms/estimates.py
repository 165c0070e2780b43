"""What a collective would take by one algorithm or another, as far as the network says what its messages cost.

The model is plain: a message takes its sender and its receiver for their shares of the start-up and of its bytes, and
is at its destination after all of these.  It is a request that no handler replies to: on most networks an automatic
reply takes both once more, which of small data is counted.  Large data is asked for first.  Ranks of a host share the
way out of it.  The model ranks algorithms; it does not predict times.  Sizes are rounded up to powers of two, so that
few answers serve all calls, and each is worked out once for all ranks of a job.

Source: the model is that of A. Alexandrov, M. Ionescu, K. Schauser and C. Scheiman, LogGP (1995).
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from extended.collectives import trees
from extended.collectives.algorithms.small import SHAPES, SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conduit import Endpoint
    from extended.collectives.staging import Staging
    from extended.collectives.trees import Shape, TreeNode
    from extended.topology import Topology

    Estimate = Callable[["Model", Topology, int], float]

ROUNDING = 1e-9
"""By what part sums of the same costs may differ that were added in another order: far more than they do."""


@attrs.frozen
class PairEstimate:
    """Messages between two ranks; seconds.

    Attributes:
        start: of a short message.
        send: of it, the sender's share.
        receive: of it, the receiver's share.
        byte: each byte of a payload.
        send_byte: of it, what keeps the sender from the next message.
        receive_byte: of it, what keeps the receiver.
        answered: whether each message is answered by a short one.
        most: bytes of one message at most.
        flight_bytes: on their way from one rank to another at most.
        crowd_bytes: on their way to one rank from all, beyond which they are sent twice.
        shared_byte: of `byte`, what is on the way out of a host, which its ranks share.
        poll: before each message, of the sender.
        interrupt: of a message that comes to a receiver that is busy, besides.
    """

    start: float
    send: float
    receive: float
    byte: float
    send_byte: float
    receive_byte: float
    answered: bool
    most: int
    flight_bytes: float
    crowd_bytes: float
    shared_byte: float
    poll: float
    interrupt: float

    def messages(self, nbytes: int) -> int:
        """Return how many messages that many bytes take."""
        return max(1, -(-nbytes // self.most))

    def sender(self, nbytes: int) -> float:
        """Return what a sender is taken for: its messages, what comes back for them, and the bytes."""
        answers = self.receive if self.answered else 0.0
        return self.messages(nbytes) * (self.send + answers) + nbytes * self.send_byte

    def answers(self, nbytes: int) -> float:
        """Return what the receiver of that many bytes is taken for by its automatic replies."""
        return self.messages(nbytes) * self.send if self.answered else 0.0


@attrs.frozen
class Model:
    """What is known of the network, the same on every rank.

    Attributes:
        on_host, off_host: the two ways, of small data.
        on_host_large, off_host_large: of data that is asked for first.
        copy_byte: seconds of a byte that is copied.
        eager_bytes: data up to here is sent at once.
    """

    on_host: PairEstimate
    off_host: PairEstimate
    on_host_large: PairEstimate
    off_host_large: PairEstimate
    copy_byte: float
    eager_bytes: int

    def way(self, nbytes: int, *, on_host: bool) -> PairEstimate:
        """Return how that many bytes go."""
        if nbytes > self.eager_bytes:
            return self.on_host_large if on_host else self.off_host_large
        return self.on_host if on_host else self.off_host

    def asked(self, nbytes: int, *, on_host: bool) -> float:
        """Return what asking for data takes, none where it comes unasked."""
        return (self.on_host if on_host else self.off_host).start if nbytes > self.eager_bytes else 0.0

    def transfer(self, way: PairEstimate, nbytes: int, sharing: int = 1) -> float:
        """Return the time from sending data until it has been received, with that many ranks on the way out."""
        count = way.messages(nbytes)
        took = way.start + (count - 1) * max(way.send, way.receive) + sharing * nbytes * way.byte
        # Every rank sends and receives: it makes an answer to each message, and takes one.
        return took + count * (way.send + way.receive) if way.answered else took


def model_of(ep: Endpoint, medium_bytes: int, eager_bytes: int, staging: Staging) -> Model | None:
    """Return what the network says of itself, None where that is not enough.

    Args:
        ep: the endpoint.
        medium_bytes: most bytes of one medium message of a collective.
        eager_bytes: data up to here is sent at once.
        staging: says whether larger data comes by way of the memory behind the segment.
    """
    costs = ep.costs
    if costs.on_host is None or costs.off_host is None or costs.copy_byte is None:
        return None
    staged = tuple(
        staging.pays(staging.slot_bytes, on_host=on_host) and staging.has_room() for on_host in (True, False)
    )
    return _model(
        costs.on_host, costs.off_host, costs.copy_byte, medium_bytes, eager_bytes, staging.slot_bytes, *staged
    )


@lru_cache(maxsize=64)  # every rank of a job asks for the same one
def _model(
    on: Any,
    off: Any,
    copy_byte: float,
    medium_bytes: int,
    eager_bytes: int,
    slot_bytes: int,
    near_staged: bool,
    far_staged: bool,
) -> Model:
    """Return the model of a network; larger data comes by way of slots of `slot_bytes` where it is staged.

    What messages cost, `on` and off a host, is as `ep.costs` has it.
    """
    near, far = _small(on, medium_bytes), _small(off, medium_bytes)
    near_large = _large(near, on, copy_byte, slot_bytes, staged=near_staged)
    far_large = _large(far, off, copy_byte, slot_bytes, staged=far_staged)
    return Model(near, far, near_large, far_large, copy_byte, eager_bytes)


def _small(costs: Any, most: int) -> PairEstimate:
    """Return how medium messages of at most `most` bytes go."""
    byte, out, into = costs.medium_byte, costs.medium_send_byte, costs.medium_receive_byte
    return PairEstimate(
        start=costs.start,
        send=costs.send,
        receive=costs.receive,
        byte=byte,
        send_byte=byte if out is None else out,
        receive_byte=byte if into is None else into,
        answered=costs.answered,
        most=most,
        flight_bytes=math.inf if costs.flight_bytes is None else costs.flight_bytes,
        crowd_bytes=math.inf if costs.crowd_bytes is None else costs.crowd_bytes,
        shared_byte=byte if out is None or into is None else max(0.0, byte - out - into),
        poll=costs.poll,
        interrupt=costs.interrupt,
    )


def _large(small: PairEstimate, costs: Any, copy_byte: float, slot_bytes: int, *, staged: bool) -> PairEstimate:
    """Return how large data goes: in medium messages, or where it is staged in long ones, from which it is copied.

    One part follows the other, so that the whole way is taken for its bytes, and replies come meanwhile.
    """
    start, byte, most = small.start, small.byte, small.most
    if staged:
        start, byte, most = costs.long_start, costs.long_byte + copy_byte, slot_bytes
    return attrs.evolve(small, start=start, byte=byte, send_byte=byte, receive_byte=byte, answered=False, most=most)


def best(call: str, model: Model, topology: Topology, nbytes: int) -> str | None:
    """Return the algorithm that takes least by the model, of those that have an estimate; None where none has.

    Args:
        call: the collective.
        model: of the network.
        topology: of the team.
        nbytes: of one rank's contribution or share.
    """
    rounded = 1 << (nbytes - 1).bit_length() if nbytes else 0
    return _best(call, model, topology, min(rounded, model.eager_bytes) if nbytes <= model.eager_bytes else rounded)


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
        begun = self.free[source]
        if nbytes > model.eager_bytes:
            ask = model.asked(nbytes, on_host=near)
            begun = max(begun, ask if asked else self.free[dest] + ask)
        self.free[source] = begun + way.sender(nbytes)
        arrived = begun + way.start - way.receive + nbytes * way.byte
        taken = max(self.free[dest], arrived - taking) + times * (count * way.receive + taking)
        self.free[dest] = max(taken, arrived + way.receive) + times * way.answers(nbytes)
        return self.free[dest]

    def copy(self, rank: int, nbytes: int) -> None:
        """Let a rank copy."""
        self.free[rank] += nbytes * self._model.copy_byte


def _nodes(shape: Shape, topology: Topology) -> list[TreeNode]:
    return [shape(topology, 0, rank) for rank in range(topology.size)]


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
        nodes, cpus = _nodes(shape, topology), _Cpus(model, topology)
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
        nodes, cpus = _nodes(shape, topology), _Cpus(model, topology)
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
        cpus, nodes, whole = _Cpus(model, topology), _nodes(shape, topology), topology.size * nbytes
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
    return max(on, off) + model.asked(nbytes, on_host=not leaving)


def _dissemination(model: Model, topology: Topology, nbytes: int) -> float:
    took, have = (topology.size + 1) * nbytes * model.copy_byte, 1
    while have < topology.size:
        count = min(have, topology.size - have)
        took += _step(model, topology, have, count * nbytes)
        have += count
    return took


def _ring(model: Model, topology: Topology, nbytes: int) -> float:
    asked = model.asked(nbytes, on_host=len(topology.groups) == 1)
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
}
"""Estimates by call and algorithm, of data that is asked for."""
