"""Which files are programs, whose lines say something to their authors, and which are not; which frame is of one."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import site
import sys
import sysconfig
from functools import cache
from importlib.machinery import ModuleSpec
from types import FrameType

from conduit.launch import entry_points

_INSTALLED = (*site.getsitepackages(), site.getusersitepackages())  # those of the system and of the user too
_LIBRARIES = tuple(
    {path + os.sep for path in (*map(sysconfig.get_path, ("stdlib", "purelib", "platlib")), *_INSTALLED)}
)
_MADE = ("<frozen ", "<attrs generated ")
"""How the names of files begin of which there are no lines."""
_PROGRAMS = ("benchmarks", "commands", "conformance")


@cache
def is_own(file: str) -> bool:
    """Say whether the lines of a file say nothing to the author of a program: the core's, and those of layers.

    A layer is what has registered as one, as this project's networks have.  A plug-in's network has not: who has its
    package writes programs there as well.  Commands, benchmarks and suites are programs too.
    """
    return file.startswith(_own_folders())


def is_made(frame: FrameType) -> bool:
    """Say whether Python has made a frame's code by itself, of named tuples, and of classes of this project.

    Its file is `<string>`, as that of a program on the command line is.
    """
    module = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename == "<string>" and module.startswith(("namedtuple_", *_modules()))


def is_library(file: str) -> bool:
    """Say whether a file came with Python or was installed, as numpy: who called it is of interest.

    Commands, benchmarks and suites of this project are none, wherever they are installed.
    """
    return file.startswith(_LIBRARIES) and not is_own(file) and not is_of_project(file)


def is_of_project(file: str) -> bool:
    """Say whether a file is in a package of this project, be it a program: a command, a benchmark, a suite."""
    return file.startswith(_whole_folders())


def is_below(file: str) -> bool:
    """Say whether the lines of a file are those of what this package stands on: Trio, attrs, and how Python imports."""
    return file.startswith(_folders_below())


def is_between(file: str) -> bool:
    """Say whether the lines of a file lie between those of a program, or behind them: own ones, and those of `with`."""
    return is_own(file) or file == contextlib.__file__


def program_frame() -> tuple[FrameType | None, int]:
    """Return the innermost frame of a program that runs, and how many calls away from the caller's line that is.

    That number is a `stacklevel` for a warning of the caller; 1 is the caller itself.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    return frame, level


@cache
def _own_folders() -> tuple[str, ...]:
    return (*_folders_below(), *(path for name in _own_names() for path in _parts_of(name)))


@cache
def _folders_below() -> tuple[str, ...]:
    return (*_MADE, *(path for name in ("trio", "outcome") for path in _parts_of(name)))


@cache
def _whole_folders() -> tuple[str, ...]:
    """Return the folders of those packages, with the programs in them."""
    names = dict.fromkeys(name.partition(".")[0] for name in _own_names())
    return tuple(folder + os.sep for name in names for folder in _folders_of(name))


@cache
def _modules() -> tuple[str, ...]:
    return tuple(f"{name.partition('.')[0]}." for name in _own_names())


def _own_names() -> list[str]:
    return list(dict.fromkeys(["conduit", *entry_points.layers()]))


def _folders_of(package: str) -> list[str]:
    spec = _spec_of(package)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _spec_of(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):  # of a plugin that cannot be imported
        return None


def _parts_of(module: str) -> list[str]:
    """Return the files and folders of a package that are no programs; of a lone module its file."""
    spec = _spec_of(module)
    if spec is None:
        return []
    if not spec.submodule_search_locations:
        return [spec.origin] if spec.origin else []
    return [path for folder in spec.submodule_search_locations for path in _parts_in(folder)]


def _parts_in(folder: str) -> list[str]:
    """Return the files and folders in one, of those that hold programs somewhere the parts of them that are none."""
    found = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            if name not in _PROGRAMS:
                found += _parts_in(path) if _holds_programs(path) else [path + os.sep]
        elif name.endswith(".py"):
            found.append(path)
    return found


def _holds_programs(folder: str) -> bool:
    return any(name in _PROGRAMS for _, names, _ in os.walk(folder) for name in names)
