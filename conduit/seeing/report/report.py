"""A job's report as an object, for programs and notebooks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import attrs

from conduit.core import arguments
from conduit.errors import BadRequest
from conduit.seeing.pictures import Table, check_drawing, shown
from conduit.seeing.report.advice import Advice, advice
from conduit.seeing.report.late import LatePoll
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.page import unadvised, write_report
from conduit.seeing.report.profile import Profile, profile
from conduit.words import is_a, many


class RunReport:
    """What a job that is over comes to, and what is wrong with it.

    Args:
        recording: the job.
        program: what ran, for the title.

    Attributes:
        recording: the job.
        program: what ran.
    """

    def __init__(self, recording: ReportRecording, program: str = "the program") -> None:
        self.recording = recording
        self.program = program

    @cached_property
    def profile(self) -> Profile:
        """The figures."""
        return profile(self.recording)

    @cached_property
    def advice(self) -> Sequence[Advice]:
        """What to change, the most worthwhile first."""
        return advice(self.recording, self.profile)

    def write(self, folder: Path | str) -> None:
        """Write report.html and its pictures to a folder, which is made if need be, in one that exists.

        Raises:
            BadRequest: that is no path.
            ConduitError: matplotlib is not installed.
            OSError: a file cannot be written.
        """
        if not isinstance(folder, str | os.PathLike):
            raise BadRequest(
                f"report.write: folder={arguments.shown(folder)} {is_a(folder)}; pass the path of a folder"
            )
        check_drawing("report.write")
        where = Path(folder)
        where.mkdir(exist_ok=True)
        write_report(self.recording, where, self.program)

    def to_json(self) -> str:
        """Return the figures and what to change as JSON; times are whole picoseconds."""
        found = self.profile
        content = {
            "program": self.program,
            "conduit": found.conduit,
            "ranks": found.ranks,
            "clock": "wall" if self.recording.in_real_time else "virtual",
            "ps": found.length,
            "failed": self.recording.failed,
            "failure": self.recording.failure.text if self.recording.failure is not None else None,
            "missing": list(self.recording.missing),
            "advice": [attrs.asdict(each) for each in self.advice],
            "ranks_ps": [attrs.asdict(account) for account in found.accounts],
            "traffic": [
                {"from": way[0], "to": way[1], "messages": count, "bytes": found.nbytes[way]}
                for way, count in sorted(found.messages.items())
            ],
            "sizes": [
                {"level": level, "bytes": nbytes, "count": count}
                for level, sizes in found.sizes.items()
                for nbytes, count in sorted(sizes.items())
            ],
            "lines": [attrs.asdict(line) for line in found.lines],
            "links": [attrs.asdict(link) for link in found.links],
            "late": [_late(late) for late in found.late],
        }
        return json.dumps(content, indent=1)

    def to_frame(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each line of the program; times are picoseconds.

        Raises:
            ConduitError: pandas is not installed.
        """
        return self._lines(1).frame("RunReport.to_frame")

    def _repr_html_(self) -> str:
        """Return what notebooks show: what to change, and the lines of the program."""
        told = "".join(
            f"<li><strong>{escape(each.what)}</strong><br>{escape(each.remedy)}</li>" for each in self.advice
        )
        title = f"{self.program} on {self.profile.conduit}, {self.profile.length / 1e6:,.3f} µs"
        failure = self.recording.failure
        parts = [] if failure is None else [f"<pre>{escape(failure.text)}</pre>"]
        parts.append(f"<ul>{told}</ul>" if told else f"<p>{escape(unadvised(self.recording, self.profile))}</p>")
        return shown(title, *parts, self._lines(1e6).html())

    def __repr__(self) -> str:
        whose = f"{self.program} on {self.recording.conduit}: {many(self.recording.ranks, 'rank')}"
        failed = ", failed" if self.recording.failed else ""
        found = f"{many(len(self.advice), 'thing')} to change" if self.advice else "nothing to change"
        return f"<RunReport of {whose}{failed}, {found if self.recording.over else 'not over'}>"

    def _lines(self, divisor: float) -> Table:
        unit = "ps" if divisor == 1 else "µs, all ranks"
        rows = [
            (line.place, line.waits, line.waited / divisor if divisor != 1 else line.waited, line.requests, line.nbytes)
            for line in self.profile.lines
        ]
        return Table(("line", "waits", f"waited {unit}", "requests", "bytes"), tuple(rows))


def _late(late: LatePoll) -> dict[str, Any]:
    """Return the figures of a rank that polled late, without the times of those who waited."""
    return attrs.asdict(late, filter=lambda field, _: field.name != "losses")
