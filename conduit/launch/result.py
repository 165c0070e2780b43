"""What a job leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from conduit.seeing.timeline import Timeline


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
        trace: what happened and when, if that was asked for; `result.trace.write(path)` writes it as a trace.
    """

    values: Sequence[Any]
    seconds: float
    ranks: int
    conduit: str
    digest: str | None
    statistics: Sequence[Mapping[str, int]]
    warnings: Sequence[Sequence[str]]
    trace: Timeline | None = attrs.field(default=None, repr=False, eq=False)
