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
    native,
    pieces,
    reduce,
    reduce_scatter,
    scan,
    scatter,
)
from conduits.mpi.collectives.channel import Steps


@attrs.frozen
class Algorithm:
    """A way to do a collective.

    Attributes:
        run: begins it: the generator of its steps.
        order: in which order it combines: that of the "ranks"; of the ranks where those of each host are consecutive,
            "hosts"; "any", which only operators that commute allow.
    """

    run: Callable[..., Steps]
    order: str = "ranks"


ALGORITHMS: Mapping[str, Mapping[str, Algorithm]] = {
    "Barrier": {
        "dissemination": Algorithm(barrier.dissemination),
        "tree": Algorithm(barrier.tree),
        "two-level": Algorithm(barrier.two_level),
    },
    "Bcast": {
        "linear": Algorithm(broadcast.linear),
        "binomial": Algorithm(broadcast.binomial),
        "scatter-allgather": Algorithm(broadcast.scatter_allgather),
        "two-stage": Algorithm(broadcast.two_stage),
    },
    "Scatter": {
        "linear": Algorithm(scatter.linear),
        "binomial": Algorithm(scatter.binomial),
        "two-level": Algorithm(scatter.two_level),
    },
    "Scatterv": {"linear": Algorithm(scatter.linear)},
    "Gather": {
        "linear": Algorithm(gather.linear),
        "binomial": Algorithm(gather.binomial),
        "two-level": Algorithm(gather.two_level),
    },
    "Gatherv": {"linear": Algorithm(gather.linear)},
    "Allgather": {
        "ring": Algorithm(allgather.ring),
        "bruck": Algorithm(allgather.bruck),
        "recursive-doubling": Algorithm(allgather.recursive_doubling),
        "gather-broadcast": Algorithm(allgather.gather_broadcast),
        "two-level": Algorithm(allgather.two_level),
    },
    "Alltoall": {
        "linear": Algorithm(alltoall.linear),
        "pairwise": Algorithm(alltoall.pairwise),
        "bruck": Algorithm(alltoall.bruck),
        "two-level": Algorithm(alltoall.two_level),
    },
    "Alltoallv": {"linear": Algorithm(alltoall.linear), "pairwise": Algorithm(alltoall.pairwise)},
    "Reduce": {
        "linear": Algorithm(reduce.linear),
        "binomial": Algorithm(reduce.binomial, "any"),
        "binomial-ordered": Algorithm(reduce.binomial_ordered),
        "scatter-gather": Algorithm(reduce.scatter_gather, "any"),
        "two-level": Algorithm(reduce.two_level, "hosts"),
    },
    "Allreduce": {
        "reduce-broadcast": Algorithm(allreduce.reduce_broadcast),
        "recursive-doubling": Algorithm(allreduce.recursive_doubling),
        "scatter-allgather": Algorithm(allreduce.scatter_allgather, "any"),
        "ring": Algorithm(allreduce.ring, "any"),
        "two-level": Algorithm(allreduce.two_level, "hosts"),
    },
    "Reduce_scatter": {
        "reduce-then-scatter": Algorithm(reduce_scatter.reduce_then_scatter),
        "pairwise": Algorithm(reduce_scatter.pairwise, "any"),
        "ring": Algorithm(pieces.ring, "any"),
        "recursive-halving": Algorithm(pieces.recursive_halving, "any"),
    },
    "Scan": {"linear": Algorithm(scan.linear), "recursive-doubling": Algorithm(scan.recursive_doubling)},
}
"""By collective and name.  Those of one collective take the same arguments."""

LIBRARY = "library"
"""The name of what an MPI library does itself: on real MPI the usual one, elsewhere there is none."""

_NATIVE: Mapping[str, Algorithm] = {
    "Barrier": Algorithm(native.barrier), "Bcast": Algorithm(native.broadcast), "Scatter": Algorithm(native.scatter),
    "Scatterv": Algorithm(native.scatter), "Gather": Algorithm(native.gather), "Gatherv": Algorithm(native.gather),
    "Allgather": Algorithm(native.allgather), "Alltoall": Algorithm(native.alltoall),
    "Alltoallv": Algorithm(native.alltoall), "Reduce": Algorithm(native.reduce),
    "Allreduce": Algorithm(native.allreduce), "Reduce_scatter": Algorithm(native.reduce_scatter),
    "Scan": Algorithm(native.scan),
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
}  # fmt: skip
"""What is taken where a program names none.  "flat": as if every rank had a host of its own, with MPICH's trees;
"nodes": with a leader for the ranks of each host, where there is such an algorithm, else as "flat"; "broadcast": so in
broadcasts alone, as MPI-StarT."""

_ORDERED = {"Reduce": "binomial-ordered", "Allreduce": "reduce-broadcast", "Reduce_scatter": "reduce-then-scatter"}
"""What is taken instead where the operator does not commute and the usual one would mind."""


def named(call: str, style: str = "") -> Mapping[str, Algorithm]:
    """Return the algorithms of a call; with the style "library" those of the library's own are among them."""
    collective = _SAME.get(call, call)
    own = {LIBRARY: _NATIVE[collective]} if style == LIBRARY else {}
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
