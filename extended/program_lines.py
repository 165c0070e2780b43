"""Which line of the program is running, for reports and messages that name a call."""

from __future__ import annotations

import inspect

_LAYERS = ("extended.", "conduit.")
_COMMANDS, _SUITE = "extended.commands.", ".conformance."  # programs, although they are in these packages


def program_line() -> tuple[str, int]:
    """Return file and number of the program's line that is running: the innermost that is not the layers' or core's."""
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_LAYERS) or module.startswith(_COMMANDS) or _SUITE in module:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "an unknown line", 0
