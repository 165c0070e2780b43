"""Runs a UPC program: `conduit.run` with threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import conduit
from extended.front_ends import check_main, run_options
from extended.upc.thread import WRITE_BUFFER, attach, check_buffer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Main = Callable[..., Awaitable[Any]]


@conduit.trim_tracebacks
def run(main: Main, *args: Any, threads: int | None = None, write_buffer: int = WRITE_BUFFER, **options: Any) -> Any:
    """Run ``main(t, *args)`` once per thread and return when all have returned.

    Args:
        main: ``async def main(t, *args)``.
        *args: every thread gets its own deep copy.
        threads: number of threads; None: as `conduit.run` chooses.
        write_buffer: bytes of relaxed writes from which on they are sent at the next awaited call.
        **options: what `conduit.run` takes besides: conduit, seed, segment, ranks_per_host, time_limit, stall_limit,
            trace; `help(conduit.run)` has them.

    Returns:
        what `conduit.run` returns.

    Raises:
        conduit.BadRequest: a wrong argument; and all that `conduit.run` raises.
    """
    return conduit.run(
        _program(main, args, write_buffer), *args, **run_options("upc", "threads", threads, options, ("write_buffer",))
    )


@conduit.trim_tracebacks
async def run_async(
    main: Main, *args: Any, threads: int | None = None, write_buffer: int = WRITE_BUFFER, **options: Any
) -> Any:
    """As `run`, from inside a running Trio program."""
    return await conduit.run_async(
        _program(main, args, write_buffer), *args, **run_options("upc", "threads", threads, options, ("write_buffer",))
    )


def run_program(main: Main, *args: Any, ranks: int | None = None, **options: Any) -> Any:
    """Run a program for ``conduit run``, which says ranks where UPC says threads."""
    return run(main, *args, threads=ranks, **options)


def _program(main: Main, args: tuple[Any, ...], write_buffer: int) -> Main:
    capacity = check_buffer("upc.run", write_buffer)
    check_main("upc", "t", "thread", main, args)

    async def program(ep: conduit.Endpoint, *given: Any) -> Any:
        return await main(await attach(ep, capacity), *given)

    return program
