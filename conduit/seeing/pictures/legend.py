"""The legend: a band below the panels, of known height, with samples of groups and styles and what marks mean."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import attrs

from conduit.seeing.pictures.apart import shifts
from conduit.seeing.pictures.chart import BarPanel, LinePanel, Picture, StripPanel
from conduit.seeing.pictures.looks import bar, letter, line, stretch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 0.15
"""Inches of a line of text."""
_GAP = 0.045
"""Inches between two entries."""
_CHARACTER = 0.075
"""Inches of a character, rather more than it is on the average."""
_SAMPLE = 0.7
"""Inches of a sample with what is around it."""

_SHIFTED = "Curves that lie on one another are drawn side by side; the lowest one is at its place."


@attrs.frozen
class LegendBlock:
    """Entries that stand together.

    Attributes:
        texts: one for each entry.
        samples: what stands before them; none where the texts have letters.
        columns: side by side.
    """

    texts: tuple[str, ...]
    samples: tuple[Any, ...]
    columns: int

    @property
    def height(self) -> float:
        """Inches."""
        rows = -(-len(self.texts) // self.columns)
        lines = max(text.count("\n") + 1 for text in self.texts)
        return rows * (lines * _LINE + _GAP) + 2 * _GAP


def blocks(picture: Picture, width: float) -> list[LegendBlock]:
    """Return what the legend of a picture is made of.

    Args:
        picture: which.
        width: of the figure, inches.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    numbers = range(len(picture.groups))
    if all(isinstance(panel, StripPanel) for panel in picture.panels):
        groups: list[Any] = [Patch(**stretch(number)) for number in numbers]
    elif all(isinstance(panel, BarPanel) for panel in picture.panels):
        groups = [Patch(**bar(number)) for number in numbers]
    else:
        groups = [Line2D([], [], **line(number, 0)) for number in numbers]
    made = [_block(picture.groups, groups, width)]
    if len(picture.styles) > 1:
        looks = [{**line(0, style), "color": "black", "marker": "o"} for style in range(len(picture.styles))]
        made.append(_block(picture.styles, [Line2D([], [], **look) for look in looks], width))
    if picture.marks:
        texts = [f"{letter(number)}  {mark.text}" for number, mark in enumerate(picture.marks)]
        made.append(LegendBlock(tuple(_folded(text, width) for text in texts), (), 1))
    if any(any(shifts(panel.curves)) for panel in picture.panels if isinstance(panel, LinePanel)):
        made.append(LegendBlock((_SHIFTED,), (), 1))
    return [block for block in made if block.texts]


def _block(texts: tuple[str, ...], samples: list[Any], width: float) -> LegendBlock:
    folded = tuple(_folded(text, width) for text in texts)
    longest = max((len(each) for text in folded for each in text.splitlines()), default=1)
    columns = int(width // (longest * _CHARACTER + _SAMPLE))
    return LegendBlock(folded, tuple(samples), max(1, min(columns, len(texts))))


def _folded(text: str, width: float) -> str:
    return (
        textwrap.fill(text, int((width - _SAMPLE) / _CHARACTER), subsequent_indent="    ", break_on_hyphens=False)
        or " "
    )


def draw_legend(figure: Figure, made: list[LegendBlock]) -> None:
    """Draw the blocks from the bottom of the figure upwards."""
    width, height = figure.get_size_inches()
    top = sum(block.height for block in made)
    for block in made:
        if block.samples:
            figure.legend(
                handles=block.samples, labels=block.texts, loc="upper left",
                bbox_to_anchor=(0.12 / width, top / height), ncols=block.columns, handlelength=3.2,
                borderaxespad=0.2, columnspacing=1.4, borderpad=0,
            )  # fmt: skip
        else:
            x, step = 0.15 / width, (block.height - 2 * _GAP) / len(block.texts)
            for number, text in enumerate(block.texts):
                figure.text(x, (top - number * step) / height, text, va="top", linespacing=1.1)
        top -= block.height
