"""Curves that lie on one another, and how far they are drawn apart, so that each of them is seen."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.seeing.pictures.chart import Curve

_ALIKE = 0.005
"""By which part of their values two points of one place differ at most: less than the width of a line."""


def shifts(curves: Sequence[Curve]) -> tuple[int, ...]:
    """Return for each curve by how many steps it is drawn above its place: 0 where it lies on no earlier one."""
    found: list[int] = []
    for curve in curves:
        taken = {found[number] for number, other in enumerate(curves[: len(found)]) if _lies_on(curve, other)}
        found.append(next(step for step in range(len(taken) + 1) if step not in taken))
    return tuple(found)


def _lies_on(curve: Curve, other: Curve) -> bool:
    """Return whether most points of the shorter one of two curves are points of the other."""
    theirs = dict(zip(other.x, other.y, strict=True))
    common = [(y, theirs[x]) for x, y in zip(curve.x, curve.y, strict=True) if x in theirs]
    alike = sum(abs(one - two) <= _ALIKE * max(abs(one), abs(two)) for one, two in common)
    return 2 * alike > min(len(curve.x), len(other.x))
