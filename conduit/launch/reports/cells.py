"""Reports of programs in notebooks: in the structure too a cell has the name that tracebacks give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from conduit.contract import LayerHold, LayerWant, Participation
from conduit.core import written
from conduit.launch.reports.records import (
    Edge,
    HeldRecord,
    MessageRecord,
    RankRecord,
    Report,
    SourceLine,
    TaskRecord,
    WaitRecord,
)

_RECORDS = (
    Report,
    RankRecord,
    TaskRecord,
    WaitRecord,
    MessageRecord,
    HeldRecord,
    Edge,
    Participation,
    LayerHold,
    LayerWant,
)
_T = TypeVar("_T")


def cells_named(report: Report) -> Report:
    """Return a report with its cells named; the same one where it has none."""
    return _named(report)


def _named(value: _T) -> _T:
    """Return a part of a report with its cells named; what belongs to layers alone stays as it is."""
    named: Any = value
    match value:
        case str():
            named = written.of_cells(value)
        case SourceLine(file=file):
            named = attrs.evolve(value, file=written.cell(file) or file)
        case tuple():
            named = tuple(map(_named, value))
        case Mapping():
            named = {_named(key): each for key, each in value.items()}
        case _ if isinstance(value, _RECORDS):
            parts = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
            named = attrs.evolve(value, **{name: _named(part) for name, part in parts.items()})
    return value if named == value else named
