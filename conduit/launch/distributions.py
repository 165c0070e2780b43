"""What is installed, as `importlib.metadata` tells, whose own imports take as long as half of this package.

It tells of folders on the path: their entry points and versions are read from there.  Where there may be something that
is found in another way, as in an archive, Python is asked.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from importlib.metadata import Distribution

WRITTEN = re.compile(r"(?P<module>[\w.]+)\s*(:\s*(?P<attribute>[\w.]+)\s*)?((?P<extras>\[.*\])\s*)?$")
"""How the value of an entry point is written."""
_FOLDERS = (".dist-info", ".egg-info")
"""How the folders end that tell of what is installed."""
_SEPARATORS = re.compile(r"[-_.]+")


class Entry(Protocol):
    """An entry point, read here or by Python."""

    @property
    def name(self) -> str:
        """What it is looked up by."""

    @property
    def value(self) -> str:
        """Where it leads: `package.module:Class`."""

    @property
    def module(self) -> str:
        """The module of that."""

    @property
    def dist(self) -> Distribution | None:
        """What has it, None where that is not known."""

    def load(self) -> Any:
        """Import what it leads to."""


class EntryPoint(NamedTuple):
    """An entry point that was read here.

    Attributes:
        name: what it is looked up by.
        value: where it leads.
        folder: which tells of what has it.
    """

    name: str
    value: str
    folder: str

    @property
    def module(self) -> str:
        """The module that it leads to."""
        return self._parts()[0]

    @property
    def dist(self) -> Distribution:
        """What has it, as Python tells of that: for errors."""
        from importlib.metadata import Distribution

        return Distribution.at(self.folder)

    def load(self) -> Any:
        """Import what it leads to."""
        module, attribute = self._parts()
        return reduce(getattr, filter(None, attribute.split(".")), import_module(module))

    def _parts(self) -> tuple[str, str]:
        found = WRITTEN.match(self.value)
        assert found is not None
        return found["module"], found["attribute"] or ""


def entry_points(*, group: str) -> Sequence[Entry]:
    """Return the entry points of a group, those first that come first on the path."""
    folders = _folders()
    found: list[EntryPoint] = []
    for folder in folders or ():
        text = _text(os.path.join(folder, "entry_points.txt"))
        for name, equals, value in _of_group(text.splitlines(), group) if f"[{group}]" in text else ():
            if not equals:
                folders = None
            found.append(EntryPoint(name.strip(), value.strip(), folder))
    if folders is None:
        from importlib import metadata

        return tuple(metadata.entry_points(group=group))
    return found


def version(name: str) -> str:
    """Return the version of what is installed under a name.

    Raises:
        importlib.metadata.PackageNotFoundError: nothing is.
    """
    for folder in _folders() or ():
        if _key(folder) == _normal(name):
            for line in _text(os.path.join(folder, "METADATA")).splitlines():
                if line.startswith("Version:"):
                    return line.partition(":")[2].strip()
                if not line:
                    break
    from importlib import metadata

    return metadata.version(name)


def _folders() -> list[str] | None:
    """Return the folders that tell of what is installed, one for each; None where that may not be all."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return None
    found: dict[str, str] = {}
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except FileNotFoundError:
            continue
        except OSError:
            return None
        if place.endswith(".egg"):
            return None
        for name in names:
            if name.endswith(_FOLDERS):
                found.setdefault(_key(name), os.path.join(place, name))
    return list(found.values())


def _key(folder: str) -> str:
    """Return the name of what a folder tells of, as it is compared."""
    return _normal(os.path.splitext(os.path.basename(folder))[0].partition("-")[0])


def _normal(name: str) -> str:
    return _SEPARATORS.sub("_", name).lower()


def _text(file: str) -> str:
    """Return what is in a file, "" where there is none that can be read."""
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
        return ""


def _of_group(lines: Iterable[str], group: str) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of a group, parted at the first `=`."""
    within = False
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("[") and line.endswith("]"):
            within = line.strip("[]") == group
        elif within and not line.startswith("#"):
            yield line.partition("=")
