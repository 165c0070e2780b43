"""Drawing one panel: axes with curves, or with bars."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from conduit.seeing.pictures.apart import shifts
from conduit.seeing.pictures.chart import (
    HIGH_ROWS,
    AxisMark,
    BarPanel,
    Curve,
    LinePanel,
    MatrixPanel,
    Panel,
    StripPanel,
)
from conduit.seeing.pictures.looks import bar, colour, letter, line, stretch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform

_APART = 0.035
"""Between two letters of marks, as a part of the width."""
_ROOM = 60
"""Characters below an x axis."""
_NUMBERS = 16
"""Rows of a matrix that has its numbers in it."""
_LETTERS = 45
"""Characters of the numbers on an axis of bars together."""
_BESIDE, _BESIDE_ALL = 4.5, 9.0
"""Points between curves that lie on one another, and between the lowest and the highest of many."""
_LABELS = 9
"""Sizes named on an axis at most."""
_LEAST_LABELS = 3
"""Values named on an axis of a logarithm."""
_PARTS = (
    (1.0, 2.0, 5.0),
    (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
)
"""Of a power of ten, that such an axis may name: of the last ones three are in every span of a factor of two."""
_TWO_DIGITS = 100
"""Rows of a matrix up to which their numbers have two digits at most."""
_FEW = 6
"""Rows of a matrix whose numbers have room to be large."""
_ROW = 11
"""Points of a row of letters."""


def height_of(panel: Panel) -> float:
    """Return the height of a panel in inches."""
    if isinstance(panel, LinePanel):
        return 3.9
    if isinstance(panel, MatrixPanel):
        return 4.4
    if isinstance(panel, StripPanel):
        return 0.9 + 0.3 * len(panel.names)
    bars = len(panel.names) * (len(panel.values) + 0.6)
    return max(1.6, 0.9 + 0.19 * bars)


def draw_lines(axes: Axes, panel: LinePanel, marks: tuple[AxisMark, ...], title: str) -> None:
    """Draw curves, and marks where the x axis has sizes."""
    _scale_x(axes, panel)
    _scale_y(axes, panel)
    above = shifts(panel.curves)
    step = min(_BESIDE, _BESIDE_ALL / max([1, *above]))
    for curve, steps in zip(panel.curves, above, strict=True):
        (drawn,) = axes.plot(curve.x, curve.y, **line(curve.group, curve.style))
        if steps:  # after the limits of the axes have been chosen by its values
            drawn.set_transform(_above(axes, steps * step))
        if curve.low:
            _draw_spread(axes, curve)
    if panel.level is not None:
        axes.axhline(panel.level, color="black", linewidth=0.8)
    if axes.get_yscale() == "log":
        _name_enough(axes)
    rows = _draw_marks(axes, marks) if panel.scale == "bytes" else 0
    axes.set_title(title, loc="left", pad=6 + _ROW * rows)
    axes.set_xlabel(panel.x_label)
    linear = panel.log_y and axes.get_yscale() == "linear"
    axes.set_ylabel(f"{panel.y_label} (linear)" if linear else panel.y_label)


def _above(axes: Axes, points: float) -> Transform:
    """Return what brings values to a place above theirs."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure(root=True)
    assert figure is not None
    return axes.transData + ScaledTranslation(0, points / 72, figure.dpi_scale_trans)


def _draw_spread(axes: Axes, curve: Curve) -> None:
    below = [max(y - low, 0) for y, low in zip(curve.y, curve.low, strict=True)]
    above = [max(high - y, 0) for y, high in zip(curve.y, curve.high, strict=True)]
    axes.errorbar(
        curve.x, curve.y, yerr=(below, above), linestyle="none", color=colour(curve.group), capsize=2.5, linewidth=0.9
    )


def _scale_x(axes: Axes, panel: LinePanel) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if panel.scale == "bytes":
        places = [place for curve in panel.curves for place in curve.x]
        axes.set_xscale("symlog", base=2, linthresh=1, linscale=1)
        axes.xaxis.set_major_locator(FixedLocator(_powers(min(places, default=0), max(places, default=1))))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _size(int(value))))
        return
    if panel.scale == "log":
        axes.set_xscale("log", base=2)
    if panel.ticks:
        axes.xaxis.set_major_locator(FixedLocator([place for place, _ in panel.ticks]))
        axes.xaxis.set_minor_locator(NullLocator())
        if sum(len(name) + 2 for _, name in panel.ticks) > _ROOM:
            axes.tick_params(axis="x", rotation=25)
    names = dict(panel.ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.get(value, f"{value:g}")))


def _powers(least: float, most: float) -> list[int]:
    """Return the sizes that an axis names: 0, if it begins there, and powers of 2, in steps that leave room."""
    first, last = max(int(least).bit_length() - 1, 0), max(int(most).bit_length() - 1, 0)
    step = next(step for step in (1, 2, 4, 8) if (last - first) // step < _LABELS)
    return [*([] if least else [0]), *(1 << power for power in range(first, last + 1, step))]


def _scale_y(axes: Axes, panel: LinePanel) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = [value for curve in panel.curves for value in (*curve.y, *curve.low, *curve.high)]
    if not panel.log_y or not values or min(values) <= 0 or max(values) < 2 * min(values):
        axes.set_ymargin(0.1)
        if values and panel.level is None and min(values) >= 0:
            axes.set_ylim(0, max(values) * 1.1 or 1)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(values) < 100 * min(values) else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _name_enough(axes: Axes) -> None:
    """Name more values on the y axis, a logarithm, where those that it names are too few to read others by."""
    from matplotlib.ticker import FixedLocator

    low, high = sorted(axes.get_ylim())
    if sum(low <= place <= high for place in axes.yaxis.get_majorticklocs()) >= _LEAST_LABELS:
        return
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in _PARTS:
        places = [place for power in powers for part in parts if low <= (place := part * 10.0**power) <= high]
        if len(places) >= _LEAST_LABELS:
            break
    axes.yaxis.set_major_locator(FixedLocator(places))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _size(nbytes: int) -> str:
    """Write a power of 2, or 0, shortly."""
    for power, suffix in ((30, "G"), (20, "M"), (10, "K")):
        if nbytes >= 1 << power:
            return f"{nbytes >> power}{suffix}"
    return str(nbytes)


def _draw_marks(axes: Axes, marks: tuple[AxisMark, ...]) -> int:
    """Draw a thin line at each mark, and its letter above the axes; return how many rows these take."""
    low, high = axes.get_xlim()
    ends: list[float] = []  # of the rows: where their last letter stands, as a part of the width
    for number, mark in enumerate(marks):
        if not low <= mark.x <= high:
            continue
        at = float(axes.transAxes.inverted().transform(axes.transData.transform((mark.x, axes.get_ylim()[0])))[0])
        row = next((row for row, end in enumerate(ends) if at - end > _APART), len(ends))
        ends[row : row + 1] = [at]
        axes.axvline(mark.x, color="#555555", linewidth=0.7, linestyle=(0, (2, 2)), zorder=0.5)
        axes.annotate(
            letter(number), (mark.x, 1.0), xytext=(0, 3 + _ROW * row), xycoords=axes.get_xaxis_transform(),
            textcoords="offset points", ha="center", va="bottom", fontsize=8,
        )  # fmt: skip
    return len(ends)


def draw_bars(axes: Axes, panel: BarPanel, title: str) -> None:
    """Draw bars with their figures."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_title(title, loc="left")
    thick = 0.8 / max(len(panel.values), 1)
    for row in range(len(panel.names)):
        bars = [(group, *_bar_of(panel, group, row)) for group in range(len(panel.values))]
        there = [each for each in bars if each[1] is not None or each[3]]
        for number, (group, value, ends, bound) in enumerate(there):
            place = row + thick * (number - (len(there) - 1) / 2)  # about the name, however many there are
            axes.barh(place, value or 0.0, thick * 0.92, **bar(group))  # without a value there is room for its text
            if value is None:
                _beside(axes, bound, 0.0, place)
                continue
            text = _figure(value)
            if ends is not None:
                axes.errorbar(value, place, xerr=([value - ends[0]], [ends[1] - value]), color="black", capsize=2.5)
                low, high = map(_figure, ends)
                text += f" ({low} to {high})" if low != high else ""
            _beside(axes, f"≤ {text}" if bound else text, max(value, ends[1] if ends else value), place)
    whole = all(value is None or value == int(value) for row in panel.values for value in row)
    longest = len(_number(max((value or 0.0 for row in panel.values for value in row), default=0.0)))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=min(6, max(2, _LETTERS // longest)), integer=whole))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    axes.set_yticks(range(len(panel.names)), [textwrap.fill(name, 34) for name in panel.names])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.5 if panel.spread and any(ends for row in panel.spread for ends in row) else 0.2)
    axes.set_xlim(left=0, right=None if any(value for row in panel.values for value in row) else 1)
    axes.set_xlabel(panel.x_label)


def _bar_of(panel: BarPanel, group: int, row: int) -> tuple[float | None, tuple[float, float] | None, str]:
    """Return value, spread and bound of one bar."""
    return (
        panel.values[group][row],
        panel.spread[group][row] if panel.spread else None,
        panel.bounds[group][row] if panel.bounds else "",
    )


def _figure(value: float) -> str:
    return _number(value) if value >= 1000 else f"{value:.4g}"


def _beside(axes: Axes, text: str, end: float, place: float) -> None:
    """Write beside a bar."""
    axes.annotate(
        text, (end, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7.5,
    )  # fmt: skip


def draw_strips(axes: Axes, panel: StripPanel, title: str) -> None:
    """Draw rows of stretches."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.ticker import FuncFormatter

    axes.set_title(title, loc="left")
    groups = sorted({group for row in panel.strips for _, _, group in row})
    for group in groups:
        corners: list[tuple[float, float]] = []
        for place, row in enumerate(panel.strips):
            top, bottom = place - 0.4, place + 0.4
            for begin, end, which in row:
                if which == group:
                    corners += (begin, top), (end, top), (end, bottom), (begin, bottom), (begin, top)
        codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * (len(corners) // 5)
        axes.add_patch(PathPatch(Path(corners, codes), **{**stretch(group), "linewidth": 0.0}))
    axes.set_yticks(range(len(panel.names)), panel.names)
    axes.set_ylim(len(panel.names) - 0.5, -0.5)
    axes.set_xlim(panel.begin, max((row[-1][1] for row in panel.strips if row), default=0) or panel.begin + 1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(panel.x_label)
    if len(panel.names) > HIGH_ROWS:
        axes.tick_params(axis="x", top=True, labeltop=True)
    if panel.cut:
        for shift in (-0.004, 0.004):
            axes.plot(
                [shift], [0.0], marker=[(-1, -2), (1, 2)], markersize=10, color="black", markeredgewidth=1.2,
                transform=axes.transAxes, clip_on=False,
            )  # fmt: skip


def draw_matrix(axes: Axes, panel: MatrixPanel, title: str) -> None:
    """Draw a square, with its numbers where there is room; else the title says what is black."""
    axes.imshow(panel.values, cmap="Greys", vmin=0, interpolation="nearest", aspect="equal")
    axes.grid(visible=False)
    most = max((value for row in panel.values for value in row), default=0)
    if len(panel.values) <= _NUMBERS:
        letters = 7 if len(panel.values) > _FEW else 10
        for y, row in enumerate(panel.values):
            for x, value in enumerate(row):
                if value:
                    shade = "white" if value > most / 2 else "black"
                    axes.text(x, y, _short(value, panel.unit), ha="center", va="center", fontsize=letters, color=shade)
    elif most:
        title = f"{title}; black: {_short(most, panel.unit)}"
    axes.set_title(title, loc="left")
    if not most:
        axes.text(0.5, 0.5, "none", ha="center", va="center", transform=axes.transAxes)
    step = _step(len(panel.values))
    axes.set_xticks(range(0, len(panel.values), step))
    axes.set_yticks(range(0, len(panel.values), step))
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)


def _step(ranks: int) -> int:
    """Return the power of 2 in whose steps the sides of a matrix are numbered, so that the numbers have room."""
    most = _NUMBERS if ranks <= _TWO_DIGITS else _NUMBERS // 2
    return int(2 ** max(0, math.ceil(math.log2(ranks / most))))


def _short(value: float, unit: int) -> str:
    """Write a number in three digits and a letter for a power of the unit, 1000 or 1024."""
    for power, suffix in ((3, "G"), (2, "M"), (1, "k" if unit == 1000 else "K")):
        if value >= unit**power:
            return f"{_digits(value / unit**power)}{suffix}"
    return _digits(value)


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
