"""What parts of hardware have done, as counts for `result.statistics`: whole numbers, the unit in the name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conduit.sim.dma import DmaEngine
from conduit.sim.link import Link, OverRoutes


def link_counts(kind: str, links: Iterable[Link], over: OverRoutes | None = None) -> Mapping[str, int]:
    """Return the sums over `links`, named `kind`_transfers, _bytes, _busy_ns, _waits and _waited_ns.

    Args:
        kind: what they are called.
        links: the links.
        over: as for `Link.statistics`.
    """
    found = [link.statistics(over) for link in links]
    return {
        f"{kind}_transfers": sum(each.transfers for each in found),
        f"{kind}_bytes": sum(each.nbytes for each in found),
        f"{kind}_busy_ns": round(sum(each.busy for each in found) * 1e9),
        f"{kind}_waits": sum(each.waits for each in found),
        f"{kind}_waited_ns": round(sum(each.waited for each in found) * 1e9),
    }


def dma_counts(kind: str, engines: Iterable[DmaEngine]) -> Mapping[str, int]:
    """Return the sums over `engines`, named `kind`_transfers and _bytes; `kind`_longest_queue is the longest of all."""
    found = [engine.statistics() for engine in engines]
    return {
        f"{kind}_transfers": sum(each.transfers for each in found),
        f"{kind}_bytes": sum(each.nbytes for each in found),
        f"{kind}_longest_queue": max((each.longest_queue for each in found), default=0),
    }
