"""Recordings in parts: where every rank is a process, each records what itself does, and then they are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from conduit.contract import Identity
from conduit.core.observer import Failure
from conduit.seeing.timeline.recording import NEVER, RecordedWait, Recording, SentMessage, Spans


@attrs.define
class RankPart:
    """What the process of one rank has recorded of a job, in a form that can travel; its times are of its own clock.

    Attributes:
        ticks: the rank's time at the end, picoseconds.
        failed: whether the job has not ended well there.
        failure: what has ended it, if that was this rank's.
        cpu: how its CPU's time was spent.
        messages: what it has sent.
        noticed_at: when it has found messages.
        handled_at: when it has handled them, and by what.
        waits: of its tasks.
    """

    ticks: int
    failed: bool
    failure: Failure | None
    cpu: Spans
    messages: list[SentMessage]
    noticed_at: dict[Identity, int]
    handled_at: dict[Identity, tuple[int, int, str]]
    waits: list[RecordedWait]


def part_of(recording: Recording, rank: int) -> RankPart:
    """Return a rank's part of the recording of its process, whose job is over."""
    return RankPart(
        recording.length,
        recording.failed,
        recording.failure,
        recording.cpu[rank],
        recording.messages,
        recording.noticed_at,
        recording.handled_at,
        recording.waits[rank],
    )


def join_parts(
    recording: Recording,
    parts: Mapping[int, RankPart],
    moved: Callable[[int, int], int],
    number: Callable[[int, int], int],
    clock_errors: Sequence[int],
) -> None:
    """Let a recording of which nothing is there yet have what the ranks of a job have recorded; then the job is over.

    Args:
        recording: of the whole job.
        parts: by rank, from those that have been heard of.
        moved: returns the time on the common clock, from the job's begin on, at which a rank's own clock shows the
            given picoseconds.
        number: returns the number of a request that a rank has told of by another (`Identity.number`).
        clock_errors: by rank, by how many picoseconds its times may be wrong against those of rank 0.
    """
    for rank, part in parts.items():
        _join(recording, rank, part, partial(moved, rank), number)
    recording.messages.sort(key=lambda message: message.end)
    recording.clock_errors = tuple(clock_errors)
    recording.missing = tuple(rank for rank in range(recording.ranks) if rank not in parts)
    failures = [part.failure for _, part in sorted(parts.items()) if part.failure is not None]
    if failures:
        recording.failed_with(failures[0])
    ticks = [moved(rank, part.ticks) for rank, part in parts.items()]
    recording.ended(ticks or [0], failed=bool(recording.missing) or any(part.failed for part in parts.values()))


def _join(
    recording: Recording, rank: int, part: RankPart, moved: Callable[[int], int], number: Callable[[int, int], int]
) -> None:
    def known(message: Identity) -> Identity:
        return message if message.number >= 0 else message._replace(number=number(rank, message.number))

    last = when = -1
    for begin, end, why in part.cpu:
        since, last, when = when if begin == last else moved(begin), end, moved(end)
        if since < when:
            recording.cpu[rank].add(since, when, why)
    recording.messages += (
        SentMessage(known(message), moved(begin), moved(end), category, nbytes)
        for message, begin, end, category, nbytes in part.messages
    )
    for message, when in part.noticed_at.items():
        recording.noticed_at[known(message)] = moved(when)
    for message, (begin, end, handler) in part.handled_at.items():
        recording.handled_at[known(message)] = moved(begin), moved(end), handler
    recording.waits[rank] += (
        attrs.evolve(wait, begin=moved(wait.begin), end=NEVER if wait.end == NEVER else moved(wait.end))
        for wait in part.waits
    )
