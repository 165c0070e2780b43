"""Integers put and got as values, and memset."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import names, refusal
from extended.conformance.programs import attached, holds, left, right, segment_for


def _values(nbytes: int, rank: int) -> tuple[int, ...]:
    half = 1 << (8 * nbytes - 1)
    return (half - 1, half, -1, -half, rank + 1)


@pytest.mark.rule("X23", "X5")
@pytest.mark.crowds
def test_values_of_every_size_and_sign(case: Case) -> None:
    """Little-endian, two's complement, at any offset; neighbours keep their bytes."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for nbytes in (1, 2, 3, 7, 8):
            top = 1 << (8 * nbytes)
            # What each rank puts, itself and its left neighbour, is the n-th of the same list.
            for value, theirs in zip(_values(nbytes, ep.rank), _values(nbytes, left(ep)), strict=True):
                ep.segment[:] = 0xAA
                await x.barrier()
                await x.put_value(right(ep), nbytes, value, nbytes)
                unsigned = await x.get_value(right(ep), nbytes, nbytes)
                signed = await x.get_value(right(ep), nbytes, nbytes, signed=True)
                assert unsigned == value % top
                assert signed == (value % top if value % top < top // 2 else value % top - top)
                await x.barrier()
                written = (theirs % top).to_bytes(nbytes, "little")
                assert holds(ep, 0, b"\xaa" * nbytes + written + b"\xaa" * 8)
                await x.barrier()

    case.run(main, segment=64)


@pytest.mark.rule("X23")
def test_values_with_handles_and_implicit(case: Case) -> None:
    """The same bytes in every form; eight of them unless told otherwise."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await (await x.put_value_nb(right(ep), 0, -2))
        await x.put_value_nbi(right(ep), 8, True)
        bool_of_numpy: Any = np.True_
        await x.put_value_nbi(right(ep), 20, bool_of_numpy, nbytes=1)
        await x.put_value_nbi(right(ep), 16, 300, nbytes=2)
        await x.sync_puts()
        assert await (await x.get_value_nb(right(ep), 0)) == 2**64 - 2
        assert await (await x.get_value_nb(right(ep), 0, signed=True)) == -2
        assert await (await x.get_value_nb(right(ep), 16, 1)) == 44
        await x.barrier()
        assert holds(ep, 0, b"\xfe" + b"\xff" * 7 + b"\1" + bytes(7) + b"\x2c\1\0\0\1\0")

    case.run(main)


@pytest.mark.rule("X24", "X28")
def test_values_that_do_not_fit_are_refused(case: Case) -> None:
    """Too large, too negative, no integer, of no bytes or more than eight."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for call in (x.put_value, x.put_value_nb, x.put_value_nbi):
            for nbytes, value in ((1, 256), (1, -129), (4, 1 << 32), (8, 1 << 64), (8, -(1 << 63) - 1)):
                message = refusal(partial(call, 0, 0, value, nbytes))
                names(message, call.__name__, "value", value, "nbytes", nbytes)
            names(refusal(partial(call, 0, 0, 1.5)), "value", 1.5)
            for nbytes in (0, 9, -1):
                names(refusal(partial(call, 0, 0, 1, nbytes)), call.__name__, "nbytes", nbytes)
        for call in (x.get_value, x.get_value_nb):
            for nbytes in (0, 9, -1):
                names(refusal(partial(call, 0, 0, nbytes)), call.__name__, "nbytes", nbytes)
            names(refusal(partial(call, 0, 0, 8, "yes")), call.__name__, "signed='yes' is neither True nor False")
        for call in (x.memset, x.memset_nb, x.memset_nbi):
            for byte in (-1, 256):
                names(refusal(partial(call, 0, 0, byte, 1)), call.__name__, "byte", byte)
            names(refusal(partial(call, 0, 0, 0, -1)), call.__name__, "nbytes", -1)

    case.run(main)


@pytest.mark.rule("X25", "X5")
@pytest.mark.crowds
def test_memset_fills_its_range_and_no_more(case: Case) -> None:
    """Any byte, offset and size, in every form; a network with native puts takes several for the largest."""
    ceiling = case.cls.max_segment(case.options)
    most = 140_000 if ceiling is None else min(140_000, ceiling - 4096)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for number, size in enumerate((1, 2, 7, 8, 65, 1000, 20_000, min(65_537, most), most)):
            ep.segment[:] = 0
            await x.barrier()
            byte = (37 * (number + 1) + ep.rank) % 255 + 1
            mine = (37 * (number + 1) + left(ep)) % 255 + 1
            if number % 3 == 0:
                await x.memset(right(ep), number, byte, size)
            elif number % 3 == 1:
                await (await x.memset_nb(right(ep), number, byte, size))
            else:
                await x.memset_nbi(right(ep), number, byte, size)
                await x.sync_puts()
            await x.barrier()
            assert holds(ep, 0, bytes(number) + bytes([mine]) * size)
            assert not ep.segment[number + size :].any()
            await x.barrier()

    case.run(main, **segment_for(most))
