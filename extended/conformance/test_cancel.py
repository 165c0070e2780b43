"""Cancelled puts and gets: not begun, or begun for good."""

from functools import partial

import pytest
import trio

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from extended.conformance.programs import ROOM, attached, before_late_answers, filled, holds, segment_for


@pytest.mark.rule("X26")
def test_what_is_cancelled_before_it_begins_does_nothing(case: Case) -> None:
    """In every form, to others and to oneself: no byte moves, and nothing is left to wait for."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        out = bytearray(8)
        for dest in range(ep.size):
            for call in (
                partial(x.put, dest, 0, b"12345678"),
                partial(x.put_nb, dest, 0, b"12345678"),
                partial(x.put_nbi, dest, 0, b"12345678"),
                partial(x.put_value, dest, 0, 1),
                partial(x.memset, dest, 0, 1, 8),
                partial(x.get, dest, 8, out=out),
                partial(x.get_nbi, dest, 8, out=out),
            ):
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await call()
                assert scope.cancelled_caught
        await x.sync()
        await x.barrier()
        assert not ep.segment.any()
        assert not any(out)

    result = case.run(main)
    # The barrier alone sends.
    assert all(counts["payload_bytes_sent"] == 0 for counts in result.statistics)


@pytest.mark.rule("X27", "X10")
@pytest.mark.simulated
def test_a_put_whose_wait_is_cancelled_goes_on(case: Case) -> None:
    """The next sync waits for it, and then it is there."""
    case = case.by_messages()
    case = case.with_ranks(2)
    settled: list[bool] = []

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await before_late_answers(x, settled)
        if ep.rank == 0:
            with trio.move_on_after(1e-3) as scope:
                await x.put(1, 0, pattern(20))
            assert scope.cancelled_caught
            await x.sync()
            assert bytes(await x.get(1, 0, 20)) == pattern(20)
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X27")
@pytest.mark.simulated
def test_a_get_whose_wait_is_cancelled_goes_on(case: Case) -> None:
    """Its buffer is lent until the next sync."""
    case = case.by_messages()
    case = case.with_ranks(2)
    settled: list[bool] = []

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 100, 20, ep.rank)
        await before_late_answers(x, settled)
        if ep.rank == 0:
            out = bytearray(20)
            with trio.move_on_after(1e-3) as scope:
                await x.get(1, 100, out=out)
            assert scope.cancelled_caught
            assert not any(out)
            await x.sync_puts()
            await x.sync_gets()
            assert out == pattern(20, 1)
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X27", "X14", "X15", "X16")
@pytest.mark.simulated
def test_a_handle_can_be_waited_for_again(case: Case) -> None:
    """After a cancelled wait for it alone, among others, or for some."""
    case = case.by_messages()
    case = case.with_ranks(2)
    settled: list[bool] = []

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 100, 20, ep.rank)
        await before_late_answers(x, settled)
        if ep.rank == 0:
            handle = await x.get_nb(1, 100, 20)
            with trio.move_on_after(1e-4) as first:
                await handle
            with trio.move_on_after(1e-4) as second:
                await x.wait_all([handle])
            with trio.move_on_after(1e-4) as third:
                await x.wait_some([handle])
            assert first.cancelled_caught
            assert second.cancelled_caught
            assert third.cancelled_caught
            assert not handle.done
            assert bytes(await handle) == pattern(20, 1)
            await x.sync()
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X27", "X26")
@pytest.mark.simulated
@pytest.mark.parametrize("form", ["put", "put_nbi", "get", "get_nbi"])
def test_a_transfer_in_pieces_is_cancelled_wholly_or_not_at_all(case: Case, form: str) -> None:
    """Cancelled while its pieces wait for slots, it goes on by itself, as soon as the first has been sent."""
    case = case.with_ranks(2)
    chunk = case.limits.max_long_request if form.startswith("put") else case.limits.max_medium
    size = 6 * chunk + 5
    if size > ROOM:
        size = case.limits.max_medium + 5
    if size > ROOM:
        pytest.skip(f"max_medium={case.limits.max_medium} and max_long_request={chunk} leave no room for pieces")

    settled: list[bool] = []

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, size, size, ep.rank)
        await before_late_answers(x, settled)
        if ep.rank == 0:
            data, out = bytearray(pattern(size)), bytearray(size)
            with trio.move_on_after(1e-3):
                if form == "put":
                    await x.put(1, 0, data)
                elif form == "put_nbi":
                    await x.put_nbi(1, 0, data)
                elif form == "get":
                    await x.get(1, size, out=out)
                else:
                    await x.get_nbi(1, size, out=out)
            await x.sync()
            if form.startswith("get"):
                assert bytes(out) in (pattern(size, 1), bytes(size))
        await x.barrier()
        if ep.rank == 1:
            assert holds(ep, 0, pattern(size)) or not ep.segment[:size].any() or form.startswith("get")

    case.run(main, **segment_for(size, size))
