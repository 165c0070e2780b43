"""The timeline of a job, as its result has it."""

from __future__ import annotations

from pathlib import Path

from conduit.seeing.timeline.accounts import Account, accounts
from conduit.seeing.timeline.chrome import ChromeTrace
from conduit.seeing.timeline.recording import Recording


class Timeline(Recording):
    """A recording that can be looked at: `result.trace`."""

    def write(self, path: str | Path) -> None:
        """Write it as a trace in Chrome's JSON, which Perfetto and chrome://tracing open.

        Args:
            path: the file.

        Raises:
            OSError: it cannot be written.
        """
        with open(path, "w", encoding="utf-8") as file, ChromeTrace(file) as trace:
            trace.add(self)

    def accounts(self) -> list[Account]:
        """Return what the time of each rank went to."""
        return accounts(self)
