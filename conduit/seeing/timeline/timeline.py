"""The timeline of a job, as its result has it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import attrs

from conduit.contract import Category
from conduit.core import arguments
from conduit.errors import BadRequest
from conduit.seeing.pictures import Table, shown
from conduit.seeing.timeline.accounts import Account, accounts
from conduit.seeing.timeline.chrome import ChromeTrace
from conduit.seeing.timeline.picture import connected, draw_timeline
from conduit.seeing.timeline.recording import NEVER, Recording
from conduit.seeing.timeline.tracks import spans_of
from conduit.words import is_a, many

Part = Literal["accounts", "cpu", "messages", "waits", "links"]

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "accounts": ("rank", *(field.name for field in attrs.fields(Account))),
    "cpu": ("rank", "begin", "end", "why", "what", "line"),
    "messages": (
        "source", "dest", "number", "reply", "category", "nbytes", "begin", "end", "noticed", "handled", "done",
        "handler",
    ),
    "waits": ("rank", "task", "begin", "end", "what", "ranks", "line"),
    "links": ("name", "begin", "end", "nbytes"),
}  # fmt: skip


class Timeline(Recording):
    """A recording that can be looked at: `result.trace`."""

    def write(self, path: str | Path) -> None:
        """Write it as a trace in Chrome's JSON, which Perfetto and chrome://tracing open.

        Args:
            path: the file.

        Raises:
            BadRequest: that is no path.
            OSError: it cannot be written.
        """
        if not isinstance(path, str | os.PathLike):
            raise BadRequest(f"trace.write: path={arguments.shown(path)} {is_a(path)}; pass the path of a file")
        with open(path, "w", encoding="utf-8") as file, ChromeTrace(file) as trace:
            trace.add(self)

    def accounts(self) -> list[Account]:
        """Return what the time of each rank went to."""
        return accounts(self)

    def svg(self, begin: float | None = None, end: float | None = None) -> str:
        """Return a picture of it as SVG: a row for each rank, a line for each message if they are not too many.

        Args:
            begin: from when on, seconds; None: from when the first rank is connected.
            end: until when, seconds; None: to the job's end.

        Raises:
            BadRequest: one of them is no number, or nothing is between them.
        """
        given: object = begin
        if isinstance(given, str | os.PathLike):
            path = arguments.shown(str(given))
            raise BadRequest(
                f"trace.svg: begin={arguments.shown(given)} {is_a(given)}; pass seconds, or nothing: it returns the "
                f"picture, and `Path({path}).write_text(trace.svg())` writes it"
            )
        times = {"begin": begin, "end": end}
        ticks = [
            None if when is None else round(arguments.number("trace.svg", name, when, arguments.MOST_SECONDS) * 1e12)
            for name, when in times.items()
        ]
        self._check_between(times, *ticks)
        return draw_timeline(self, *ticks)

    def _check_between(self, given: Mapping[str, object], begin: int | None, end: int | None) -> None:
        """Refuse times of a picture in which there would be nothing.

        Args:
            given: them as they were given.
            begin: the same, picoseconds.
            end: the same, picoseconds.
        """
        shown_begin, shown_end = (f"{name}={arguments.shown(each)}" for name, each in given.items())
        if begin is not None and end is not None and begin >= end:
            raise BadRequest(
                f"trace.svg: {shown_begin} is not before {shown_end}; give the earlier one first, in seconds"
            )
        if begin and begin >= self.length:
            raise BadRequest(
                f"trace.svg: {shown_begin} is not before the job's end, {self.length / 1e12:g} s; give an earlier one"
            )
        if begin is None and end is not None and end <= (first := connected(self)):
            raise BadRequest(
                f"trace.svg: {shown_end} is not after the time at which the first rank is connected, "
                f"{first / 1e12:g} s; give a later one, or begin=0 too"
            )

    def to_json(self) -> str:
        """Return the trace that `write` writes."""
        text = StringIO()
        with ChromeTrace(text) as trace:
            trace.add(self)
        return text.getvalue()

    def to_frame(self, of: Part = "accounts") -> Any:
        """Return a `pandas.DataFrame`; times are whole picoseconds, missing where something has not happened.

        Args:
            of: "accounts" (what the time of each rank went to), "cpu" (what each CPU did), "messages", "waits" (of
                tasks) or "links" (what links and engines carried), a row for each.

        Raises:
            BadRequest: it is none of these.
            ConduitError: pandas is not installed.
        """
        if not isinstance(of, str) or of not in _COLUMNS:
            raise BadRequest(
                f"to_frame: of={arguments.shown(of)} is no part of a trace; give one of {', '.join(_COLUMNS)}"
            )
        return self._table(of).frame("trace.to_frame")

    def __repr__(self) -> str:
        messages = sum(1 for _ in self.lives())
        seconds = f"{self.length / 1e12:.9f} s"
        return f"<Timeline of {many(self.ranks, 'rank')} on {self.conduit}: {seconds}, {many(messages, 'message')}>"

    def _repr_html_(self) -> str:
        """Return what notebooks show: what happened when, and the time of each rank, in microseconds and in parts."""
        where = f"{many(self.ranks, 'rank')} on {self.conduit}"
        title = f"{where}, {self.length / 1e6:,.3f} µs{', failed' if self.failed else ''}"
        rows = [(rank, *(ps / 1e6 for ps in attrs.astuple(account))) for rank, account in enumerate(self.accounts())]
        titles = ("rank", *(f"{name} µs" for name in _COLUMNS["accounts"][1:]))
        return shown(title, self.svg(), Table(titles, tuple(rows)).html())

    def _table(self, of: str) -> Table:
        return Table(_COLUMNS[of], tuple(getattr(self, f"_rows_of_{of}")()))

    def _rows_of_accounts(self) -> Iterator[tuple[object, ...]]:
        for rank, account in enumerate(self.accounts()):
            yield rank, *attrs.astuple(account)

    def _rows_of_cpu(self) -> Iterator[tuple[object, ...]]:
        for rank in range(self.ranks):
            for (begin, end, why), wait in spans_of(self, rank):
                yield rank, begin, end, why, wait.what if wait else "", wait.place if wait else ""

    def _rows_of_messages(self) -> Iterator[tuple[object, ...]]:
        for life in self.lives():
            message, category = life.message, Category(life.category).name.lower()
            times = (None if when == NEVER else when for when in (life.noticed, life.handled, life.done))
            ends = message.source, message.dest, message.number, message.reply
            yield *ends, category, life.nbytes, life.begin, life.end, *times, life.handler

    def _rows_of_waits(self) -> Iterator[tuple[object, ...]]:
        for rank, waits in enumerate(self.waits):
            for wait in waits:
                yield rank, wait.task, wait.begin, wait.end, wait.what, wait.ranks, wait.place

    def _rows_of_links(self) -> Iterator[tuple[object, ...]]:
        for name in sorted(self.links):
            for row in self.links[name].rows():
                yield name, *row
