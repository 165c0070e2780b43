"""Times that say what they are for, so that who adds them up need not."""

from __future__ import annotations

from typing import Any

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


def _parts(ticks: int) -> Parts:
    if isinstance(ticks, Labelled):
        return ticks.parts
    return ((ticks, ""),) if ticks else ()
