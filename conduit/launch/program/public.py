"""What of this project programs see: its packages, their public names, the classes that they attach to an endpoint."""

from __future__ import annotations

import dis
import importlib
from collections.abc import Iterator

from conduit.launch import entry_points


def is_ours(there: object) -> bool:
    """Say of a class or function whether it is one of this project."""
    return (getattr(there, "__module__", None) or "").partition(".")[0] in own_packages()


def own_packages() -> list[str]:
    """Return the packages of this project at the top level that are installed: this one, and those of layers above."""
    return ["conduit", *sorted({name.partition(".")[0] for name in entry_points.layers()})]


def layer_classes() -> Iterator[type]:
    """Yield the classes that programs attach to an endpoint."""
    for package in own_packages():
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if isinstance(found, type) and "attach" in vars(found) and package != "conduit":
                yield found


def package_of(layer: type) -> str:
    """Return the package that programs import the class of a layer from."""
    return layer.__module__.partition(".")[0]


def public_modules() -> list[str]:
    """Return the packages and modules that programs import names from: those with `__all__`."""
    fronts = [entry.module for entry in entry_points.installed(entry_points.FRONT_ENDS).values()]
    suites = [entry.module for entry in entry_points.installed(entry_points.SUITES).values()]
    found = [*own_packages(), *fronts, *(each.rpartition(".")[0] for each in (*fronts, *suites))]
    return [each for each in dict.fromkeys(found) if each and _has_public_names(each)]


def _has_public_names(module: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), "__all__")
    except ImportError:
        return False


def offered(there: object) -> list[str]:
    """Return the public names of an object, or a class, that are for programs; its classes say which are for layers."""
    kind = there if isinstance(there, type) else type(there)
    for_layers = {name for each in kind.__mro__ for name in vars(each).get("_for_layers", ())}
    return [each for each in dir(there) if not each.startswith("_") and each not in for_layers]


def has_name(kind: type, name: str) -> bool:
    """Return whether objects of a class have that name, in the class or from its `__init__`."""
    code = getattr(kind.__init__, "__code__", None)  # type: ignore[misc]
    steps = dis.get_instructions(code) if code is not None else ()
    return name in dir(kind) or any(step.opname == "STORE_ATTR" and step.argval == name for step in steps)
