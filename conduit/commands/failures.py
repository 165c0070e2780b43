"""What becomes of the conduits on which a program fails, where it runs on several."""

import re
from collections.abc import Sequence
from pathlib import Path

from conduit.commandline.files import STANDARD_OUTPUT
from conduit.launch.printing import output, terminal

_WHEN = re.compile(r"(?<=\d)( at \d+\.\d{9} s)$", re.MULTILINE)


class ProgramFailed(Exception):
    """A failure of the program's own, which has been shown; its text is a line.

    Args:
        line: what `--json` says of it.
        status: the exit status that it stands for.
    """

    def __init__(self, line: str, status: int = 1) -> None:
        super().__init__(line)
        self.status = status


class Failures:
    """On which of several conduits a program has failed, and what was said of it.

    Args:
        conduits: all of them, in their order.
    """

    def __init__(self, conduits: Sequence[str]) -> None:
        self._conduits = conduits
        self._said: dict[int, str] = {}
        self._failed: list[int] = []
        self._statuses: set[int] = set()

    def words(self, number: int, text: str) -> str:
        """Return how a failure is shown: under its conduit, in a line where it is that of the conduit before.

        Only the time at which it was raised may differ, and is in that line.

        Args:
            number: of the conduit.
            text: whole lines.
        """
        self._said[number] = _WHEN.sub("", text)
        where = f"on {self._conduits[number]}:"
        if self._said.get(number - 1) != self._said[number]:
            return f"{where}\n{text}"
        return f"{where} the same{''.join(f',{when}' for when in _WHEN.findall(text))}\n"

    def add(self, number: int, failure: ProgramFailed) -> None:
        """Take note of a failure."""
        self._failed.append(number)
        self._statuses.add(failure.status)

    @property
    def status(self) -> int:
        """What the command exits with: the status that all failures have, 1 where they differ, 0 without any."""
        return max(self._statuses, default=0) if len(self._statuses) < 2 else 1

    def tell(self, *, stopped: int | None, not_run: int) -> None:
        """Say on which conduits the program has failed, and on which it was not run therefore.

        Args:
            stopped: the conduit on which an end was asked for, by the program or a signal; None: on none.
            not_run: the first one on which it was not run.
        """
        if not self._failed and stopped is None:
            return
        parts = [
            ("failed on", self._failed),
            ("stopped on", [] if stopped is None else [stopped]),
            ("not run on", range(not_run, len(self._conduits))),
        ]
        terminal.tell(
            "; ".join(f"{what}: {', '.join(self._conduits[each] for each in which)}" for what, which in parts if which)
        )


class KeptReport:
    """The file of `--full-report`, which has the report of the first conduit that has one.

    Args:
        path: the file; None: there is to be none.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path if path is not None and path != STANDARD_OUTPUT else None
        self._before = self._stamp()
        self._later = False
        self.of = ""

    def look(self, conduit: str) -> None:
        """See, after a failure, whether the file has been written."""
        if self.of:
            self._later = True
        elif self._stamp() != self._before:
            self.of = conduit

    def tell(self) -> None:
        """Say of which conduit it is, where the program has failed on others after that."""
        if self._later and output.is_first():
            terminal.tell(f"{self._path} has the report on {self.of}; for that on another one run on it alone")

    def _stamp(self) -> tuple[int, int] | None:
        """Return what changes when the file is written; None: it is not there."""
        if self._path is None or not self._path.is_file():
            return None
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size
