"""What a function gives when it is awaited, as its head says: for errors alone, since it looks far."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, get_overloads

import numpy as np

from conduit.core import written

_OF_A_COROUTINE = "Coroutine[Any, Any, "
"""How the head of a function says what it gives that is not async itself, but gives a coroutine."""
_ARRAYS = ("npt.NDArray", "np.ndarray")


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
    if name in _ARRAYS or _stands_for_array(inside, name):
        return np.ndarray
    package = inside.__module__.partition(".")[0]
    places = [getattr(inside, "__globals__", {}), vars(builtins)]
    places += [vars(each) for key, each in list(sys.modules.items()) if key.partition(".")[0] == package]
    found = next((each[name] for each in places if name in each), None)
    return found if isinstance(found, type) and found is not Any else None


def _stands_for_array(function: Callable[..., object], name: str) -> bool:
    """Say whether the module of a function names arrays so, be it for types alone: `Bytes = npt.NDArray[np.uint8]`."""
    for each in written.nodes(function.__code__) if isinstance(function, FunctionType) else ():
        match each:
            case (
                ast.Assign(targets=[ast.Name(id=alias)], value=ast.Subscript(value=kind))
                | ast.AnnAssign(target=ast.Name(id=alias), value=ast.Subscript(value=kind))
            ):
                if alias == name and ast.unparse(kind) in _ARRAYS:
                    return True
    return False


def usual_kind(function: Callable[..., object]) -> type | None:
    """Return that class; for a function with several heads by the first of them, which is the one without `out=`."""
    inside = inspect.unwrap(function)
    if isinstance(inside, FunctionType):  # its class may have named it since, while its heads keep the name of its code
        plain = FunctionType(inside.__code__, inside.__globals__, closure=inside.__closure__)
        for head in get_overloads(plain):
            return result_kind(head)
    return result_kind(function)
