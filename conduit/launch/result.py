"""What a job leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import attrs

from conduit.errors import BadRequest

if TYPE_CHECKING:
    from conduit.seeing.timeline import Timeline
else:

    class _Timeline:
        """Stands for the class where annotations are evaluated, as by `typing.get_type_hints`: imported only then."""

        def __or__(self, other: object) -> object:
            from conduit.seeing.timeline import Timeline

            return Timeline | other

    Timeline = _Timeline()

_SECONDS = "write `result.seconds`, the job's duration on its own clock"
_VALUES = "write `result.values`, what each rank's main has returned"
_COUNTS = "write `result.statistics[rank]`, the counts of a rank by name"


# What gives a result other forms is imported where one is asked for: few programs do, and tables take long to import.


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
        from conduit.launch.result_forms import json_of

        return json_of(self)

    def to_frame(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each rank: its value, and its counts in a column each.

        Raises:
            ConduitError: pandas is not installed.
        """
        from conduit.launch.result_forms import frame_of

        return frame_of(self)

    def _repr_html_(self) -> str:
        """Return what notebooks show: what there is of it in a line, values and the main counts, the others folded."""
        from conduit.launch.result_forms import html_of

        return html_of(self)
