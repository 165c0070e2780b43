"""What Active Messages on any simulated library of MPI assume, beside what each library and its machine have."""

from __future__ import annotations

from conduit.simnet.constants import Constants, whole

__all__ = ["CONSTANTS", "CREDITS", "MEDIUM", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

CREDITS = _constant(
    "mpi.credits", 8, "count", "assumed",
    "requests under way to one rank: more than one begins within a round trip of short ones between hosts, which is 4 "
    "times o_s on scampi, 6 on sunmpi and 7 on start; a power of two",
)  # fmt: skip
MEDIUM = _constant(
    "mpi.medium", 8192, "bytes", "assumed",
    "largest medium payload, which is copied at both ends: of its round trip what a message takes whatever it carries "
    "is a fifth, on each library; a power of two, with which mpi.credits receives of each kind for a peer have 132 KB",
)  # fmt: skip
