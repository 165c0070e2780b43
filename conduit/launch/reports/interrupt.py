"""What is noted on a Ctrl-C: where all ranks were."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from conduit.launch.life import Life
from conduit.launch.reports.explain import explain
from conduit.launch.reports.gather import broken_off, gather
from conduit.launch.reports.text import brief


def note_interrupt(error: BaseException, now: int, lives: Sequence[Life], loop: str = "", advice: str = "") -> None:
    """Note on the interrupt of a job where its ranks were; calls nothing of the program.

    Args:
        error: the interrupt; gets a note, and the structure as its `report`.
        now: the time of the job in picoseconds.
        lives: those of all ranks.
        loop: see `broken_off`.
        advice: what to do about the line that ran, where that is known.
    """
    broken = broken_off(error, loop)
    ranks = gather(lives, interrupted=True, broken_off=broken)
    if advice:
        of_rank = None if broken is None else broken.rank  # whose handler ran, while its tasks waited
        ranks = [
            attrs.evolve(rank, advice=(*rank.advice, advice))
            if rank.rank == of_rank or any(task.ran for task in rank.tasks)
            else rank
            for rank in ranks
        ]
    what = "" if broken is None else f"what ran was {broken.line}"
    if broken is not None and broken.rank is not None:
        what += f", of rank {broken.rank}"
    report = explain("interrupted", now, ranks, what)
    error.report = report  # type: ignore[attr-defined]
    error.add_note(brief(report))
