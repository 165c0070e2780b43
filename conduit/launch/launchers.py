"""What launchers of processes say in the environment of each process: how many they have started, and which one it is.

How the ranks of a network find one another is the network's affair.  Here it is seen that several processes were
started together, whatever they run.
"""

from __future__ import annotations

import os

import attrs

_VARIABLES = (
    ("PMI_SIZE", "PMI_RANK"),  # MPICH and its kin, and srun where it speaks PMI
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),  # Open MPI
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),  # srun; a batch script has SLURM_NTASKS and a rank 0, but is in no step
)
"""The numbers, the innermost launcher first: one that srun has started has its variables too."""

_HERE = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
"""How many of them are on the host, where that is said."""


@attrs.frozen
class StartedTogether:
    """Processes that a launcher has started.

    Attributes:
        count: how many.
        number: which of them this is, from 0.
        variable: of the environment, that tells each of them its number.
        here: how many of them are on this host; None where the launcher does not say.
    """

    count: int
    number: int
    variable: str = ""
    here: int | None = None


def started_together() -> StartedTogether | None:
    """Return with how many others this process was started; None where no launcher says so."""
    for size, rank in _VARIABLES:
        count = os.environ.get(size, "")
        if count.isdecimal():
            number = os.environ.get(rank, "")
            return StartedTogether(int(count), int(number) if number.isdecimal() else 0, rank, _here(int(count)))
    return None


def _here(count: int) -> int | None:
    """Return how many of that many processes are on this host, where the launcher says so."""
    if os.environ.get("SLURM_STEP_NUM_NODES") == "1":
        return count
    numbers = (os.environ.get(name, "") for name in _HERE)
    return next((int(number) for number in numbers if number.isdecimal()), None)
