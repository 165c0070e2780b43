"""How the public calls of windows are made, and how messages name a call that was made before."""

from __future__ import annotations

import inspect
from operator import index
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import attrs

import conduit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")

_LAYERS = ("extended.", "conduit.")
# Programs, although they are in this package.
_PROGRAMS = ("extended.windows.conformance.", "extended.commands.")


def public(
    owner: str = "win",
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Turn a method that gives a coroutine into a call that is missed when it is not awaited.

    Args:
        owner: what programs call the object: ``win``, or ``Win`` for what makes one.
    """

    def decorate(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        method.__qualname__ = f"{owner}.{method.__name__}"
        checked: Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]
        checked = conduit.checked_call(None)
        return checked(method)

    return decorate


@attrs.frozen
class Call:
    """A call that the program has made.

    Attributes:
        name: of it, as programs write it.
        file: of the program's line, "" where nobody has looked.
        line: its number there, 0 where nobody knows.
    """

    name: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.name} at {self.file}:{self.line}" if self.file else self.name


def called(name: str) -> Call:
    """Return the call that is being made, with the program's line: the innermost that is not this project's."""
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_LAYERS) or module.startswith(_PROGRAMS):
            return Call(name, frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return Call(name, "an unknown line", 0)


def shown(value: object) -> str:
    """Return how messages show a value."""
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."


def integer(call: str, name: str, value: Any, least: int, most: int, what: str) -> int:
    """Return an integer argument from `least` to `most`.

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
