"""Errors of Python's own out of a network's code, which say nothing to who has written a program."""

from __future__ import annotations

import sys

from conduit.core.steps import steps_of
from conduit.errors import ConduitError
from conduit.launch.program.folders import is_library, is_own
from conduit.simnet import SimulatedConduit, SimulatedPort, Transport, Unit

_MORE = "; `python -X dev -m conduit ...` looks at every call of a network, and often names the one that is at fault"


def note_of_network(error: BaseException, name: str) -> None:
    """Note on an error which method of a network has raised it, where one has.

    Args:
        error: what has ended a job.
        name: of the job's network.
    """
    method = "" if isinstance(error, ConduitError) or not isinstance(error, Exception) else _method(error)
    if method:
        more = "" if sys.flags.dev_mode else _MORE
        error.add_note(f"raised in {method}: a mistake of the network {name!r}, not of the program{more}")


def _method(error: Exception) -> str:
    """Return the innermost method of a network's object that an error has come out of, "" where a program raised it."""
    for step in reversed(steps_of(error)):
        frame = step.tb_frame
        owner = frame.f_locals.get("self")
        if isinstance(owner, Transport | Unit | SimulatedConduit):
            return f"{type(owner).__name__}.{frame.f_code.co_name}"
        if isinstance(owner, SimulatedPort) or not (
            is_own(frame.f_code.co_filename) or is_library(frame.f_code.co_filename)
        ):
            return ""
    return ""
