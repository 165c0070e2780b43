"""Which front ends a program is written for, by what it imports."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from conduit.launch import entry_points


def modules_of(front: str) -> tuple[str, str]:
    """Return the module of an installed front end and its package; one of them has its public names."""
    module = entry_points.installed(entry_points.FRONT_ENDS)[front].module
    return module, module.rpartition(".")[0]


def imports(values: Iterable[object], front: str) -> bool:
    """Say whether a program has imported a module of a front end, which is not imported for that.

    Args:
        values: of the program's global names.
        front: the front end.
    """
    modules = modules_of(front)
    return any(type(value) is ModuleType and value.__name__ in modules for value in values)
