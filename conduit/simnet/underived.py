"""Classes of a network's author that have the methods of a base class of this package and do not derive from it."""

from __future__ import annotations

import re
from types import FrameType

_UNTAKEN = re.compile(r"(\w+)\(\) takes no arguments$")


def meant(made: object, base: type) -> str:
    """Return what to write where an object's class has methods that a base class demands, "" for every other object.

    Args:
        made: the object, or its class; of none that derives from the base class.
        base: the base class, which is abstract.
    """
    kind = made if isinstance(made, type) else type(made)
    wanted: frozenset[str] = getattr(base, "__abstractmethods__", frozenset())
    if not any(name in wanted for name in dir(kind)):
        return ""
    name, own = kind.__name__, [each.__name__ for each in kind.__bases__ if each is not object]
    bases = ", ".join([*own, base.__name__])
    return (
        f"{name} does not derive from {base.__name__}: write `class {name}({bases})`, with `from conduit.simnet import "
        f"{base.__name__}`"
    )


def meant_by(error: TypeError | AttributeError, base: type) -> str:
    """Return the same of the class of which no object could be made: it counts on a base class that it has not.

    Args:
        error: what Python has said.
        base: the base class.
    """
    step = error.__traceback__
    while step is not None:
        last = step.tb_next is None
        kind = (_untaken(step.tb_frame, str(error)) if last else None) or _being_made(step.tb_frame)
        if kind is not None and not issubclass(kind, base) and (text := meant(kind, base)):
            return text
        step = step.tb_next
    return ""


def _being_made(frame: FrameType) -> type | None:
    """Return the class of which a frame makes an object, None where it does something else."""
    return type(frame.f_locals.get("self")) if frame.f_code.co_name == "__init__" else None


def _untaken(frame: FrameType, said: str) -> type | None:
    """Return the class that a frame has called with arguments, and that has no `__init__` to take them; else None."""
    found = _UNTAKEN.match(said)
    kind = {**frame.f_globals, **frame.f_locals}.get(found[1]) if found else None
    return kind if isinstance(kind, type) else None
