"""Blocking puts and gets: every size, alignment and place of the local side."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import linger
from extended import Extended
from extended.conformance.programs import (
    attached,
    filled,
    holds,
    left,
    right,
    segment_for,
    source,
    transfer_sizes,
)


@pytest.mark.rule("X1")
def test_attach_again_gives_the_same_object(case: Case) -> None:
    """Also on some ranks alone: the second call needs nobody."""

    async def main(ep: Endpoint) -> bool:
        x = await Extended.attach(ep)
        again = await Extended.attach(ep) if ep.rank == 0 else x
        return again is x and x.ep is ep

    assert all(case.run(main).values)


@pytest.mark.rule("X1")
def test_programs_may_attach_handlers_of_their_own_too(case: Case) -> None:
    """Before and after the layer's."""

    async def main(ep: Endpoint) -> list[int]:
        seen: list[int] = []

        def before(token: Any) -> None:
            seen.append(1)

        def after(token: Any) -> None:
            seen.append(2)

        await ep.attach(before)
        x = await attached(ep)
        await ep.attach(after)
        await ep.request_short(right(ep), after)
        await x.put(right(ep), 0, b"x")
        await ep.request_short(right(ep), before)
        await ep.block_until(lambda: len(seen) == 2)
        return sorted(seen)

    assert list(case.run(main).values) == [[1, 2]] * case.size


@pytest.mark.rule("X3", "X11")
@pytest.mark.crowds
def test_a_put_stores_its_bytes_and_no_others(case: Case) -> None:
    """Every size around every limit: the bytes are there, and the memory around them is as it was."""
    sizes = transfer_sizes(case)
    base = 37

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for size in sizes:
            ep.segment[:] = 0
            await x.barrier()
            await x.put(right(ep), base, pattern(size, ep.rank))
            await x.barrier()
            expected = bytes(base) + pattern(size, left(ep))
            assert holds(ep, 0, expected), f"put of {size} bytes"
            assert not ep.segment[len(expected) :].any(), f"put of {size} bytes wrote past its end"
            await x.barrier()

    case.run(main, **segment_for(max(sizes)))


@pytest.mark.rule("X4", "X11")
@pytest.mark.crowds
def test_a_get_brings_the_bytes(case: Case) -> None:
    """Every size around every limit, into a new array, a buffer of the program and the segment."""
    sizes = transfer_sizes(case)
    most = max(sizes)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 11, most, ep.rank)
        await x.barrier()
        for size in sizes:
            expected = pattern(most, right(ep))[:size]
            new = await x.get(right(ep), 11, size)
            assert new.dtype == np.uint8
            assert new.shape == (size,)
            assert bytes(new) == expected, f"get of {size} bytes into a new array"
            buffer = bytearray(size)
            assert await x.get(right(ep), 11, out=buffer) is buffer
            assert buffer == expected, f"get of {size} bytes into a buffer"
            inside = ep.segment[most + 64 : most + 64 + size]
            assert await x.get(right(ep), 11, out=inside) is inside
            assert bytes(inside) == expected, f"get of {size} bytes into the segment"
            assert not ep.segment[most + 64 + size : most + 128 + size].any()
            inside[:] = 0
        await x.barrier()
        assert holds(ep, 11, pattern(most, ep.rank))

    case.run(main, **segment_for(most, most))


@pytest.mark.rule("X5", "X6")
@pytest.mark.parametrize("where", ["in", "out"])
def test_no_alignment_matters(case: Case, where: str) -> None:
    """Both addresses in every position modulo 8: all pairs of them in a medium transfer, each once in a long one."""
    limits = case.limits
    short = [(13, here, there) for here in range(8) for there in range(8)]
    shapes = [*short, *((limits.max_medium + 9, here, 5 * here % 8) for here in range(8))]

    span = limits.max_medium + 128

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for size, here, there in shapes:
            # The first part of a segment is its left neighbour's to fill, the others hold the local side.
            data = source(ep, where, span, pattern(size + here, 8 * here + there))[here:]
            await x.put(right(ep), there, data)
            out = source(ep, where, 2 * span, bytes(size + here))[here:]
            await x.get(right(ep), there, out=out)
            assert bytes(out) == bytes(data), f"{size} bytes from {here} to {there}"

    case.with_ranks(min(case.size, 3)).run(main, segment=3 * span)


@pytest.mark.rule("X7")
def test_a_rank_can_put_to_and_get_from_itself(case: Case) -> None:
    """In every form; no message leaves."""
    size = min(case.limits.max_medium + 100, 1 << 17)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        me = ep.rank
        await x.put(me, 3, pattern(size, 1))
        assert bytes(await x.get(me, 3, size)) == pattern(size, 1)
        handle = await x.put_nb(me, 5, pattern(size, 2))
        assert handle.done
        assert await handle is None
        assert bytes(await (await x.get_nb(me, 5, size))) == pattern(size, 2)
        await x.put_nbi(me, 7, pattern(size, 3), bulk=False)
        buffer = bytearray(size)
        await x.get_nbi(me, 7, out=buffer)
        await x.sync()
        assert buffer == pattern(size, 3)
        await x.put_value(me, 9, -2, nbytes=2)
        assert await x.get_value(me, 9, nbytes=2) == 65534
        await x.memset(me, 0, 7, 20)
        assert holds(ep, 0, bytes([7] * 20))

    result = case.run(main, **segment_for(size))
    assert [counts["requests_sent"] for counts in result.statistics] == [0] * case.size


@pytest.mark.rule("X8")
def test_no_bytes_are_nothing_to_do(case: Case) -> None:
    """At any offset, for every form; complete at once and without a message."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = right(ep)
        for offset in (0, -1, 1 << 20, -(1 << 63), 1 << 70):
            await x.put(dest, offset, b"")
            assert (await x.get(dest, offset, 0)).shape == (0,)
            empty = bytearray()
            assert await x.get(dest, offset, out=empty) is empty
            await x.memset(dest, offset, 255, 0)
            assert (await x.put_nb(dest, offset, np.empty((3, 0)))).done
            assert (await x.get_nb(dest, offset, 0)).done
            assert (await x.memset_nb(dest, offset, 1, 0)).done
            await x.put_nbi(dest, offset, b"")
            await x.get_nbi(dest, offset, out=bytearray())
            await x.memset_nbi(dest, offset, 1, 0)
        await x.sync()
        assert not ep.segment.any()

    result = case.run(main, segment=64)
    assert [counts["requests_sent"] for counts in result.statistics] == [0] * case.size


@pytest.mark.rule("X9")
def test_data_may_be_any_contiguous_buffer(case: Case) -> None:
    """Bytes, arrays of any type, shape and byte order, read-only ones too; what arrives are its bytes in memory."""
    case = case.at_least(2)
    frozen = np.arange(6.0)
    frozen.flags.writeable = False
    kinds: list[Any] = [
        b"bytes",
        bytearray(b"bytearray"),
        memoryview(b"memoryview")[2:],
        np.arange(12, dtype=np.int16).reshape(3, 4),
        np.arange(5, dtype=">f8"),
        np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f4")]),
        np.array([True, False]),
        np.float64(2.5),
        np.array(7, dtype=np.complex64),
        frozen,
        np.arange(4).astype("M8[s]").reshape(2, 2),
        np.timedelta64(5, "h"),
        np.ones(3, [("t", "M8[s]"), ("v", "f8")]),
        np.ones(3, [("t", "M8[s]"), ("v", "f8")])[1],
        np.ones(3, {"names": ["b", "a"], "formats": ["i2", "i2"], "offsets": [2, 0]}),
    ]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for data in kinds:
            raw = np.ascontiguousarray(data).tobytes() if isinstance(data, np.ndarray | np.generic) else bytes(data)
            await x.put(right(ep), 1, data)
            assert bytes(await x.get(right(ep), 1, len(raw))) == raw
            await x.barrier()

    case.run(main)


@pytest.mark.rule("X9")
def test_out_may_be_any_writable_buffer(case: Case) -> None:
    """An array of another type and shape gets the bytes into its memory."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        values = (np.arange(12).reshape(3, 4) + ep.rank).astype(">i4")
        ep.segment[8 : 8 + values.nbytes] = np.frombuffer(values.tobytes(), np.uint8)
        await x.barrier()
        out = np.zeros((3, 4), dtype=">i4")
        assert await x.get(right(ep), 8, out=out) is out
        assert (out == np.arange(12).reshape(3, 4) + right(ep)).all()
        row = np.zeros((2, 12), dtype=np.int8)
        await x.get(right(ep), 8, out=row.data[1:])
        assert not row[0].any()
        assert row[1].tobytes() == out.tobytes()[:12]
        dates = np.zeros((2, 3), "M8[s]")
        assert await x.get(right(ep), 8, out=dates) is dates
        assert dates.tobytes() == out.tobytes()

    case.run(main)


@pytest.mark.rule("X10")
@pytest.mark.crowds
def test_a_put_that_is_done_is_seen_by_everybody(case: Case) -> None:
    """A rank that hears of the put's end, by a message of any kind, gets the new bytes; so does the target itself."""
    size = min(case.limits.max_medium + 8, 1 << 16)

    async def main(ep: Endpoint) -> None:
        heard: list[int] = []

        def told(token: Any, turn: int) -> None:
            heard.append(turn)

        x = await attached(ep)
        await ep.attach(told)
        home = ep.size - 1
        for turn in range(3):
            if ep.rank == 0:
                await x.put(home, 0, pattern(size, turn))
                for rank in range(ep.size):
                    await ep.request_short(rank, told, turn)
            await ep.block_until(partial(heard.__contains__, turn))
            assert bytes(await x.get(home, 0, size)) == pattern(size, turn)
            if ep.rank == home:
                assert holds(ep, 0, pattern(size, turn))
            await x.barrier()

    case.run(main, **segment_for(size))


@pytest.mark.rule("X3", "X4")
@pytest.mark.crowds
def test_every_rank_to_every_rank(case: Case) -> None:
    """All puts at once, each into its own place; then all gets."""
    size = 200

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for step in range(ep.size):
            dest = (ep.rank + step) % ep.size
            await x.put_nbi(dest, ep.rank * size, pattern(size, ep.rank * 16 + dest), bulk=False)
        await x.sync_puts()
        await x.barrier()
        for origin in range(ep.size):
            assert holds(ep, origin * size, pattern(size, origin * 16 + ep.rank))
        handles = [await x.get_nb(rank, ep.rank * size, size) for rank in range(ep.size)]
        for rank, got in enumerate(await x.wait_all(handles)):
            assert bytes(got) == pattern(size, ep.rank * 16 + rank)

    case.run(main)


@pytest.mark.rule("X2", "X7", "X8")
@pytest.mark.simulated
def test_every_call_polls_also_when_nothing_leaves(case: Case) -> None:
    """A message that waits is handled by whatever awaited call comes next, be it of no bytes or to oneself."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        seen: list[int] = []

        def handler(token: Any) -> None:
            seen.append(token.rank)

        x = await attached(ep)
        await ep.attach(handler)
        me = ep.rank
        handle = await x.put_nb(me, 0, b"abc")
        await handle
        await x.barrier()
        calls: list[Any] = [
            lambda: x.put(me, 0, b"abc"),
            lambda: x.get(me, 0, 3),
            lambda: x.get(me, 0, out=bytearray(3)),
            lambda: x.put_value(me, 0, 1),
            lambda: x.get_value(me, 0),
            lambda: x.memset(me, 0, 1, 3),
            lambda: x.put(1 - me, 0, b""),
            lambda: x.put_nb(me, 0, b"abc"),
            lambda: x.get_nb(1 - me, 0, 0),
            lambda: x.put_nbi(me, 0, b"abc"),
            lambda: x.get_nbi(me, 0, out=bytearray(3)),
            lambda: x.memset_nbi(me, 0, 1, 1),
            lambda: x.wait_all([]),
            lambda: x.wait_all([handle]),
            lambda: x.wait_some([]),
            lambda: x.wait_some([handle]),
            lambda: x.sync(),
            lambda: x.sync_puts(),
            lambda: x.sync_gets(),
            lambda: Extended.attach(ep),
            lambda: handle,
        ]
        for number, call in enumerate(calls):
            if me == 1:
                await linger(ep, 8e-3)  # so that the other has left the barrier and polls no more
                await ep.request_short(0, handler)
                await linger(ep, 2e-3)
            else:
                await linger(ep, 2e-3)
                await ep.compute(16e-3)  # so that the message is there
                assert len(seen) == number
                made = await call()
                assert len(seen) == number + 1, f"call {number} did not poll"
                if hasattr(made, "done"):
                    await x.wait_all([made])
            await x.barrier()

    case.with_ranks(2).run(main)
