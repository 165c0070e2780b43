"""The steps of an exchange as a picture: two processors, the network between them, time from the top."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from conduit.seeing.pictures.svg import Svg, width_of
from conduit.seeing.timeline.steps import HARDWARE, MessageStep

_WIDTH, _TOP, _ROW, _MOST, _WAY = 780.0, 78.0, 19.0, 46.0, 30.0
_BOX = 252.0
_COLUMNS = (20.0, _WIDTH - 20.0 - _BOX)
_SMALL = 12.0
_LABEL = 16.0
"""Pixels of the label of an arrow, which stands above all of it."""
_NO_SCALE = "Heights are not to scale: what takes little time is as high as its text."
_AGAIN = "Dashed: on its way when a timer had it sent again."
_SHADES = {
    "send": "warm", "reply": "warm", "receive": "green", "polling": "rose", "notice": "rose", "copy": "sand",
    "handler": "dark", "interrupt": "grey", "move": "warm", "compute": "dark",
}  # fmt: skip


@attrs.define
class _Row:
    """Steps one after the other that look alike."""

    where: int
    what: str
    name: str
    leg: str
    ticks: int


def draw_sequence(title: str, steps: Sequence[MessageStep]) -> str:
    """Return a picture of an exchange between ranks 0 and 1 as SVG.

    A row is as high as its share of the time, but never less than its text.  What comes again between others stands
    where it begins, with all of its time.

    Args:
        title: above it.
        steps: what the time went to.
    """
    rows = _rows(steps)
    whole = sum(row.ticks for row in rows) or 1
    heights = [_least(row) + (_MOST - _ROW) * min(1.0, 4 * row.ticks / whole) for row in rows]
    lost = [
        row.what == "wire" and then is not None and then.what == "timer"
        for row, then in zip(rows, [*rows[1:], None], strict=True)
    ]
    drawing = Svg(_WIDTH, _TOP + sum(heights) + (50 if any(lost) else 32), title)
    drawing.text(20, 26, title, size=15, bold=True)
    for rank, left in enumerate(_COLUMNS):
        drawing.text(left + _BOX / 2, 58, f"processor of rank {rank}", anchor="middle", bold=True)
    drawing.text(_WIDTH / 2, 58, "network", anchor="middle", bold=True)
    bottom = _TOP + sum(heights)
    for left in _COLUMNS:
        drawing.line([(left + _BOX / 2, 66), (left + _BOX / 2, bottom + 8)], thin=True, dashed=True)
    y = _TOP
    for row, height, is_lost in zip(rows, heights, lost, strict=True):
        text = f"{row.what}: {row.name}" if row.name and row.what not in ("notice", "polling") else row.what
        time = f"{row.ticks / 1e6:.3f} µs"
        if row.where == HARDWARE:
            _way(drawing, row, y, height, f"{text}, {time}", lost=is_lost)
        else:
            _box(drawing, row, y, height, text, time)
        y += height
    drawing.text(_WIDTH / 2, bottom + 24, _NO_SCALE, anchor="middle", size=_SMALL)
    if any(lost):
        drawing.text(_WIDTH / 2, bottom + 42, _AGAIN, anchor="middle", size=_SMALL)
    return drawing.render()


def _least(row: _Row) -> float:
    """Return how high a row is that takes hardly any time."""
    if row.where != HARDWARE:
        return _ROW
    return _WAY + (_LABEL if row.what == "wire" else 0.0)


def _rows(steps: Sequence[MessageStep]) -> list[_Row]:
    rows: list[_Row] = []
    for step in steps:
        name = "" if step.what in ("notice", "polling") else step.name
        what = "polling" if step.what == "notice" else step.what
        last = rows[-1] if rows else None
        if last is not None and (last.where, last.what, last.name, last.leg) == (step.where, what, name, step.leg):
            last.ticks += step.ticks
        elif last is not None and what == "wire" == last.what and last.leg == step.leg:
            last.name = ", ".join(filter(None, (last.name, name)))
            last.ticks += step.ticks
        else:
            rows.append(_Row(step.where, what, name, step.leg, step.ticks))
    return rows


def _box(drawing: Svg, row: _Row, y: float, height: float, text: str, time: str) -> None:
    left, shade = _COLUMNS[row.where], _SHADES.get(row.what, "white")
    drawing.area(left, y, _BOX, height)
    drawing.area(left, y, 14, height, shade)
    room = _BOX - 30 - width_of(time, _SMALL)
    while width_of(text, _SMALL) > room:
        text = text[:-2].rstrip(" .") + "…"
    drawing.text(left + 20, y + height / 2 + 4.5, text, size=_SMALL)
    drawing.text(left + _BOX - 6, y + height / 2 + 4.5, time, anchor="end", size=_SMALL)


def _way(drawing: Svg, row: _Row, y: float, height: float, text: str, *, lost: bool) -> None:
    if row.what != "wire":
        drawing.text(_WIDTH / 2, y + height / 2 + 4.5, text, anchor="middle", size=_SMALL)
        return
    drawing.text(_WIDTH / 2, y + _LABEL - 3, text, anchor="middle", size=_SMALL)
    sides = _COLUMNS[0] + _BOX, _COLUMNS[1]
    begin, end = reversed(sides) if row.leg == "reply" else sides
    drawing.line([(begin, y + _LABEL + 2), (end, y + height - 5)], end=not lost, dashed=lost)
