"""What a benchmark measured, and the arithmetic of its figures."""

from collections.abc import Sequence
from statistics import fmean, median

import attrs

MB = 2**20
"""Bytes of a megabyte in every rate, as GASNet counts."""
_OF_TIMES = 9
"""Decimals of microseconds in files: a thousandth of the picosecond that clocks count in, as a mean may need.

What is behind them comes of differences of floats."""
_OF_RATES = 6


@attrs.frozen(kw_only=True)
class Record:
    """One timed block.

    Attributes:
        section: its letter.
        operation: what was timed.
        nbytes: payload of one message; None where messages carry none.
        iterations: how often the operation was done.
        seconds: time of all iterations together.
        payloads: payloads that cross the network in one iteration and count for the rate: 2 for a round trip of
            two payloads, 1 for one way, 0 where no rate is shown; of sizes that are drawn, how many of `nbytes` they
            come to.
        raw: microseconds of the bare driver for one iteration, None where nothing compares.
        at_limit: `nbytes` is the largest there is, as asked for or as the conduit takes, and no regular size.
        at_most: why the figure is an upper bound of what it stands for; "" where it is the figure itself.
        unknown: why the figure cannot be told, and is 0; "" where it can.
        digits: decimals of its microseconds in tables.
        least, most: microseconds of one iteration in the fastest and the slowest of several runs, of which this is the
            median; None for a single run.
        offered: the rate at which payloads were offered, where it is given, in the unit of `mb_per_s`.
        messages: who has sent how many messages of how many bytes in all, where they were counted: level, smallest and
            largest size of the class, number, bytes.
    """

    section: str
    operation: str
    nbytes: int | None
    iterations: int
    seconds: float
    payloads: float = 1
    raw: float | None = None
    at_limit: bool = False
    at_most: str = ""
    unknown: str = ""
    digits: int = 3
    least: float | None = None
    most: float | None = None
    offered: float | None = None
    messages: tuple[tuple[str, int, int, int, int], ...] = ()

    @property
    def microseconds(self) -> float:
        """Mean time of one iteration, microseconds."""
        return self.seconds / self.iterations * 1e6

    @property
    def mb_per_s(self) -> float | None:
        """Payload per second in units of 2**20 bytes; None where it means nothing."""
        if not self.nbytes or not self.payloads or self.seconds <= 0:
            return None
        return self.nbytes * self.iterations * self.payloads / MB / self.seconds

    def as_json(self) -> dict[str, object]:
        """Return the record as `--json` writes it; only that of a bound, or of none, says so."""
        bound: dict[str, object] = {"bound": "at most", "because": self.at_most} if self.at_most else {}
        if self.unknown:
            bound = {"unknown": True, "because": self.unknown}
        if self.least is not None:
            bound |= {"least_us": _rounded(self.least, _OF_TIMES), "most_us": _rounded(self.most, _OF_TIMES)}
        if self.offered is not None:
            bound["offered_mb_per_s"] = _rounded(self.offered, _OF_RATES)
        if self.messages:
            names = ("level", "from", "to", "messages", "bytes")
            bound["messages"] = [dict(zip(names, each, strict=True)) for each in self.messages]
        return {
            "section": self.section,
            "operation": self.operation,
            "bytes": self.nbytes or 0,
            "iterations": self.iterations,
            "microseconds": _rounded(self.microseconds, _OF_TIMES),
            "mb_per_s": _rounded(self.mb_per_s, _OF_RATES),
            "driver_us": _rounded(self.raw, _OF_TIMES),
            **bound,
        }


def _rounded(figure: float | None, decimals: int) -> float | None:
    return None if figure is None else round(figure, decimals)


RecordList = list[Record]


def middle(runs: Sequence[RecordList]) -> RecordList:
    """Return the records of several runs as one: the median of their times, and the least and the most of them.

    Runs in which a figure cannot be told say nothing of it; what is no more than a bound in one is so in all.
    """
    return runs[0] if len(runs) == 1 else [_middle(records) for records in zip(*runs, strict=True)]


def _middle(records: Sequence[Record]) -> Record:
    known = [record for record in records if not record.unknown] or records
    return attrs.evolve(
        known[0],
        seconds=median(record.seconds for record in known),
        least=min(record.microseconds for record in known),
        most=max(record.microseconds for record in known),
        at_most=next((record.at_most for record in known if record.at_most), ""),
    )


def merge(lists: Sequence[RecordList]) -> RecordList:
    """Merge the records of several active ranks, which measured the same blocks: the time is their mean."""
    return [
        attrs.evolve(records[0], seconds=fmean(record.seconds for record in records))
        for records in zip(*lists, strict=True)
    ]
