"""`conduit run --report DIR`."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conduit.contract import JobSetup
from conduit.errors import BadRequest, ConduitError
from conduit.launch.observing import observed
from conduit.launch.registry import Spec
from conduit.launch.tracing import report_recording
from conduit.seeing.pictures import check_drawing
from conduit.seeing.report import Advice, ReportRecording, write_report


class Reported:
    """The reports of the jobs of one command.

    Args:
        folder: for them; None: there are to be none.
        specs: on what the program runs.
        program: its file.

    Raises:
        BadRequest: the folder cannot be made, or ranks run in real time.
        ConduitError: matplotlib is missing.
    """

    def __init__(self, folder: Path | None, specs: Sequence[Spec], program: Path) -> None:
        self._folder = folder
        self._several = len(specs) > 1
        self._program = program.name
        self._recordings: list[ReportRecording] = []
        self._told: list[tuple[Path, list[Advice]]] = []
        if folder is None:
            return
        real = [spec.text for spec in specs if not spec.simulated]
        if real:
            raise BadRequest(
                f"--report: '{real[0]}' runs in real time, and only simulated networks tell what a report needs: "
                "what links carry and which bytes land; leave one of the two out, or take --trace"
            )
        check_drawing("--report")
        self._make(folder)

    @contextmanager
    def job(self) -> Iterator[None]:
        """Record the job inside, and write its report at its end, even if it fails."""
        if self._folder is None:
            yield
            return
        self._recordings.clear()
        with observed(self._observer):
            try:
                yield
            finally:
                for recording in self._recordings:
                    self._write(recording)

    def tell(self) -> None:
        """Print what the last report begins with, and where it is."""
        for path, told in self._told:
            for each in told:
                print(f"{each.what}\n  {each.remedy}")
            print(f"wrote {path}")
        self._told.clear()

    def _observer(self, spec: Spec, setup: JobSetup) -> ReportRecording:
        recording = report_recording(spec, setup)
        self._recordings.append(recording)
        return recording

    def _write(self, recording: ReportRecording) -> None:
        assert self._folder is not None
        folder = self._folder
        if self._several:
            folder = folder / re.sub(r"[^\w.=-]+", "_", recording.conduit)
            self._make(folder)
        try:
            told = write_report(recording, folder, self._program)
        except OSError as exc:
            raise ConduitError(f"--report {folder} cannot be written: {exc.strerror}") from exc
        self._told.append((folder / "report.html", told))

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as exc:
            raise BadRequest(
                f"--report {folder} cannot be made: {exc.strerror}; name a folder in one that exists"
            ) from None
