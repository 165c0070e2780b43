"""The algorithms that each collective can be done by, and which is taken where a program names none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from conduits.mpi.collectives import (
    allgather,
    allreduce,
    alltoall,
    barrier,
    broadcast,
    gather,
    local_exchange,
    native,
    pieces,
    reduce,
    reduce_scatter,
    scan,
    scatter,
)
from conduits.mpi.collectives.channel import Steps


@attrs.frozen
class CollAlgorithm:
    """A way to do a collective.

    Attributes:
        run: begins it: the generator of its steps.
        order: in which order it combines: that of the "ranks"; of the ranks where those of each host are consecutive,
            "hosts"; "any", which only operators that commute allow.
    """

    run: Callable[..., Steps]
    order: str = "ranks"


ALGORITHMS: Mapping[str, Mapping[str, CollAlgorithm]] = {
    "Barrier": {
        "dissemination": CollAlgorithm(barrier.dissemination),
        "tree": CollAlgorithm(barrier.tree),
        "two-level": CollAlgorithm(barrier.two_level),
    },
    "Bcast": {
        "linear": CollAlgorithm(broadcast.linear),
        "binomial": CollAlgorithm(broadcast.binomial),
        "scatter-allgather": CollAlgorithm(broadcast.scatter_allgather),
        "two-stage": CollAlgorithm(broadcast.two_stage),
    },
    "Scatter": {
        "linear": CollAlgorithm(scatter.linear),
        "binomial": CollAlgorithm(scatter.binomial),
        "two-level": CollAlgorithm(scatter.two_level),
    },
    "Scatterv": {"linear": CollAlgorithm(scatter.linear)},
    "Gather": {
        "linear": CollAlgorithm(gather.linear),
        "binomial": CollAlgorithm(gather.binomial),
        "two-level": CollAlgorithm(gather.two_level),
    },
    "Gatherv": {"linear": CollAlgorithm(gather.linear)},
    "Allgather": {
        "ring": CollAlgorithm(allgather.ring),
        "bruck": CollAlgorithm(allgather.bruck),
        "recursive-doubling": CollAlgorithm(allgather.recursive_doubling),
        "gather-broadcast": CollAlgorithm(allgather.gather_broadcast),
        "two-level": CollAlgorithm(allgather.two_level),
    },
    "Alltoall": {
        "linear": CollAlgorithm(alltoall.linear),
        "pairwise": CollAlgorithm(alltoall.pairwise),
        "bruck": CollAlgorithm(alltoall.bruck),
        "two-level": CollAlgorithm(alltoall.two_level),
    },
    "Alltoallv": {"linear": CollAlgorithm(alltoall.linear), "pairwise": CollAlgorithm(alltoall.pairwise)},
    "Reduce": {
        "linear": CollAlgorithm(reduce.linear),
        "binomial": CollAlgorithm(reduce.binomial, "any"),
        "binomial-ordered": CollAlgorithm(reduce.binomial_ordered),
        "scatter-gather": CollAlgorithm(reduce.scatter_gather, "any"),
        "two-level": CollAlgorithm(reduce.two_level, "hosts"),
    },
    "Allreduce": {
        "reduce-broadcast": CollAlgorithm(allreduce.reduce_broadcast),
        "recursive-doubling": CollAlgorithm(allreduce.recursive_doubling),
        "scatter-allgather": CollAlgorithm(allreduce.scatter_allgather, "any"),
        "ring": CollAlgorithm(allreduce.ring, "any"),
        "two-level": CollAlgorithm(allreduce.two_level, "hosts"),
    },
    "Reduce_scatter": {
        "reduce-then-scatter": CollAlgorithm(reduce_scatter.reduce_then_scatter),
        "pairwise": CollAlgorithm(reduce_scatter.pairwise, "any"),
        "ring": CollAlgorithm(pieces.ring, "any"),
        "recursive-halving": CollAlgorithm(pieces.recursive_halving, "any"),
    },
    "Scan": {"linear": CollAlgorithm(scan.linear), "recursive-doubling": CollAlgorithm(scan.recursive_doubling)},
}
"""By collective and name.  Those of one collective take the same arguments."""

LIBRARY = "library"
"""The name of what an MPI library does itself: on real MPI the usual one, elsewhere there is none."""

_NATIVE: Mapping[str, CollAlgorithm] = {
    "Barrier": CollAlgorithm(native.barrier), "Bcast": CollAlgorithm(native.broadcast),
    "Scatter": CollAlgorithm(native.scatter), "Scatterv": CollAlgorithm(native.scatter),
    "Gather": CollAlgorithm(native.gather), "Gatherv": CollAlgorithm(native.gather),
    "Allgather": CollAlgorithm(native.allgather), "Alltoall": CollAlgorithm(native.alltoall),
    "Alltoallv": CollAlgorithm(native.alltoall), "Reduce": CollAlgorithm(native.reduce),
    "Allreduce": CollAlgorithm(native.allreduce), "Reduce_scatter": CollAlgorithm(native.reduce_scatter),
    "Scan": CollAlgorithm(native.scan),
}  # fmt: skip

EXCHANGE = "local-exchange"
"""The name of those that go through memory that the ranks of a host share, where a library has it."""

_EXCHANGE: Mapping[str, CollAlgorithm] = {
    "Barrier": CollAlgorithm(local_exchange.barrier), "Bcast": CollAlgorithm(local_exchange.broadcast),
    "Allgather": CollAlgorithm(local_exchange.allgather), "Reduce": CollAlgorithm(local_exchange.reduce, "hosts"),
    "Allreduce": CollAlgorithm(local_exchange.allreduce, "hosts"),
    "Reduce_scatter": CollAlgorithm(local_exchange.reduce_scatter, "hosts"),
}  # fmt: skip

_SAME = {
    "Ibarrier": "Barrier", "Ibcast": "Bcast", "Iallreduce": "Allreduce", "Ialltoall": "Alltoall",
    "Allgatherv": "Allgather", "Reduce_scatter_block": "Reduce_scatter", "Exscan": "Scan",
}  # fmt: skip

STYLES: Mapping[str, Mapping[str, str]] = {
    "flat": {
        "Barrier": "dissemination", "Bcast": "binomial", "Scatter": "binomial", "Scatterv": "linear",
        "Gather": "binomial", "Gatherv": "linear", "Allgather": "ring", "Alltoall": "linear", "Alltoallv": "linear",
        "Reduce": "binomial", "Allreduce": "reduce-broadcast", "Reduce_scatter": "reduce-then-scatter",
        "Scan": "recursive-doubling",
    },
    "broadcast": {"Bcast": "two-stage"},
    "nodes": {
        "Barrier": "two-level", "Bcast": "two-stage", "Scatter": "two-level", "Gather": "two-level",
        "Allgather": "two-level", "Alltoall": "two-level", "Reduce": "two-level", "Allreduce": "two-level",
    },
    "exchange": {
        **dict.fromkeys(_EXCHANGE, EXCHANGE), "Scatter": "two-level", "Gather": "two-level", "Alltoall": "two-level",
    },
}  # fmt: skip
"""What is taken where a program names none.  "flat": as if every rank had a host of its own, with MPICH's trees;
"nodes": with a leader for the ranks of each host, where there is such an algorithm, else as "flat"; "broadcast": so in
broadcasts alone, as MPI-StarT; "exchange": as "nodes", and through memory that they share within a host."""

_ORDERED = {"Reduce": "binomial-ordered", "Allreduce": "reduce-broadcast", "Reduce_scatter": "reduce-then-scatter"}
"""What is taken instead where the operator does not commute and the usual one would mind."""


def named(call: str, style: str = "") -> Mapping[str, CollAlgorithm]:
    """Return the algorithms of a call.

    With the style "library" those of the library's own are among them, with "exchange" those through shared memory.
    """
    collective = _SAME.get(call, call)
    own = {LIBRARY: _NATIVE[collective]} if style == LIBRARY else {}
    if style == "exchange" and collective in _EXCHANGE:
        own[EXCHANGE] = _EXCHANGE[collective]
    return {**ALGORITHMS[collective], **own}


def usual(call: str, style: str) -> str:
    """Return the name of the one that is taken where a program names none."""
    if style == LIBRARY:
        return LIBRARY
    collective = _SAME.get(call, call)
    return STYLES[style].get(collective) or STYLES["flat"][collective]


def ordered(call: str) -> str:
    """Return the name of one that combines in the order of the ranks, whatever they share."""
    return _ORDERED[_SAME.get(call, call)]
