"""How groups and styles look, so that they are told apart in black and white too."""

from __future__ import annotations

from typing import Any

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
"""Okabe and Ito's, which people tell apart who see few colours; the yellow one, too pale for a line, is grey here."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "---", "+++")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
_FILLS: tuple[Any, ...] = ("full", "none", "left", "bottom", "top")


def line(group: int, style: int) -> dict[str, Any]:
    """Return what matplotlib takes to draw a curve."""
    return {
        "color": _COLOURS[group % len(_COLOURS)],
        "marker": _MARKERS[group % len(_MARKERS)],
        "linestyle": _DASHES[style % len(_DASHES)],
        "fillstyle": _FILLS[style % len(_FILLS)],
    }


def bar(group: int) -> dict[str, Any]:
    """Return what matplotlib takes to draw a bar."""
    return {
        "facecolor": _COLOURS[group % len(_COLOURS)] + "60",
        "edgecolor": "black",
        "linewidth": 0.7,
        "hatch": _HATCHES[group % len(_HATCHES)],
    }


def colour(group: int) -> str:
    """Return the colour of a group."""
    return _COLOURS[group % len(_COLOURS)]


def letter(number: int) -> str:
    """Name a mark: a to z, then aa and so on."""
    more, last = divmod(number, 26)
    return (letter(more - 1) if more else "") + chr(ord("a") + last)
