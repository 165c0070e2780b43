"""What a network has never ended, told or lost, where a job gets no further: no program can do anything about it."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.launch.jobs.messages import MessageRank
from conduit.launch.printing.phrases import named
from conduit.simnet import SimulatedConduit
from conduit.words import many


def never_ended(network: object, name: str, ranks: Sequence[MessageRank]) -> str:
    """Return in words what a network has not done for its ranks, "" for nothing.

    Args:
        network: that of the job.
        name: its name.
        ranks: of the job.
    """
    found: dict[tuple[str, str], list[int]] = {}
    on_purpose: dict[int, str] = {}
    for number, rank in enumerate(ranks):
        method, missing = rank.unended()
        if method:
            found.setdefault((method, missing), []).append(number)
        elif missing:
            on_purpose[number] = missing
    if on_purpose:  # what another rank's part of the network has not ended may be because of that
        (_, text), *others = on_purpose.items()
        return f"{text}; as much on {named([number for number, _ in others])}" if others else text
    if not found:
        return _lost(network, name, ranks)
    texts = [f"{method} on {named(numbers)} {missing}" for (method, missing), numbers in found.items()]
    return f"{'; '.join(texts)}: a mistake of the network, not of the program"


def _lost(network: object, name: str, ranks: Sequence[MessageRank]) -> str:
    """Return how many messages the network has lost; "" where that is none, or not certain."""
    count = network.lost() if isinstance(network, SimulatedConduit) else 0
    if not count or any(rank.untellable() for rank in ranks):
        return ""
    if count < 0:
        were = "was" if count == -1 else "were"
        return (
            f"{many(-count, 'message')} more {were} handled than sent: a mistake of the network {name!r}, not of the "
            "program, as of one that takes a message twice; `python -X dev -m conduit ...` names its line"
        )
    were, them = ("was", "it") if count == 1 else ("were", "them")
    return (
        f"{many(count, 'message')} {were} sent and never handled, and no transport tells of {them}: a mistake of the "
        f"network {name!r}, not of the program"
    )
