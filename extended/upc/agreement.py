"""Whether all threads make a collective call with the same arguments: found out before any of them does its part.

UPC calls such arguments single-valued.  Each thread reduces what its own arguments are to a number, the id of a barrier
in which all meet; it is none of the barriers that programs call.  Only where ids differ do threads tell one another
their arguments.

Source: UPC Language Specifications 1.3, 7.3.1 (arguments that are single-valued).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from extended import BarrierMismatch, CollectiveMismatch
from extended.program_lines import line_here

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from extended.upc.runtime import Runtime

END = 0
"""Id of the barrier at the end of a call."""
_ROOM = 1536
"""Bytes in which a thread tells its arguments."""
_SHOWN = 240
"""Characters of one of them."""


class Argument(NamedTuple):
    """What all threads are to give alike.

    Attributes:
        identity: a short text that differs where what is given does.
        said: how it is told to users.
    """

    identity: str
    said: str


async def agree(runtime: Runtime, call: str, arguments: Mapping[str, Argument]) -> None:
    """Wait until all threads have come to a call with the same arguments.

    Args:
        runtime: the thread's.
        call: as ``t.all_reduce``.
        arguments: by name.

    Raises:
        extended.CollectiveMismatch: on all threads, since their calls differ.
    """
    given = [call, *(each.identity for each in arguments.values())]
    try:
        await runtime.x.meet(crc32(repr(given).encode()), call)
    except BarrierMismatch:
        own = {name: (each.identity, each.said[:_SHOWN]) for name, each in arguments.items()}
        rows = await _told_by_all(runtime, call, json.dumps([call, line_here(), own]))
        raise CollectiveMismatch(f"{call}: {_difference(rows)}") from None


async def two_that_differ(runtime: Runtime, call: str, made: str) -> str:
    """Return two calls of threads that differ, each with its line, once it is known that there are such.

    Args:
        runtime: the thread's.
        call: as ``t.all_alloc``.
        made: the same with its arguments, as this thread has made it.
    """
    rows = await _told_by_all(runtime, call, json.dumps([made, line_here()]))
    try:
        calls = [json.loads(row) for row in rows]
    except ValueError:  # one was cut off
        return "threads called it with different arguments"
    (first, first_at), *others = calls
    for thread, (other, at) in enumerate(others, 1):
        if other != first:
            return f"thread 0 called {first} at {first_at}, but thread {thread} called {other} at {at}"
    return "threads called it with different arguments"


async def _told_by_all(runtime: Runtime, call: str, own: str) -> list[bytes]:
    """Return what each thread tells of its call, padded or cut off."""
    told = own.encode()[:_ROOM].ljust(_ROOM)
    return list(map(bytes, await runtime.x.all_gather(np.frombuffer(told, np.uint8), called=f"{call}(...)")))


def _difference(rows: Sequence[bytes]) -> str:
    """Say what differs on which threads, from what each has told of its call."""
    advice = "give the same on every thread"
    try:
        (call, first_at, first), *others = map(json.loads, rows)
    except ValueError:  # one was cut off
        return f"threads gave different arguments; {advice}"
    for thread, (other_call, at, other) in enumerate(others, 1):
        if other_call != call:
            return (
                f"thread 0 called {call} at {first_at}, but thread {thread} called {other_call} at {at}; make the same "
                "calls in the same order on every thread"
            )
        for name, (identity, said) in first.items():
            if other[name][0] != identity:
                theirs = other[name][1] if other[name][1] != said else f"another one, {said}"
                return (
                    f"at {first_at} thread 0 gave {name}={said}, but at {at} thread {thread} gave {name}={theirs}; "
                    f"{advice}"
                )
    return f"threads gave different arguments; {advice}"
