"""Runs a UPC program: `conduit.run` with threads."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import conduit
from extended.front_ends import integer, shown
from extended.upc import arguments
from extended.upc.thread import WRITE_BUFFER, attach, check_buffer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Main = Callable[..., Awaitable[Any]]


def run(main: Main, *args: Any, threads: int | None = None, write_buffer: int = WRITE_BUFFER, **options: Any) -> Any:
    """Run ``main(t, *args)`` once per thread and return when all have returned.

    Args:
        main: ``async def main(t, *args)``.
        *args: every thread gets its own deep copy.
        threads: number of threads; None: as `conduit.run` chooses.
        write_buffer: bytes of relaxed writes from which on they are sent at the next awaited call.
        **options: what `conduit.run` takes besides: conduit, seed, segment, ranks_per_host, time_limit.

    Returns:
        what `conduit.run` returns.

    Raises:
        conduit.BadRequest: a wrong argument; and all that `conduit.run` raises.
    """
    return conduit.run(_program(main, args, write_buffer), *args, **_options(threads, options))


async def run_async(
    main: Main, *args: Any, threads: int | None = None, write_buffer: int = WRITE_BUFFER, **options: Any
) -> Any:
    """As `run`, from inside a running Trio program."""
    return await conduit.run_async(_program(main, args, write_buffer), *args, **_options(threads, options))


def run_program(main: Main, *args: Any, ranks: int | None = None, **options: Any) -> Any:
    """Run a program for ``conduit run``, which says ranks where UPC says threads."""
    return run(main, *args, threads=ranks, **options)


def _options(threads: int | None, options: dict[str, Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(conduit.run).parameters if name not in ("main", "args", "ranks")]
    for name in options:
        if name not in known:
            instead = "threads" if name == "ranks" else ", ".join(["threads", "write_buffer", *known])
            raise conduit.BadRequest(f"upc.run: there is no argument {name}=; give {instead}")
    if threads is not None:
        integer("upc.run", "threads", threads, 1, arguments.MOST, "a number of threads, 1 or more")
    return {**options, "ranks": threads}


def _program(main: Main, args: tuple[Any, ...], write_buffer: int) -> Main:
    capacity = check_buffer("upc.run", write_buffer)
    write = "write `async def main(t, *args)`"
    if not callable(main):
        raise conduit.BadRequest(f"upc.run: main={shown(main)} cannot be called; {write}")
    if inspect.isasyncgenfunction(main) or (inspect.isfunction(main) and not inspect.iscoroutinefunction(main)):
        raise conduit.BadRequest(f"upc.run: main={shown(main)} is not async; {write}")
    try:
        inspect.signature(main).bind(None, *args)
    except TypeError as error:
        raise conduit.BadRequest(
            f"upc.run: main={shown(main)} cannot be called with a thread and {len(args)} arguments: {error}; {write}"
        ) from None
    except ValueError:
        pass  # some of those that are built in do not tell

    async def program(ep: conduit.Endpoint, *given: Any) -> Any:
        return await main(await attach(ep, capacity), *given)

    return program
