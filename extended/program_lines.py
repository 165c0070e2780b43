"""Which line of the program is running, for reports and messages that name a call."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

SourceLine = tuple[str, int]
"""File and line of a call."""

_LINE_BITS, _FILE_BITS = 18, 13

_LAYERS = ("extended.", "conduit.")
_COMMANDS, _SUITE = "extended.commands.", ".conformance."  # programs, although they are in these packages


def program_line() -> SourceLine:
    """Return file and number of the program's line that is running: the innermost that is not the layers' or core's."""
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_LAYERS) or module.startswith(_COMMANDS) or _SUITE in module:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "an unknown line", 0


def line_word(place: SourceLine) -> int:
    """Return a line as an argument of a message, above 0: its number, and a checksum of its file's name."""
    file, line = place
    return _checksum(file) << _LINE_BITS | max(1, min(line, (1 << _LINE_BITS) - 1))


def read_line_word(word: int, files: Iterable[str]) -> str:
    """Return the line that another process has told by `line_word`, as text.

    Args:
        word: the argument.
        files: where it may be; the files of all modules are tried after them.
    """
    line = word & (1 << _LINE_BITS) - 1
    modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    known = (file for file in (*files, *modules) if file and _checksum(file) == word >> _LINE_BITS)
    file = next(known, None)
    return f"line {line} of its program" if file is None else f"{file}:{line}"


@cache
def _checksum(file: str) -> int:
    # Of the name alone: each process may have found the file by another path.
    return crc32(PurePath(file).name.encode()) & (1 << _FILE_BITS) - 1
