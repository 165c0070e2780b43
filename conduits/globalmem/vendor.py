"""What calls of a vendor's MPI and a flush of the cache take on such a machine, for layers that stand for them."""

from __future__ import annotations

from collections.abc import Mapping

from conduit.sim.units import seconds
from conduits.globalmem.unit import Calls

_DOUBLINGS = 4
"""Of the ranks whose fence is known, which are 16."""
_ACCESSES = ("get", "put", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap")


def library_costs(
    calls: Calls, *, get: int, barrier: int, get_and_fence: int, two_sided: int, flush: float
) -> Mapping[str, float]:
    """Return what calls of MPI cost beside the native operation or message, and a flush, by name, seconds.

    A fence: beside a quiet and a barrier, for each doubling of its ranks.

    Args:
        calls: what the machine's own calls cost; each of MPI's accesses adds as much as a put's.
        get: an isolated get of 8 bytes, picoseconds.
        barrier: picoseconds.
        get_and_fence: a get of MPI's and a fence of 16, picoseconds.
        two_sided: what a send and a receive add each, picoseconds.
        flush: of the cache, seconds.
    """
    fence = get_and_fence - get - calls.put - calls.fence - barrier
    return {
        **{f"mpi_{access}": seconds(calls.put) for access in _ACCESSES},
        "mpi_send": seconds(two_sided),
        "mpi_recv": seconds(two_sided),
        "mpi_win_fence_doubling": seconds(fence) / _DOUBLINGS,
        "cache_flush": flush,
    }
