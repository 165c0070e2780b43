"""What a conduit's class declares of itself, looked at before anything is made of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from conduit.contract import Conduit, RankKind
from conduit.core.arguments import shown
from conduit.words import is_a

_ATTRIBUTES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "summary": (lambda value: isinstance(value, str) and "\n" not in value, "a str of one line"),
    "simulated": (lambda value: isinstance(value, bool), "True or False"),
    "rank_kind": (lambda value: isinstance(value, RankKind), "a conduit.contract.RankKind"),
    "chooser": (lambda value: isinstance(value, str), "a str, the name of an option"),
    "preferred": (lambda value: isinstance(value, str), "a str, one of variants()"),
    "other_names": (lambda value: isinstance(value, Mapping), "a dict of names"),
    "auxiliary": (lambda value: type(value) is int and value >= 0, "an int, bytes"),
    "alignment": (lambda value: type(value) is int and value >= 1, "an int of at least 1, bytes"),
}
"""By attribute: what says whether a value is allowed, and what to write."""

_OURS = "conduit."
"""What the modules begin with whose classes say how methods are called."""

# Every job asks these three.


@functools.cache
def attribute_problem(cls: type[Conduit]) -> str:
    """Return which attribute of a conduit's class has a value of the wrong kind, "" where none has."""
    for name, (is_allowed, wanted) in _ATTRIBUTES.items():
        value = getattr(cls, name)
        if not is_allowed(value):
            out_of_range = type(value) is int and wanted.startswith("an int")
            wrong = "is not allowed" if out_of_range else is_a(value)
            return f"its {name} = {shown(value)} {wrong}; write {wanted}"
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
