"""What a job leaves behind."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import attrs
import numpy as np

from conduit.core import arguments
from conduit.errors import BadRequest
from conduit.seeing.pictures import Table, shown
from conduit.seeing.timeline import Timeline
from conduit.words import many

_SECONDS = "write `result.seconds`, the job's duration on its own clock"
_VALUES = "write `result.values`, what each rank's main has returned"
_COUNTS = "write `result.statistics[rank]`, the counts of a rank by name"
_SHOWN = ("requests_sent", "replies_sent", "requests_handled", "replies_handled", "payload_bytes_sent")
"""Counts that notebooks show beside the values; the others fold out."""


@attrs.frozen
class Result:
    """What `conduit.run` returns.

    Attributes:
        values: what each rank's main returned.
        seconds: the job's duration on its own clock, virtual when simulated.
        ranks: number of ranks.
        conduit: the spec, in canonical form.
        digest: hash of the observable acts, hexadecimal; None on real networks, and where the job
            waited for something outside virtual time (a thread, a socket).
        statistics: counts of each rank, by name.
        warnings: what layers wanted users to know, for each rank.
        trace: what happened and when, None unless the job was run with `trace=True`; `result.trace.write(path)` writes
            it as a trace.
    """

    values: Sequence[Any]
    seconds: float
    ranks: int
    conduit: str
    digest: str | None
    statistics: Sequence[Mapping[str, int]] = attrs.field(repr=False)
    warnings: Sequence[Sequence[str]]
    trace: Timeline | None = attrs.field(default=None, repr=False, eq=False)

    _instead: ClassVar = {
        **dict.fromkeys(("time", "elapsed", "now", "duration", "makespan"), _SECONDS),
        **dict.fromkeys(("value", "results", "returned", "outputs"), _VALUES),
        **dict.fromkeys(("stats", "counts", "counters"), _COUNTS),
        "[]": "write `result.values[rank]` for what a rank has returned",
        "for": "write `result.values` for what the ranks have returned",
    }
    _called: ClassVar = "result"

    def __await__(self) -> NoReturn:
        """Raise BadRequest: it is there at once, and a notebook awaits anything that a cell says to be awaited."""
        try:
            raise BadRequest(
                "a Result is there at once, and conduit.run is a plain function: write `result = conduit.run(main, "
                "...)` without `await`; in a program of Trio's own `result = await conduit.run_async(main, ...)`"
            )
        except BadRequest as error:
            error.__traceback__ = None  # so that it ends in the line which awaits
            raise

    def to_json(self) -> str:
        """Return it as JSON, without the trace: an object with all other attributes.

        Numbers and arrays of numpy are numbers and lists there, and what JSON has no form for is its `repr`.
        """
        content = {
            "conduit": self.conduit,
            "ranks": self.ranks,
            "seconds": self.seconds,
            "digest": self.digest,
            "values": _plain(self.values),
            "statistics": [dict(counts) for counts in self.statistics],
            "warnings": [list(texts) for texts in self.warnings],
        }
        return json.dumps(content, indent=1)

    def to_frame(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each rank: its value, and its counts in a column each.

        Raises:
            ConduitError: pandas is not installed.
        """
        return self._table().frame("Result.to_frame").set_index("rank")

    def _repr_html_(self) -> str:
        """Return what notebooks show: what there is of it in a line, values and the main counts, the others folded."""
        names = self._counts()
        title = f"{many(self.ranks, 'rank')} on {self.conduit}, {self.seconds * 1e6:,.3f} µs"
        if self.digest is not None:
            title += f", digest {self.digest}"
        rows = [
            (rank, arguments.shown(value), *(counts.get(name) for name in _SHOWN if name in names))
            for rank, (value, counts) in enumerate(zip(self.values, self.statistics, strict=True))
        ]
        main = Table(("rank", "value", *(name for name in _SHOWN if name in names)), tuple(rows))
        every = Table(("rank", *names), tuple((rank, *row[2:]) for rank, row in enumerate(self._table().rows)))
        warned = [(rank, text) for rank, texts in enumerate(self.warnings) for text in texts]
        parts = [main.html(), every.html(folded="All counts")]
        if warned:
            parts.insert(0, Table(("rank", "warning"), tuple(warned)).html())
        return shown(title, *parts)

    def _counts(self) -> list[str]:
        return list(dict.fromkeys(name for counts in self.statistics for name in counts))

    def _table(self) -> Table:
        names = self._counts()
        rows = [
            (rank, value, *(counts.get(name) for name in names))
            for rank, (value, counts) in enumerate(zip(self.values, self.statistics, strict=True))
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
