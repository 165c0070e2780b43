"""Who measures with whom."""

from collections.abc import Sequence
from typing import Literal

import attrs


@attrs.frozen
class BenchmarkPair:
    """One rank's part in a benchmark of pairs.

    Attributes:
        peer: the rank on the other side; an odd last rank is its own.
        sends: this rank is the active side.
        receives: this rank is the passive side.
        measures: the figures of this rank count: it is active, and not paired with itself where there are others.
    """

    peer: int
    sends: bool
    receives: bool
    measures: bool


def pair(rank: int, size: int, pairing: Literal["next", "cross"]) -> BenchmarkPair:
    """Find the partner of a rank: its neighbour (even ranks send), or the one half the job away (the lower half sends).

    With an odd number of ranks the last one is both sides.
    """
    if size % 2 and rank == size - 1:
        return BenchmarkPair(rank, sends=True, receives=True, measures=size == 1)
    if pairing == "next":
        peer, sends = rank ^ 1, rank % 2 == 0
    else:
        half = size // 2
        sends = rank < half
        peer = rank + half if sends else rank - half
    return BenchmarkPair(peer, sends=sends, receives=not sends, measures=sends)


def on_one_host(hosts: Sequence[int], pairing: Literal["next", "cross"]) -> tuple[int, int] | None:
    """Return the first measured pair whose ranks share a host, None if all are of two hosts.

    Args:
        hosts: the host of every rank.
        pairing: how partners are found.
    """
    for rank, host in enumerate(hosts):
        mine = pair(rank, len(hosts), pairing)
        if mine.measures and hosts[mine.peer] == host:
            return rank, mine.peer
    return None
