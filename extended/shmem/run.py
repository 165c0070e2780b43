"""Runs a SHMEM program: `conduit.run` with PEs."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import conduit
from extended.front_ends import integer, shown
from extended.shmem import arguments
from extended.shmem.pe import attach

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Main = Callable[..., Awaitable[Any]]


def run(main: Main, *args: Any, pes: int | None = None, **options: Any) -> Any:
    """Run ``main(pe, *args)`` once per PE and return when all have returned.

    Args:
        main: ``async def main(pe, *args)``.
        *args: every PE gets its own deep copy.
        pes: number of PEs; None: as `conduit.run` chooses.
        **options: what `conduit.run` takes besides: conduit, seed, segment (the symmetric heap), ranks_per_host,
            time_limit.

    Returns:
        what `conduit.run` returns.

    Raises:
        conduit.BadRequest: a wrong argument; and all that `conduit.run` raises.
    """
    return conduit.run(_program(main, args), *args, **_options(pes, options))


async def run_async(main: Main, *args: Any, pes: int | None = None, **options: Any) -> Any:
    """As `run`, from inside a running Trio program."""
    return await conduit.run_async(_program(main, args), *args, **_options(pes, options))


def run_program(main: Main, *args: Any, ranks: int | None = None, **options: Any) -> Any:
    """Run a program for ``conduit run``, which says ranks where SHMEM says pes."""
    return run(main, *args, pes=ranks, **options)


def _options(pes: int | None, options: dict[str, Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(conduit.run).parameters if name not in ("main", "args", "ranks")]
    for name in options:
        if name not in known:
            instead = "pes" if name == "ranks" else ", ".join(["pes", *known])
            raise conduit.BadRequest(f"shmem.run: there is no argument {name}=; give {instead}")
    if pes is not None:
        integer("shmem.run", "pes", pes, 1, arguments.MOST, "a number of pes, 1 or more")
    return {**options, "ranks": pes}


def _program(main: Main, args: tuple[Any, ...]) -> Main:
    write = "write `async def main(pe, *args)`"
    if not callable(main):
        raise conduit.BadRequest(f"shmem.run: main={shown(main)} cannot be called; {write}")
    if inspect.isasyncgenfunction(main) or (inspect.isfunction(main) and not inspect.iscoroutinefunction(main)):
        raise conduit.BadRequest(f"shmem.run: main={shown(main)} is not async; {write}")
    try:
        inspect.signature(main).bind(None, *args)
    except TypeError as error:
        raise conduit.BadRequest(
            f"shmem.run: main={shown(main)} cannot be called with a PE and {len(args)} arguments: {error}; {write}"
        ) from None
    except ValueError:
        pass  # some of those that are built in do not tell

    async def program(ep: conduit.Endpoint, *given: Any) -> Any:
        return await main(await attach(ep), *given)

    return program
