"""The report of a job that gets no further: who waits where, for what, since when, and for whom (rule D).

`gather` makes plain records of the ranks of a running job, `explain` a report of records, wherever these come from, and
`text` the lines that people read: causes first, the rest put together.
"""

from conduit.launch.reports.explain import explain
from conduit.launch.reports.failure import note_failure
from conduit.launch.reports.gather import broken_off, describe, gather
from conduit.launch.reports.interrupt import note_interrupt
from conduit.launch.reports.records import (
    Cause,
    Edge,
    HeldRecord,
    MessageRecord,
    RankRecord,
    Report,
    SourceLine,
    TaskRecord,
    WaitRecord,
)
from conduit.launch.reports.text import brief, full

__all__ = [
    "Cause",
    "Edge",
    "HeldRecord",
    "MessageRecord",
    "RankRecord",
    "Report",
    "SourceLine",
    "TaskRecord",
    "WaitRecord",
    "brief",
    "broken_off",
    "describe",
    "explain",
    "full",
    "gather",
    "note_failure",
    "note_interrupt",
]
