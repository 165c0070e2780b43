"""Who shows `--help`: with what that needs, which is imported when it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conduit.commands.help_texts import RunningText


class ShownHelp:
    """Shows help as `help_texts.RunningText` does."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Show one panel."""
        self._texts(console, options, panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        """Show how the command is called."""
        self._texts.render_usage(console, options, usage)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Show what is said of a command."""
        self._texts.render_description(console, options, description)

    @cached_property
    def _texts(self) -> RunningText:
        from conduit.commands.help_texts import RunningText  # with rich, which no call needs that shows none

        return RunningText()
