"""Times that say what they are for, so that who adds them up need not."""

from __future__ import annotations

from typing import Any, Literal

Parts = tuple[tuple[int, str], ...]


class Labelled(int):
    """Picoseconds, and what each part of them is spent on.

    A sum with other times is labelled too; all else gives plain integers.  It stands for the same number as those.

    Attributes:
        parts: sizes that add up to it, in order, each with what it is for, "" where that is not said.
    """

    parts: Parts

    def __new__(cls, ticks: int, parts: Parts) -> Labelled:
        """Return `ticks` that are made of `parts`."""
        made = super().__new__(cls, ticks)
        made.parts = parts
        return made

    def __add__(self, other: Any) -> Labelled:
        """Return the sum, the parts of `other` behind."""
        return Labelled(int(self) + int(other), self.parts + _parts(other))

    def __radd__(self, other: Any) -> Labelled:
        """Return the sum, the parts of `other` before."""
        return Labelled(int(other) + int(self), _parts(other) + self.parts)


def unlabelled(ticks: int) -> int:
    """Return a time as a plain integer.

    What is none by a mistake of the network stays as it is: it is refused where it is refused without listeners.
    """
    return int(ticks) if isinstance(ticks, int) else ticks


def _parts(ticks: int) -> Parts:
    if isinstance(ticks, Labelled):
        return ticks.parts
    return ((ticks, ""),) if ticks else ()


class Named(Labelled):
    """Picoseconds made of constants: a sum of them, and of whole multiples, still says of which.

    Each part's label is a colon and the constant's name, behind what the time is spent on where that is said.  At most
    `_MOST` parts are kept, the last ones.
    """

    @classmethod
    def of(cls, ticks: int, name: str) -> Named:
        """Return `ticks` that are one constant's."""
        return cls(ticks, ((ticks, f":{name}"),))

    def __add__(self, other: Any) -> Named:
        """Return the sum, the parts of `other` behind."""
        return Named(int(self) + int(other), _joined(self.parts + _parts(other)))

    def __radd__(self, other: Any) -> Named:
        """Return the sum, the parts of `other` before."""
        return Named(int(other) + int(self), _joined(_parts(other) + self.parts))

    def __mul__(self, times: Any) -> Any:
        """Return a multiple with the name; times anything but a whole number, a plain number."""
        if not isinstance(times, int):
            return int(self) * times
        return Named(int(self) * times, tuple((ticks * times, label) for ticks, label in self.parts))

    __rmul__ = __mul__

    def __neg__(self) -> Named:
        """Return what takes it away."""
        return self * -1  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Any:
        """Return the difference: what is taken away is taken from the last parts."""
        if isinstance(other, Named) and other <= 0:
            return self + -other
        if not isinstance(other, int) or not 0 <= other <= self:
            return int(self) - other
        return Named(int(self) - int(other), _shortened(self.parts, int(other)))

    def __rsub__(self, other: Any) -> Any:
        """Return the difference: what is negative is added."""
        return other + -self if self <= 0 and isinstance(other, int) else other - int(self)


class NamedRate(int):
    """Bytes per second, by a constant: what bytes take at it is `Named`."""

    name: str

    @classmethod
    def of(cls, rate: int, name: str) -> NamedRate:
        """Return `rate` that is one constant's."""
        made = cls(rate)
        made.name = name
        return made

    def as_integer_ratio(self) -> tuple[int, Literal[1]]:
        """Return itself and 1, as `int` does, but with its name."""
        return self, 1

    def __rfloordiv__(self, other: Any) -> Any:
        """Return how long `other` bytes take, given in 10**-12 of a byte."""
        return Named.of(int(other) // int(self), self.name)


_MOST = 40


def _shortened(parts: Parts, by: int) -> Parts:
    """Return the parts without the last `by` of them."""
    left = sum(ticks for ticks, _ in parts) - by
    made = []
    for ticks, label in parts:
        made.append((min(ticks, left), label))
        left -= min(ticks, left)
    return tuple(part for part in made if part[0])


def _joined(parts: Parts) -> Parts:
    """Return parts of which none is the same as the one before it."""
    made: list[tuple[int, str]] = []
    for ticks, label in parts:
        if made and made[-1][1] == label:
            made[-1] = made[-1][0] + ticks, label
        elif ticks:
            made.append((ticks, label))
    if len(made) > _MOST:
        made[: -_MOST + 1] = [(sum(ticks for ticks, _ in made[: -_MOST + 1]), "")]
    return tuple(made)
