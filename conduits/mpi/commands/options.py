"""What the benchmarks of MPI have in common: their options, and the communicator that they measure in."""

from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import Annotated, Any, Literal

import attrs
from cyclopts import Parameter

from conduit import BadRequest, Endpoint
from conduit.benchmarks import BenchmarkOptions, SizeMark
from conduit.commandline.names import OfConduit
from conduits.mpi.collectives.algorithms import LIBRARY
from conduits.mpi.network import Mpi
from conduits.mpi.program import entered

UNUSED = Parameter(show=False)


@attrs.frozen(kw_only=True)
class MpiOptions(BenchmarkOptions):
    """What users may ask of a benchmark of MPI."""

    conduit: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False), OfConduit("mpi")] = ("mpi",)
    """Library to measure, as mpi:library=NAME,option=value,...; repeat it to compare several. [default: mpi]"""

    local: Annotated[Literal["in", "out"], UNUSED] = "out"


def check(program: str, options: MpiOptions, *, pairing: bool = True) -> None:
    """Raise BadRequest where a conduit is not MPI's, or an option means nothing; so does that of `pairing` to some."""
    for text in options.conduit:
        name = text.partition(":")[0].strip()
        if name != "mpi":
            wanted = f"mpi:library={name}" if name in Mpi.variants() else "mpi:library=scampi or another"
            raise BadRequest(f"--conduit {text}: {program} measures MPI libraries; give {wanted}")
    if options.local != "out":
        raise BadRequest(f"--local {options.local} means nothing to {program}; leave it out")
    if options.pairing != "next" and not pairing:
        raise BadRequest(f"--pairing {options.pairing} means nothing to {program}; leave it out")


def styles(conduits: Iterable[str]) -> set[str]:
    """Return which styles of `collectives.algorithms.named` the MPI libraries of some specs have."""
    return {_style(text.replace(" ", "")) for text in conduits}


def _style(spec: str) -> str:
    if "library=mpi4py" in spec:
        return LIBRARY
    exchanges = "library=sunmpi" in spec and ("collectives=" not in spec or "collectives=exchange" in spec)
    return "exchange" if exchanges else ""


def library_marks(spec: Any) -> list[SizeMark]:
    """Return the sizes up to which the protocols of a simulated library go; of a real one nothing is known."""
    library = getattr(spec.cls, "library", None)
    return (
        []
        if library is None
        else [SizeMark(size, "largest of a protocol") for size in library.thresholds(spec.options)]
    )


def on_mpi(measure: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return the main of a benchmark that is given the world behind its endpoint."""

    @wraps(measure)
    async def main(ep: Endpoint, *args: Any, **named: Any) -> Any:
        async with entered(ep) as comm:
            return await measure(ep, comm, *args, **named)

    return main
