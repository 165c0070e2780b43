"""What the processes of a job have told one another of its end, for who shows errors, wherever there may be such a job.

It is apart from what runs jobs in processes, which takes long to import: most programs have none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import attrs

from conduit.launch.errors.raised import Told, of_others


@attrs.frozen
class EarlyEnd:
    """How a job has ended before its time.

    Attributes:
        rank: who has ended it.
        status: the exit status of all processes.
    """

    rank: int
    status: int


class EndWatch(Protocol):
    """What is asked of the watch of a process (`conduit.launch.processes.watch`)."""

    @property
    def end(self) -> EarlyEnd | None:
        """How the job has ended, None before it has, or where it has in time."""
        ...

    def with_the_same(self, told: Told) -> dict[int, Told]:
        """Return what other ranks have raised beside this, by rank."""
        ...

    def shows(self, told: Told, same: Collection[int]) -> bool:
        """Say whether this process shows it."""
        ...


WATCHES: list[EndWatch] = []
"""The watch of this process, once it has begun a job as one of its ranks."""


def after_error(told: Told) -> str | None:
    """Return what follows an error that has ended a job of these processes, where each shows its own.

    Waits for what the others say: which ranks have the same is a line, or nothing.  None: another one shows it.

    Args:
        told: what is said of it.
    """
    for watch in WATCHES:
        others = watch.with_the_same(told)
        if not watch.shows(told, others):
            return None
        return _said_of(told, others) if others else ""
    return ""


def _said_of(shown: Told, others: Mapping[int, Told]) -> str:
    """Return the lines on what other ranks have raised beside an error that is shown."""
    found: dict[Told, list[int]] = {}
    for rank, told in others.items():
        found.setdefault(told, []).append(rank)
    return "".join(f"{line}\n" for line in of_others(shown, found))


def ended_by() -> int | None:
    """Return which rank has ended a job of these processes before its time, so that no other can run in them."""
    ends = [watch.end for watch in WATCHES if watch.end is not None]
    return ends[0].rank if ends else None
