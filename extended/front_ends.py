"""What the front ends of this layer share: how their calls are made, and how they refuse what is no number."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import conduit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")

_SHOWN = 200  # characters of a value in a message


def public(
    owner: str, check: Callable[..., object] | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Turn a method that gives a coroutine into a call, checked when it is made and missed when it is not awaited.

    Args:
        owner: what programs call the object: ``t``, ``pe``, ``win``.
        check: takes the arguments of the call, refuses wrong ones, and may return those to go on with; None where the
            method checks before it gives its coroutine.
    """

    def decorate(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        # Users know one object; which of its bases has the method is nothing to tell them.
        method.__qualname__ = f"{owner}.{method.__name__}"
        if check is not None:
            check.__qualname__ = method.__qualname__  # Python names it where arguments are missing
        checked: Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]
        checked = conduit.checked_call(check)  # type: ignore[arg-type, assignment]  # the overload for bare use comes first
        return checked(method)

    return decorate


def shown(value: object) -> str:
    """Return how messages show a value."""
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def integer(call: str, name: str, value: Any, least: int, most: int, what: str) -> int:
    """Return an integer argument within bounds.

    Args:
        call: for the message.
        name: of the argument.
        value: as given.
        least: the smallest that is allowed.
        most: the largest.
        what: what to give.

    Raises:
        conduit.BadRequest: it is none, or outside.
    """
    try:
        number = index(value)
    except TypeError:
        raise conduit.BadRequest(
            f"{call}: {name}={shown(value)} is a {type(value).__name__}; give an integer, {what}"
        ) from None
    if not least <= number <= most:
        raise conduit.BadRequest(f"{call}: {name}={shown(number)} is not possible; give {what}")
    return number
