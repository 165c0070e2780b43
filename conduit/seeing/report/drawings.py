"""The pictures of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import attrs
import numpy as np

from conduit.seeing.pictures import BarPanel, MatrixPanel, Picture, StripPanel, TimeUnit, time_unit
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.seeing.timeline import Account

_PARTS = ("compute", "overhead", "handlers", "blocked", "polling", "copies", "start", "idle")
"""Of the time of a rank, in the order of the legend."""
_WHY = {"compute": 0, "handler": 2, "waiting": 3, "polling": 4, "copy": 5, "start": 6}
"""By what a CPU's time is spent on, the index of its part; all else is overhead."""
_OVERHEAD, _IDLE = 1, 7
_COLUMNS = 400
"""Stretches of a timeline: what fills most of each is drawn."""
CAPTIONS = {
    "timeline": f"Each of {_COLUMNS} stretches shows what filled most of it: what alternates faster looks like one of "
    "its parts, or like phases of them. A trace (--trace) has all."
}
"""What is to be known of a picture by its name."""
_MOST_LINKS = 12
PICTURES = ("time", "timeline", "matrix", "sizes", "links")
"""Names of the pictures that there may be."""


def drawings(recording: ReportRecording, found: Profile) -> list[Picture]:
    """Return the pictures of what a job did: of its time, if it took any after the start, and of what it sent."""
    made = [_parts(found), _timeline(recording, found)] if found.length > found.started else []
    made += [_matrix(found)] if found.messages else []
    made += [_sizes(found)] if found.sizes else []
    return [*made, _links(found)] if found.links else made


def _parts(found: Profile) -> Picture:
    strips, unit = [], time_unit(found.working)
    for account in found.accounts:
        values, at = attrs.asdict(account), 0.0
        values["start"] -= found.started
        row = []
        for group, part in enumerate(_PARTS):
            if values[part]:
                row.append((at, at + values[part] / unit.ticks, group))
                at += values[part] / unit.ticks
        strips.append(tuple(row))
    label = f"time{' after the start' if found.started else ''}, {unit.name}"
    panel = StripPanel(x_label=label + _left_out(found), names=_ranks(found), strips=tuple(strips))
    return Picture(name="time", title="What the time of each rank went to", panels=(panel,), groups=_PARTS)


def _left_out(found: Profile) -> str:
    """Say how long the start is, which pictures leave out."""
    return f" (the start, {found.started / 1e6:,.3f} µs, is left out)" if found.started else ""


def _ranks(found: Profile) -> tuple[str, ...]:
    return tuple(f"rank {rank}" for rank in range(found.ranks))


def _timeline(recording: ReportRecording, found: Profile) -> Picture:
    begin, unit = found.started, time_unit(found.length)
    strips = tuple(_row(recording, rank, begin, found.length, unit) for rank in range(found.ranks))
    panel = StripPanel(
        x_label=f"time, {unit.name}{_left_out(found)}", names=_ranks(found), strips=strips, begin=begin / unit.ticks,
        cut=begin > 0,
    )  # fmt: skip
    return Picture(name="timeline", title="What each rank did, and when", panels=(panel,), groups=_PARTS)


def _row(
    recording: ReportRecording, rank: int, since: int, until: int, unit: TimeUnit
) -> tuple[tuple[float, float, int], ...]:
    """Return for each stretch of the time between two what filled most of it, alike ones joined."""
    filled = np.zeros((len(_PARTS), _COLUMNS))
    width = max(until - since, 1) / _COLUMNS
    for begin, end, why in recording.cpu[rank]:
        if end <= since:
            continue
        begin, end = max(begin - since, 0), end - since
        part = _WHY.get(why, _OVERHEAD)
        first, last = int(begin / width), min(int(end / width), _COLUMNS - 1)
        if first >= last:
            filled[part, last] += end - begin
            continue
        filled[part, first] += (first + 1) * width - begin
        filled[part, first + 1 : last] += width
        filled[part, last] += end - last * width
    filled[_IDLE] = np.maximum(width - filled.sum(axis=0), 0)
    parts = filled.argmax(axis=0)
    edges = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), _COLUMNS]
    places = [(since + edge * width) / unit.ticks for edge in edges]
    return tuple((places[i], places[i + 1], int(parts[edges[i]])) for i in range(len(edges) - 1))


def _matrix(found: Profile) -> Picture:
    ranks = range(found.ranks)
    what = "messages and native operations" if found.native or found.signals else "messages"
    shown: tuple[tuple[str, Mapping[tuple[int, int], int], Literal[1000, 1024]], ...] = (
        (what, found.messages, 1000),
        ("bytes of payload (K = 2**10)", found.nbytes, 1024),
    )
    panels = tuple(
        MatrixPanel(
            title=title, x_label="to rank", y_label="from rank", unit=unit,
            values=tuple(tuple(float(counted[one, other]) for other in ranks) for one in ranks),
        )
        for title, counted, unit in shown
    )  # fmt: skip
    return Picture(name="matrix", title="Who sends to whom", panels=panels)


def _sizes(found: Profile) -> Picture:
    """Return the histogram of sizes at each level, in doubling classes, by count and by bytes."""
    levels = tuple(found.sizes)
    counts = [_classes(found.sizes[level], by_bytes=False) for level in levels]
    nbytes = [_classes(found.sizes[level], by_bytes=True) for level in levels]
    classes = sorted({bits for row in counts for bits in row})
    names = tuple(_class(bits) for bits in classes)

    def panel(title: str, rows: list[dict[int, int]]) -> BarPanel:
        values = tuple(tuple(float(row[bits]) if bits in row else None for bits in classes) for row in rows)
        return BarPanel(title=f"by {title}", x_label=title, names=names, values=values)

    panels = panel("count", counts), panel("bytes", nbytes)
    return Picture(name="sizes", title="Sizes, in bytes of payload", panels=panels, groups=levels)


def _classes(sizes: Mapping[int, int], *, by_bytes: bool) -> dict[int, int]:
    """Add up what has as many bits: how many, or their bytes."""
    found: Counter[int] = Counter()
    for nbytes, count in sizes.items():
        found[nbytes.bit_length()] += count * (nbytes if by_bytes else 1)
    return found


def _class(bits: int) -> str:
    """Name the sizes with `bits` bits."""
    return ("none", "1")[bits] if bits < 2 else f"{1 << bits - 1} to {(1 << bits) - 1}"


def _links(found: Profile) -> Picture:
    shown = found.links[:_MOST_LINKS]
    values = tuple(100 * use.busy / found.working for use in shown)
    panel = BarPanel(x_label="% of the time after the start", names=tuple(use.name for use in shown), values=(values,))
    which = f"The {len(shown)} busiest of {len(found.links)} links" if found.links[_MOST_LINKS:] else "Links"
    return Picture(name="links", title=f"{which} and engines: how long they were taken", panels=(panel,))


def account_row(account: Account) -> list[float]:
    """Return the parts of an account in microseconds, in the order of `_PARTS`."""
    values = attrs.asdict(account)
    return [values[part] / 1e6 for part in _PARTS]


PARTS = _PARTS
