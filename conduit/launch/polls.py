"""What a program writes to poll, and to poll until something has come: in the words of the front end that it is for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import FrameType

import attrs

from conduit.launch import registry


@attrs.frozen
class Polls:
    """What a program writes to poll.

    Attributes:
        once: to do it once.
        until: to do it until something has come.
    """

    once: str
    until: str


_OF_CORE = Polls("await ep.poll()", "await ep.block_until(predicate)")


def polls_of(frames: Iterable[FrameType]) -> Polls:
    """Return what the program writes that frames are of; it says by `api`, or by what it imports, what it is for."""
    fronts = {name: _modules(entry.module) for name, entry in registry.installed(registry.FRONT_ENDS).items()}
    for frame in frames:
        known = frame.f_globals
        front = known.get("api")
        names = [front] if isinstance(front, str) and front in fronts else _imported(known, fronts)
        for name in names if len(names) == 1 else ():
            for module in fronts[name]:
                if given := getattr(import_module(module), "_polls", None):
                    return Polls(*given)
    return _OF_CORE


def _modules(module: str) -> tuple[str, str]:
    return module, module.rpartition(".")[0]


def _imported(known: dict[str, object], fronts: dict[str, tuple[str, str]]) -> list[str]:
    """Return the front ends whose modules a program has imported; those that nobody has cannot be among them."""
    modules = {getattr(value, "__name__", "") for value in known.values() if type(value) is type(registry)}
    return [name for name, each in fronts.items() if not modules.isdisjoint(each)]
