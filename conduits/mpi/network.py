"""The networks that the name `mpi` stands for, one for each MPI library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from conduit.contract import Conduit
from conduits.mpi import real


class Mpi(Conduit):
    """Active Messages on the MPI library that the option `library` names."""

    name: ClassVar[str] = "mpi"
    summary: ClassVar[str] = "Active Messages on MPI"
    chooser: ClassVar[str] = "library"
    preferred: ClassVar[str] = "scampi"
    other_names: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("openmpi", "open-mpi", "ompi", "mpich", "mvapich", "intelmpi", "impi", "msmpi"), "mpi4py"
    )

    @classmethod
    def variants(cls) -> Sequence[str]:
        """Return the libraries."""
        return tuple(_VARIANTS)

    @classmethod
    def variant(cls, value: str) -> type[Conduit]:
        """Return the network on one of them."""
        return _VARIANTS[value]()


def _mpi4py() -> type[Conduit]:
    real.require()
    from conduits.mpi.port import RealMpi

    return RealMpi


def _scampi() -> type[Conduit]:
    from conduits.mpi.libraries.scampi import Scampi
    from conduits.mpi.simulated import on

    return on(Scampi)


def _sunmpi() -> type[Conduit]:
    from conduits.mpi.libraries.sunmpi import Sunmpi
    from conduits.mpi.simulated import on

    return on(Sunmpi)


def _start() -> type[Conduit]:
    from conduits.mpi.libraries.start import Start
    from conduits.mpi.simulated import on

    return on(Start)


_VARIANTS: dict[str, Callable[[], type[Conduit]]] = {
    "scampi": _scampi, "sunmpi": _sunmpi, "start": _start, "mpi4py": _mpi4py,
}  # fmt: skip
