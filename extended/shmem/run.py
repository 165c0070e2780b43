"""Runs a SHMEM program: `conduit.run` with PEs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import conduit
from extended.front_ends import check_main, run_options
from extended.shmem.pe import attach

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Main = Callable[..., Awaitable[Any]]


@conduit.trim_tracebacks
def run(main: Main, *args: Any, pes: int | None = None, **options: Any) -> Any:
    """Run ``main(pe, *args)`` once per PE and return when all have returned.

    Args:
        main: ``async def main(pe, *args)``.
        *args: every PE gets its own deep copy.
        pes: number of PEs; None: as `conduit.run` chooses.
        **options: what `conduit.run` takes besides: conduit, seed, segment (the symmetric heap), ranks_per_host,
            time_limit, stall_limit, trace; `help(conduit.run)` has them.

    Returns:
        what `conduit.run` returns.

    Raises:
        conduit.BadRequest: a wrong argument; and all that `conduit.run` raises.
    """
    return conduit.run(_program(main, args), *args, **run_options("shmem", "pes", pes, options))


@conduit.trim_tracebacks
async def run_async(main: Main, *args: Any, pes: int | None = None, **options: Any) -> Any:
    """As `run`, from inside a running Trio program."""
    return await conduit.run_async(_program(main, args), *args, **run_options("shmem", "pes", pes, options))


def run_program(main: Main, *args: Any, ranks: int | None = None, **options: Any) -> Any:
    """Run a program for ``conduit run``, which says ranks where SHMEM says pes."""
    return run(main, *args, pes=ranks, **options)


def _program(main: Main, args: tuple[Any, ...]) -> Main:
    check_main("shmem", "pe", "PE", main, args)

    async def program(ep: conduit.Endpoint, *given: Any) -> Any:
        return await main(await attach(ep), *given)

    return program
