"""How groups and styles look, so that they are told apart in black and white too."""

from __future__ import annotations

from typing import Any

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
"""Okabe and Ito's, which people tell apart who see few colours; the yellow one, too pale for a line, is grey here."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "///", "...", "", "\\\\\\", "ooo", "---", "xxx")
_SHADES = (
    ("#0072b2", ""), ("#e69f00", "///"), ("#009e73", "|||"), ("#f4a582", "xx"), ("#cc79a7", "---"),
    ("#f0e442", "\\\\\\"), ("#bdbdbd", ""), ("#ffffff", ""),
)  # fmt: skip
"""Of stretches, which touch one another: colour and hatch; those without a hatch are dark, grey and white.

Hatches are of straight lines: each circle of another would be curves, and they the most of the file.
"""
_DASHES: tuple[Any, ...] = (
    "-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (12, 3)), (0, (8, 2, 2, 2, 2, 2)),
)  # fmt: skip
_FILLS: tuple[Any, ...] = ("full", "none", "left", "bottom", "top", "right")
"""One fewer than dashes: so it takes 42 styles until two are alike in both."""


def line(group: int, style: int) -> dict[str, Any]:
    """Return what matplotlib takes to draw a curve."""
    return {
        "color": _COLOURS[group % len(_COLOURS)],
        "marker": _MARKERS[group % len(_MARKERS)],
        "linestyle": _DASHES[style % len(_DASHES)],
        "fillstyle": _FILLS[style % len(_FILLS)],
        "markerfacecoloralt": "white",
    }


def bar(group: int) -> dict[str, Any]:
    """Return what matplotlib takes to draw a bar."""
    number = group % len(_COLOURS)
    return {
        "facecolor": "#bbbbbb" if number == len(_COLOURS) - 1 else _COLOURS[number],  # on the last one a hatch shows
        "edgecolor": "black",
        "linewidth": 0.7,
        "hatch": _HATCHES[number],
    }


def stretch(group: int) -> dict[str, Any]:
    """Return what matplotlib takes to draw a stretch of a strip."""
    colour, hatch = _SHADES[group % len(_SHADES)]
    return {"facecolor": colour, "edgecolor": "black", "linewidth": 0.7, "hatch": hatch}


def colour(group: int) -> str:
    """Return the colour of a group."""
    return _COLOURS[group % len(_COLOURS)]


def letter(number: int) -> str:
    """Name a mark: a to z, then aa and so on."""
    more, last = divmod(number, 26)
    return (letter(more - 1) if more else "") + chr(ord("a") + last)
