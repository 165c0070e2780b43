"""What the methods of a network that say what it is must return: looked at as they return it, none for a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import inf
from numbers import Integral, Real
from typing import Any, NamedTuple

from conduit.contract.records import Costs, Limits, RawTable
from conduit.errors import ConduitError


class Returns(NamedTuple):
    """What one method returns.

    Attributes:
        is_sound: says of something returned whether it is that.
        kind: what to return, in words.
    """

    is_sound: Callable[[Any], bool]
    kind: str


def _several(kind: type) -> Callable[[Any], bool]:
    return lambda found: isinstance(found, Sequence) and all(isinstance(each, kind) for each in found)


def is_counts(found: Any) -> bool:
    """Say whether something is a mapping of names to whole numbers."""
    if not isinstance(found, dict | Mapping):
        return False
    # The first says it of most, in one step.
    return {int}.issuperset(map(type, found.values())) or all(isinstance(each, Integral) for each in found.values())


def _is_seconds(found: Any) -> bool:
    return isinstance(found, Mapping) and all(
        isinstance(each, Real) and 0 <= float(each) < inf for each in found.values()
    )


_COUNT = Returns(lambda found: found is None or (isinstance(found, int) and found > 0), "an int of at least 1, or None")
TICKS = Returns(lambda found: isinstance(found, int) and found >= 0, "an int of picoseconds, 0 or more")
COUNTS = Returns(is_counts, "a dict of counts by name, whole numbers")

OF_CLASS = {
    "limits": Returns(lambda found: isinstance(found, Limits), "conduit.contract.Limits(...)"),
    "costs": Returns(lambda found: isinstance(found, Costs), "conduit.contract.Costs(...)"),
    "library_costs": Returns(_is_seconds, "a dict of seconds by name, finite numbers of at least 0"),
    "max_segment": _COUNT,
    "max_hosts": _COUNT,
    "max_ranks_per_host": _COUNT,
    "thresholds": Returns(_several(Integral), "a tuple of payload sizes, ints"),
    "raw_tables": Returns(_several(RawTable), "a list of conduit.contract.RawTable"),
    "raw_time": Returns(lambda found: found is None or isinstance(found, Real), "seconds, or None"),
}
"""The class methods of every network."""


def look_at_returned(cls: type, methods: Mapping[str, Returns], *, of_class: bool = False) -> None:
    """Let methods that a class defines refuse what they return, where that is not what it must be.

    Args:
        cls: the class, which is being made.
        methods: what each of them returns, by name.
        of_class: whether they are class methods.

    Raises:
        TypeError: one that must be a class method is none.
    """
    for name, returns in methods.items():
        method = vars(cls).get(name)
        if of_class and callable(method) and not isinstance(method, classmethod | staticmethod):
            raise TypeError(
                f"{cls.__name__}.{name} is no class method; write @classmethod above it: it is asked before a network "
                "is made"
            )
        if isinstance(method, classmethod | staticmethod):
            looking: Any = type(method)(_looking(f"{cls.__name__}.{name}", method.__func__, returns))
            setattr(cls, name, looking)
        elif callable(method):
            setattr(cls, name, _looking(f"{cls.__name__}.{name}", method, returns))


def _looking(name: str, method: Callable[..., Any], returns: Returns) -> Callable[..., Any]:
    if getattr(method, "__isabstractmethod__", False):
        return method

    @wraps(method)
    def look(*args: Any, **kwargs: Any) -> Any:
        found = method(*args, **kwargs)
        if not returns.is_sound(found):
            raise ConduitError(f"{name} returned {found!r}; return {returns.kind}")
        return found

    return look
