"""A small picture of who owns what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from extended.upc.layout import Layout

_ROWS, _COLUMNS, _RUNS = 8, 24, 6


def picture(shape: tuple[int, ...], layout: Layout) -> str:
    """Return lines that show which thread has which elements.

    Of one dimension a line for each thread with its runs of indices; of more the owner of each element of the last two
    dimensions, the others at 0.
    """
    if not layout.size:
        return "  (no elements)"
    return _runs(layout) if len(shape) < 2 else _grid(shape, layout)


def _runs(layout: Layout) -> str:
    lines = []
    for thread in range(min(layout.threads, _ROWS)):
        count = layout.count(thread)
        starts = [layout.indices_at(thread, local) for local in range(0, count, layout.block)[:_RUNS]]
        stops = [min(start + layout.block, layout.size) - 1 for start in starts]
        runs = [str(start) if start == stop else f"{start}-{stop}" for start, stop in zip(starts, stops, strict=True)]
        more = " ..." if count > _RUNS * layout.block else ""
        lines.append(f"  thread {thread}: {' '.join(runs) or 'nothing'}{more}")
    if layout.threads > _ROWS:
        lines.append(f"  ... {layout.threads - _ROWS} more threads")
    return "\n".join(lines)


def _grid(shape: tuple[int, ...], layout: Layout) -> str:
    rows, columns = shape[-2:]
    shown = np.arange(min(rows, _ROWS))[:, None] * columns + np.arange(min(columns, _COLUMNS))
    width = len(str(layout.threads - 1))
    more = " ..." if columns > _COLUMNS else ""
    lines = [
        "  " + " ".join(f"{owner:{width}d}" for owner in row) + more for row in np.asarray(layout.owner(shown)).tolist()
    ]
    if rows > _ROWS:
        lines.append("  ...")
    return "\n".join(lines)
