"""What the checks of shared arrays have in common."""

from collections.abc import Callable
from typing import Any

import numpy as np

import conduit
from conduit.conformance.cases import Case
from extended import upc

BLOCKS = (None, 1, 3, 50, "indefinite")
"""Block sizes that differ in kind."""


def play(case: Case, main: Callable[..., Any], *args: Any, write_buffer: int = 65536, **settings: Any) -> Any:
    """Run a program of threads on a case and give the result."""

    async def program(ep: conduit.Endpoint, *given: Any) -> Any:
        return await main(await upc.attach(ep, write_buffer), *given)

    return case.run(program, *args, **settings)


def owner_of(flat: int, block: Any, size: int, threads: int) -> int:
    """Give the owner of an element as UPC's specification does, one element at a time."""
    if block == "indefinite":
        return 0
    if block is None:
        block = max(-(-size // threads), 1)
    return int((flat // block) % threads)


async def filled(t: upc.Thread, shape: Any, block: Any = None, dtype: Any = "i8") -> Any:
    """Give a new array whose elements are their flattened indices, on all threads."""
    a = await t.all_alloc(shape, dtype=dtype, block=block)
    a.local = a.local_index
    await t.barrier()
    return a


async def refused(call: Callable[[], Any], error: type[BaseException] = conduit.BadRequest) -> str:
    """Give the message with which a call, or what it returns when it is awaited, is refused."""
    try:
        made = call()
        if hasattr(made, "__await__"):
            await made
    except error as found:
        return str(found)
    raise AssertionError(f"not refused, although it must raise {error.__name__}")


async def told(t: upc.Thread, key: bytes | None, root: int) -> bytes:
    """Give the key that one thread has to all."""
    return bytes(await t.extended.broadcast(np.frombuffer(key, np.uint8) if key is not None else None, root=root))
