"""Drawings as SVG, written by hand: small files that need no other package, and the same bytes each time.

Shades differ in lightness and pattern, so that they are told apart in black and white.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

FONT = 13
"""Pixels of text, unless it is said otherwise."""

_LETTER = 0.62
"""Width of a letter as a part of the size of its text, rather more than it is on the average."""

SHADES: Mapping[str, tuple[str, str]] = {
    "white": ("#ffffff", ""),
    "pale": ("#dbe9f6", ""),
    "dark": ("#2f5d8a", ""),
    "warm": ("#f0b27a", "M0 6L6 0"),
    "green": ("#a9d8c0", "M0 3H6"),
    "grey": ("#d4d4d4", ""),
    "rose": ("#f3d6e4", "M3 0V6"),
    "sand": ("#f4e3a1", "M0 0L6 6"),
}
"""Of areas: colour, and the line that is repeated on it."""


class Svg:
    """A drawing that grows.

    Args:
        width: pixels.
        height: pixels.
        title: what it shows, for who does not see it.
    """

    def __init__(self, width: float, height: float, title: str) -> None:
        self._size = width, height
        self._title = title
        self._parts: list[str] = []
        self._shades: dict[str, None] = {}

    def area(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        shade: str = "white",
        *,
        dashed: bool = False,
    ) -> None:
        """Draw a rectangle of a shade, with an edge that may be dashed."""
        self._shades[shade] = None
        colour, pattern = SHADES[shade]
        fill = f"url(#{shade})" if pattern else colour
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        self._parts.append(f'<rect {place} fill="{fill}"{dashes}/>')

    def line(
        self,
        points: Sequence[tuple[float, float]],
        *,
        begin: bool = False,
        end: bool = False,
        thin: bool = False,
        dashed: bool = False,
    ) -> None:
        """Draw a line through points, with heads of arrows at its ends where that is said."""
        path = "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        heads = (' marker-start="url(#head)"' if begin else "") + (' marker-end="url(#head)"' if end else "")
        look = ' stroke-width=".7"' if thin else ""
        dashes = ' stroke-dasharray="3 3"' if dashed else ""
        self._parts.append(f'<path d="{path}"{look}{dashes}{heads}/>')

    def dot(self, x: float, y: float, radius: float, shade: str = "white") -> None:
        """Draw a circle."""
        self._shades[shade] = None
        self._parts.append(
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{SHADES[shade][0]}" stroke="#222"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "start",
        size: float = FONT,
        bold: bool = False,
    ) -> None:
        """Write a line of text."""
        look = (f' text-anchor="{anchor}"' if anchor != "start" else "") + (' font-weight="bold"' if bold else "")
        if size != FONT:
            look += f' font-size="{_n(size)}"'
        self._parts.append(
            f'<text fill="#111" stroke="none" x="{_n(x)}" y="{_n(y)}"{look}>{escape(text, quote=False)}</text>'
        )

    def render(self) -> str:
        """Return the file."""
        width, height = self._size
        patterns = "".join(
            f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" '
            f'fill="{SHADES[name][0]}"/><path d="{SHADES[name][1]}" stroke="#555" stroke-width=".6"/></pattern>'
            for name in self._shades
            if SHADES[name][1]
        )
        head = (
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#222" stroke="none"/></marker>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
            f'height="{_n(height)}" role="img" aria-label="{escape(self._title)}">\n'
            f"<title>{escape(self._title, quote=False)}</title>\n<defs>{head}{patterns}</defs>\n"
            f'<rect width="{_n(width)}" height="{_n(height)}" fill="#fff"/>\n'
            f'<g font-family="DejaVu Sans, Verdana, sans-serif" font-size="{FONT}" fill="none" stroke="#222">\n'
            + "\n".join(self._parts)
            + "\n</g>\n</svg>\n"
        )


def width_of(text: str, size: float = FONT) -> float:
    """Return about how wide a line of text is, pixels."""
    return len(text) * size * _LETTER


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
