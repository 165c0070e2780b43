"""Puts and gets for `conduit explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conduit.benchmarks import ExplainedOperation
from extended.layer import Extended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conduit import Endpoint
    from conduit.benchmarks import Limits, Mark

WARM_UP = 3
"""Operations before the one that is explained: connections are there by then."""


async def _put(ep: Endpoint, mark: Mark, category: str, nbytes: int) -> None:
    x = await Extended.attach(ep)
    if ep.rank == 0:
        data = bytes(nbytes)
        for _ in range(WARM_UP):
            await x.put(1, 0, data)
        mark(ep)
        await x.put(1, 0, data)
        mark(ep)


async def _get(ep: Endpoint, mark: Mark, category: str, nbytes: int) -> None:
    x = await Extended.attach(ep)
    if ep.rank == 0:
        for _ in range(WARM_UP):
            await x.get(1, 0, nbytes)
        mark(ep)
        await x.get(1, 0, nbytes)
        mark(ep)


def _largest(limits: Limits) -> Mapping[str, int]:
    return {"": limits.max_long_request}


put = ExplainedOperation(main=_put, largest=_largest)
get = ExplainedOperation(main=_get, largest=_largest)
