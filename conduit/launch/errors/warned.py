"""The warnings of a job, each text once with all the ranks that gave it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conduit.launch.printing.phrases import named


def warned(texts: Iterable[tuple[int, Sequence[str]]]) -> list[tuple[str, str]]:
    """Return who warns and of what, in the order of the first of each: ("ranks 0-255", "a handle of ...").

    Args:
        texts: ranks with their warnings.
    """
    ranks: dict[str, dict[int, None]] = {}
    for rank, each in texts:
        for text in each:
            ranks.setdefault(text, {})[rank] = None
    return [(named(sorted(who)), text) for text, who in ranks.items()]
