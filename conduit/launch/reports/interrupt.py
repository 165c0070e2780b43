"""What is noted on a Ctrl-C: where all ranks were."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.launch.life import Life
from conduit.launch.reports.explain import explain
from conduit.launch.reports.gather import error_line, gather
from conduit.launch.reports.text import brief


def note_interrupt(error: BaseException, now: int, lives: Sequence[Life]) -> None:
    """Note on the interrupt of a job where its ranks were; calls nothing of the program.

    Args:
        error: the interrupt; gets a note, and the structure as its `report`.
        now: the time of the job in picoseconds.
        lives: those of all ranks.
    """
    line = error_line(error)
    ranks = gather(lives, interrupted=True, broken_off=bool(line))
    report = explain("interrupted", now, ranks, f"what ran was {line}" if line else "")
    error.report = report  # type: ignore[attr-defined]
    error.add_note(brief(report))
