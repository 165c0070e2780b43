"""Pictures and pages: charts as plain data, drawn with matplotlib, and pages of HTML that hold them.

Knows nothing of networks, jobs or benchmarks.  The same data give the same bytes.
"""

from conduit.seeing.pictures.chart import (
    HIGH_ROWS,
    AxisMark,
    BarPanel,
    Curve,
    LinePanel,
    MatrixPanel,
    Picture,
    StripPanel,
)
from conduit.seeing.pictures.draw import check_drawing, draw, draw_svg
from conduit.seeing.pictures.page import Page
from conduit.seeing.pictures.table import ShownList, Table, number, shown
from conduit.seeing.pictures.time_unit import TimeUnit, time_unit

__all__ = [
    "HIGH_ROWS",
    "AxisMark",
    "BarPanel",
    "Curve",
    "LinePanel",
    "MatrixPanel",
    "Page",
    "Picture",
    "ShownList",
    "StripPanel",
    "Table",
    "TimeUnit",
    "check_drawing",
    "draw",
    "draw_svg",
    "number",
    "shown",
    "time_unit",
]
