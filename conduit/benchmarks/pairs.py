"""Who measures with whom."""

from typing import Literal

import attrs


@attrs.frozen
class Pair:
    """One rank's part in a benchmark of pairs.

    Attributes:
        peer: the rank on the other side; an odd last rank is its own.
        sends: this rank is the active side.
        receives: this rank is the passive side.
    """

    peer: int
    sends: bool
    receives: bool


def pair(rank: int, size: int, pairing: Literal["next", "cross"]) -> Pair:
    """Find the partner of a rank: its neighbour (even ranks send), or the one half the job away (the lower half sends).

    With an odd number of ranks the last one is both sides.
    """
    if size % 2 and rank == size - 1:
        return Pair(rank, sends=True, receives=True)
    if pairing == "next":
        return Pair(rank ^ 1, sends=rank % 2 == 0, receives=rank % 2 == 1)
    half = size // 2
    sends = rank < half
    return Pair(rank + half if sends else rank - half, sends=sends, receives=not sends)
