"""What to do about errors of Python's own that stand for a mistake in the use of this package."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType

from conduit.core.endpoint import Endpoint
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
            return _attribute(there, name, error)
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


def _attribute(there: object, name: str, error: BaseException) -> str:
    """Say what an object of this project has in the place of an attribute that it has not."""
    if isinstance(there, ModuleType):
        return elsewhere(there.__name__, name)
    kind = type(there)
    if kind.__module__.partition(".")[0] not in _packages():
        return ""
    if isinstance(there, Endpoint) and (fronts := _fronts_with(name)):
        here = _in_layer(kind, name, exact=True)
        if here and "ep" in _names_of(there, error):  # who calls it so has an endpoint in mind
            return here
        here = here or f"{kind.__name__} has no {name}"
        return "; ".join(
            [here, *(f'if this is a program of {each}, put `api = "{each}"` at its top' for each in fronts)]
        )
    own = [each for each in dir(there) if not each.startswith("_")]
    if close := like(name, own):
        return f"{kind.__name__} has no {name}{close}"
    return _in_layer(kind, name)


def _in_layer(kind: type, name: str, *, exact: bool = False) -> str:
    """Say which class that is attached to an endpoint has a name, or one like it, that another has not."""
    for layer in _layers():
        known = [each for each in dir(layer) if not each.startswith("_")]
        close = "" if exact else closest(name, known)
        if layer is not kind and (found := name if name in known else close):
            return (
                f"{kind.__name__} has no {name}, but {layer.__name__} has {found}: `from {_public(layer)} import "
                f"{layer.__name__}`, then `x = await {layer.__name__}.attach(ep)` and `x.{found}`"
            )
    return ""


def _fronts_with(name: str) -> list[str]:
    """Return the front ends a class of which has that name; what they give to programs is no endpoint."""
    found = []
    for front, entry in sorted(registry.installed(registry.FRONT_ENDS).items()):
        package = entry.module.rpartition(".")[0]
        with suppress(ImportError):
            public = (
                vars(importlib.import_module(package)).values(),
                vars(importlib.import_module(entry.module)).values(),
            )
            classes = {each for values in public for each in values if isinstance(each, type)}
            if any(each.__module__.startswith(package) and _has(each, name) for each in classes):
                found.append(front)
    return found


def _has(kind: type, name: str) -> bool:
    """Return whether objects of a class have that name, in the class or from its `__init__`."""
    code = getattr(kind.__init__, "__code__", None)  # type: ignore[misc]
    return name in dir(kind) or (code is not None and name in code.co_names)


def _names_of(there: object, error: BaseException) -> set[str]:
    """Return what an object is called where an error was raised."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return set() if step is None else {name for name, value in step.tb_frame.f_locals.items() if value is there}


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
