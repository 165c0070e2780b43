"""What to do about errors of Python's own that stand for a mistake in the use of this package."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import ModuleType

from conduit.launch import registry
from conduit.options import closest, like

_ASYNCIO = (
    "programs run on Trio, where nothing of asyncio works: write `await ep.compute(seconds)` for work that takes time, "
    "`await ep.block_until(predicate)` to wait for messages, `await trio.sleep(seconds)` for time alone"
)
_RELEASED = "the payload of a medium message is the handler's until it returns; keep a copy of it: bytes(payload)"


def hint(error: BaseException) -> str:
    """Return what to do about an error, "" where this package knows nothing of it."""
    match error:
        case AttributeError(name=str() as name, obj=there):
            return _attribute(there, name)
        case ImportError(name=str() as package) if found := re.match(r"cannot import name '(\w+)'", str(error)):
            return elsewhere(package, found[1])
        case RuntimeError() if str(error) == "no running event loop":
            return _ASYNCIO
        case TypeError() if "asyncio" in str(error) and _raised_in_trio(error):
            return _ASYNCIO
        case ValueError() if str(error) == "operation forbidden on released memoryview object":
            return _RELEASED
    return ""


def elsewhere(package: str, name: str) -> str:
    """Return where a public name is that a package of this project has not, "" where none is like it."""
    if package not in _packages():
        return ""
    own = getattr(importlib.import_module(package), "__all__", ())
    for other in _packages():
        if other != package and name in getattr(importlib.import_module(other), "__all__", ()):
            return f"{name} is in {other}: write `from {other} import {name}`"
    return f"{package} has no {name}{close}" if (close := like(name, own)) else ""


def _attribute(there: object, name: str) -> str:
    """Say what an object of this project has in the place of an attribute that it has not."""
    if isinstance(there, ModuleType):
        return elsewhere(there.__name__, name)
    kind = type(there)
    if kind.__module__.partition(".")[0] not in _packages():
        return ""
    own = [each for each in dir(there) if not each.startswith("_")]
    if close := like(name, own):
        return f"{kind.__name__} has no {name}{close}"
    for layer in _layers():
        known = [each for each in dir(layer) if not each.startswith("_")]
        if layer is not kind and (found := name if name in known else closest(name, known)):
            return (
                f"{kind.__name__} has no {name}, but {layer.__name__} has {found}: `from {_public(layer)} import "
                f"{layer.__name__}`, then `x = await {layer.__name__}.attach(ep)` and `x.{found}`"
            )
    return ""


def _layers() -> Iterator[type]:
    """Yield the classes that programs attach to an endpoint."""
    for package in _packages():
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if isinstance(found, type) and "attach" in vars(found) and package != "conduit":
                yield found


def _packages() -> list[str]:
    return ["conduit", *sorted({name.partition(".")[0] for name in registry.layers()})]


def _public(layer: type) -> str:
    return layer.__module__.partition(".")[0]


def _raised_in_trio(error: BaseException) -> bool:
    step = error.__traceback__
    names = []
    while step is not None:
        names.append(step.tb_frame.f_globals.get("__name__", ""))
        step = step.tb_next
    return any(name.startswith(("trio.", "asyncio.")) for name in names)
