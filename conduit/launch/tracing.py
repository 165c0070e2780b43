"""Recordings of the jobs that start here, and traces of them as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import trio

from conduit.contract import JobSetup
from conduit.core.observer import CallListener
from conduit.errors import BadRequest, ConduitError
from conduit.launch.observing import observed
from conduit.launch.printing import output, terminal
from conduit.launch.printing.terminal import tell_written
from conduit.launch.registry import Spec
from conduit.launch.timelines import place_of
from conduit.launch.vocabularies import of_layers
from conduit.seeing.pictures import ShownList
from conduit.seeing.report import ReportRecording, RunReport, SimulatedReportRecording
from conduit.seeing.timeline import ChromeTrace, Recording


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """Write a trace of all jobs that start inside to a file, as `conduit.launch.traced.tracing` says."""
    if output.is_framed():
        with observed(HandedOver):
            yield
    else:
        with _TraceFile(path) as file, observed(lambda spec, setup: _Written(file, spec, setup)):
            yield


def report_recording(spec: Spec, setup: JobSetup) -> ReportRecording:
    """Return an observer that records a job for its report: all that its kind of network tells."""
    words = of_layers()
    if spec.simulated:
        return SimulatedReportRecording(spec.text, setup.hosts, place_of, _here, words, spec.cls.alignment)
    return ReportRecording(spec.text, setup.hosts, place_of, _here, words)


@contextmanager
def reporting(program: str = "the program") -> Iterator[list[RunReport]]:
    """Make a report of each job that starts inside; to be looked at when the job is over.

    Args:
        program: what runs, for titles.

    Yields:
        The reports, in the order in which the jobs start; a cell of a notebook shows all of them.
    """
    reports: list[RunReport] = ShownList()

    def make(spec: Spec, setup: JobSetup) -> ReportRecording:
        reports.append(RunReport(report_recording(spec, setup), program))
        return reports[-1].recording

    with observed(make):
        yield reports


class HandedOver(Recording):
    """Stands, in a process that is a rank, for the recording of who has started it, which has what all ranks record."""

    def __init__(self, spec: Spec, setup: JobSetup) -> None:
        super().__init__(spec.text, setup.hosts)


class ReportHandedOver(HandedOver, CallListener):
    """Stands likewise for the recording for a report."""


class _TraceFile:
    """The file of a trace: a context.

    Where ranks are processes that a launcher has started, each has this context, and knows its rank only later; so the
    file is only touched at first, and then written by rank 0 alone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open = ExitStack()
        self._trace: ChromeTrace | None = None
        self._failed: OSError | None = None
        self._is_new = False

    def __enter__(self) -> _TraceFile:
        self._is_new = not self._path.exists()
        try:
            with open(self._path, "a", encoding="utf-8"):
                pass
        except OSError as error:
            raise BadRequest(
                f"--trace {self._path} cannot be made: {error.strerror}; name a file in a folder that takes one"
            ) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        first = output.is_first()
        with self._writing():
            if first and self._trace is None and self._failed is None:
                self._leave(error)
                return
            self._open.close()
            if self._failed is not None:
                raise self._failed
        if first:
            tell_written(self._path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConduitError(f"--trace {self._path} cannot be written: {error.strerror}") from error

    def _leave(self, error: BaseException | None) -> None:
        """Leave the file as it was, since no job has come so far that there is anything to write."""
        if self._is_new:
            self._path.unlink(missing_ok=True)
        if not isinstance(error, BadRequest):  # a wrong call says all that there is to say
            terminal.tell(f"no trace in {self._path}: no job has handed over what it had recorded")

    def add(self, recording: Recording) -> None:
        """Add a job that is over; that it cannot be written is no failure of the job, and raised at the end."""
        if output.is_first() and self._failed is None:
            try:
                self._begun().add(recording)
            except OSError as error:
                self._failed = error

    def _begun(self) -> ChromeTrace:
        if self._trace is None:
            file = self._open.enter_context(self._path.open("w", encoding="utf-8"))
            self._trace = self._open.enter_context(ChromeTrace(file))
        return self._trace


class _Written(Recording):
    """A recording that is written when its job is over."""

    def __init__(self, file: _TraceFile, spec: Spec, setup: JobSetup) -> None:
        super().__init__(spec.text, setup.hosts, place_of)
        self._file = file

    def ended(self, ticks: Sequence[int], *, failed: bool) -> None:
        super().ended(ticks, failed=failed)
        self._file.add(self)


def _here() -> str:
    """Return the line of the program that is running, "" where none is."""
    try:
        return place_of(trio.lowlevel.current_task())
    except RuntimeError:  # in no task
        return ""
