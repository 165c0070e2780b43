"""Recordings of the jobs that start here, and traces of them as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from conduit.contract import JobSetup
from conduit.errors import ConduitError
from conduit.launch.observing import observed
from conduit.launch.registry import Spec
from conduit.launch.reports.folders import is_own
from conduit.launch.tasks import program_place, started_at
from conduit.seeing.report import Report, ReportRecording
from conduit.seeing.timeline import ChromeTrace, Recording, Timeline


def timeline_of(spec: Spec, setup: JobSetup) -> Timeline:
    """Return an observer that records a job."""
    return Timeline(spec.text, setup.hosts, _place)


@contextmanager
def tracing(path: Path | None) -> Iterator[None]:
    """Write a trace of all jobs that start inside to one file, each as soon as it is over.

    Args:
        path: the file; None: there is to be none.

    Raises:
        ConduitError: it cannot be written.
    """
    if path is None:
        yield
        return
    try:
        with open(path, "w", encoding="utf-8") as file, ChromeTrace(file) as trace:

            def make(spec: Spec, setup: JobSetup) -> Recording:
                return _Written(trace, spec, setup)

            with observed(make):
                yield
    except OSError as error:
        raise ConduitError(f"--trace {path} cannot be written: {error.strerror}") from error


def report_recording(spec: Spec, setup: JobSetup) -> ReportRecording:
    """Return an observer that records a job for its report."""
    return ReportRecording(spec.text, setup.hosts, _place, _here)


@contextmanager
def reporting(program: str = "the program") -> Iterator[list[Report]]:
    """Make a report of each job that starts inside; to be looked at when the job is over.

    Args:
        program: what runs, for titles.

    Yields:
        The reports, in the order in which the jobs start.
    """
    reports: list[Report] = []

    def make(spec: Spec, setup: JobSetup) -> ReportRecording:
        reports.append(Report(report_recording(spec, setup), program))
        return reports[-1].recording

    with observed(make):
        yield reports


class _Written(Recording):
    """A recording that is written when its job is over."""

    def __init__(self, trace: ChromeTrace, spec: Spec, setup: JobSetup) -> None:
        super().__init__(spec.text, setup.hosts, _place)
        self._trace = trace

    def ended(self, ticks: Sequence[int], *, failed: bool) -> None:
        super().ended(ticks, failed=failed)
        self._trace.add(self)


def _here() -> str:
    """Return the line of the program that is running, "" where none is."""
    try:
        return _place(trio.lowlevel.current_task())
    except RuntimeError:  # in no task
        return ""


def _place(task: Any) -> str:
    """Return the line of the program at which a task is, "" where it is at none."""
    where = program_place(task, is_own) or started_at(task)
    return "" if where is None else f"{where[0]}:{where[1]} in {where[2]}"
