"""How `--help` shows what docstrings say: as running text, however the source is wrapped."""

import re
from typing import Any

from cyclopts.help import DefaultFormatter
from rich.text import Text

_LINE_END = re.compile(r"\n(?!\w+: )")
"""A line end of the source, behind which no line begins that is one of a list."""


class RunningText(DefaultFormatter):
    """Shows panels as cyclopts does, without the line ends and indents of the source inside a description.

    What is said of the command itself keeps the line ends of its source where there is room for its lines.
    """

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Show one panel."""
        for entry in panel.entries:
            shown = getattr(entry.description, "primary_renderable", None)
            if isinstance(shown, Text) and "\n" in shown.plain:
                entry.description.primary_renderable = Text(" ".join(shown.plain.split()), end=shown.end)
        super().__call__(console, options, panel)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Show what is said of a command."""
        shown = getattr(description, "primary_renderable", None)
        if isinstance(shown, Text):
            paragraphs = [_fitting(each, console.width) for each in shown.plain.split("\n\n")]
            description.primary_renderable = Text("\n\n".join(paragraphs), end=shown.end)
        super().render_description(console, options, description)


def _fitting(paragraph: str, width: int) -> str:
    """Return a paragraph without the line ends of its source, if one of its lines is to be folded."""
    if max(map(len, paragraph.split("\n"))) <= width:
        return paragraph
    body = paragraph.rstrip("\n")
    return _LINE_END.sub(" ", body) + paragraph[len(body) :]
