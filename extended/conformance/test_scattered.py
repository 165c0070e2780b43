"""What vector, indexed and strided transfers have in common: handles, syncs, copies of lists, oneself, cancellation."""

import gc
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import linger
from extended.conformance.programs import (
    attached,
    before_late_answers,
    filled,
    holds,
    left,
    natively,
    right,
    room_for,
)

OFFSETS = [70, 0, 21, 300, 28]
PLACES = [byte + offset for offset in OFFSETS for byte in range(7)]
BYTES = len(PLACES)

FORMS = ("vector", "indexed", "strided")


def _matrix(data: Any) -> Any:
    """Give bytes as the array of a strided transfer, which lies in another order here."""
    return np.asfortranarray(np.frombuffer(data, np.uint8).reshape(5, 7))


def _put(x: Any, form: str, suffix: str = "") -> Callable[[int, bytes], Any]:
    """Give a put of `BYTES` bytes in some form, as a function of target and data."""
    call = getattr(x, f"put_{form}{suffix}")
    if form == "vector":
        return lambda dest, data: call(dest, [(offset, 7) for offset in OFFSETS], [data[:10], data[10:]])
    if form == "indexed":
        return lambda dest, data: call(dest, OFFSETS, 7, data)
    return lambda dest, data: call(dest, 100, (-20, 2), _matrix(data))


def _places(form: str) -> list[int]:
    """Give the addresses that a put of that form writes, in order."""
    return [100 - 20 * i + 2 * j for i in range(5) for j in range(7)] if form == "strided" else PLACES


def _get(x: Any, form: str, suffix: str = "") -> Callable[[int, Any], Any]:
    """Give a get of the same bytes, as a function of target and an array of `BYTES` bytes to fill."""
    call = getattr(x, f"get_{form}{suffix}")
    if form == "vector":
        return lambda dest, out: call(dest, [(offset, 7) for offset in OFFSETS], out)
    if form == "indexed":
        return lambda dest, out: call(dest, OFFSETS, 7, out)
    return lambda dest, out: call(dest, 100, (-20, 2), out.reshape(5, 7))


def _held(ep: Endpoint, form: str) -> bytes:
    return ep.segment[_places(form)].tobytes()


@pytest.mark.rule("X45", "X14")
@pytest.mark.crowds
@pytest.mark.parametrize("form", FORMS)
def test_handles_give_the_result_as_often_as_asked(case: Case, form: str) -> None:
    """None of a put; of a get what was given to be filled."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        put = await _put(x, form, "_nb")(right(ep), pattern(BYTES, ep.rank))
        assert await put is None
        assert await put is None
        assert put.done
        out = np.zeros(BYTES, np.uint8)
        get = await _get(x, form, "_nb")(right(ep), out)
        first = await get
        assert await get is first
        assert np.shares_memory(first, out)
        assert out.tobytes() == pattern(BYTES, ep.rank)
        await x.barrier()
        assert _held(ep, form) == pattern(BYTES, left(ep))

    case.run(main)


@pytest.mark.rule("X45", "X43", "X42")
def test_gets_with_handles_make_new_arrays(case: Case) -> None:
    """Where no buffer is given: the handle gives the array."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 400, ep.rank)
        await x.barrier()
        expected = np.frombuffer(pattern(400, right(ep)), np.uint8)[PLACES]
        indexed = await x.get_indexed_nb(right(ep), OFFSETS, 7)
        vector = await x.get_vector_nb(right(ep), [(offset, 7) for offset in OFFSETS])
        np.testing.assert_array_equal(await indexed, expected.reshape(5, 7))
        np.testing.assert_array_equal(await vector, expected)
        assert await indexed is await indexed

    case.run(main)


@pytest.mark.rule("X45", "X19", "X20")
@pytest.mark.parametrize("form", FORMS)
def test_syncs_wait_for_implicit_ones(case: Case, form: str) -> None:
    """Puts by one, gets by another, both by the third."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        out = np.zeros(BYTES, np.uint8)
        for turn, (sync_puts, sync_gets) in enumerate(((x.sync_puts, x.sync_gets), (x.sync, x.sync))):
            assert await _put(x, form, "_nbi")(right(ep), pattern(BYTES, ep.rank + turn)) is None
            await sync_puts()
            await x.barrier()
            assert _held(ep, form) == pattern(BYTES, left(ep) + turn)
            out[:] = 0
            assert await _get(x, form, "_nbi")(right(ep), out) is None
            await sync_gets()
            assert out.tobytes() == pattern(BYTES, ep.rank + turn)
            await x.barrier()

    case.run(main)


@pytest.mark.rule("X45", "X21")
def test_a_region_collects_them(case: Case) -> None:
    """Of every form, in the one handle with plain puts and gets."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 1024, ep.rank)
        await x.barrier()
        outs = [np.zeros(BYTES, np.uint8) for _ in FORMS]
        async with x.access_region() as region:
            for form, out in zip(FORMS, outs, strict=True):
                await _get(x, form, "_nbi")(right(ep), out)
            await x.put_indexed_nbi(right(ep), [2000, 3000], 4, b"12345678")
            await x.put_nbi(right(ep), 2500, b"abc")
        await region.handle
        there = np.frombuffer(pattern(1024, right(ep)), np.uint8)
        for form, out in zip(FORMS, outs, strict=True):
            np.testing.assert_array_equal(out, there[_places(form)])
        await x.barrier()
        assert bytes(ep.segment[[*range(2000, 2004), *range(2500, 2503), *range(3000, 3004)]]) == b"1234abc5678"

    case.run(main)


@pytest.mark.rule("X46")
@pytest.mark.crowds
def test_lists_and_strides_may_change_after_the_call(case: Case) -> None:
    """As soon as it has been made, before it is awaited even; also where many messages are still to be sent."""
    # Native operations are one for each piece.
    count = 300 if natively(case) else min(room_for(case, 1), 3000)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        listed: Any = [[3 * number, 2] for number in range(count)]
        for key, pieces in enumerate((np.array(listed), listed)):
            made = x.put_vector_nb(right(ep), pieces, pattern(2 * count, ep.rank - 1 + key))
            pieces[0][0], pieces[1:] = 1 << 40, pieces[:0] if pieces is listed else 1 << 40
            await (await made)
        for offsets in ([3 * number for number in range(count)], np.arange(0, 3 * count, 3)):
            made = x.get_indexed_nb(right(ep), offsets, 2)
            offsets[:] = [1 << 40] * count
            assert (await (await made)).tobytes() == pattern(2 * count, ep.rank)
        strides = [-3, 1]
        out = np.zeros((count, 2), np.uint8)
        made = x.get_strided_nb(right(ep), 3 * (count - 1), strides, out)
        strides[:] = [1 << 40]
        await (await made)
        assert out[::-1].tobytes() == pattern(2 * count, ep.rank)
        await x.barrier()
        assert ep.segment[: 3 * count].reshape(count, 3)[:, :2].tobytes() == pattern(2 * count, left(ep))

    case.run(main, segment=3 * count + 64)


@pytest.mark.rule("X49", "X7")
@pytest.mark.parametrize("form", FORMS)
def test_a_rank_moves_its_own_bytes_without_a_message(case: Case, form: str) -> None:
    """In every form, done at once."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        me = ep.rank
        for turn, suffix in enumerate(("", "_nb", "_nbi")):
            made = await _put(x, form, suffix)(me, pattern(BYTES, turn))
            assert suffix != "_nb" or made.done
            assert _held(ep, form) == pattern(BYTES, turn)
            out = np.zeros(BYTES, np.uint8)
            made = await _get(x, form, suffix)(me, out)
            assert suffix != "_nb" or made.done
            assert out.tobytes() == pattern(BYTES, turn)

    result = case.run(main)
    assert [counts["requests_sent"] for counts in result.statistics] == [0] * case.size


@pytest.mark.rule("X49", "X44")
def test_a_rank_may_turn_its_own_memory_round(case: Case) -> None:
    """All is read before anything is stored: reversed and transposed in place."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 64)
        line = ep.segment[:64]
        before = line.copy()
        await x.put_strided(ep.rank, 63, (-1,), line)
        np.testing.assert_array_equal(line, before[::-1])
        await x.get_strided(ep.rank, 0, (1, 8), line.reshape(8, 8))
        np.testing.assert_array_equal(line, before[::-1].reshape(8, 8).T.reshape(-1))
        await x.put_vector(ep.rank, [(1, 63), (0, 1)], line)
        np.testing.assert_array_equal(line, np.roll(before[::-1].reshape(8, 8).T.reshape(-1), 1))

    case.run(main)


@pytest.mark.rule("X2", "X49", "X47")
@pytest.mark.simulated
def test_every_call_polls_also_when_nothing_leaves(case: Case) -> None:
    """A message that waits is handled by whatever call comes next."""
    case = case.with_ranks(2)

    async def main(ep: Endpoint) -> None:
        seen: list[int] = []

        def handler(token: Any) -> None:
            seen.append(token.rank)

        x = await attached(ep)
        await ep.attach(handler)
        await x.barrier()  # whatever the conduit has to set up is set up
        out = np.zeros(BYTES, np.uint8)
        calls: list[Any] = [partial(_put(x, form, s), 0, bytes(BYTES)) for form in FORMS for s in ("", "_nb", "_nbi")]
        calls += [partial(_get(x, form, s), 0, out) for form in FORMS for s in ("", "_nb", "_nbi")]
        calls += [
            partial(x.put_indexed, 1, [], 8, b""),
            partial(x.get_vector, 1, []),
            partial(x.get_indexed, 1, [0], 0),
        ]
        for number, call in enumerate(calls):
            if ep.rank == 1:
                await linger(ep, 1e-2)  # so that the other has left the barrier and polls no more
                await ep.request_short(0, handler)
                await linger(ep, 1e-2)
            else:
                await linger(ep, 2e-3)
                await ep.compute(3e-2)  # so that the message is there
                assert len(seen) == number
                made = await call()
                assert len(seen) == number + 1, f"call {number} did not poll"
                if hasattr(made, "done"):
                    await made
            await x.barrier()

    case.run(main)


@pytest.mark.rule("X18", "X45")
@pytest.mark.filterwarnings("ignore::conduit.ConduitWarning")
def test_handles_that_nobody_waited_for_are_listed(case: Case) -> None:
    """With the call and the program's line."""

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        frame = inspect.currentframe()
        assert frame is not None
        line = frame.f_lineno
        if ep.rank == 0:
            await x.put_indexed_nb(right(ep), OFFSETS, 7, bytes(BYTES))
            await x.get_strided_nb(right(ep), 0, (1,), np.zeros(BYTES, np.uint8)[::-1])
        await x.barrier()
        return line

    result = case.run(main)
    first, second = result.warnings[0]
    assert f"a handle of put_indexed_nb, made at {__file__}:{result.values[0] + 2}, " in first
    assert f"a handle of get_strided_nb, made at {__file__}:{result.values[0] + 3}, " in second
    assert not any(result.warnings[1:])


@pytest.mark.rule("X29", "X45")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.ends
def test_a_call_that_is_not_awaited_ends_the_job(case: Case, form: str) -> None:
    """With an error that names it and its line."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            _put(x, form)(right(ep), bytes(BYTES))
            gc.collect()
        await ep.poll()
        await x.barrier()

    with pytest.raises(conduit.BadRequest, match=rf"\Acall\(.*\) at {__file__}:.*never awaited"):
        case.run(main)


@pytest.mark.rule("X54", "X26")
@pytest.mark.parametrize("form", FORMS)
def test_what_is_cancelled_before_it_begins_does_nothing(case: Case, form: str) -> None:
    """To others and to oneself: no byte moves, and nothing is left to wait for."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        out = np.zeros(BYTES, np.uint8)
        ep.segment[500:600] = 1
        for dest in range(ep.size):
            for suffix in ("", "_nb", "_nbi"):
                for call in (
                    partial(_put(x, form, suffix), dest, pattern(BYTES)),
                    partial(_get(x, form, suffix), dest, out),
                ):
                    with trio.CancelScope() as scope:
                        scope.cancel()
                        await call()
                    assert scope.cancelled_caught
        await x.sync()
        await x.barrier()
        assert not ep.segment[:500].any()
        assert not out.any()

    assert all(counts["payload_bytes_sent"] == 0 for counts in case.run(main).statistics)


@pytest.mark.rule("X54", "X27")
@pytest.mark.simulated
@pytest.mark.parametrize("kind", ["put", "get"])
def test_one_in_many_messages_is_cancelled_wholly_or_not_at_all(case: Case, kind: str) -> None:
    """Cancelled while its messages wait for slots, it goes on by itself once the first has been sent."""
    case = case.with_ranks(2)
    most = room_for(case, 8)
    count, nbytes = 14, most // 2 + 8  # one element in each message, where that is the largest of all
    offsets = [2 * nbytes * number for number in range(count)]
    settled: list[bool] = []

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 1 and kind == "get":
            filled(ep, 0, 2 * nbytes * count, 5)
        await before_late_answers(x, settled)
        if ep.rank == 0:
            out = np.zeros((count, nbytes), np.uint8)
            with trio.move_on_after(1e-3):
                if kind == "put":
                    await x.put_indexed(1, offsets, nbytes, pattern(count * nbytes, 3))
                else:
                    await x.get_indexed(1, offsets, nbytes, out)
            await x.sync()
            if kind == "get":
                there = np.frombuffer(pattern(2 * nbytes * count, 5), np.uint8).reshape(count, 2 * nbytes)
                there = there[:, :nbytes]
                assert not out.any() or (out[0, 0] in (0, *there[0, :1]) and (out[1:] == there[1:]).all())
        await x.barrier()
        if ep.rank == 1 and kind == "put":
            came = ep.segment[: 2 * nbytes * count].reshape(count, 2 * nbytes)[:, :nbytes]
            assert not came.any() or came.tobytes() == pattern(count * nbytes, 3)

    case.run(main, segment=2 * nbytes * count + 64)


@pytest.mark.rule("X45", "X41")
@pytest.mark.crowds
def test_all_forms_together_to_every_rank(case: Case) -> None:
    """Everything outstanding at once, waited for by one wait_all."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        handles: list[Any] = []
        for dest in range(ep.size):
            base = 96 * ep.rank
            data = pattern(96, ep.rank * 16 + dest)
            handles.append(await x.put_vector_nb(dest, [(base, 5), (base + 8, 11)], [data[:9], data[9:16]]))
            handles.append(await x.put_indexed_nb(dest, [base + 32, base + 44], 8, data[16:32]))
            block = np.frombuffer(data[32:64], np.uint8).reshape(4, 8)
            handles.append(await x.put_strided_nb(dest, base + 56, (9, 1), block))
        assert await x.wait_all(handles) == [None] * len(handles)
        await x.barrier()
        for origin in range(ep.size):
            data, base = pattern(96, origin * 16 + ep.rank), 96 * origin
            assert holds(ep, base, data[:5] + bytes(3) + data[5:16])
            assert holds(ep, base + 32, data[16:24] + bytes(4) + data[24:32])
            rows = [data[32 + 8 * row : 40 + 8 * row] for row in range(4)]
            assert holds(ep, base + 56, b"\0".join(rows))

    case.run(main)
