"""How a program uses a name of an object: awaited or not, with arguments or without."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any


def use(variable: str, kind: type, name: str) -> str:
    """Return how a name of an object is used: `x.rank`, `x.lock(...)`, `await x.barrier()`.

    Args:
        variable: what the object is called.
        kind: its class.
        name: the name.
    """
    found = inspect.getattr_static(kind, name, None)
    function = getattr(found, "__func__", found)
    return call_text(f"{variable}.{name}", function) if isinstance(function, FunctionType) else f"{variable}.{name}"


def call_text(text: str, method: FunctionType) -> str:
    """Return how a method is called that is written so: `await x.put(...)`.

    Args:
        text: how it is written.
        method: it, as its class has it.
    """
    return f"{'await ' if _is_awaited(method) else ''}{text}({'...' if _takes(method) else ''})"


def _is_awaited(method: Any) -> bool:
    told = str(method.__annotations__.get("return", "")).partition("[")[0]
    if inspect.iscoroutinefunction(method) or told in ("Coroutine", "Awaitable") or "check" in vars(method):
        return True
    inside = getattr(method, "__wrapped__", None)
    return inside is not None and _is_awaited(inside)


def _takes(method: FunctionType) -> bool:
    """Say whether a method is called with arguments beside its object: it needs some, or takes any number."""
    own = list(inspect.signature(method).parameters.values())[1:]
    return any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in own)
