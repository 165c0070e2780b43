"""How `--help` shows what docstrings say of parameters: as running text, however the source is wrapped."""

from typing import Any

from cyclopts.help import DefaultFormatter
from rich.text import Text


class RunningText(DefaultFormatter):
    """Shows panels as cyclopts does, without the line ends and indents of the source inside a description."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Show one panel."""
        for entry in panel.entries:
            shown = getattr(entry.description, "primary_renderable", None)
            if isinstance(shown, Text) and "\n" in shown.plain:
                entry.description.primary_renderable = Text(" ".join(shown.plain.split()), end=shown.end)
        super().__call__(console, options, panel)
