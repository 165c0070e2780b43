"""What who listens to a job is told of the error that has ended it."""

from __future__ import annotations

from conduit.core.observer import Failure
from conduit.errors import HandlerError
from conduit.launch.errors.exits import exit_status
from conduit.launch.errors.raised import leaves, told_of
from conduit.launch.program.folders import is_library, is_own
from conduit.launch.program.tasks import error_line
from conduit.launch.reports import Report

_STANDSTILLS = ("deadlock", "livelock", "stall")
"""Kinds of reports of jobs that no time would have helped."""


def failure_of(error: BaseException) -> Failure:
    """Return what is said of an error that has ended a job: its report, or itself with the program's line."""
    notes = getattr(error, "__notes__", ())
    report = getattr(error, "report", None)
    if isinstance(report, Report):
        return Failure("\n".join((str(error), *notes)), report.kind in _STANDSTILLS)
    if isinstance(error, KeyboardInterrupt):
        return Failure("\n".join(notes) or "interrupted")
    if isinstance(error, SystemExit):
        return Failure("\n".join(notes) or f"exit with status {exit_status(error)}")
    return Failure("\n".join((*_said(error), *notes)))


def _said(error: BaseException) -> list[str]:
    """Return an error's kind and words, and lines on where it was raised: in the program, and in which handler."""
    parts = [_raised(part) for part in leaves(error)]
    lines = [": ".join(filter(None, told_of(parts[0] if len(parts) == 1 else error)))]
    places = [error_line(part, lambda file: is_own(file) or is_library(file)) for part in parts]
    lines += [f"at {place}" for place in dict.fromkeys(places) if place]
    return lines + list(
        dict.fromkeys(part.where for part in leaves(error) if isinstance(part, HandlerError) and part.where)
    )


def _raised(error: BaseException) -> BaseException:
    """Return what a handler raised in the place of the error that says so."""
    cause = error.__cause__
    return cause if isinstance(error, HandlerError) and error.where and cause is not None else error
