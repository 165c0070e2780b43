"""What ranks have told of errors, warnings and ends of their own: one error is shown whole, the rest in short."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from conduit.launch.errors.at_end import warnings_of
from conduit.launch.errors.raised import of_others
from conduit.launch.printing import output, terminal
from conduit.launch.printing.output import FinalError
from conduit.launch.printing.phrases import named
from conduit.launch.processes.reader import OutputReader

EXIT = SystemExit.__name__


class ToldErrors:
    """Errors and warnings as ranks tell them, which readers hand over, each in its thread.

    Args:
        words: gives what is shown of the text of the failure that ends the job.

    Attributes:
        shown: the error that was shown whole, or will be at the end; None: none was told.
        notes: what users are to know of ranks.
        falls: ranks whose programs end their processes: statuses and words.
    """

    def __init__(self, words: Callable[[str], str]) -> None:
        self._words = words
        self.shown: FinalError | None = None
        self.notes: dict[int, tuple[str, ...]] = {}
        self.falls: dict[int, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._whose = -1  # the rank that has the error that is shown
        self._show_good: Callable[[], object] = _nothing  # shows it, where it is an exit with status 0
        self._others: dict[tuple[str, str], list[int]] = {}  # ranks with other errors, by kind and words
        self._warnings: dict[str, list[int]] = {}  # ranks that Python has warned, by the text, which was shown

    def error(self, reader: OutputReader, rank: int, data: bytes) -> None:
        """Show the first error whole, and keep others in short; one that is the same in all ranks is none of theirs.

        An exit with status 0 is shown at the end, for any other error comes before it.
        """
        error = output.error_of(data)
        with self._lock:
            before = self.shown
            if before is None:
                self.shown, self._whose = error, rank
            elif before.succeeds and not error.succeeds:
                self._others.setdefault((before.kind, before.said), []).append(self._whose)
                self.shown, self._whose = error, rank
            elif error.text != before.text:
                self._others.setdefault((error.kind, error.said), []).append(rank)
            if self.shown is not error:
                return
            self._show_good = partial(reader.show_text, error.text) if error.succeeds else _nothing
        if not error.succeeds:
            reader.show_text(error.text if error.kind == EXIT else self._words(error.text))

    def warning(self, reader: OutputReader, rank: int, data: bytes) -> None:
        """Show what Python warns a rank of, what it warns several of once."""
        text = data.decode()
        with self._lock:
            known = self._warnings.setdefault(text, [])
            known.append(rank)
        if len(known) == 1:
            reader.show(f"{named([rank])}: {text}".encode())

    def finish(self) -> None:
        """Show what has waited for the end, and say which ranks had the errors and warnings of others, or their own."""
        self._show_good()
        if self.shown is not None:
            for line in of_others((self.shown.kind, self.shown.said), self._others):
                terminal.tell(line.partition("\n")[0])
        for text in warnings_of(sorted(self.notes.items())):
            terminal.tell(text)
        for text, ranks in self._warnings.items():
            if also := sorted({*ranks[1:]} - {ranks[0]}):
                first = text.partition("\n")[0]
                terminal.tell(f"{named(also)}: as {named(ranks[:1])}, {first}")

    def status(self, launchers: int) -> int:
        """Return the status of the whole: that of the rank which is shown, where its launcher may have taken another's.

        Args:
            launchers: that of the launcher, which has those of all ranks and makes one of them as it likes.
        """
        if self.shown is None and self.falls:
            return self.falls[min(self.falls)][0] or 1
        if self.shown is None or not self._others:
            return launchers
        if self.shown.status is not None:
            return self.shown.status or launchers
        return 1 if any(other == EXIT for other, _ in self._others) else launchers


def _nothing() -> None:
    """Show nothing."""
