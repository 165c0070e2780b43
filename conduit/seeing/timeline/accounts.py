"""What the time of each rank went to: parts that add up to the length of the job, to the picosecond."""

from __future__ import annotations

import attrs

from conduit.seeing.timeline.recording import Recording

_PARTS = {
    "start": "start",
    "compute": "compute",
    "copy": "copies",
    "handler": "handlers",
    "polling": "polling",
    "waiting": "blocked",
}
"""By what time is spent on; all else is overhead: sending, receiving, replying, one-sided operations, interrupts."""


@attrs.define
class Account:
    """The time of one rank, in picoseconds.

    Attributes:
        start: building queues and connections.
        compute: what the program asked for; in real time, code of its own.
        overhead: the CPU's part in messages and in native one-sided operations, and interrupts.
        copies: of payloads.
        handlers: what handlers charged, without copies.
        polling: in calls and passes.
        blocked: polls that find nothing, while tasks wait.
        idle: nothing to do: asleep, or over before the others.
    """

    start: int = 0
    compute: int = 0
    overhead: int = 0
    copies: int = 0
    handlers: int = 0
    polling: int = 0
    blocked: int = 0
    idle: int = 0

    @property
    def total(self) -> int:
        """The sum of all parts, which is the job's length."""
        return sum(attrs.astuple(self))


def accounts(recording: Recording) -> list[Account]:
    """Return what the time of each rank of a job that is over went to."""
    return [_account(recording, rank) for rank in range(recording.ranks)]


def _account(recording: Recording, rank: int) -> Account:
    found = Account()
    for begin, end, why in recording.cpu[rank]:
        part = _PARTS.get(why, "overhead")
        setattr(found, part, getattr(found, part) + end - begin)
    found.idle = recording.length - found.total
    return found
