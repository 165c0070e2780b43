"""How the public calls of this layer are made from async methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import conduit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")


def public(
    owner: str, check: Callable[..., object] | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Turn an async method into a call, checked when it is made and missed when it is not awaited.

    Args:
        owner: what programs call the object: ``t`` or ``a``.
        check: takes the arguments of the call, refuses wrong ones, and may return those to go on with.
    """

    def decorate(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        method.__qualname__ = f"{owner}.{method.__name__}"
        if check is not None:
            check.__qualname__ = method.__qualname__  # Python names it where arguments are missing
        checked: Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]
        checked = conduit.checked_call(check)  # type: ignore[arg-type, assignment]
        return checked(method)

    return decorate
