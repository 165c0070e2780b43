"""Drawing pictures with matplotlib: the same bytes for the same picture, whatever settings its user has.

matplotlib is optional and takes half a second to import: it is imported where something is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from conduit.errors import ConduitError
from conduit.seeing.pictures.chart import BarPanel, LinePanel, MatrixPanel, Picture, StripPanel
from conduit.seeing.pictures.legend import blocks, draw_legend
from conduit.seeing.pictures.panels import draw_bars, draw_lines, draw_matrix, draw_strips, height_of
from conduit.words import to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "conduit",
    "svg.fonttype": "path",  # looks alike where its font is not installed
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "text.parse_math": False,  # names of files may have a $
    "font.size": 9,
    "axes.titlesize": 10,
    "figure.titlesize": 11,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 5.5,
}
_DPI = 130
_ABOUT: dict[str, dict[str, Any]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
"""What a file says of itself: nothing that differs from run to run."""


def check_drawing(command: str) -> None:
    """Refuse to begin what ends in a picture where none can be drawn.

    Args:
        command: who needs it, for the error.

    Raises:
        ConduitError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConduitError(
            f"{command} needs matplotlib for its pictures; install it with: {to_install('plot')}"
        ) from None


class Drawn(NamedTuple):
    """A picture as the bytes of files."""

    svg: bytes
    png: bytes


def draw(picture: Picture) -> Drawn:
    """Draw a picture in both forms."""
    with figure(picture) as drawn:
        return Drawn(_saved(drawn, "svg"), _saved(drawn, "png"))


def draw_svg(picture: Picture) -> bytes:
    """Draw a picture as SVG alone, which takes half the time."""
    with figure(picture) as drawn:
        return _saved(drawn, "svg")


def _saved(drawn: Figure, form: str) -> bytes:
    file = BytesIO()
    drawn.savefig(file, format=form, dpi=_DPI, metadata=_ABOUT[form])
    return file.getvalue()


@contextmanager
def figure(picture: Picture) -> Iterator[Figure]:
    """Give a picture as matplotlib has it, under the settings that it is to be used with."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(_SETTINGS)
        yield _figure(picture)


def _figure(picture: Picture) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    several = len(picture.panels) > 1
    columns = 2 if several else 1
    rows = -(-len(picture.panels) // columns)
    width = 7.0 if isinstance(picture.panels[-1], LinePanel) and not several else 11.0
    legend = blocks(picture, width)
    band = sum(block.height for block in legend)
    height = rows * max(map(height_of, picture.panels)) + band + (0.3 if several else 0.0)
    drawn = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawn)
    engine: Any = drawn.get_layout_engine()
    engine.set(rect=(0, band / height, 1, 1 - band / height))
    for number, panel in enumerate(picture.panels):
        axes = drawn.add_subplot(rows, columns, number + 1)
        title = panel.title if several else picture.title
        if isinstance(panel, BarPanel):
            draw_bars(axes, panel, title)
        elif isinstance(panel, StripPanel):
            draw_strips(axes, panel, title)
        elif isinstance(panel, MatrixPanel):
            draw_matrix(axes, panel, title)
        else:
            draw_lines(axes, panel, picture.marks, title)
    if several:
        drawn.suptitle(picture.title, x=0.01, ha="left")
    draw_legend(drawn, legend)
    return drawn
