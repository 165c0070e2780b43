"""What a function gives when it is awaited, as its head says: for errors alone, since it looks far."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable
from typing import Any

_OF_A_COROUTINE = "Coroutine[Any, Any, "
"""How the head of a function says what it gives that is not async itself, but gives a coroutine."""


def result_kind(function: Callable[..., object]) -> type | None:
    """Return the class of what a function gives when it is awaited, None where its head does not tell.

    A head may name a class that its own module imports for types alone; then another module of its package has it.
    """
    inside = inspect.unwrap(function)
    told = getattr(inside, "__annotations__", {}).get("return")
    if not isinstance(told, str):
        return told if isinstance(told, type) else None
    name = told.removeprefix(_OF_A_COROUTINE).partition("[")[0].rstrip("]")
    if name == "None":
        return type(None)
    package = inside.__module__.partition(".")[0]
    places = [getattr(inside, "__globals__", {}), vars(builtins)]
    places += [vars(each) for key, each in list(sys.modules.items()) if key.partition(".")[0] == package]
    found = next((each[name] for each in places if name in each), None)
    return found if isinstance(found, type) and found is not Any else None
