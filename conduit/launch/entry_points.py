"""What is installed: conduits, commands, suites, each under its name and in its group of entry points.

Entry points are looked up when a name is first asked for, never on import, and nothing is imported for it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

DISTRIBUTION = "conduit-am"
"""The name under which this package is installed."""

CONDUITS = "conduit.conduits"
COMMANDS = "conduit.commands"
SUITES = "conduit.conformance"
FRONT_ENDS = "conduit.front_ends"
OPERATIONS = "conduit.operations"
LAYERS = "conduit.layers"


def commands() -> Mapping[str, str]:
    """Return where each installed command is found: `package.module:function` by name, nothing imported."""
    return MappingProxyType({name: entry.value for name, entry in sorted(installed(COMMANDS).items())})


def layers() -> list[str]:
    """Return the packages that have registered as layers, whose lines are left out of reports."""
    return [entry.module for entry in installed(LAYERS).values() if not malformed(entry)]


def plugins() -> set[str]:
    """Return the packages that registered conduits are in, without those whose lines are left out of reports."""
    layers_ = {module.partition(".")[0] for module in layers()}
    return {entry.value.partition(":")[0].partition(".")[0] for entry in installed(CONDUITS).values()} - layers_


def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name; nothing is imported.

    Of two distributions that register the same name the first on the path counts, as for modules; a conduit of such a
    name cannot be used.
    """
    return {name: entries[0] for name, entries in lookup(group).items()}


@functools.cache
def lookup(group: str) -> Mapping[str, Sequence[EntryPoint]]:
    """Return the entry points of a group by name, of each name all that are registered."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, []).append(entry)
    return MappingProxyType(found)


def malformed(entry: EntryPoint) -> str:
    """Return why an entry point leads to nothing, "" where it leads somewhere."""
    if EntryPoint.pattern.match(entry.value) is None:
        return f"its entry point is {entry.value!r}; write {entry.name} = package.module:Class"
    return ""
