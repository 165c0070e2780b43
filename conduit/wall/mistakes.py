"""Mistakes of who writes a port in real time: methods that would wait, and what they return that is of another kind."""

from __future__ import annotations

from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

from conduit.errors import ConduitError
from conduit.words import plain

_PLAIN = (
    "take", "acquire", "send_request", "send_reply", "begin_allgather", "begin_serving", "slot_number", "slot_holders",
    "make_segment", "undelivered", "close", "segment_of",
)  # fmt: skip
"""Methods of a port that are called, and not awaited or looped over."""


def refuse_not_plain(cls: type) -> None:
    """Refuse a class of ports with a method that is async, or has a `yield`: calling it would do nothing.

    Raises:
        TypeError: it has one.
    """
    for name in _PLAIN:
        method = vars(cls).get(name)
        if iscoroutinefunction(method) or isasyncgenfunction(method):
            kind = "is async"
        elif isgeneratorfunction(method) and name != "slot_holders":
            kind = "has a `yield` in it"
        else:
            continue
        raise TypeError(
            f"{cls.__name__}.{name} {kind}; a port's methods are plain: they begin what lasts, and later polls look at "
            "it"
        )


def wrong(rank: int, port: object, method: str, found: object, wanted: str) -> ConduitError:
    """Return what is wrong with what a method of a port has returned.

    Args:
        rank: whose it is.
        port: the port.
        method: its name, with parentheses behind where that is about what the returned function gives.
        found: what it returned.
        wanted: what to return.
    """
    return ConduitError(f"rank {rank}, {type(port).__name__}.{method} returned {plain(found)}; return {wanted}")
