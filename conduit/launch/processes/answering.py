"""Which processes still answer: their watches do, however busy their ranks are, unless the whole process is held.

It may be stopped (SIGSTOP, a debugger), or in a call that keeps Python's lock (a regular expression without an end).
"""

from __future__ import annotations

from collections.abc import Mapping

UNANSWERED_S = 3.0
"""After which a process is said not to answer; a watch looks fifteen times meanwhile."""


class Answers:
    """Who has been asked whether it is there, and has not said so yet.  Times are those of `time.monotonic`.

    Args:
        rank: whose watch this is.
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._asked: dict[int, float] = {}

    def forget(self) -> None:
        """Begin anew, with another job."""
        self._asked.clear()

    def ask(self, rank: int, now: float) -> bool:
        """Take note that a rank is asked; return whether it is to be: not while an answer is due."""
        if rank in self._asked:
            return False
        self._asked[rank] = now
        return True

    def answered(self, rank: int) -> None:
        """Take note of an answer."""
        self._asked.pop(rank, None)

    def missing(self, now: float) -> Mapping[int, float]:
        """Return the ranks that have been asked long ago and do not answer, with the seconds since then."""
        return {rank: now - asked for rank, asked in self._asked.items() if now - asked >= UNANSWERED_S}

    def first(self, now: float) -> int:
        """Return the lowest rank that answers, as far as is known here: it weighs what all do."""
        silent = self.missing(now)
        return next((rank for rank in range(self._rank) if rank not in silent), self._rank)
