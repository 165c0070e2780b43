"""What a conduit's class declares of itself, looked at before anything is made of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

from conduit.contract import Conduit, RankKind
from conduit.core.arguments import shown
from conduit.words import is_a


class _Declared(NamedTuple):
    """What an attribute of a conduit's class has to be.

    Attributes:
        kind: of which class; an int is no bool here.
        wanted: what to write.
        is_allowed: says whether a value of that class is.
    """

    kind: type
    wanted: str
    is_allowed: Callable[[Any], bool] = lambda _: True

    def problem(self, value: object) -> str:
        """Return what is wrong with a value, "" where nothing is."""
        if not isinstance(value, self.kind) or (self.kind is int and isinstance(value, bool)):
            return is_a(value)
        return "" if self.is_allowed(value) else "is not allowed"


_ATTRIBUTES: Mapping[str, _Declared] = {
    "summary": _Declared(str, "a str of one line", lambda value: "\n" not in value),
    "simulated": _Declared(bool, "True or False"),
    "rank_kind": _Declared(RankKind, "a conduit.contract.RankKind"),
    "chooser": _Declared(str, "a str, the name of an option"),
    "preferred": _Declared(str, "a str, one of variants()"),
    "other_names": _Declared(Mapping, "a dict of names"),
    "auxiliary": _Declared(int, "an int of at least 0, bytes", lambda value: value >= 0),
    "alignment": _Declared(int, "an int of at least 1, bytes", lambda value: value >= 1),
}

_OURS = "conduit."
"""What the modules begin with whose classes say how methods are called."""

# Every job asks these three.


@functools.cache
def attribute_problem(cls: type[Conduit]) -> str:
    """Return which attribute of a conduit's class has a value of the wrong kind, "" where none has."""
    for name, declared in _ATTRIBUTES.items():
        value = getattr(cls, name)
        if wrong := declared.problem(value):
            return f"its {name} = {shown(value)} {wrong}; write {declared.wanted}"
    return ""


@functools.cache
def signature_problem(cls: type[Conduit]) -> str:
    """Return which method of a conduit's class cannot be called as it is, "" where all can."""
    for name, base in _declared(cls).items():
        found = inspect.getattr_static(cls, name)
        if found is base or not isinstance(found, FunctionType | classmethod | staticmethod):
            continue
        if isinstance(base, classmethod) and isinstance(found, FunctionType):
            return f"its {name} is no class method; write @classmethod above it"
        declared, own = _signature(base), _signature(found)
        if not _fits(own, declared.parameters.values(), static=isinstance(found, staticmethod)):
            return f"its {name} takes {own}; take {declared}"
    return ""


def _declared(cls: type[Conduit]) -> dict[str, FunctionType | classmethod[Any, Any, Any]]:
    """Return the public methods that a conduit's class has from this package, by name."""
    found: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        if each.__module__.startswith(_OURS):
            found.update((name, value) for name, value in vars(each).items() if not name.startswith("_"))
    return {name: value for name, value in found.items() if isinstance(value, FunctionType | classmethod)}


def _signature(method: Any) -> inspect.Signature:
    """Return the signature of a method as it is written, without annotations."""
    written = inspect.signature(getattr(method, "__func__", method))
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in written.parameters.values()]
    return inspect.Signature(plain)


def _fits(own: inspect.Signature, parameters: Iterable[inspect.Parameter], *, static: bool) -> bool:
    """Return whether a method can be called with all of these parameters, and with those that have no default."""
    given = list(parameters)[1 if static else 0 :]
    return all(_binds(own, some) for some in (given, [each for each in given if each.default is each.empty]))


def _binds(own: inspect.Signature, given: Iterable[inspect.Parameter]) -> bool:
    kinds = inspect.Parameter
    places = [each.name for each in given if each.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    try:
        own.bind(*places, **{each.name: each.name for each in given if each.kind is kinds.KEYWORD_ONLY})
    except TypeError:
        return False
    return True


@functools.cache
def making_problem(cls: type[Conduit]) -> str:
    """Return why no object can be made of a conduit's class with what it is given, "" where one can."""
    try:
        inspect.signature(cls).bind("options", "setup", "world")
    except TypeError:
        return (
            f"its __init__ takes {inspect.signature(cls)}; take (self, options, setup, world), and begin with "
            "`super().__init__(options, setup, world)`"
        )
    return ""
