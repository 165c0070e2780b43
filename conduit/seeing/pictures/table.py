"""Tables: rows of cells under titles, as HTML, and as frames of pandas for who has it.

pandas is optional and takes half a second to import: it is imported where a frame is asked for.
"""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import Any, TypeVar

import attrs

from conduit.errors import ConduitError
from conduit.words import to_install

_T = TypeVar("_T")

_WHOLE = 1000
"""From which on a figure is written without decimals."""
_GROUPED = 10_000
"""From which on its digits are in groups."""


@attrs.frozen
class Table:
    """Rows of cells.

    Attributes:
        columns: titles.
        rows: as many cells each; None is an empty one.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def html(self, *, folded: str = "") -> str:
        """Return it as HTML, numbers aligned to the right.

        Args:
            folded: what the closed table is called; "": it is open.
        """
        numeric = [
            bool(self.rows) and all(cell is None or isinstance(cell, int | float) for cell in column)
            for column in zip(*self.rows, strict=True)
        ] or [False] * len(self.columns)
        head = "".join(_cell("th", title, right) for title, right in zip(self.columns, numeric, strict=True))
        body = "\n".join(
            "<tr>" + "".join(_cell("td", cell, right) for cell, right in zip(row, numeric, strict=True)) + "</tr>"
            for row in self.rows
        )
        table = f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'
        return f"<details><summary>{escape(folded)}</summary>\n{table}\n</details>" if folded else table

    def frame(self, call: str) -> Any:
        """Return it as a `pandas.DataFrame`.

        Args:
            call: who was asked for one, for the error.

        Raises:
            ConduitError: pandas is not installed.
        """
        try:
            pandas: Any = import_module("pandas")  # not by a statement: type checkers need not have it
        except ImportError:
            raise ConduitError(
                f"{call} needs pandas, which is not installed; install it with: {to_install('frame')}"
            ) from None
        return pandas.DataFrame(list(self.rows), columns=list(self.columns))


class ShownList(list[_T]):
    """What a cell of a notebook shows one below the other."""

    def _repr_html_(self) -> str:
        return "\n".join(getattr(each, "_repr_html_")() for each in self)  # noqa: B009  it is no name of a type


def number(value: float) -> str:
    """Write a figure as pages show it: integers whole, others with four digits that count, or more before the point.

    Five digits and more are in groups of three; four are not, so that ranks look the same everywhere.
    """
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= _GROUPED else str(value)
    if abs(value) >= _GROUPED:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"


def shown(title: str, *parts: str) -> str:
    """Return what notebooks show of a result: a title in bold, then HTML."""
    return "<div>\n<p><strong>" + escape(title) + "</strong></p>\n" + "\n".join(parts) + "\n</div>"


def _cell(tag: str, cell: object, right: bool) -> str:
    text = "" if cell is None else str(cell)
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        text = number(cell)
    return f"<{tag}{' class=number' if right else ''}>{escape(text)}</{tag}>"
