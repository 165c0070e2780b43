"""Timelines of the jobs that start here."""

from __future__ import annotations

from typing import Any

from conduit.contract import JobSetup
from conduit.core.started import started_at
from conduit.core.written import at
from conduit.launch.program.folders import is_own
from conduit.launch.program.tasks import program_place
from conduit.launch.registry import Spec
from conduit.seeing.timeline import Timeline


def timeline_of(spec: Spec, setup: JobSetup) -> Timeline:
    """Return an observer that records a job."""
    return Timeline(spec.text, setup.hosts, place_of)


def place_of(task: Any) -> str:
    """Return the line of the program at which a task is, "" where it is at none."""
    where = program_place(task, is_own) or started_at(task)
    return "" if where is None else f"{at(where[0], where[1])} in {where[2]}"
