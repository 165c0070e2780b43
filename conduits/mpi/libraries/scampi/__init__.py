"""ScaMPI: Scali's MPI on SCI, which stores messages of every size by the processor."""

from conduits.mpi.libraries.scampi.installation import Scampi

__all__ = ["Scampi"]
