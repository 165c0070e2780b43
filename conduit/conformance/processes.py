"""Checks on a network whose ranks are processes: they run inside of these, many in one job.

Every process of a job runs the same checks in the same order, `conduit.run` among them, and writes down what comes of
each (`conduit.conformance.worker`).  A check is passed when it is in all of them.  One that ends its job, as it must
where a rank raises, is judged by the processes that came to its end.  It has the mark `ends` and a job to itself;
should another one end its job, the checks after it get a new one.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conduit.conformance.cases import Case
from conduit.contract import RankKind

WORKER = "conduit.conformance.worker"
QUIET_S = 60.0  # without a word from any process: they hang
_LOOK_S = 0.05


def case_of(item: pytest.Item) -> Case | None:
    """Return the case that a check is put to."""
    case = getattr(item, "callspec", None) and item.callspec.params.get("case")  # type: ignore[attr-defined]
    return case if isinstance(case, Case) else None


def key_of(item: pytest.Item) -> str:
    """Return what names a check in every process: its file and what stands behind it."""
    return f"{item.path}::{item.nodeid.partition('::')[2]}"


def _ends(item: pytest.Item) -> bool:
    return item.get_closest_marker("ends") is not None


class Jobs:
    """The jobs of one session, one after another.

    Args:
        seed: where the seeds of cases start.
        traceback: the style, as pytest's `--tb`.
    """

    def __init__(self, seed: int, traceback: str) -> None:
        self._settings = ["--conformance-seed", str(seed), "--tb", traceback]
        self._known: dict[str, list[dict[str, Any]]] = {}
        self._job: _Job | None = None

    def runs(self, item: pytest.Item) -> bool:
        """Say whether a check runs inside of processes, and this is none of them."""
        case = case_of(item)
        if case is None or case.network.rank_kind is not RankKind.PROCESS:
            return False
        if case.cls.announced(case.options) is not None:
            return False
        return not any(mark.name == "skip" for mark in item.iter_markers())

    def place(self, item: pytest.Item) -> tuple[str, int, bool]:
        """Return what brings together the checks of one job, and puts those that end theirs behind them."""
        case = case_of(item)
        if case is None or not self.runs(item):
            return "", 0, False
        return case.spec, case.size, _ends(item)

    def reports(self, item: pytest.Item) -> list[pytest.TestReport]:
        """Return the reports of one check; the job that it runs in has those after it on as many processes too."""
        key = key_of(item)
        while key not in self._known:
            if self._job is None:
                self._job = _Job(self._waiting(item), case_of(item), self._settings)
            self._job.look()
            self._known |= self._job.verdicts()
            if self._job.over:
                self._job.close()
                self._job = None
        found = []
        for data in self._known[key]:
            report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
            report.nodeid, report.location = item.nodeid, item.location
            found.append(report)
        return found

    def close(self) -> None:
        """End the job that runs."""
        if self._job is not None:
            self._job.close()

    def _waiting(self, item: pytest.Item) -> list[str]:
        """Return this check and all that are to run in the same job and have not."""
        if _ends(item):
            return [key_of(item)]
        alike = [other for other in item.session.items if self.place(other) == self.place(item)]
        return [key for key in map(key_of, alike) if key not in self._known]


class _Job:
    """One job, and what its processes have written so far."""

    def __init__(self, keys: Sequence[str], case: Case | None, settings: Sequence[str]) -> None:
        assert case is not None
        self._keys = keys
        self._size = case.size
        self._folder = tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True)
        self._path = Path(self._folder.name)
        (self._path / "checks").write_text("\n".join(keys))
        program = ["-m", WORKER, str(self._path), case.spec, "--conformance-ranks", str(self._size), *settings]
        command, defaults = case.cls.start_command(case.options, self._size, program)
        self._output = (self._path / "output").open("wb")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**defaults, **os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
        self._read = [0] * self._size
        self._begun: set[str] = set()
        self._reports: dict[str, list[list[dict[str, Any]]]] = {key: [[] for _ in range(self._size)] for key in keys}
        self._heard = time.monotonic()
        self._told: set[str] = set()
        self.over = False

    def look(self) -> None:
        """Read what was written; find out whether the job is over."""
        time.sleep(_LOOK_S)
        ended = self._process.poll() is not None
        if any([self._read_rank(rank) for rank in range(self._size)]):
            self._heard = time.monotonic()
        elif not ended and time.monotonic() - self._heard > QUIET_S:
            self._stop()
            ended = True
        self.over = ended

    def verdicts(self) -> dict[str, list[dict[str, Any]]]:
        """Return the reports of checks that are new."""
        new = {}
        for key in self._keys:
            if key not in self._told and all(_complete(mine) for mine in self._reports[key]):
                new[key] = _worst(self._reports[key])
        self._told |= new.keys()
        if self.over:
            left = next((key for key in self._keys if key not in self._told), None)
            # It has ended the job, unless one did that all processes have come to the end of.
            if left is not None and (left in self._begun or not self._told):
                new[left] = self._last(left)
                self._told.add(left)
        return new

    def close(self) -> None:
        """End all processes and remove what they have written."""
        self._stop()
        self._output.close()
        self._folder.cleanup()

    def _stop(self) -> None:
        """End the launcher, which ends the processes."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                with suppress(subprocess.TimeoutExpired):  # Ctrl-C within `poll` leaves the lock of its waits taken
                    self._process.wait(10)

    def _read_rank(self, rank: int) -> bool:
        """Read the new lines of one process; say whether there were any."""
        try:
            with (self._path / str(rank)).open("rb") as file:
                file.seek(self._read[rank])
                data = file.read()
        except FileNotFoundError:
            return False
        whole = data[: data.rfind(b"\n") + 1]
        self._read[rank] += len(whole)
        for line in whole.splitlines():
            key, report = json.loads(line)
            if report is None:
                self._begun.add(key)
            else:
                self._reports[key][rank].append(report)
        return bool(whole)

    def _last(self, key: str) -> list[dict[str, Any]]:
        """Return the reports of the check with which the job has ended."""
        reached = [mine for mine in self._reports[key] if any(each["when"] == "call" for each in mine)]
        if reached:
            return _worst(reached)
        text = (self._path / "output").read_text(errors="replace")[-4000:]
        why = (
            "no process has come to the end of this check" if key in self._begun else "no process has begun this check"
        )
        path, _, name = key.partition("::")
        return [
            {
                "$report_type": "TestReport", "nodeid": key, "location": (path, 0, name), "keywords": {},
                "outcome": "failed", "longrepr": f"{why}; the processes have printed:\n{text}", "when": "call",
                "sections": [], "duration": 0.0, "start": 0.0, "stop": 0.0, "user_properties": [],
            }
        ]  # fmt: skip


def _complete(reports: Sequence[dict[str, Any]]) -> bool:
    return any(each["when"] == "teardown" for each in reports)


def _worst(by_rank: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the reports of the process for which a check went worst: failed, skipped, passed."""
    order = {"failed": 0, "skipped": 1, "passed": 2}
    return min(by_rank, key=lambda mine: min((order[each["outcome"]] for each in mine), default=2))
