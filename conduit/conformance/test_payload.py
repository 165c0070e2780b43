"""The life of a payload at the receiver."""

from typing import Any

import numpy as np
import pytest

from conduit import Endpoint, HandlerError, Token
from conduit.conformance.cases import Case
from conduit.conformance.hardware import memory
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import attached, chain, names, neighbour, send


@pytest.mark.rule("R35")
def test_a_medium_payload_is_the_handlers_own(case: Case) -> None:
    """Scribbling over it changes neither what the sender holds nor what any other message brings."""
    count = 10

    async def main(ep: Endpoint) -> tuple[bool, bool]:
        good: list[bool] = []
        source = np.frombuffer(pattern(333, 7), np.uint8).copy()

        def handler(token: Token, payload: memoryview, number: int) -> None:
            good.append(bytes(payload) == pattern(333, 7))
            payload[:] = bytes([number]) * 333
            np.asarray(payload)[:] ^= 0xFF

        await ep.attach(handler)
        for number in range(count):
            await ep.request_medium(neighbour(ep), handler, source, number)
        await ep.block_until(lambda: len(good) == count)
        return all(good), bytes(source) == pattern(333, 7)

    assert list(case.run(main).values) == [(True, True)] * case.size


@pytest.mark.rule("R36", "R28")
def test_a_medium_payload_may_be_sent_back(case: Case) -> None:
    """Whole or in part, changed or not, as medium or long, and scribbled over after the reply."""

    async def main(ep: Endpoint) -> set[tuple[str, bytes | None]]:
        def ask(token: Token, payload: memoryview, kind: int) -> None:
            if kind == 0:
                token.reply_medium(log.medium, payload)
            elif kind == 1:
                payload[0] = 255
                token.reply_medium(log.medium, payload[:100])
            elif kind == 2:
                token.reply_long(log.long, payload[1:], 3)
            else:
                token.reply_medium(log.medium, payload[7:-7])
            payload[:] = bytes(len(payload))

        log = await attached(ep, ask)
        for kind in range(4):
            await ep.request_medium(neighbour(ep), ask, pattern(400, 3), kind)
        return {(one.category, one.payload) for one in await log.until(4)}

    data = pattern(400, 3)
    expected = {("medium", data), ("medium", b"\xff" + data[1:100]), ("long", data[1:]), ("medium", data[7:-7])}
    assert list(case.run(main).values) == [expected] * case.size


@pytest.mark.rule("R37")
def test_a_medium_payload_is_dead_after_its_handler(case: Case) -> None:
    """What was kept of it cannot be read any more; copies can."""

    async def main(ep: Endpoint) -> tuple[bytes, bytes]:
        kept: list[Any] = []

        def handler(token: Token, payload: memoryview) -> None:
            kept.extend((payload, bytes(payload), np.array(payload)))

        await ep.attach(handler)
        await ep.request_medium(neighbour(ep), handler, b"abcdefgh")
        await ep.block_until(lambda: bool(kept))
        with pytest.raises(ValueError, match=r"\A.*released"):
            bytes(kept[0])
        return kept[1], kept[2].tobytes()

    assert list(case.run(main).values) == [(b"abcdefgh", b"abcdefgh")] * case.size


KEEPERS: dict[str, Any] = {
    "array": np.asarray,
    "frombuffer": lambda payload: np.frombuffer(payload, np.uint16),
    "slice": lambda payload: payload[2:5],
    "cast": lambda payload: payload.cast("H"),
    "view": memoryview,
}


@pytest.mark.rule("R37", "R33")
@pytest.mark.parametrize("keeper", KEEPERS)
@pytest.mark.ends
def test_keeping_a_view_of_a_medium_payload_is_an_error_at_once(case: Case, keeper: str) -> None:
    """Arrays and slices that outlive the handler end the job, with the handler's name."""

    async def main(ep: Endpoint) -> None:
        kept: list[Any] = []

        def hoarder(token: Token, payload: memoryview) -> None:
            kept.append(KEEPERS[keeper](payload))

        await ep.attach(hoarder)
        if ep.rank == 0:
            await ep.request_medium(ep.size - 1, hoarder, b"abcdefgh")
        await ep.block_until(lambda: False)

    with pytest.raises(HandlerError, match=r"(?s)\A.*payload") as caught:
        case.run(main)
    names(chain(caught.value), "hoarder", case.size - 1)


@pytest.mark.rule("R37")
@pytest.mark.parametrize("kind", ["reply", "empty"])
def test_payloads_of_replies_and_empty_ones_die_alike(case: Case, kind: str) -> None:
    """The rule holds in reply handlers and for payloads of no byte."""

    async def main(ep: Endpoint) -> None:
        kept: list[memoryview] = []

        def ask(token: Token) -> None:
            token.reply_medium(keep, b"" if kind == "empty" else b"abc")

        def keep(token: Token, payload: memoryview) -> None:
            kept.append(payload)

        await ep.attach(ask, keep)
        await ep.request_short(neighbour(ep), ask)
        await ep.block_until(lambda: bool(kept))
        with pytest.raises(ValueError, match=r"\A.*released"):
            bytes(kept[0])

    case.run(main)


@pytest.mark.rule("R38")
@pytest.mark.parametrize("reply", [False, True], ids=["request", "reply"])
def test_a_long_payload_is_the_segment_itself(case: Case, reply: bool) -> None:
    """What the handler writes into it stands in the segment, for the program and for the hardware, and stays."""

    async def main(ep: Endpoint) -> tuple[bytes, bytes]:
        changed: list[int] = []

        def change(token: Token, payload: memoryview) -> None:
            ep.segment[10] = 200
            assert payload[0] == 200
            payload[1] = 201
            assert ep.segment[11] == 201
            changed.append(1)

        def ask(token: Token) -> None:
            token.reply_long(change, b"abcd", 10)

        await ep.attach(change, ask)
        if reply:
            await ep.request_short(neighbour(ep), ask)
        else:
            await ep.request_long(neighbour(ep), change, b"abcd", 10)
        await ep.block_until(lambda: bool(changed))
        await ep.attach()
        return bytes(ep.segment[9:15]), bytes(memory(ep)[9:15])

    assert list(case.run(main).values) == [(b"\0\xc8\xc9cd\0",) * 2] * case.size


@pytest.mark.rule("R35", "R38")
def test_received_data_serves_as_the_source_of_the_next_request(case: Case) -> None:
    """What came into the segment goes on to the next rank from there, once around."""
    size = min(case.longest(), case.limits.max_medium, 2000)

    async def main(ep: Endpoint) -> bytes:
        log = await attached(ep)
        if ep.rank == 0:
            await ep.request_long(neighbour(ep), log.long, pattern(size, 4), 5)
        await log.until(1)
        if ep.rank != 0:
            await ep.request_long(neighbour(ep), log.long, ep.segment[5 : 5 + size], 5)
        return bytes(ep.segment[5 : 5 + size])

    assert list(case.run(main).values) == [pattern(size, 4)] * case.size


@pytest.mark.rule("R35", "R39")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_messages_under_way_together_do_not_share_bytes(case: Case, category: str) -> None:
    """Every rank sends to every rank, sizes mixed, and each handler scribbles over what it got."""
    limit = min(case.limits.max_medium if category == "medium" else case.longest(), 1500)
    sizes = [1, limit, 17, limit // 2, 64, limit - 1]

    async def main(ep: Endpoint) -> tuple[int, int]:
        good = bad = 0

        def handler(token: Token, payload: memoryview, number: int) -> None:
            nonlocal good, bad
            expected = pattern(sizes[number], token.rank * 8 + number)
            good, bad = (good + 1, bad) if bytes(payload) == expected else (good, bad + 1)
            payload[:] = bytes(len(payload))

        await ep.attach(handler)
        for number, size in enumerate(sizes):
            for step in range(ep.size):
                offset = (ep.rank * len(sizes) + number) * limit
                data = pattern(size, ep.rank * 8 + number)
                await send(ep, category, (ep.rank + step) % ep.size, handler, number, payload=data, offset=offset)
        await ep.block_until(lambda: good + bad == len(sizes) * ep.size)
        return good, bad

    segment = case.size * len(sizes) * limit
    assert list(case.run(main, segment=segment).values) == [(len(sizes) * case.size, 0)] * case.size
