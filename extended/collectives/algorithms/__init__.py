"""All algorithms, by call and name, and which one is taken where the user names none.

An algorithm is a class with one interface (`algorithm.Algorithm`); to add one, write it and put it into the table.
Calls with a root go along trees, for any root: flat, halving, binomial, two-level, chains (`trees`).  Calls without one
go by dissemination, rings or pairwise exchange.  Which is fastest depends on the size, the number of ranks, and what
the network says of its messages (`estimates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import conduit
from extended.checks import shown
from extended.collectives import trees
from extended.collectives.algorithms.algorithm import PIECE, Algorithm
from extended.collectives.algorithms.blocks import TreeAllGather, TreeGather, TreeScatter
from extended.collectives.algorithms.broadcasts import EagerBroadcast, TreeBroadcast
from extended.collectives.algorithms.calls_rehearsed import fastest
from extended.collectives.algorithms.estimates import best
from extended.collectives.algorithms.exchanges import (
    WINDOW,
    DisseminationAllGather,
    DisseminationAllToAll,
    PairwiseAllToAll,
    RingAllGather,
)
from extended.collectives.algorithms.reductions import (
    DisseminationAllReduce,
    DisseminationScan,
    PipelinedScan,
    TreeAllReduce,
    TreeReduce,
)
from extended.collectives.algorithms.synchronising import Fence
from extended.collectives.signature import name_algorithms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from extended.collectives.algorithms.model import Model
    from extended.collectives.operators import Operator
    from extended.topology import Topology

A = TypeVar("A", bound=Algorithm)

IN_ORDER = {"flat": trees.flat, "tree": trees.halving, "two_level": trees.two_level}
"""Shapes in which operands can be combined in rank order, whatever the root is."""
SHAPES = {**IN_ORDER, "binomial": trees.binomial}
SMALL_BLOCK = 512
"""Blocks up to here are worth copying and forwarding to save messages.  Assumed: a message costs what some hundreds of
bytes cost."""


def _table(algorithms: Iterable[A]) -> Mapping[str, A]:
    return {algorithm.name: algorithm for algorithm in algorithms}


HEADED: Mapping[str, Mapping[str, TreeBroadcast | TreeScatter]] = {
    "broadcast": _table(
        [
            EagerBroadcast("eager", trees.flat),
            *(TreeBroadcast(name, shape) for name, shape in IN_ORDER.items()),
            TreeBroadcast("pipelined", trees.chain),
            TreeBroadcast("binomial", trees.binomial),
        ]
    ),
    "scatter": _table(TreeScatter(name, shape) for name, shape in SHAPES.items()),
}
"""The algorithms whose first message says what comes, and by which algorithm."""

TABLE: Mapping[str, Mapping[str, Algorithm]] = {
    **HEADED,
    "fence": _table([Fence()]),
    "destroy": _table([Fence()]),
    "split": _table([DisseminationAllGather()]),
    "gather": _table(TreeGather(name, shape) for name, shape in SHAPES.items()),
    "all_gather": _table(
        [
            DisseminationAllGather(),
            RingAllGather(),
            TreeAllGather("tree", trees.halving),
            TreeAllGather("two_level", trees.two_level),
        ]
    ),
    "all_to_all": _table(
        [PairwiseAllToAll("pairwise", 0), DisseminationAllToAll(), PairwiseAllToAll("spread", WINDOW - 1)]
    ),
    "reduce": _table(
        [*(TreeReduce(name, shape) for name, shape in IN_ORDER.items()), TreeReduce("pipelined", trees.arms)]
    ),
    "all_reduce": _table(
        [
            DisseminationAllReduce(),
            TreeAllReduce("tree", trees.halving),
            TreeAllReduce("two_level", trees.two_level),
            TreeAllReduce("pipelined", trees.arms),
        ]
    ),
    "scan": _table([DisseminationScan(), PipelinedScan()]),
}

name_algorithms(dict.fromkeys(name for table in TABLE.values() for name in table))


REHEARSED_CALLS = ("all_reduce", "scan")
"""Calls whose algorithms are rehearsed by their own steps, where no estimate is for them and they are no long chain.

A chain of many pieces ends first by more than a rehearsal tells, which has each byte take both CPUs."""

REHEARSED_RANKS = 32
"""Of teams up to here: of more ranks, rehearsing may take longer than simulating the calls."""


def pick(call: str, topology: Topology, nbytes: int, operator: Operator | None, model: Model | None = None) -> str:
    """Choose an algorithm by size and topology, and by what the network says of itself.

    Args:
        call: the collective.
        topology: of the team.
        nbytes: of one rank's contribution or share.
        operator: of a reduction.
        model: of the network; None where it says nothing.
    """
    if model is not None and (chosen := best(call, model, topology, nbytes)) is not None:
        return chosen
    streams = _streams(topology.size, nbytes)
    rehearsed = call in REHEARSED_CALLS and topology.size <= REHEARSED_RANKS
    if rehearsed and model is not None and operator is not None and not (streams and operator.elementwise):
        return fastest(call, tuple(TABLE[call].values()), model, topology, nbytes, operator)
    if call == "broadcast":
        if streams:
            return "pipelined"
        small = nbytes <= SMALL_BLOCK and topology.size <= 3
        return "two_level" if topology.shared else "eager" if small else "tree"
    if call in ("scatter", "gather"):
        # A tree saves messages at the root and moves every byte several times.
        return "two_level" if topology.shared else "tree" if nbytes <= SMALL_BLOCK else "flat"
    if call == "all_gather":
        return "two_level" if topology.shared else "dissemination" if nbytes <= SMALL_BLOCK else "ring"
    if call == "all_to_all":
        return "dissemination" if nbytes <= SMALL_BLOCK and topology.size > 4 else "pairwise"
    # All messages of a chain pass every rank, twice where all get the result: where the network says nothing of its
    # costs, as real ones do not, each of them takes longer than the bytes of its piece.
    unknown = call == "all_reduce" and model is None and not topology.shared
    if streams and operator is not None and operator.elementwise and not unknown:
        return "pipelined"
    if call == "scan":
        return "dissemination"
    if topology.shared and topology.contiguous:
        return "two_level"
    return "dissemination" if call == "all_reduce" else "tree"


def heads_from(call: str, asked: str, topology: Topology, root: int, rank: int, model: Model | None) -> set[int]:
    """Return the ranks of the team that may send one the first message of a broadcast or scatter.

    Only the root knows which algorithm it is, where that depends on the size.

    Args:
        call: the collective.
        asked: the algorithm that the user named on this rank, "" for none.
        topology: of the team.
        root: the call's.
        rank: who gets the message.
        model: of the network; None where it says nothing.
    """
    # One for each way in which `pick` decides: by a model, by the next power of two.
    sizes = (0, SMALL_BLOCK + 1, 1 << 62) if model is None else (0, *(1 << power for power in range(41)))
    names = {asked} if asked else {pick(call, topology, nbytes, None, model) for nbytes in sizes}
    parents = {HEADED[call][name].shape(topology, root, rank).parent for name in names}
    return {parent for parent in parents if parent is not None}


def _streams(size: int, nbytes: int) -> bool:
    """Say whether a chain ends before a tree: after n + k steps of k pieces, not after k * log2(n)."""
    count = -(-nbytes // PIECE)
    return size + count < count * (size - 1).bit_length()


def check_algorithm(
    call: str, asked: object, topology: Topology, nbytes: int, operator: Operator | None, eager: int
) -> str:
    """Return the name of an algorithm that the user asked for, "" where none.

    Raises:
        conduit.BadRequest: unknown, or unsuitable for this call.
    """
    if asked is None:
        return ""
    table = TABLE[call]
    reasons = {name: each.refusal(topology, nbytes, operator, eager) for name, each in table.items()}
    allowed = ", ".join(name for name, reason in reasons.items() if not reason)
    if not isinstance(asked, str) or asked not in table:
        raise conduit.BadRequest(
            f"{call}: algorithm={shown(asked)} is not known; give one of {allowed}, or None to choose"
        )
    if reasons[asked]:
        raise conduit.BadRequest(
            f"{call}: algorithm={asked!r} cannot do this call: {reasons[asked]}; give one of {allowed}, or "
            "None to choose"
        )
    return asked
