"""One process of a job in which checks run; `conduit.conformance.processes` starts it.

python -m conduit.conformance.worker FOLDER SPEC [pytest's options]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TextIO

import pytest

from conduit.conformance.processes import key_of
from conduit.launch.errors.watches import ended_by
from conduit.launch.registry import parse_spec


class Reporter:
    """Writes a line at the begin of each check, and one for each of its reports.

    Args:
        file: where it writes.
        rank: which process this is.
        checks: those that are to run, by name.
    """

    def __init__(self, file: TextIO, rank: int, checks: Sequence[str]) -> None:
        self._file = file
        self._rank = rank
        self._places = {key: place for place, key in enumerate(checks)}
        self._key = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note which check runs; where it has ended the job, run no more."""
        self._key = key_of(item)
        self._write(None)
        done = yield
        if ended_by() is not None:
            item.session.shouldstop = "the job has ended"
        return done

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run the checks in the order of the list, in every process."""
        items.sort(key=lambda item: self._places[key_of(item)])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a report, unless it is of a job that another process has ended: what `run` raises here says nothing."""
        if ended_by() in (None, self._rank):
            self._write(report)

    def _write(self, report: pytest.TestReport | None) -> None:
        data = None if report is None else report._to_json() | {"$report_type": "TestReport"}
        self._file.write(json.dumps([self._key, data], default=str) + "\n")
        self._file.flush()


def main(folder: str, spec: str, *settings: str) -> int:
    """Run the checks that the folder names; returns the exit status."""
    network = parse_spec(spec)
    processes = network.cls.join(network.options)
    checks = Path(folder, "checks").read_text().splitlines()
    with Path(folder, str(processes.rank)).open("w") as file:
        given = ["-c", os.devnull, "--rootdir", folder, "--import-mode=importlib", "-p", "no:cacheprovider"]
        given += ["-p", "conduit.conformance.plugin", "--conduit", spec, "-q", *settings, *checks]
        status = pytest.main(given, plugins=[Reporter(file, processes.rank, checks)])
    return 0 if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else int(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
