"""Implicit operations, their syncs, and access regions."""

import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from extended.conformance.programs import attached, filled, holds, left, right, segment_for, transfer_sizes


@pytest.mark.rule("X19", "X3", "X4")
@pytest.mark.crowds
def test_sync_waits_for_puts_and_gets(case: Case) -> None:
    """Of all sizes, many at once; each kind by its own sync, or both by one."""
    sizes = [size for size in transfer_sizes(case) if size]
    most = max(sizes)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, most, ep.rank)
        await x.barrier()
        buffers = [bytearray(size) for size in sizes]
        for buffer in buffers:
            await x.get_nbi(right(ep), 0, out=buffer)
        await x.sync_gets()
        for size, buffer in zip(sizes, buffers, strict=True):
            assert buffer == pattern(most, right(ep))[:size]
        await x.barrier()
        for size in sizes:
            await x.put_nbi(right(ep), 0, pattern(size, ep.rank + 7), bulk=False)
            await x.sync_puts()
            await x.barrier()
            assert holds(ep, 0, pattern(size, left(ep) + 7))
            await x.barrier()
        back = bytearray(1)
        await x.put_value_nbi(right(ep), 3, 77, nbytes=1)
        await x.memset_nbi(right(ep), 8, 78, 4)
        await x.get_nbi(ep.rank, 0, out=back)
        await x.sync()
        await x.barrier()
        assert ep.segment[3] == 77
        assert bytes(ep.segment[8:12]) == b"NNNN"

    case.run(main, **segment_for(most))


@pytest.mark.rule("X19")
def test_a_sync_of_nothing_returns(case: Case) -> None:
    """Every sync, at any time."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for sync in (x.sync, x.sync_puts, x.sync_gets, x.sync):
            await sync()

    case.run(main)


@pytest.mark.rule("X19")
def test_explicit_operations_are_not_in_the_implicit_set(case: Case) -> None:
    """A sync leaves handles alone, and waiting for a handle leaves the implicit set alone."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        handle = await x.put_nb(right(ep), 0, pattern(64, ep.rank))
        await x.put_nbi(right(ep), 64, pattern(64, ep.rank + 3), bulk=False)
        await handle
        await x.sync()
        await x.barrier()
        assert holds(ep, 0, pattern(64, left(ep)) + pattern(64, left(ep) + 3))

    case.run(main)


@pytest.mark.rule("X20")
def test_a_sync_waits_for_the_operations_of_all_tasks(case: Case) -> None:
    """The implicit set is the rank's."""
    count = 20

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)

        async def issue(task: int) -> None:
            for number in range(count):
                await x.put_nbi(right(ep), (task * count + number) * 8, bytes([task + 1]) * 8)

        async with trio.open_nursery() as nursery:
            for task in range(3):
                nursery.start_soon(issue, task)
        await x.sync_puts()
        await x.barrier()
        assert holds(ep, 0, b"\1" * (8 * count) + b"\2" * (8 * count) + b"\3" * (8 * count))

    case.run(main)


@pytest.mark.rule("X20")
def test_a_sync_does_not_wait_for_what_begins_later(case: Case) -> None:
    """A task that goes on issuing cannot keep another one in its sync."""
    most = 10_000  # the time limit would let it go on for hours of a computer's time

    async def main(ep: Endpoint) -> bool:
        x = await attached(ep)
        over = False

        async def issue() -> None:
            issued = 0
            while not over:
                await x.put_nbi(right(ep), 0, b"12345678")
                issued += 1
                assert issued < most or not case.simulated, f"a sync waits for {issued} puts of another task"
                await ep.poll()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(issue)
            for _ in range(5):
                await x.put_nbi(right(ep), 8, b"x")
                await x.sync()
            over = True
        await x.sync()
        return True

    assert all(case.run(main).values)


@pytest.mark.rule("X20")
@pytest.mark.simulated
def test_a_sync_of_one_kind_does_not_wait_for_the_other(case: Case) -> None:
    """What rank 2 answers late is none of the kind that rank 0 waits for."""
    case, late = case.at_least(3), 0.1

    async def main(ep: Endpoint) -> list[float]:
        x = await attached(ep)
        out = bytearray(8)
        # Some networks connect two ranks at their first message.
        await x.put(2, 8 * ep.rank, bytes(8))
        times = []
        for kind in ("puts", "gets"):
            await x.barrier()
            if ep.rank == 2:
                await ep.compute(late)
            elif ep.rank == 0:
                # The second may wait for a slot, the sync only for the first.
                if kind == "puts":
                    await x.put_nbi(1, 0, b"12345678")
                    await x.get_nbi(2, 0, out=out)
                else:
                    await x.get_nbi(1, 0, out=out)
                    await x.put_nbi(2, 0, b"12345678")
                begun = ep.now
                await (x.sync_puts() if kind == "puts" else x.sync_gets())
                times.append(ep.now - begun)
            await x.sync()
        return times

    assert all(took < late / 2 for took in case.run(main).values[0])


@pytest.mark.rule("X21")
@pytest.mark.crowds
def test_a_region_collects_implicit_operations_into_one_handle(case: Case) -> None:
    """Puts, gets, values and memsets of any size; explicit ones inside are on their own."""
    size = min(case.limits.max_medium + 5, 1 << 16)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, size, ep.rank)
        await x.barrier()
        buffer = bytearray(size)
        async with x.access_region() as region:
            await x.get_nbi(right(ep), 0, out=buffer)
            await x.put_nbi(right(ep), size, pattern(size, ep.rank + 9), bulk=False)
            await x.put_value_nbi(right(ep), 2 * size, 5, nbytes=1)
            await x.memset_nbi(right(ep), 2 * size + 1, 6, 3)
            handle = await x.put_nb(right(ep), 2 * size + 4, b"explicit")
        assert await region.handle is None
        assert await region.handle is None
        assert region.handle.done
        assert buffer == pattern(size, right(ep))
        await handle
        await x.barrier()
        assert holds(ep, size, pattern(size, left(ep) + 9) + b"\5\6\6\6explicit")

    case.run(main, **segment_for(size, size))


@pytest.mark.rule("X21")
def test_an_empty_region_is_done_at_once(case: Case) -> None:
    """Its handle can be waited for like any other."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        async with x.access_region() as region:
            pass
        assert region.handle.done
        assert await x.wait_all([region.handle]) == [None]

    case.run(main)


@pytest.mark.rule("X21")
def test_a_region_is_its_tasks_own(case: Case) -> None:
    """Another task's operations stay in the rank's set, and its sync does not wait for the region."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        inside = trio.Event()
        synced = trio.Event()

        async def other() -> None:
            await ep.block_until(inside.is_set)
            await x.put_nbi(right(ep), 8, b"other")
            await x.sync()
            synced.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            async with x.access_region() as region:
                await x.put_nbi(right(ep), 0, b"region")
                inside.set()
                await ep.block_until(synced.is_set)
            await region.handle
        await x.barrier()
        assert holds(ep, 0, b"region\0\0other")

    case.run(main)


@pytest.mark.rule("X22")
def test_regions_do_not_nest_and_refuse_syncs(case: Case) -> None:
    """Each with a message that names the way out; the region goes on."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        async with x.access_region() as region:
            await x.put_nbi(right(ep), 0, b"a")
            for sync in (x.sync, x.sync_puts, x.sync_gets):
                with pytest.raises(conduit.BadRequest, match=rf"\A{sync.__name__}: .*region\.handle"):
                    await sync()
            with pytest.raises(conduit.BadRequest, match=r"\Aaccess_region: .*do not nest"):
                async with x.access_region():
                    pass
            with pytest.raises(conduit.BadRequest, match=r"\Aaccess_region: .*when the region is left"):
                _ = region.handle
            await x.put_nbi(right(ep), 1, b"b")
        await region.handle
        with pytest.raises(conduit.BadRequest, match=r"\Aaccess_region: .*entered before"):
            async with region:
                pass
        await x.barrier()
        assert holds(ep, 0, b"ab")

    case.run(main)


@pytest.mark.rule("X21", "X27")
def test_what_a_failed_region_began_is_waited_for_by_sync(case: Case) -> None:
    """The error passes, and no operation is lost."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        region = x.access_region()

        async def fail() -> None:
            async with region:
                await x.put_nbi(right(ep), 0, b"begun", bulk=False)
                raise RuntimeError("oops")

        with pytest.raises(RuntimeError, match=r"\Aoops\Z"):
            await fail()
        await x.sync()
        assert region.handle.done
        await x.barrier()
        assert holds(ep, 0, b"begun")

    case.run(main)


@pytest.mark.rule("X21", "X27")
def test_what_a_region_began_that_is_cancelled_as_it_is_left_is_waited_for_by_sync(case: Case) -> None:
    """Nobody is left who would wait for its handle, so that there is no warning of it either."""
    size = 3000

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        region = x.access_region()
        with trio.CancelScope() as scope:
            async with region:
                await x.put_nbi(right(ep), 0, pattern(size, ep.rank))
                scope.cancel()
        assert scope.cancelled_caught
        await x.sync()
        assert region.handle.done
        await x.barrier()
        assert holds(ep, 0, pattern(size, left(ep)))

    result = case.run(main, segment=size)
    assert not any(result.warnings)
