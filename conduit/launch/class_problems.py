"""What a conduit's class declares of itself, looked at before anything is made of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from conduit.contract import Conduit, RankKind
from conduit.core.arguments import shown
from conduit.words import is_a

_ATTRIBUTES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "summary": (lambda value: isinstance(value, str), "a str"),
    "simulated": (lambda value: isinstance(value, bool), "True or False"),
    "rank_kind": (lambda value: isinstance(value, RankKind), "a conduit.contract.RankKind"),
    "chooser": (lambda value: isinstance(value, str), "a str, the name of an option"),
    "preferred": (lambda value: isinstance(value, str), "a str, one of variants()"),
    "other_names": (lambda value: isinstance(value, Mapping), "a dict of names"),
    "auxiliary": (lambda value: type(value) is int and value >= 0, "an int, bytes"),
    "alignment": (lambda value: type(value) is int and value >= 1, "an int of at least 1, bytes"),
}
"""By attribute: what says whether a value is allowed, and what to write."""

# Every job asks these two.


@functools.cache
def attribute_problem(cls: type[Conduit]) -> str:
    """Return which attribute of a conduit's class has a value of the wrong kind, "" where none has."""
    for name, (is_allowed, wanted) in _ATTRIBUTES.items():
        value = getattr(cls, name)
        if not is_allowed(value):
            return f"its {name} = {shown(value)} {is_a(value)}; write {wanted}"
    return ""


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
