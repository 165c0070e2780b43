"""The mark that each of several processes leaves, for the others to see whether it comes to their job (`coming`)."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress

import attrs

from conduit.launch.launchers import StartedTogether, started_together
from conduit.launch.printing import output

_LONGEST = 200  # bytes of a place; the system takes names of 249
END = 1 << 62
"""Stands, in the mark of a process whose program is over, where others have the number of the job."""


@attrs.define
class OwnMark:
    """What this process has left for others to see.

    Attributes:
        jobs: to how many it has come.
        mark: the descriptor of its mark, None while there is none.
    """

    jobs: int = 0
    mark: int | None = None

    def leave(self, number: int, place: str = "") -> None:
        """Leave a mark in place of the last one."""
        last = self.mark
        self.mark = os.memfd_create(f"conduit.run {number} {place if len(place.encode()) <= _LONGEST else ''}")
        if last is not None:
            os.close(last)


OWN = OwnMark()


def install() -> None:
    """Have the end of this process's program marked, though it may never come to a job."""
    atexit.register(mark_end)


def mark_end() -> None:
    """Let the end of this process's program be seen by those who wait for it, though MPI may hold the process."""
    if watched() is not None:
        with suppress(OSError):
            OWN.leave(END)


def watched() -> StartedTogether | None:
    """Return with whom this process was started, None where it is alone, or is seen to by who has started it."""
    together = started_together()
    if together is None or together.count < 2 or output.is_framed() or not hasattr(os, "memfd_create"):
        return None
    return together
