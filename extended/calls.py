"""How the public calls of this layer are made from async methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import conduit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")


def public(
    check: Callable[..., object] | None = None, *, owner: str = "Extended", number: str = ""
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Turn an async method into a call of this layer, checked when it is made and missed when it is not awaited.

    Args:
        check: takes the arguments of the call and raises `conduit.BadRequest` for wrong ones.
        owner: the name that users know the object by.
        number: the method that takes the same as one which gets bytes and gives them as a number; "" without one.
    """

    def decorate(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        # Users know one class; which of its bases has the method is nothing to tell them.
        method.__qualname__ = f"{owner}.{method.__name__}"
        if number:
            method.gives_a_number = number  # type: ignore[attr-defined]  # for what is told where it is not awaited
        if check is not None:
            check.__qualname__ = method.__qualname__  # Python names it where arguments are missing
        checked: Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]
        checked = conduit.checked_call(check)  # type: ignore[arg-type, assignment]  # the overload for bare use comes first
        return checked(method)

    return decorate
