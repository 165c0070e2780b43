"""What a message carries and where it lands: short, medium and long requests."""

import array
import ctypes
import mmap
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint, HandlerError, Token
from conduit.conformance.cases import Case
from conduit.conformance.hardware import memory
from conduit.conformance.patterns import first_difference, pattern
from conduit.conformance.programs import CATEGORIES, answer, attached, holds, more_than, names, neighbour, refusal, send
from conduit.words import is_a

CANARY = 64


@pytest.mark.rule("R12")
def test_short_gives_the_handler_a_token_and_the_arguments(case: Case) -> None:
    """Nothing more and nothing less."""

    async def main(ep: Endpoint) -> list[Any]:
        got: list[Any] = []

        def handler(*everything: Any) -> None:
            got.append((isinstance(everything[0], Token), everything[1:]))

        await ep.attach(handler)
        await ep.request_short(neighbour(ep), handler, 5, -6)
        await ep.block_until(lambda: bool(got))
        return got

    assert list(case.run(main).values) == [[(True, (5, -6))]] * case.size


@pytest.mark.rule("R13", "R14", "R38")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_medium_and_long_give_the_handler_payload_then_arguments(case: Case, category: str) -> None:
    """The payload is a flat memoryview of bytes of exactly the size that was sent."""

    async def main(ep: Endpoint) -> list[Any]:
        got: list[Any] = []

        def handler(token: Token, payload: memoryview, *args: int) -> None:
            kind = (type(payload), payload.format, payload.ndim, payload.itemsize, payload.readonly, payload.nbytes)
            got.append((kind, bytes(payload), args))

        await ep.attach(handler)
        await send(ep, category, neighbour(ep), handler, 5, -6, payload=np.arange(6, dtype="<i4"), offset=8)
        await ep.block_until(lambda: bool(got))
        return got

    data = np.arange(6, dtype="<i4").tobytes()
    assert list(case.run(main).values) == [[((memoryview, "B", 1, 1, False, 24), data, (5, -6))]] * case.size


@pytest.mark.rule("R14", "R15")
def test_long_writes_its_range_and_not_a_byte_more(case: Case) -> None:
    """Around every size that matters, the bytes before and behind the range keep their values."""
    sizes = [size for size in case.sizes(min(case.longest(), 5000)) if size]
    segment = 3 * CANARY + max(sizes)

    async def main(ep: Endpoint) -> list[str]:
        wrong: list[str] = []
        turns: list[int] = []

        def handler(token: Token, payload: memoryview, number: int, offset: int) -> None:
            held = memory(ep)
            expected = np.full(segment, 0xEE, np.uint8)
            expected[offset : offset + sizes[number]] = np.frombuffer(pattern(sizes[number], number), np.uint8)
            if not np.array_equal(held, expected):
                wrong.append(f"{sizes[number]} bytes at {offset}: {first_difference(bytes(held), bytes(expected))}")
            ep.segment[:] = 0xEE
            token.reply_short(done)

        def done(token: Token) -> None:
            turns.append(1)

        ep.segment[:] = 0xEE
        await ep.attach(handler, done)
        for number, size in enumerate(sizes):
            offset = CANARY + (number * 5 + 3) % CANARY
            await ep.request_long(neighbour(ep), handler, pattern(size, number), offset, number, offset)
            await ep.block_until(more_than(turns, number))
        return wrong

    assert list(case.run(main, segment=segment).values) == [[]] * case.size


@pytest.mark.rule("R14")
def test_long_payload_is_whole_before_its_handler_runs(case: Case) -> None:
    """Many longs on their way at once: each handler finds every byte of its own, by the program's view and below it."""
    size = min(case.longest(), 4096)
    rounds = 6

    async def main(ep: Endpoint) -> list[str]:
        wrong: list[str] = []
        count = 0

        def handler(token: Token, payload: memoryview, number: int) -> None:
            nonlocal count
            count += 1
            nbytes = size - number * 37
            expected = pattern(nbytes, token.rank * 16 + number)
            start = (token.rank * rounds + number) * size
            views = map(bytes, (payload, ep.segment[start : start + nbytes], memory(ep)[start : start + nbytes]))
            wrong.extend(first_difference(view, expected) for view in views if view != expected)

        await ep.attach(handler)
        for number in range(rounds):
            for step in range(1, min(ep.size, 4)):
                data = pattern(size - number * 37, ep.rank * 16 + number)
                offset = (ep.rank * rounds + number) * size
                await ep.request_long((ep.rank + step) % ep.size, handler, data, offset, number)
        await ep.block_until(lambda: count == rounds * (min(ep.size, 4) - 1))
        return wrong

    assert list(case.run(main, segment=case.size * rounds * size).values) == [[]] * case.size


@pytest.mark.rule("R14", "R56")
def test_every_rank_writes_to_every_rank_with_longs(case: Case) -> None:
    """Each finds what each other one wrote, in its place."""
    size = min(case.longest(), 700)

    async def main(ep: Endpoint) -> bool:
        log = await attached(ep)
        for dest in range(ep.size):
            await ep.request_long(dest, log.long, pattern(size, ep.rank * 17 + dest), ep.rank * size, ep.rank)
        await log.until(ep.size)
        expected = b"".join(pattern(size, source * 17 + ep.rank) for source in range(ep.size))
        return bytes(memory(ep)) == expected == bytes(ep.segment)

    assert all(case.run(main, segment=case.size * size).values)


def _spread(case: Case, modulus: int, count: int) -> list[tuple[int, int]]:
    """Give pairs of source and destination offsets: all of them on the plain case, others take some in turn."""
    pairs = [(source, dest) for source in range(modulus) for dest in range(modulus)]
    if len(pairs) <= count:
        return pairs
    return [pairs[(index * 1237 + case.seed * 31) % len(pairs)] for index in range(count)]


async def _unaligned(
    ep: Endpoint, pairs: list[tuple[int, int]], sizes: Callable[[int], int], own: bool = False, count: int | None = None
) -> list[str]:
    """Send a long for each pair of offsets, or the first few; the receiver looks at the range and around it."""
    wrong: list[str] = []
    largest = max(sizes(index) for index in range(len(pairs)))
    stride = largest + 3 * CANARY
    places = max(1, (len(ep.segment) // 2) // stride)

    def handler(token: Token, payload: memoryview, index: int, start: int) -> None:
        nbytes = sizes(index)
        around = bytes(ep.segment[start - 8 : start + nbytes + 8])
        expected = bytes(8) + pattern(nbytes, index) + bytes(8)
        if around != expected:
            wrong.append(f"{nbytes} bytes, offsets {pairs[index]}: {first_difference(around, expected)}")
        ep.segment[start - 8 : start + nbytes + 8] = 0
        token.reply_short(done, index)

    def done(token: Token, index: int) -> None:
        returned.add(index)

    returned: set[int] = set()
    await ep.attach(handler, done)
    buffer = ep.segment[len(ep.segment) // 2 :] if own else np.zeros(largest + 128, np.uint8)
    # Where in memory a plain buffer starts is not ours to choose; its distance to the next line is.
    lead = (-buffer.ctypes.data) % 64
    for index, (source, dest) in enumerate(pairs[:count]):
        if index >= places:  # what was there has been looked at; other replies may come before its own
            await ep.block_until(holds(returned, index - places))
        nbytes = sizes(index)
        start = (index % places) * stride + CANARY + dest
        piece = buffer[lead + source : lead + source + nbytes]
        piece[:] = np.frombuffer(pattern(nbytes, index), np.uint8)
        await ep.request_long(neighbour(ep), handler, piece, start, index, start)
        piece[:] = 0xFF
    await ep.block_until(lambda: len(returned) == len(pairs[:count]))
    await ep.attach()
    return wrong


@pytest.mark.rule("R15")
@pytest.mark.parametrize("own", [False, True], ids=["buffer", "segment"])
def test_every_pair_of_offsets_modulo_8(case: Case, own: bool) -> None:
    """Source and destination may lie anywhere: all 64 combinations, in sizes below and above every threshold."""
    ceiling = min(case.longest(), 9000)
    usual = [size for size in (1, 7, 40, 500, *(edge + 13 for edge in case.thresholds), ceiling) if size <= ceiling]
    pairs = _spread(case, 8, 64)

    async def main(ep: Endpoint) -> list[str]:
        # A few senders are enough.
        count = 4 if ep.rank % 2 and ep.size > 3 else None
        return await _unaligned(ep, pairs, lambda index: usual[(index * 7 + index // 8) % len(usual)], own, count)

    for wrong in case.run(main, segment=1 << 17).values:
        assert wrong == []


@pytest.mark.rule("R15")
def test_pairs_of_offsets_modulo_64(case: Case, request: pytest.FixtureRequest) -> None:
    """The 4096 combinations within a line of memory.

    The plain case of two ranks has each offset of the source, each of the destination and each distance of the two
    several times; other cases take some, and with `--full` two ranks take all.
    """
    every = case.size == 2 and request.config.getoption("full")
    plain = case.size == 2 and "default" in case.label
    pairs = _spread(case, 64, 4096 if every else 512 if plain else 128)
    edge = min((edge for edge in case.thresholds if edge >= 256), default=700)
    size = min(case.longest(), edge + 9)

    async def main(ep: Endpoint) -> list[str]:
        count = 1 if ep.rank else None
        return await _unaligned(ep, pairs, lambda index: size if index % 4 == 0 else 1 + index % 130, count=count)

    for wrong in case.run(main, segment=max(1 << 16, 2 * size)).values:
        assert wrong == []


@pytest.mark.rule("R15")
def test_medium_payload_may_start_anywhere(case: Case) -> None:
    """The source of a medium has no alignment either."""

    async def main(ep: Endpoint) -> bool:
        log = await attached(ep)
        buffer = np.zeros(512, np.uint8)
        for source in range(64):
            nbytes = 1 + (source * 37) % 400
            buffer[source : source + nbytes] = np.frombuffer(pattern(nbytes, source), np.uint8)
            await ep.request_medium(neighbour(ep), log.medium, buffer[source : source + nbytes], source)
            buffer[:] = 0
        seen = await log.until(64)
        return all(one.payload == pattern(1 + (one.args[0] * 37) % 400, one.args[0]) for one in seen)

    assert all(case.run(main).values)


def _buffers() -> dict[str, Any]:
    data = pattern(48, 9)
    frozen = np.frombuffer(data, "<f8")
    mapped = mmap.mmap(-1, 48)
    mapped[:] = data
    return {
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "slice": memoryview(b"xx" + data + b"xx")[2:-2],
        "cast": memoryview(bytearray(data)).cast("H", (4, 6)),
        "array": array.array("i", data),
        "ctypes": (ctypes.c_double * 6).from_buffer_copy(data),
        "mmap": mapped,
        "readonly": frozen,
        "matrix": np.frombuffer(data, "<i2").reshape(4, 6).copy(),
        "rows": np.frombuffer(data + data, "<i2").reshape(8, 6)[:4],
        "scalar": np.frombuffer(data, "V48")[0],
        "structured": np.frombuffer(data, "<i4, <f4, <i8").copy(),
        "fortran_column": np.asfortranarray(np.frombuffer(data, np.uint8).reshape(48, 1)),
    }


@pytest.mark.rule("R16")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_any_contiguous_buffer_is_a_payload(case: Case, category: str) -> None:
    """Whatever offers its bytes in one piece may be sent, also where it cannot be written."""

    async def main(ep: Endpoint) -> set[bytes]:
        log = await attached(ep)
        for number, payload in enumerate(_buffers().values()):
            await send(ep, category, neighbour(ep), log[category], number, payload=payload, offset=48 * number)
        return {one.payload for one in await log.until(len(_buffers())) if one.payload is not None}

    assert list(case.run(main).values) == [{pattern(48, 9)}] * case.size


@pytest.mark.rule("R16", "R60")
def test_what_is_no_contiguous_buffer_is_refused(case: Case) -> None:
    """Strings, numbers, lists, and arrays with gaps; the message names the argument and what it got."""
    gaps = np.zeros(64, np.uint8)[::2]
    columns = np.zeros((4, 6))[:, :2]
    wrong: list[tuple[Any, str]] = [
        ("text", "str"),
        (7, "int"),
        ([1, 2], "list"),
        (None, "no value"),
        (gaps, "C-contiguous"),
        (columns, "C-contiguous"),
        (np.asfortranarray(np.zeros((4, 6))), "C-contiguous"),
        (memoryview(b"abcdef")[::-1], "C-contiguous"),
        (np.array([None, 1]), "objects"),
        (np.zeros(2, "M8[s]"), "payload.view('u1')"),
    ]

    async def main(ep: Endpoint) -> None:
        done: list[int] = []

        def ask(token: Token) -> None:
            for payload, _ in wrong:
                for category in ("medium", "long"):
                    names(refusal(partial(answer, token, category, log[category], payload=payload)), "payload")
            done.append(1)

        log = await attached(ep, ask)
        for payload, word in wrong:
            for category in ("medium", "long", "long_async"):
                handler = log[category.partition("_")[0]]
                message = refusal(partial(send, ep, category, 0, handler, payload=payload))
                names(message, "payload", word)
        await ep.request_short(neighbour(ep), ask)
        await ep.block_until(lambda: bool(done))

    case.run(main)


@pytest.mark.rule("R17")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_source_may_be_scribbled_over_once_the_call_returned(case: Case, category: str) -> None:
    """One buffer serves all sends in turn, around every threshold, and every message keeps its own bytes."""
    limit = case.limits.max_medium if category == "medium" else min(case.longest(), 5000)
    sizes = [size for size in case.sizes(min(limit, 5000)) if size][-24:]

    async def main(ep: Endpoint) -> bool:
        log = await attached(ep)
        buffer = np.zeros(max(sizes), np.uint8)
        offset = 0
        for number, size in enumerate(sizes):
            buffer[:size] = np.frombuffer(pattern(size, number), np.uint8)
            await send(ep, category, neighbour(ep), log[category], number, payload=buffer[:size], offset=offset)
            buffer[:] = 0xA5
            offset += size
        seen = await log.until(len(sizes))
        return all(one.payload == pattern(sizes[one.args[0]], one.args[0]) for one in seen)

    assert all(case.run(main, segment=sum(sizes)).values)


@pytest.mark.rule("R17")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_source_from_the_own_segment_may_be_scribbled_over(case: Case, category: str) -> None:
    """That the source lies in registered memory gives nobody the right to read it later."""
    limit = case.limits.max_medium if category == "medium" else case.longest()
    size = min(limit, 4096)
    count = 6

    async def main(ep: Endpoint) -> bool:
        log = await attached(ep)
        source = ep.segment[count * size :]
        for number in range(count):
            source[:] = np.frombuffer(pattern(size, number), np.uint8)
            await send(ep, category, neighbour(ep), log[category], number, payload=source, offset=number * size)
            source[:] = 0x5A
        return all(one.payload == pattern(size, one.args[0]) for one in await log.until(count))

    assert all(case.run(main, segment=(count + 1) * size).values)


@pytest.mark.rule("R17", "R40")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_payload_is_taken_before_the_call_polls(case: Case, category: str) -> None:
    """A handler that runs while the request polls or waits may already change the source."""
    case = case.at_least(2)
    count = 30

    async def main(ep: Endpoint) -> bool:
        source = np.frombuffer(pattern(300, 1), np.uint8).copy()
        bumped = 0

        def bump(token: Token) -> None:
            nonlocal bumped
            bumped += 1
            source[:] = 0xFF

        log = await attached(ep, bump)
        if ep.rank == 1:
            for number in range(count):
                await ep.request_short(0, bump)
                if number == count // 2:
                    await ep.compute(1e-5)
            return all(one.payload == pattern(300, 1) for one in await log.until(count))
        if ep.rank == 0:
            for number in range(count):
                source[:] = np.frombuffer(pattern(300, 1), np.uint8)
                await send(ep, category, 1, log[category], payload=source, offset=number * 300)
            await ep.block_until(lambda: bumped == count)
        return True

    assert all(case.run(main).values)


@pytest.mark.rule("R18")
def test_long_async_delivers_and_is_answered(case: Case) -> None:
    """Sizes around every threshold, the source left alone until the reply has come."""
    sizes = case.sizes(min(case.longest(), 9000))[-30:]

    async def main(ep: Endpoint) -> list[bool]:
        good: list[bool] = []
        back: list[int] = []

        def ask(token: Token, payload: memoryview, number: int) -> None:
            good.append(bytes(payload) == pattern(sizes[number], number))
            answer(token, CATEGORIES[number % 3], (short, long, long)[number % 3], number, payload=b"r", offset=0)

        def short(token: Token, number: int) -> None:
            back.append(number)

        def long(token: Token, payload: memoryview, number: int) -> None:
            back.append(number)

        await ep.attach(ask, short, long)
        for number, size in enumerate(sizes):
            source = np.frombuffer(pattern(size, number), np.uint8).copy()
            await ep.request_long_async(neighbour(ep), ask, source, 1 + number % 9, number)
            await ep.block_until(holds(back, number))
            source[:] = 0
        await ep.block_until(lambda: len(good) == len(sizes))
        return good

    for good in case.run(main).values:
        assert all(good)


@pytest.mark.rule("R18", "R33")
@pytest.mark.ends
def test_long_async_without_reply_is_an_error_of_the_handler(case: Case) -> None:
    """The sender could never use its buffer again, so the job ends and the handler is named."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        if ep.rank == 0:
            await ep.request_long_async(neighbour(ep), log.long, b"12345678", 0)
        await ep.block_until(lambda: False)

    with pytest.raises(HandlerError, match=r"(?s)\A.*\blong\b"):
        case.run(main)


NONSENSE = (0, -1, 1, 63, 1 << 16, -(1 << 31), (1 << 32) + 3, 1 << 63, (1 << 64) - 1, 10**30, -(10**30))


@pytest.mark.rule("R19")
@pytest.mark.parametrize("call", ["long", "long_async", "reply"])
@pytest.mark.parametrize("segment", [0, 64])
def test_empty_long_may_name_any_address(case: Case, call: str, segment: int) -> None:
    """No byte moves, so no address is wrong, even where there is no segment; the handler runs all the same."""

    async def main(ep: Endpoint) -> list[tuple[int, int]]:
        got: list[tuple[int, int]] = []
        returned = 0

        def ask(token: Token, payload: memoryview, number: int) -> None:
            got.append((number, len(payload)))
            token.reply_short(done)

        def swap(token: Token, number: int) -> None:
            token.reply_long(back, b"", NONSENSE[number], number)

        def back(token: Token, payload: memoryview, number: int) -> None:
            got.append((number, len(payload)))
            done(token)

        def done(token: Token) -> None:
            nonlocal returned
            returned += 1

        await ep.attach(ask, swap, back, done)
        for number, offset in enumerate(NONSENSE):
            if call == "reply":
                await ep.request_short(neighbour(ep), swap, number)
            else:
                await send(ep, call, neighbour(ep), ask, number, payload=b"", offset=offset)
        await ep.block_until(lambda: returned == len(got) == len(NONSENSE))
        assert not memory(ep).any()
        return sorted(got)

    expected = [(number, 0) for number in range(len(NONSENSE))]
    assert list(case.run(main, segment=segment).values) == [expected] * case.size


@pytest.mark.rule("R19")
def test_empty_payload_of_any_buffer(case: Case) -> None:
    """Empty arrays of any shape and type count as empty payloads, of mediums too."""
    empties: list[Any] = [b"", bytearray(), memoryview(b""), np.zeros(0), np.zeros((3, 0, 2)), array.array("d")]

    async def main(ep: Endpoint) -> list[tuple[str, bytes | None]]:
        log = await attached(ep)
        for payload in empties:
            await ep.request_medium(neighbour(ep), log.medium, payload)
            await ep.request_long(neighbour(ep), log.long, payload, -5)
        return sorted((one.category, one.payload) for one in await log.until(2 * len(empties)))

    expected = [("long", b"")] * len(empties) + [("medium", b"")] * len(empties)
    assert list(case.run(main).values) == [expected] * case.size


@pytest.mark.rule("R20")
def test_long_may_fill_the_segment_to_its_last_byte(case: Case) -> None:
    """The whole segment, its last byte and its first one."""

    async def main(ep: Endpoint) -> bool:
        log = await attached(ep)
        for payload, offset in ((pattern(200, 1), 0), (b"z", 199), (b"a", 0)):
            await ep.request_long(neighbour(ep), log.long, payload, offset)
            await log.until(1)
            log.seen.clear()
            await ep.attach()
        return bytes(ep.segment) == b"a" + pattern(200, 1)[1:-1] + b"z"

    assert all(case.run(main, segment=200).values)


@pytest.mark.rule("R20", "R60")
def test_long_outside_the_segment_is_refused(case: Case) -> None:
    """The message names offset, size and the segment's size; requests and replies alike."""
    outside = ((-1, 1), (200, 1), (199, 2), (0, 201), (1 << 40, 1), (-(1 << 40), 8), (10**30, 1), (196, 5))

    async def main(ep: Endpoint) -> None:
        done: list[int] = []

        def ask(token: Token) -> None:
            for offset, size in outside:
                message = refusal(partial(token.reply_long, log.long, bytes(size), offset))
                names(message, "offset", offset, 200)
            done.append(1)

        log = await attached(ep, ask)
        for offset, size in outside:
            for category in ("long", "long_async"):
                payload = bytes(size)
                message = refusal(partial(send, ep, category, neighbour(ep), log.long, payload=payload, offset=offset))
                names(message, "offset", offset, 200)
        await ep.request_short(neighbour(ep), ask)
        await ep.block_until(lambda: bool(done))
        assert not memory(ep).any()

    case.run(main, segment=200)


@pytest.mark.rule("R20", "R60")
def test_offset_of_the_wrong_kind_is_refused(case: Case) -> None:
    """An offset is an integer; what merely looks like one is taken, a float is not."""

    async def main(ep: Endpoint) -> bytes:
        log = await attached(ep)
        for offset in (1.0, "1", None, b"1", [1]):
            wrong: Any = offset
            names(refusal(partial(ep.request_long, 0, log.long, b"x", wrong)), "offset", is_a(offset))
        by_nature: Any = np.int16(3)
        await ep.request_long(neighbour(ep), log.long, b"x", by_nature)
        await ep.request_long(neighbour(ep), log.long, b"y", True)
        await log.until(2)
        return bytes(ep.segment[:4])

    assert list(case.run(main).values) == [b"\0y\0x"] * case.size


@pytest.mark.rule("R21", "R60")
def test_dest_out_of_range_is_refused(case: Case) -> None:
    """Only ranks of the job: the message names the value and the last rank."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        for dest in (-1, ep.size, ep.size + 5, 1 << 40, -(1 << 40)):
            for category in (*CATEGORIES, "long_async"):
                handler = log[category.partition("_")[0]]
                message = refusal(partial(send, ep, category, dest, handler, payload=b"x"))
                names(message, "dest", dest, ep.size - 1)

    case.run(main)


@pytest.mark.rule("R21", "R60")
def test_dest_of_the_wrong_kind_is_refused(case: Case) -> None:
    """A float is no rank, although equal to one; whatever is an integer by nature is."""

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        for dest in (0.0, "0", None, b"", [0], np.float64(0)):
            wrong: Any = dest
            names(refusal(partial(ep.request_short, wrong, log.short)), "dest", is_a(dest))
        by_nature: Any = np.int8(neighbour(ep))
        await ep.request_short(by_nature, log.short)
        await ep.request_short(False, log.short)
        await log.until(1 + (ep.size if ep.rank == 0 else 0))
        return len(log.seen)

    assert case.run(main).values[0] == case.size + 1
