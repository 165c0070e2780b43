"""The result of a job in the forms that others read: JSON, a frame of pandas, what notebooks show."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from conduit.core import arguments
from conduit.seeing.pictures import Table, shown
from conduit.words import many

_SHOWN = ("requests_sent", "replies_sent", "requests_handled", "replies_handled", "payload_bytes_sent")
"""Counts that notebooks show beside the values; the others fold out."""


class Finished(Protocol):
    """A job that is over, as its result has it."""

    @property
    def values(self) -> Sequence[Any]:
        """What each main has returned."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def ranks(self) -> int:
        """How many there were."""

    @property
    def conduit(self) -> str:
        """The spec."""

    @property
    def digest(self) -> str | None:
        """Of the observable acts, if there is one."""

    @property
    def statistics(self) -> Sequence[Mapping[str, int]]:
        """Counts of each rank."""

    @property
    def warnings(self) -> Sequence[Sequence[str]]:
        """What layers wanted users to know, for each rank."""


def json_of(result: Finished) -> str:
    """Return it as JSON, without the trace."""
    content = {
        "conduit": result.conduit,
        "ranks": result.ranks,
        "seconds": result.seconds,
        "digest": result.digest,
        "values": _plain(result.values),
        "statistics": [dict(counts) for counts in result.statistics],
        "warnings": [list(texts) for texts in result.warnings],
    }
    return json.dumps(content, indent=1)


def frame_of(result: Finished) -> Any:
    """Return it as a `pandas.DataFrame` with a row for each rank."""
    return _table(result).frame("Result.to_frame").set_index("rank")


def html_of(result: Finished) -> str:
    """Return what notebooks show of it."""
    names = _counts(result)
    title = f"{many(result.ranks, 'rank')} on {result.conduit}, {result.seconds * 1e6:,.3f} µs"
    if result.digest is not None:
        title += f", digest {result.digest}"
    rows = [
        (rank, arguments.shown(value), *(counts.get(name) for name in _SHOWN if name in names))
        for rank, (value, counts) in enumerate(zip(result.values, result.statistics, strict=True))
    ]
    main = Table(("rank", "value", *(name for name in _SHOWN if name in names)), tuple(rows))
    every = Table(("rank", *names), tuple((rank, *row[2:]) for rank, row in enumerate(_table(result).rows)))
    warned = [(rank, text) for rank, texts in enumerate(result.warnings) for text in texts]
    parts = [main.html(), every.html(folded="All counts")]
    if warned:
        parts.insert(0, Table(("rank", "warning"), tuple(warned)).html())
    return shown(title, *parts)


def _counts(result: Finished) -> list[str]:
    return list(dict.fromkeys(name for counts in result.statistics for name in counts))


def _table(result: Finished) -> Table:
    names = _counts(result)
    rows = [
        (rank, value, *(counts.get(name) for name in names))
        for rank, (value, counts) in enumerate(zip(result.values, result.statistics, strict=True))
    ]
    return Table(("rank", "value", *names), tuple(rows))


def _plain(value: Any) -> object:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return repr(value)
