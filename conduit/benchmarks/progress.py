"""How far runs are that take long: a progress bar on a terminal, elsewhere one line on standard error."""

import pickle
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from conduit.benchmarks.record import RecordList
from conduit.launch.printing import output, terminal

PATIENCE = 1.0
"""Seconds of wall time without a bar: a short run shows none."""
TOLD_S = 10.0
"""Seconds of wall time without that line."""


class Progress:
    """How far a benchmark is.  The program says `begin(total)` and then `advance(...)`, on one rank.

    Where ranks are processes that this package has started, that rank passes it on to who has started them.

    Args:
        console: where the bar appears, if that is a terminal.
        shorter: the options by which a run takes less time, for who sees no bar; "" says nothing to them.
    """

    def __init__(self, console: Console | None = None, shorter: str = "") -> None:
        self._console = console if console is not None and console.is_terminal else None
        self._shorter = "" if self._console is not None or output.is_framed() else shorter
        self._total = 0
        self._done = 0
        self._doing = ""
        self._bar: Bar | None = None
        self._kept: dict[int, RecordList] = {}
        self._began = time.monotonic()

    def begin(self, total: int) -> None:
        """Announce the number of steps; of a run that is repeated, those of one more."""
        self._total += total

    def advance(self, doing: str = "") -> None:
        """Count one step as begun; `doing` says what it is."""
        self._show(self._done + 1, self._total, doing, calm=False)
        own = output.speech()
        if own is not None:
            own.progress(pickle.dumps((self._done, self._total, doing)))

    def hear(self, data: bytes) -> None:
        """Take note of what a rank's process has passed on."""
        self._show(*pickle.loads(data), calm=True)

    def where(self) -> str:
        """Return which step has begun last, "" before the first."""
        return f"step {self._done} of {self._total}, {self._doing}" if self._done else ""

    def _show(self, done: int, total: int, doing: str, *, calm: bool) -> None:
        """Draw the bar; a `calm` one only now, because it takes processor time from ranks that are being timed."""
        self._done, self._total, self._doing = done, total, doing
        self._tell()
        if self._console is None or time.monotonic() - self._began < PATIENCE:
            return
        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=self._console, transient=True, auto_refresh=not calm)
            self._bar.start()
            self._bar.add_task(doing, total=self._total, completed=self._done - 1)
        self._bar.update(self._bar.task_ids[0], completed=self._done - 1, description=doing, refresh=calm)

    def _tell(self) -> None:
        """Say once, to who sees no bar, how far it is and what would take less time; between what is measured."""
        seconds = time.monotonic() - self._began
        if self._shorter and seconds >= TOLD_S:
            terminal.tell(f"{seconds:.0f} s: {self.where()}; it takes less time with fewer {self._shorter}")
            self._shorter = ""

    def keep(self, rank: int) -> RecordList:
        """Return the list for what a rank measures, so that it can be shown if the run is interrupted."""
        self._kept[rank] = []
        return self._kept[rank]

    def so_far(self) -> list[RecordList]:
        """Return what each rank has measured, as far as all of them have, and forget it."""
        kept, self._kept = list(self._kept.values()), {}
        return [records[: min(map(len, kept))] for records in kept]

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
