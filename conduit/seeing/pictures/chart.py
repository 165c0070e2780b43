"""What a picture shows, as data.

Curves and bars belong to a *group*, which has a colour and a marker or a hatch, and have a *style*, which is how lines
are dashed and markers filled.  So a picture of several networks (groups) and several operations (styles) needs a line
of legend for each of them and not for each pair, and can be read in black and white.
"""

from typing import Literal, TypeAlias

import attrs

Scale = Literal["bytes", "log", "linear"]
"""Of an x axis: sizes from 0 on, doubling; a logarithm of base 2; neither."""

HIGH_ROWS = 16
"""Rows of stretches, as of ranks, above which a picture is higher than a screen: times stand at its top too then."""


@attrs.frozen(kw_only=True)
class Curve:
    """Points joined by a line.

    Attributes:
        x: ascending.
        y: as many.
        low: the least of several runs, as many, or none.
        high: the most of these.
        group: index into the picture's groups.
        style: index into the picture's styles.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    group: int = 0
    style: int = 0


@attrs.frozen
class AxisMark:
    """A place on the x axis that is marked by a letter.

    Attributes:
        x: where.
        text: what it means, in the legend.
    """

    x: float
    text: str


@attrs.frozen(kw_only=True)
class LinePanel:
    """Axes with curves.

    Attributes:
        title: above them; "" where the picture's own says enough.
        x_label: with unit.
        y_label: with unit.
        curves: what is drawn.
        scale: of the x axis.
        ticks: places on the x axis and their names; none: chosen by the scale.
        log_y: whether the y axis is logarithmic; where a value is not above 0 it is not.
        level: a horizontal line, None for none.
    """

    title: str = ""
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    scale: Scale = "linear"
    ticks: tuple[tuple[float, str], ...] = ()
    log_y: bool = True
    level: float | None = None


@attrs.frozen(kw_only=True)
class BarPanel:
    """Bars from left to right, those of one name side by side.

    Attributes:
        title: above them; "" where the picture's own says enough.
        x_label: of the values, with unit.
        names: what the bars are of, from the top.
        values: for each group, one for each name; None where there is no bar.
        spread: likewise the least and the most of several runs, or none.
        bounds: likewise "at most" of a value that is an upper bound, "unknown" where there is none, "" of others.
    """

    title: str = ""
    x_label: str
    names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    spread: tuple[tuple[tuple[float, float] | None, ...], ...] = ()
    bounds: tuple[tuple[str, ...], ...] = ()


@attrs.frozen(kw_only=True)
class StripPanel:
    """Rows of coloured stretches, each stretch of one group: parts of a whole, or what happened when.

    Attributes:
        title: above them; "" where the picture's own says enough.
        x_label: with unit.
        names: of the rows, from the top.
        strips: for each row begin, end and group of each stretch, in order and without overlap.
        begin: where the x axis begins.
        cut: whether something is left out before that, which the axis shows.
    """

    title: str = ""
    x_label: str
    names: tuple[str, ...]
    strips: tuple[tuple[tuple[float, float, int], ...], ...]
    begin: float = 0.0
    cut: bool = False


@attrs.frozen(kw_only=True)
class MatrixPanel:
    """A square of numbers, darker where they are larger.

    Attributes:
        title: above it; "" where the picture's own says enough.
        x_label: of the columns.
        y_label: of the rows.
        values: row by row.
        unit: 1000, or 1024 where K stands for 2**10.
    """

    title: str = ""
    x_label: str
    y_label: str
    values: tuple[tuple[float, ...], ...]
    unit: Literal[1000, 1024] = 1000


Panel: TypeAlias = LinePanel | BarPanel | StripPanel | MatrixPanel


@attrs.frozen(kw_only=True)
class Picture:
    """Panels with a title and a legend.

    Attributes:
        name: of its files, without a suffix.
        title: what it shows.
        panels: from left to right, in rows of two.
        groups: what colours, markers and hatches mean.
        styles: what dashes mean; none where there is one alone.
        marks: places on the x axes, ascending.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    groups: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    marks: tuple[AxisMark, ...] = ()
