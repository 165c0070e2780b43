"""Which line of the program is running, for reports and messages that name a call."""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING
from zlib import crc32

import trio

import conduit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from conduit import Endpoint

SourceLine = tuple[str, int]
"""File and line of a call."""

_LINE_BITS, _FILE_BITS = 18, 13

_LAYERS, _TRIO = ("extended.", "conduit."), "trio."
_COMMANDS, _SUITE = "extended.commands.", ".conformance."  # programs, although they are in these packages


def program_line() -> SourceLine:
    """Return file and number of the program's line that is running: the innermost that is not the layers' or core's.

    Of a task that runs none, as `nursery.start_soon(x.call)` makes one, it is the line that has started it.
    """
    frame = _program_frame()
    return _started_at() if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def line_here() -> str:
    """Return the program's line that is running as text, FILE:LINE; see `program_line`."""
    return "{}:{}".format(*program_line())


def _started_at() -> SourceLine:
    with suppress(conduit.ConduitError, RuntimeError):  # in no task, or in none of a rank
        file, _, line = conduit.current().started_at(trio.lowlevel.current_task()).rpartition(":")
        if file:
            return file, int(line)
    return "an unknown line", 0


def name_here(value: object) -> str:
    """Return what the function of the program that is running calls an object, "" where it is in no variable there."""
    frame = _program_frame()
    return "" if frame is None else next((name for name, here in frame.f_locals.items() if here is value), "")


def _program_frame() -> FrameType | None:
    frame = inspect.currentframe()
    while frame is not None and _is_layers(frame):
        frame = frame.f_back
    return _through_trio() if frame is not None and _module(frame).startswith(_TRIO) else frame


def _through_trio() -> FrameType | None:
    """Return the frame of the program that has called Trio, None where Trio itself has begun what runs."""
    try:
        first = getattr(trio.lowlevel.current_task().coro, "cr_frame", None)
    except RuntimeError:
        first = None
    frame = inspect.currentframe()
    while frame is not None and frame is not first and (_is_layers(frame) or _module(frame).startswith(_TRIO)):
        frame = frame.f_back
    return None if frame is first else frame


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def made_here(call: str) -> str:
    """Return a call and the program's line that is running, its file by name alone: ``pe.Lock at heat.py:4``."""
    file, line = program_line()
    return f"{call} at {PurePath(file).name}:{line}"


def lines_in(there: object, ep: Endpoint) -> list[str]:
    """Return the program's lines whose tasks, the running one left out, are in a method of an object.

    For errors: it looks at all tasks of the job.
    """
    found = []
    for task in _tasks():
        frames = [] if task is trio.lowlevel.current_task() else list(task.iter_await_frames())
        if any(frame.f_locals.get("self") is there for frame, _ in frames):
            lines = [
                f"{frame.f_code.co_filename}:{line}"
                for frame, line in frames
                if not (_is_layers(frame) or _module(frame).startswith(_TRIO))
            ]
            found.append(ep.started_at(task) or (lines[-1] if lines else ""))
    return [each for each in found if each]


def _tasks() -> Iterator[trio.lowlevel.Task]:
    root = trio.lowlevel.current_root_task()
    pending = [] if root is None else [root]
    while pending:
        task = pending.pop()
        yield task
        pending += [child for nursery in task.child_nurseries for child in nursery.child_tasks]


def _is_layers(frame: FrameType) -> bool:
    return _is_of_layers(frame.f_globals.get("__name__", ""))


@cache
def _is_of_layers(module: str) -> bool:
    return module.startswith(_LAYERS) and not module.startswith(_COMMANDS) and _SUITE not in module


def line_word(place: SourceLine) -> int:
    """Return a line as an argument of a message, above 0: its number, and a checksum of its file's name."""
    file, line = place
    return _checksum(file) << _LINE_BITS | max(1, min(line, (1 << _LINE_BITS) - 1))


def read_line_word(word: int, files: Iterable[str]) -> str:
    """Return the line that another process has told by `line_word`, as text.

    Args:
        word: the argument.
        files: where it may be.
    """
    line = word & (1 << _LINE_BITS) - 1
    file = next((each for each in files if _checksum(each) == word >> _LINE_BITS), None)
    return f"line {line} of its program" if file is None else f"{file}:{line}"


@cache
def _checksum(file: str) -> int:
    # Of the name alone: each process may have found the file by another path.
    return crc32(PurePath(file).name.encode()) & (1 << _FILE_BITS) - 1
