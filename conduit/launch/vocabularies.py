"""In whose words a report advises: those of the layer that the program's line calls, as its package gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

import trio

from conduit.launch.program.folders import is_own
from conduit.launch.program.public import public_modules
from conduit.launch.program.tasks import frames
from conduit.seeing.report import EXTENDED, Vocabulary


def of_layers() -> Callable[[], Vocabulary]:
    """Return what gives the words of the layer that the running task of Trio is in.

    What layers give is looked up before a job, whose time it would take where that is real.
    """
    given = _given()
    return lambda: _at(trio.lowlevel.current_task(), given)


def _at(task: trio.lowlevel.Task, given: Mapping[str, Vocabulary]) -> Vocabulary:
    """Return the words of the layer that a task is in, by the outermost frame below the program's line."""
    inside: list[str] = []
    for frame, _ in frames(task):
        if is_own(frame.f_code.co_filename):
            inside.append(f"{frame.f_globals.get('__name__', '')}.")
        else:
            inside.clear()
    return next(
        (words for module in inside for package, words in given.items() if module.startswith(package)), EXTENDED
    )


@cache
def _given() -> dict[str, Vocabulary]:
    """Return the words of layers by the beginning of the names of their modules."""
    found = {}
    for name in public_modules():
        module = import_module(name)
        if words := getattr(module, "_advised", None):
            package = name if hasattr(module, "__path__") else name.rpartition(".")[0]
            polls = getattr(module, "_polls", ())[:1]
            found[f"{package}."] = Vocabulary(**dict(zip(("poll",), polls, strict=False)), **words)
    return found
