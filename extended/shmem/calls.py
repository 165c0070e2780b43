"""How the public calls of this layer are made from async methods, and from plain ones that check and return one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import conduit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")


def public(
    owner: str = "pe",
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Turn a method that gives a coroutine into a call that is missed when it is not awaited.

    Args:
        owner: what programs call the object: ``pe``, ``team``, ``ctx`` or ``lock``.
    """

    def decorate(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        method.__qualname__ = f"{owner}.{method.__name__}"
        checked: Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]
        checked = conduit.checked_call(None)
        return checked(method)

    return decorate
