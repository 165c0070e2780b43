"""Recordings for reports in parts: what the process of one rank adds to its part of a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from conduit.contract import Identity
from conduit.seeing.report.observer import Called, ReportRecording
from conduit.seeing.report.vocabulary import Vocabulary
from conduit.seeing.timeline import RankPart, part_of


@attrs.define
class ReportPart(RankPart):
    """What the process of one rank has recorded of a job for its report.

    Attributes:
        lines: the line of the program that made each request of the rank.
        vocabularies: by line of the program, the words of the layer that it calls.
        calls: of the rank.
    """

    lines: dict[Identity, str]
    vocabularies: dict[str, Vocabulary]
    calls: list[Called]


def report_part_of(recording: ReportRecording, rank: int) -> ReportPart:
    """Return a rank's part of the recording of its process, whose job is over."""
    part = part_of(recording, rank)
    return ReportPart(
        **attrs.asdict(part, recurse=False),
        lines=recording.lines,
        vocabularies=recording.vocabularies,
        calls=recording.calls,
    )


def join_report_parts(
    recording: ReportRecording, parts: Mapping[int, RankPart], moved: Callable[[int, int], int]
) -> None:
    """Let the recording of a whole job have what the ranks have recorded for its report; `join_parts` does the rest.

    Args:
        recording: of the whole job.
        parts: by rank, from those that have been heard of.
        moved: as for `join_parts`.
    """
    for rank, part in parts.items():
        if isinstance(part, ReportPart):
            recording.lines |= part.lines
            recording.vocabularies |= part.vocabularies
            recording.calls += (
                call._replace(begin=moved(rank, call.begin), end=moved(rank, call.end)) for call in part.calls
            )
