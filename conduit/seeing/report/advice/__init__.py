"""What is wrong with a program, in plain words, and what to do about it.

Each check looks for one pattern in a profile.
"""

from __future__ import annotations

from conduit.seeing.report.advice.accesses import element_wise
from conduit.seeing.report.advice.computing import imbalance, not_polled
from conduit.seeing.report.advice.contacts import contacts
from conduit.seeing.report.advice.from_one import from_one
from conduit.seeing.report.advice.hot_spots import atomics, hot_spots, locks
from conduit.seeing.report.advice.network import first_contacts, full_queues, unaligned
from conduit.seeing.report.advice.openings import openings
from conduit.seeing.report.advice.parts import Advice, of_ranks_alike
from conduit.seeing.report.advice.short import short_messages
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.profile import Profile

__all__ = ["Advice", "advice", "stands_still"]


def advice(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Return what to change, the most worthwhile first; of a job that took no time or stood still nothing."""
    if not found.length or stands_still(recording):
        return []
    met = contacts(recording, found)
    every = [
        *not_polled(recording, found),
        *imbalance(recording, found),
        *of_ranks_alike(element_wise(recording, found, met)),
        *of_ranks_alike(atomics(recording, found)),
        *of_ranks_alike(openings(recording, found)),
        *locks(recording, found),
        *hot_spots(recording, found),
        *full_queues(recording, found, met),
        *unaligned(recording, found),
    ]
    # On some networks first contacts are in every short program: they are told beside the rest, and never in its place.
    rest = every or from_one(recording, found, met) or short_messages(recording, found, met)
    return sorted([*rest, *first_contacts(found, met)], key=lambda each: -each.share)


def stands_still(recording: ReportRecording) -> bool:
    """Say whether a job got no further: its full queues and long waits are what that looks like."""
    return recording.failure is not None and recording.failure.standstill
