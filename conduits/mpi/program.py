"""Runs a program of MPI: ranks on a library alone, without Active Messages."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import conduit
from conduit import BadRequest
from conduit import run as _run
from conduit.words import in_spec, like, many, not_async, plain, to_be_given, to_be_named
from conduits.mpi.adapter import RealProcess
from conduits.mpi.awaited.comm import Comm
from conduits.mpi.awaited.listened import listen
from conduits.mpi.awaited.process import CURRENT, current

_MEANT = {
    **dict.fromkeys(("pes", "threads", "np", "n", "size"), " (did you mean ranks?)"),
    "timeout": " (did you mean time_limit?)",
    "conduit": " (did you mean library?)",
}
"""What others call the arguments of `run`."""
Main = Callable[..., Awaitable[Any]]
_WOULD_WAIT = re.compile(r"\b(Wait|Test)(all|any|some)?\(.* was called( \d+ times)? but never awaited", re.DOTALL)
"""What is said of a call for requests that was forgotten; it may be the one that would have waited for them."""


@conduit.trim_tracebacks
def run(main: Main, *args: Any, library: str = "scampi", **options: Any) -> Any:
    """Run ``main(comm, *args)`` once per rank and return when all have returned.

    Args:
        main: ``async def main(comm, *args)``; `comm` is the world.
        *args: every rank gets its own deep copy.
        library: scampi, sunmpi or start, simulated, or mpi4py, real MPI with ranks that are processes; options
            after a colon, "scampi:eager_count=4".
        **options: what `conduit.run` takes besides: ranks, seed, segment, ranks_per_host, time_limit, stall_limit,
            trace; `help(conduit.run)` has them.

    Returns:
        what `conduit.run` returns.

    Raises:
        conduit.BadRequest: a wrong argument; and all that `conduit.run` raises.
    """
    return conduit.run(_program(main, args), *args, **_options(library, options))


@conduit.trim_tracebacks
async def run_async(main: Main, *args: Any, library: str = "scampi", **options: Any) -> Any:
    """As `run`, from inside a running Trio program."""
    return await conduit.run_async(_program(main, args), *args, **_options(library, options))


def run_program(main: Main, *args: Any, conduit: str = "mpi", **options: Any) -> Any:
    """Run a program for ``conduit run``, which names the conduit, or takes the default here."""
    _check_conduit(conduit)
    return _run(_program(main, args), *args, conduit=conduit, **options)


def _check_conduit(conduit: str) -> None:
    """Refuse a conduit that has no MPI library."""
    if conduit.partition(":")[0].strip() != "mpi":
        raise BadRequest(
            f'conduit={conduit!r}: programs with `api = "mpi"` run on MPI libraries; give mpi:library=scampi, say'
        )


run_program.check_conduit = _check_conduit  # type: ignore[attr-defined] # asked by `conduit run` before anything runs


def _options(library: Any, options: dict[str, Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(conduit.run).parameters if name not in ("main", "args", "conduit")]
    for name in options:
        if name not in known:
            spec = f"mpi:library={str(library).replace(':', ',')}"
            who, written = in_spec(name, options[name], spec, conduit.available())
            if who.endswith(" mpi"):
                head, _, rest = written.removeprefix("mpi:library=").partition(",")
                raise conduit.BadRequest(
                    f'MPI.run: {name}={plain(options[name])} is an option of the library: write library="{head}:{rest}"'
                )
            meant = like(name, ["library", *known]) or _MEANT.get(name, "")
            raise conduit.BadRequest(
                f"MPI.run: there is no argument {name}={meant}; give {', '.join(['library', *known])}"
            )
    if not isinstance(library, str):
        raise conduit.BadRequest(
            f"MPI.run: library={library!r} is no text; give 'scampi', 'sunmpi', 'start' or 'mpi4py'"
        )
    if library.strip().startswith("mpi:library="):  # how a network is chosen elsewhere
        name, _, rest = library.strip().removeprefix("mpi:library=").partition(",")
        written = f"{name}:{rest}" if rest else name
        raise conduit.BadRequest(f'MPI.run: library={library!r} is a spec of conduits; write library="{written}"')
    name, _, rest = library.partition(":")
    return {**options, "conduit": f"mpi:library={name.strip()}" + (f",{rest}" if rest.strip() else "")}


def _program(main: Any, args: tuple[Any, ...]) -> Main:
    write = "write `async def main(comm, *args)`"
    if inspect.iscoroutine(main):
        main.close()  # it never ran, and Python would say less of it
        name = main.__name__
        raise conduit.BadRequest(
            f"MPI.run: main={name}(...) is a call of {name}, made already; pass the function: MPI.run({name}, ...)"
        )
    if not callable(main):
        raise conduit.BadRequest(f"MPI.run: main={plain(main)} cannot be called; {write}")
    if wrong := not_async(main, write):
        raise conduit.BadRequest(f"MPI.run: main={plain(main)} {wrong}")
    try:
        inspect.signature(main).bind(None, *args)
    except TypeError as error:
        raise conduit.BadRequest(
            f"MPI.run: main={plain(main)} cannot be called with a communicator and {many(len(args), 'argument')}: "
            f"{error}; "
            + (to_be_given(main, args, "MPI.run") or write + to_be_named(args, "ranks", 'library="scampi", '))
        ) from None
    except ValueError:
        pass  # some of those that are built in do not tell

    async def program(ep: conduit.Endpoint, *given: Any) -> Any:
        async with entered(ep) as comm:
            return await main(comm, *given)

    return program


@asynccontextmanager
async def entered(ep: conduit.Endpoint) -> AsyncIterator[Comm]:
    """Give the world to a rank's program, which does without Active Messages; at its end wait until all is sent.

    Args:
        ep: the rank's endpoint, on the conduit `mpi`.
    """
    ep.refuse_attach("this program runs on MPI alone, without Active Messages; start it with conduit.run")
    process = CURRENT.get()
    if process is None:  # where ranks are processes, whose ports know Active Messages alone
        process = RealProcess(ep)
        CURRENT.set(process)
    process.go_alone(ep.warn)
    ep.on_report(process.tell)
    if ep.call_listener is not None:
        listen(process, ep)
    yield world()
    if not any(_WOULD_WAIT.search(str(error)) for error in ep.forgotten):  # that error says it already
        for text in process.warnings():
            ep.warn(text)  # before what may never end
    await process.finish()


def world() -> Comm:
    """Return the running rank's communicator of all."""
    return _kept("world")


def alone() -> Comm:
    """Return the running rank's communicator of itself."""
    return _kept("alone")


def _kept(name: str) -> Comm:
    process = current("MPI.COMM_WORLD" if name == "world" else "MPI.COMM_SELF")
    found = process.handles.get(name)
    if found is None:
        found = process.handles[name] = Comm(process, getattr(process.library, name))
    comm: Comm = found
    return comm
