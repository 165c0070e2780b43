"""Operations with handles: what a handle gives, waiting for many, and what was never waited for."""

import gc
import inspect
from functools import partial
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import refusal
from extended import Extended, Handle
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

Bytes = npt.NDArray[np.uint8]

pytestmark = pytest.mark.filterwarnings("ignore::conduit.ConduitWarning")


@pytest.mark.rule("X14", "X3", "X4")
@pytest.mark.crowds
def test_a_handle_gives_the_result_as_often_as_asked(case: Case) -> None:
    """Of every form: the array, the buffer, the value, or None."""
    sizes = [size for size in transfer_sizes(case) if size]
    most = max(sizes)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for size in sizes:
            put = await x.put_nb(right(ep), 0, pattern(size, ep.rank))
            assert await put is None
            assert await put is None
            await x.barrier()
            new = await x.get_nb(right(ep), 0, size)
            first = await new
            assert bytes(first) == pattern(size, ep.rank)
            assert await new is first
            buffer = np.zeros(size, np.uint8)
            into = await x.get_nb(right(ep), 0, out=buffer)
            assert await into is buffer
            assert await into is buffer
            assert buffer.tobytes() == pattern(size, ep.rank)
            await x.barrier()
        value = await x.put_value_nb(right(ep), 5, ep.rank + 1)
        assert await value is None
        await x.barrier()
        value = await x.get_value_nb(ep.rank, 5)
        assert await value == left(ep) + 1
        assert await value == left(ep) + 1
        await x.barrier()
        fill = await x.memset_nb(right(ep), 0, 9, most)
        assert await fill is None

    case.run(main, **segment_for(most))


@pytest.mark.rule("X14")
def test_a_handle_that_is_done_holds_no_buffer(case: Case) -> None:
    """A bytearray can grow again, while the handle lives; got from another rank and from this one, in every form."""
    size = min(case.limits.max_medium + 1, max(transfer_sizes(case)) // 3)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for dest in (right(ep), ep.rank):
            here = [bytearray(count) for count in (8, size, 24, 24, size)]
            inside = ep.segment[:size]
            handles = [
                await x.get_nb(dest, 0, out=here[0]),
                await x.get_nb(dest, 0, out=here[1]),
                await x.get_indexed_nb(dest, [0, 9, 40], 8, here[2]),
                await x.get_vector_nb(dest, [(0, 8), (8, 16)], here[3]),
                await x.get_vector_nb(dest, [(0, size), (size + 5, size)], [here[4], inside]),
                await x.get_vector_nb(dest, [(0, size), (size + 5, size)], [inside, here[4]]),
                await x.put_nb(dest, 2 * size, here[0]),
            ]
            await x.wait_all(handles)
            for buffer in here:
                buffer.extend(b"more")
            assert all(handle.done for handle in handles)

    case.run(main, **segment_for(size, size, size))


@pytest.mark.rule("X14")
def test_a_get_that_is_over_holds_no_buffer(case: Case) -> None:
    """A bytearray can grow again at once, as long as the rank has called nothing else."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.barrier()
        for dest in (right(ep), ep.rank):
            here = bytearray(8)
            await x.get(dest, 0, out=here)
            here.extend(b"more")
            here = bytearray(24)
            await x.get_indexed(dest, [0, 9, 40], 8, here)
            here.extend(b"more")
            here = bytearray(24)
            handle = await x.get_vector_nb(dest, [(0, 8), (8, 16)], here)
            await handle
            here.extend(b"more")
        await x.barrier()

    case.run(main, **segment_for(64))


@pytest.mark.rule("X14")
def test_done_looks_without_polling(case: Case) -> None:
    """It turns true by some poll, never by looking; then the result is there at once."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 100, ep.rank)
        await x.barrier()
        if ep.rank == 0:
            handle = await x.get_nb(1, 0, 100)
            if not handle.done:
                for _ in range(100):
                    assert not handle.done
            while not handle.done:
                await ep.poll()
            assert bytes(await handle) == pattern(100, 1)
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X14")
def test_several_tasks_may_await_one_handle(case: Case) -> None:
    """All of them get the result."""

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        handle = await x.get_nb(right(ep), 0, 10)
        got: list[Any] = []

        async def wait() -> None:
            got.append(await handle)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(wait)
        assert all(one is got[0] for one in got)
        return len(got)

    assert list(case.run(main).values) == [3] * case.size


@pytest.mark.rule("X4", "X14")
@pytest.mark.once
def test_type_checkers_know_what_calls_give(case: Case) -> None:
    """Here it only runs; mypy, which is run over the suite, is what checks it."""

    async def main(ep: Endpoint) -> None:
        x = await Extended.attach(ep)
        out = bytearray(8)
        assert_type(await x.get(0, 0, 8), Bytes)
        assert_type(await x.get(0, 0, out=out), bytearray)
        assert_type(await x.get_nb(0, 0, 8), Handle[Bytes])
        assert_type(await x.get_indexed(0, [0, 4], 4), Bytes)
        assert_type(await x.get_vector(0, [(0, 8)], out), bytearray)
        await x.wait_all([await x.get_nb(0, 0, out=out), await x.put_nb(0, 0, out), await x.get_value_nb(0, 0)])
        numbers = x.atomic("i4")
        assert_type(await numbers.inc(dest=0, offset=0), None)
        await numbers.fetch_add(dest=0, offset=0, v=1)

    case.run(main, **segment_for(8))


@pytest.mark.rule("X15")
@pytest.mark.crowds
def test_wait_all_gives_the_results_in_order(case: Case) -> None:
    """Handles of all kinds to all ranks, more than there are slots; done ones and repeated ones count too."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 512, ep.rank)
        await x.barrier()
        handles: list[Any] = []
        expected: list[Any] = []
        for number in range(40):
            dest = (ep.rank + number) % ep.size
            if number % 3 == 2:
                handles.append(await x.put_nb(dest, 1024 + 16 * number, bytes(16)))
                expected.append(None)
            else:
                handles.append(await x.get_nb(dest, number, 64))
                expected.append(pattern(512, dest)[number : number + 64])
        results = await x.wait_all([*handles, handles[0]])
        assert [None if one is None else bytes(one) for one in results] == [*expected, expected[0]]
        assert await x.wait_all(handles[::-1]) == results[-2::-1]
        assert await x.wait_all([]) == []
        some = handles[:2]
        for call, expected_here in ((x.wait_all, results[:2]), (x.wait_some, (handles[:2], []))):
            begun = call(some)
            some.append(3)  # too late to matter
            assert await begun == expected_here
            some.pop()
        assert all(handle.done for handle in handles)

    case.run(main)


@pytest.mark.rule("X16")
@pytest.mark.crowds
def test_wait_some_parts_done_from_pending(case: Case) -> None:
    """At least one is done each time, both lists keep the order, and in the end all are."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 512, ep.rank)
        await x.barrier()
        pending: list[Any] = [await x.get_nb((ep.rank + step) % ep.size, step, 32) for step in range(12)]
        order = {id(handle): number for number, handle in enumerate(pending)}
        finished: list[Any] = []
        while pending:
            done, rest = await x.wait_some(pending)
            assert done
            assert len(done) + len(rest) == len(pending)
            for part in (done, rest):
                numbers = [order[id(handle)] for handle in part]
                assert numbers == sorted(numbers)
            assert all(handle.done for handle in done)
            assert not any(handle.done for handle in rest)
            finished += done
            pending = rest
        for handle in finished:
            step = order[id(handle)]
            assert bytes(await handle) == pattern(512, (ep.rank + step) % ep.size)[step : step + 32]
        assert await x.wait_some([]) == ([], [])

    case.run(main)


@pytest.mark.rule("X12")
def test_a_source_that_is_not_bulk_may_change_after_the_call(case: Case) -> None:
    """Of every size, with handle and implicit: what arrives is what it held at the call."""
    sizes = [size for size in transfer_sizes(case) if size]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for size in sizes:
            data = bytearray(pattern(size, ep.rank))
            handle = await x.put_nb(right(ep), 0, data, bulk=False)
            data[:] = bytes(size)
            await handle
            await x.barrier()
            assert holds(ep, 0, pattern(size, left(ep))), f"put_nb of {size} bytes"
            await x.barrier()
            data[:] = pattern(size, ep.rank + 50)
            await x.put_nbi(right(ep), 0, data, bulk=False)
            data[:] = bytes(size)
            await x.sync_puts()
            await x.barrier()
            assert holds(ep, 0, pattern(size, left(ep) + 50)), f"put_nbi of {size} bytes"
            await x.barrier()

    case.run(main, **segment_for(max(sizes)))


@pytest.mark.rule("X13", "X12")
@pytest.mark.parametrize("where", ["in", "out"])
def test_a_large_bulk_put_leaves_from_its_source(case: Case, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is handed to the core is the program's own memory, in every bulk form; what arrives is right."""
    case = case.by_messages()
    size = case.limits.max_medium + 11

    given: list[Any] = []
    send = Endpoint.request_long_async

    def watch(ep: Endpoint, dest: int, handler: Any, payload: Any, *args: Any) -> Any:
        given.append(np.frombuffer(payload, np.uint8))
        return send(ep, dest, handler, payload, *args)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank > 0:
            return
        for turn in range(3):
            data = source(ep, where, size + 64, pattern(size, turn))
            if turn == 0:
                await x.put(1, 0, data)
            elif turn == 1:
                await (await x.put_nb(1, 0, data))
            else:
                await x.put_nbi(1, 0, data)
                await x.sync()
            assert bytes(await x.get(1, 0, size)) == pattern(size, turn)
            # Segments that this rank can write by itself take no message.
            assert sum(piece.nbytes for piece in given) == (size if ep.segment_of(1) is None else 0)
            assert all(np.shares_memory(piece, data) for piece in given)
            given.clear()

    monkeypatch.setattr(Endpoint, "request_long_async", watch)
    case.at_least(2).run(main, **segment_for(size, size))


@pytest.mark.rule("X17")
def test_many_operations_can_be_outstanding(case: Case) -> None:
    """Handles by the thousand, none of which is waited for before the last has been made."""
    count = 300

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 256, ep.rank)
        await x.barrier()
        puts = [await x.put_nb(right(ep), 512 + 4 * n, n.to_bytes(4, "little")) for n in range(count)]
        gets = [await x.get_nb(right(ep), n % 256, 1) for n in range(count)]
        results = await x.wait_all([*puts, *gets])
        assert [int(one[0]) for one in results[count:]] == [pattern(256, right(ep))[n % 256] for n in range(count)]
        await x.barrier()
        words = ep.segment[512 : 512 + 4 * count].view("<u4")
        assert words.tolist() == list(range(count))

    case.with_ranks(min(case.size, 2)).run(main)


@pytest.mark.rule("X18")
def test_handles_that_nobody_waited_for_are_listed(case: Case) -> None:
    """With call and line, in the rank's warnings; those that were waited for, or seen done, are not."""

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        line = 0
        waited = [await x.put_nb(right(ep), 0, b"a") for _ in range(4)]
        await waited[0]
        await x.wait_all(waited[1:3])
        await x.wait_some(waited[3:])
        seen = await x.get_nb(right(ep), 0, 4)
        await ep.block_until(lambda: seen.done)
        if ep.rank == 0:
            line = _this_line()
            for _ in range(3):
                await x.get_nb(right(ep), 0, 4)
            await x.put_nb(right(ep), 0, b"b")
        return line

    result = case.run(main)
    line = result.values[0]
    first, second = result.warnings[0]
    assert f"3 handles of get_nb, made at {__file__}:{line + 2}, " in first
    assert f"a handle of put_nb, made at {__file__}:{line + 3}, " in second
    assert not any(result.warnings[1:])


def _this_line() -> int:
    """Give the number of the line that calls this."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


@pytest.mark.rule("X15", "X16", "X28")
def test_what_is_no_handle_is_refused(case: Case) -> None:
    """A call that was not awaited, and anything else; the message says which one it is."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        handle = await x.put_nb(right(ep), 0, b"a")
        for call in (x.wait_all, x.wait_some):
            wrong: Any = x.put_nb(right(ep), 0, b"b")
            message = refusal(partial(call, [handle, wrong]))
            assert message.startswith(f"{call.__name__}: handles[1] is a coroutine, a call that was not awaited")
            await wrong
            assert "handles[0] is an int" in refusal(partial(call, [7]))
            assert "single handle" in refusal(partial(call, handle))
            assert "no value" in refusal(partial(call, None))
        await x.wait_all([handle])

    case.run(main)


@pytest.mark.rule("X14")
def test_a_handle_does_not_need_its_variable(case: Case) -> None:
    """An operation goes on when the program forgets its handle and its buffers."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.put_nb(right(ep), 0, bytearray(pattern(300, ep.rank)))
        if ep.rank == 0:
            gc.collect()
        await x.put(right(ep), 400, b"x")
        await x.barrier()
        await ep.block_until(lambda: holds(ep, 0, pattern(300, left(ep))))

    result = case.run(main)
    assert [len(warnings) for warnings in result.warnings] == [1] * case.size


@pytest.mark.rule("X15")
@pytest.mark.once
def test_handles_may_come_from_any_iterable(case: Case) -> None:
    """A generator, a set, the values of a dict."""

    async def main(ep: Endpoint) -> list[list[int]]:
        x = await attached(ep)
        await x.put_value(right(ep), 8, ep.rank)
        await x.barrier()
        made = {rank: await x.get_value_nb(rank, 8) for rank in range(ep.size)}
        first: list[int] = await x.wait_all(made.values())
        again: list[int] = await x.wait_all(handle for handle in made.values())
        done, pending = await x.wait_some(iter(made.values()))
        assert (done, pending) == (list(made.values()), [])
        assert sorted(await x.wait_all(set(made.values()))) == sorted(first)
        await x.barrier()
        return [first, again]

    expected = [(rank - 1) % case.size for rank in range(case.size)]
    assert case.run(main).values == [[expected, expected]] * case.size


@pytest.mark.rule("X29")
@pytest.mark.ends
def test_a_call_that_is_not_awaited_ends_the_job(case: Case) -> None:
    """With an error that names the call."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            forgotten: Any = x.put_nb(right(ep), 0, b"a")
            del forgotten
            gc.collect()
        await ep.poll()
        await x.barrier()

    with pytest.raises(conduit.BadRequest, match=r"\Ax\.put_nb\(right\(ep\), 0, b\"a\"\) at .*never awaited"):
        case.run(main)
