"""Sketches of machines: the parts of a host from its processor to the network, and how hosts are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product

import attrs

from conduit.seeing.pictures.svg import FONT, Svg, width_of

_WIDTH = 780.0
_LEFT, _BOX, _TOP = 22.0, 400.0, 62.0
_LINE = 17.0
_GAP = 40.0
_SMALL = 12.0
_MIDDLE, _RADIUS = 612.0, 9.0


@attrs.frozen
class HostPart:
    """A part of a host.

    Attributes:
        name: of the part.
        text: lines below it.
        onward: what passes to the next part, or from the last one into the network.
    """

    name: str
    text: Sequence[str] = ()
    onward: str = ""


@attrs.frozen(kw_only=True)
class MachineSketch:
    """A machine.

    Attributes:
        title: above it.
        host: what the frame around the parts is.
        parts: from the top.
        joined: how hosts are joined: a name of `JOINED`.
        network: lines below that.
    """

    title: str
    host: str
    parts: Sequence[HostPart]
    joined: str
    network: Sequence[str]


def draw_sketch(sketch: MachineSketch) -> str:
    """Return a sketch as SVG.

    Raises:
        ValueError: a text has no room.
    """
    heights = [2 * 9 + _LINE * (1 + len(part.text)) for part in sketch.parts]
    frame = sum(heights) + _GAP * (len(heights) - 1) + 46
    network = 250 + _LINE * len(sketch.network)
    height = _TOP + max(frame + _GAP, network) + 12
    drawing = Svg(_WIDTH, height, sketch.title)
    _write(drawing, _LEFT, 26, sketch.title, _WIDTH - 2 * _LEFT, bold=True, size=15)
    drawing.area(_LEFT, _TOP - 18, _BOX, frame, dashed=True)
    _write(drawing, _LEFT + 10, _TOP, sketch.host, _BOX - 20, size=_SMALL)
    y = _TOP + 14
    for part, tall in zip(sketch.parts, heights, strict=True):
        drawing.area(_LEFT + 24, y, _BOX - 48, tall, "pale")
        _write(drawing, _LEFT + 36, y + 9 + FONT, part.name, _BOX - 72, bold=True)
        for number, line in enumerate(part.text, 1):
            _write(drawing, _LEFT + 36, y + 9 + FONT + number * _LINE, line, _BOX - 72, size=_SMALL)
        bottom = y + tall
        last = part is sketch.parts[-1]
        end = bottom + _GAP + (14 if last else 0)
        drawing.line([(_LEFT + 48, bottom), (_LEFT + 48, end)], begin=True, end=True)
        _write(drawing, _LEFT + 60, bottom + _GAP / 2 + 5 - (4 if last else 0), part.onward, _BOX - 84, size=_SMALL)
        y = bottom + _GAP
    if y + 14 < height:
        _write(drawing, _LEFT + 60, min(end, height - 6), "to the network", _BOX - 84, size=_SMALL)
    JOINED[sketch.joined](drawing, _TOP + 4)
    for number, line in enumerate(sketch.network):
        room = _WIDTH - _LEFT - _BOX - 30
        _write(drawing, _MIDDLE, _TOP + 238 + number * _LINE, line, room, anchor="middle", size=_SMALL)
    return drawing.render()


def _write(
    drawing: Svg,
    x: float,
    y: float,
    text: str,
    room: float,
    *,
    anchor: str = "start",
    size: float = FONT,
    bold: bool = False,
) -> None:
    if width_of(text, size) > room * 1.08:
        raise ValueError(f"sketch: {text!r} has no room; it may have {int(room * 1.08 / width_of('x', size))} letters")
    drawing.text(x, y, text, anchor=anchor, size=size, bold=bold)


def _torus(drawing: Svg, top: float) -> None:
    step, far = 70.0, 22.0
    xs = [_MIDDLE + (column - 1) * step for column in range(3)]
    ys = [top + 34 + row * step for row in range(3)]
    for y in ys:
        drawing.line([(xs[0], y), (xs[2], y)], end=False)
        drawing.line(
            [(xs[2], y), (xs[2] + far, y), (xs[2] + far, y + 20), (xs[0] - far, y + 20), (xs[0] - far, y), (xs[0], y)]
        )
    for x in xs:
        drawing.line([(x, ys[0]), (x, ys[2])])
        drawing.line(
            [(x, ys[2]), (x, ys[2] + far), (x + 14, ys[2] + far), (x + 14, ys[0] - far), (x, ys[0] - far), (x, ys[0])],
            dashed=True,
        )
    for x, y in product(xs, ys):
        drawing.dot(x, y, _RADIUS, "pale")


def _tree(drawing: Svg, top: float) -> None:
    rows = [(top + 190, [_MIDDLE - 140 + 40 * number for number in range(8)])]
    while len(rows[-1][1]) > 1:
        y, row = rows[-1]
        rows.append((y - 55, [(one + other) / 2 for one, other in zip(row[::2], row[1::2], strict=True)]))
    for level, ((y, row), (above, upper)) in enumerate(pairwise(rows), 1):
        for number, x in enumerate(row):
            for strand in range(level):  # fatter towards the root
                shift = 4 * (strand - (level - 1) / 2)
                drawing.line([(x + shift, y), (upper[number // 2] + shift, above)])
    for level, (y, row) in enumerate(rows):
        for x in row:
            if level:
                drawing.area(x - 6 - 4 * level, y - 7, 12 + 8 * level, 14)
            else:
                drawing.dot(x, y, _RADIUS, "pale")


def _star(drawing: Svg, top: float) -> None:
    drawing.area(_MIDDLE - 45, top + 85, 90, 44)
    drawing.text(_MIDDLE, top + 112, "switch", anchor="middle")
    for x, near, y in product((-120.0, -40.0, 40.0, 120.0), (0,), (30.0, 184.0)):
        edge = top + (85 if y < 100 else 129)
        drawing.line([(_MIDDLE + x, top + y), (_MIDDLE + x / 3, edge + near)])
        drawing.dot(_MIDDLE + x, top + y, _RADIUS, "pale")


def _direct(drawing: Svg, top: float) -> None:
    corners = [(_MIDDLE, top + 36), (_MIDDLE - 110, top + 180), (_MIDDLE + 110, top + 180)]
    for number, (x, y) in enumerate(corners):
        other_x, other_y = corners[(number + 1) % 3]
        flat = abs(other_y - y) < 1
        for strand in (-5.0, 5.0):
            shift = (0.0, strand) if flat else (strand, 0.0)
            drawing.line([(x + shift[0], y + shift[1]), (other_x + shift[0], other_y + shift[1])])
    for x, y in corners:
        drawing.dot(x, y, 2 * _RADIUS, "pale")


def _hypercube(drawing: Svg, top: float) -> None:
    def place(number: int) -> tuple[float, float]:
        x, y, z = number & 1, number >> 1 & 1, number >> 2
        return _MIDDLE - 95 + 120 * x + 55 * z, top + 170 - 105 * y - 45 * z

    for number, bit in product(range(8), (1, 2, 4)):
        if not number & bit:
            drawing.line([place(number), place(number | bit)])
    for number in range(8):
        x, y = place(number)
        for side in (-1, 1):
            drawing.line([(x, y), (x + 17 * side, y + 17)])
            drawing.dot(x + 17 * side, y + 17, 5, "pale")
        drawing.area(x - 8, y - 8, 16, 16)


def _any(drawing: Svg, top: float) -> None:
    drawing.area(_MIDDLE - 120, top + 80, 240, 54, dashed=True)
    drawing.text(_MIDDLE, top + 112, "all the same to all", anchor="middle")
    for x, y in product((-100.0, -33.0, 33.0, 100.0), (30.0, 184.0)):
        drawing.line([(_MIDDLE + x, top + y), (_MIDDLE + x, top + (80 if y < 100 else 134))], begin=True, end=True)
        drawing.dot(_MIDDLE + x, top + y, _RADIUS, "pale")


JOINED: Mapping[str, Callable[[Svg, float], None]] = {
    "torus": _torus,
    "tree": _tree,
    "switch": _star,
    "direct": _direct,
    "hypercube": _hypercube,
    "any": _any,
}
"""How hosts are joined, by name; each draws below a line, within 210 pixels."""
