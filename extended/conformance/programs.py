"""What the checks of this layer share: ranks around a rank, buffers in and out of the segment, sizes that matter."""

from typing import Any

import numpy as np

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from extended import Extended

ROOM = 66_000
"""Sizes above this many bytes are left to checks of their own: every size is sent by every rank."""


async def attached(ep: Endpoint) -> Any:
    """Attach the layer; typed loosely, because the checks call it in ways that types forbid."""
    return await Extended.attach(ep)


def right(ep: Endpoint) -> int:
    """Give the next rank, this one again where it is alone."""
    return (ep.rank + 1) % ep.size


def left(ep: Endpoint) -> int:
    """Give the rank before."""
    return (ep.rank - 1) % ep.size


def transfer_sizes(case: Case) -> list[int]:
    """Give the sizes in bytes, none above `ROOM`, at which a put or get may change its ways."""
    limits = case.limits
    edges = {limits.max_medium, limits.max_long_request, limits.max_long_reply, *case.thresholds}
    near = {edge + step for edge in edges for step in (-1, 0, 1)} | {2 * edge + 3 for edge in edges}
    ceiling = case.cls.max_segment(case.options)
    most = ROOM if ceiling is None else min(ROOM, ceiling - 4096)
    return sorted(size for size in near | {0, 1, 2, 7, 8, 9, 63, 65, 500} if 0 <= size <= most)


def room_for(case: Case, count: int) -> int:
    """Give the largest medium payload, or less where that many do not fit into `ROOM` and the largest segment."""
    ceiling = case.cls.max_segment(case.options)
    most = ROOM if ceiling is None else min(ROOM, ceiling - 4096)
    return int(min(case.limits.max_medium, most // (2 * count)))


def segment_for(*sizes: int) -> dict[str, Any]:
    """Give the run setting for segments that hold these sizes one after the other, with room around them."""
    return {"segment": sum(sizes) + 4096}


def source(ep: Endpoint, where: str, offset: int, data: bytes) -> Any:
    """Give a writable buffer that holds some bytes, in this rank's segment from `offset` on or out of it."""
    if where == "out":
        return np.frombuffer(data, np.uint8).copy()
    view = ep.segment[offset : offset + len(data)]
    view[:] = np.frombuffer(data, np.uint8)
    return view


def holds(ep: Endpoint, offset: int, data: bytes) -> bool:
    """Say whether this rank's segment has these bytes there."""
    return bytes(ep.segment[offset : offset + len(data)]) == data


def filled(ep: Endpoint, offset: int, nbytes: int, key: int = 0) -> None:
    """Fill this rank's segment with a pattern."""
    ep.segment[offset : offset + nbytes] = np.frombuffer(pattern(nbytes, key), np.uint8)


def natively(case: Case) -> bool:
    """Say whether puts, gets and some atomics are the network's own operations, without a message."""
    return case.has_option("rma") and bool(case.options.rma == "native")


async def before_late_answers(x: Any, settled: list[bool], late: float = 1e-2) -> None:
    """Leave rank 0 with a free slot to rank 1, which answers late: what rank 0 calls now, it begins.

    A network that has lost something of a barrier holds its slot until it was sent again.  So both poll until rank 0
    has had an answer.  Rank 1 learns of that by no message, which would take a slot.

    Args:
        x: the layer, of a job of two simulated ranks.
        settled: an empty list that both ranks share.
        late: seconds for which rank 1 does not poll; a tenth of them is over when rank 0 goes on.
    """
    ep = x.ep
    await x.barrier()
    if ep.rank == 0:
        await x.get(1, 0, 1)
        settled.append(True)
        await ep.compute(late / 10)
    else:
        while not settled:
            await ep.compute(1e-5)
            await ep.poll()
        await ep.compute(late)
