"""The table of docs/extended_inside.md: which messages a put or get of some size becomes, read from the statistics."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from extended import Extended
from extended.conformance.programs import attached, segment_for, transfer_sizes

Transfer = Callable[[Extended, int, int], Coroutine[Any, Any, None]]


async def _put(x: Extended, size: int, most: int) -> None:
    await x.put(1, 0, bytes(size))


async def _put_nb(x: Extended, size: int, most: int) -> None:
    await (await x.put_nb(1, 0, bytes(size)))


async def _put_nbi(x: Extended, size: int, most: int) -> None:
    await x.put_nbi(1, 0, bytes(size), bulk=False)
    await x.sync()


async def _get(x: Extended, size: int, most: int) -> None:
    await x.get(1, 0, size)


async def _get_inside(x: Extended, size: int, most: int) -> None:
    await x.get(1, 0, out=x.ep.segment[most : most + size])


async def _memset(x: Extended, size: int, most: int) -> None:
    await x.memset(1, 0, 0, size)


async def _put_value(x: Extended, size: int, most: int) -> None:
    await x.put_value(1, 0, 5)


async def _get_value(x: Extended, size: int, most: int) -> None:
    await x.get_value(1, 0)


def _pieces(size: int, chunk: int) -> int:
    return -(-size // chunk)


@pytest.mark.rule("X11", "X23", "X25")
@pytest.mark.parametrize(
    "transfer", [_put, _put_nb, _put_nbi, _get, _get_inside, _memset, _put_value, _get_value], ids=lambda f: f.__name__
)
def test_sizes_choose_messages_as_the_table_says(case: Case, transfer: Transfer) -> None:
    """Numbers of requests and replies and the payload each side sends; none between ranks that share memory."""
    case = case.by_messages()
    case = case.with_ranks(2)
    limits = case.limits
    sizes = [size for size in transfer_sizes(case) if size]
    most = max(sizes)

    async def main(ep: Endpoint) -> bool:
        x = await attached(ep)
        if ep.rank == 0:
            for size in sizes:
                await transfer(x, size, most)
        return ep.segment_of(1) is not None

    result = case.run(main, **segment_for(most, most))
    counts, reached = result.statistics, result.values[0]

    name = transfer.__name__

    def messages(size: int) -> int:
        if transfer in (_memset, _put_value, _get_value) or size <= limits.max_medium:
            return 1
        if transfer is _get:
            return _pieces(size, limits.max_medium)
        return _pieces(size, limits.max_long_reply if transfer is _get_inside else limits.max_long_request)

    carried: int = {"_memset": 0, "_put_value": 8 * len(sizes), "_get_value": 8 * len(sizes)}.get(name, sum(sizes))
    expected = sum(map(messages, sizes))
    if reached:  # what a rank can read and write by itself takes no message
        carried = expected = 0
    putting = transfer in (_put, _put_nb, _put_nbi, _memset, _put_value)
    assert [c["requests_sent"] for c in counts] == [expected, 0]
    assert [c["replies_sent"] for c in counts] == [0, expected]
    assert [c["payload_bytes_sent"] for c in counts] == ([carried, 0] if putting else [0, carried])
