"""The numbers behind a simulated network: made in a table, read in the simulation's units.

A network's `constants.py` makes its `Constants` and one `Constant` after the other; the readers
below are what its hardware uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NoReturn

from conduit.contract import Constant
from conduit.sim.labels import Named, NamedRate

_PS = {"ns": 1_000, "us": 1_000_000}
_BYTES_PER_S = {"MB/s": 1_000_000}


class Constants(list[Constant]):
    """All constants of a network, in the order of their making."""

    def make(
        self, name: str, value: float | int | str, unit: str, kind: Literal["fact", "anchor", "assumed"], source: str
    ) -> Constant:
        """Make a constant; see `conduit.contract.Constant`."""
        made = Constant(name, value, unit, kind, source)
        self.append(made)
        return made


_named = False


def keep_names() -> None:
    """Let the times that are read from now on say of which constants they are made.

    Networks read most of theirs when they are imported, so this is for a process that has imported none.  All numbers
    are the same; what is done with them is slower.
    """
    global _named
    _named = True


def named(ticks: int, name: str) -> int:
    """Return a time that an option gives, with the option's name where names are kept."""
    return Named.of(ticks, name) if _named else ticks


def named_rate(rate: int, name: str) -> int:
    """Return a rate that an option gives, with the option's name where names are kept."""
    return NamedRate.of(rate, name) if _named else rate


def _no_such(constant: Constant, factors: Mapping[str, int], what: str) -> NoReturn:
    units = " or ".join(map(repr, factors))
    raise TypeError(f"{constant.name} is in {constant.unit!r}, no {what}; its unit must be {units}")


def ps(constant: Constant) -> int:
    """Return a time in picoseconds."""
    factor = _PS.get(constant.unit) or _no_such(constant, _PS, "time")
    return named(round(number(constant) * factor), constant.name)


def bytes_per_s(constant: Constant) -> int:
    """Return a rate in bytes per second."""
    factor = _BYTES_PER_S.get(constant.unit) or _no_such(constant, _BYTES_PER_S, "rate")
    return named_rate(round(number(constant) * factor), constant.name)


def whole(constant: Constant) -> int:
    """Return a size or a count."""
    return int(number(constant))


def number(constant: Constant) -> float:
    """Return a value that must be a number.

    Raises:
        TypeError: it is a text.
    """
    if not isinstance(constant.value, int | float):
        raise TypeError(f"{constant.name} is {constant.value!r}, no number")
    return constant.value
