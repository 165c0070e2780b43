"""`conduit run --report DIR`."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from conduit.commandline.console import make_console, print_text
from conduit.commandline.files import make_folder
from conduit.commands.failures import ProgramFailed
from conduit.contract import JobSetup, RankKind
from conduit.errors import BadRequest, ConduitError
from conduit.launch.call_words import WRONG_CALL
from conduit.launch.observing import observed
from conduit.launch.printing import output, terminal
from conduit.launch.registry import Spec
from conduit.launch.tracing import ReportHandedOver, report_recording
from conduit.seeing.pictures import check_drawing
from conduit.seeing.report import FILES, PAGE, Advice, ReportRecording, write_report


def report_folders(folder: Path, specs: Sequence[Spec]) -> list[Path]:
    """Return where the reports of jobs on several conduits go: of one to the folder itself, else each to its own."""
    if len(specs) == 1:
        return [folder]
    names: list[str] = []
    for spec in specs:
        name = plain = re.sub(r"[^\w.=-]+", "_", spec.text)
        for number in count(2):
            if name.casefold() not in map(str.casefold, names):  # which some file systems take for the same
                break
            name = f"{plain}-{number}"
        names.append(name)
    return [folder / name for name in names]


def report_files(folder: Path, specs: Sequence[Spec]) -> list[Path]:
    """Return the files of these reports."""
    return [each / name for each in report_folders(folder, specs) for name in FILES]


class Reported:
    """The reports of the jobs of one command.

    Args:
        folder: for them.
        specs: on what the program runs.
        program: its file.

    Raises:
        BadRequest: the folder cannot be made, or a network tells nothing of its ranks.
        ConduitError: matplotlib is missing.
    """

    def __init__(self, folder: Path, specs: Sequence[Spec], program: Path) -> None:
        self._folder = folder
        self._folders = report_folders(folder, specs)
        self._program = program.name
        self._recordings: list[ReportRecording] = []
        self._told: list[tuple[Path, list[Advice]]] = []
        self._missing: list[Path] = []
        silent = [spec.text for spec in specs if not spec.simulated and spec.rank_kind is not RankKind.PROCESS]
        if silent:
            raise BadRequest(
                f"--report {folder}: conduit '{silent[0]}' runs in real time with all its ranks in one process, which "
                "tells of none of them what it does; leave one of the two out"
            )
        check_drawing("--report")
        if not output.is_framed():
            make_folder("report", folder)

    @contextmanager
    def job(self, number: int) -> Iterator[None]:
        """Record the job on the conduit of that number inside, and write its report at its end, even if it fails.

        A process that is a rank hands over what it has recorded to who has started it; under a launcher rank 0 writes.
        """
        if output.is_framed():
            with observed(ReportHandedOver):
                yield
            return
        self._recordings.clear()
        folder = self._folders[number]
        with observed(self._observer):
            try:
                yield
            except (ProgramFailed, SystemExit) as exc:
                status = exc.status if isinstance(exc, ProgramFailed) else exc.code
                if status != WRONG_CALL and not any(recording.over for recording in self._recordings):
                    self._missing.append(folder)
                raise
            finally:
                for recording in self._recordings:
                    if recording.over and output.is_first():
                        self._write(recording, folder)

    def tell(self) -> None:
        """Print what the last report begins with, and where it is; a terminal has its lines folded between words."""
        console = make_console(stderr=sys.stdout is sys.stderr)
        for path, told in self._told:
            for each in told:
                text = terminal.encodable(f"{each.what}\n  {each.remedy}", sys.stdout)
                if console.is_terminal:
                    print_text(console, text)
                else:
                    print(text)
            print(f"wrote {path}")
        self._told.clear()

    def tell_where(self) -> None:
        """Say, of a job that has failed, where its report is: its error has said the rest."""
        for path, _ in self._told:
            print(f"wrote {path}", file=sys.stderr)
        for folder in self._missing:
            terminal.tell(f"no report in {folder}: the ranks ended before they handed over what they had recorded")
            with suppress(OSError):  # it has files of another job
                folder.rmdir()
        self._told.clear()
        self._missing.clear()

    def _observer(self, spec: Spec, setup: JobSetup) -> ReportRecording:
        recording = report_recording(spec, setup)
        self._recordings.append(recording)
        return recording

    def _write(self, recording: ReportRecording, folder: Path) -> None:
        if folder != self._folder:
            make_folder("report", folder)
        try:
            told = write_report(recording, folder, self._program)
        except OSError as exc:
            raise ConduitError(f"--report {folder} cannot be written: {exc.strerror}") from exc
        self._told.append((folder / PAGE, told))
