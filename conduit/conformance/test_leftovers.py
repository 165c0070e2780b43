"""What old messages have left in queues and slots: it may look like the flag, length or header of a new one."""

import pytest

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import first_difference
from conduit.conformance.programs import answer, attached, neighbour

LOOKS = {
    "ones": b"\x01",
    "words": (1).to_bytes(4, "little"),
    "twos": (2).to_bytes(4, "little"),
    "longs": bytes(4) + (1).to_bytes(4, "little"),  # begins at a multiple of 8 behind a header with one argument
}
"""Bytes that payloads are made of: flags, counts and ends as networks write them."""
ROUNDS = 5


def _filled(look: bytes, nbytes: int) -> bytes:
    return (look * (nbytes // len(look) + 1))[:nbytes]


@pytest.mark.rule("R39", "R13", "R22")
@pytest.mark.parametrize("look", LOOKS)
def test_what_old_messages_have_left_is_no_message(case: Case, look: str) -> None:
    """Large messages full of such bytes, then smaller ones in their place, at ever other places of a ring."""
    most = min(case.limits.max_medium, 8192)
    sizes = (most, most - 24, 0, 36, most // 3, 4, 100, most // 2 + 12, None, 512, None, 60)

    async def main(ep: Endpoint) -> tuple[int, int]:
        asked: list[int] = []

        def check(token: Token, payload: memoryview | bytes, number: int) -> None:
            size = sizes[number % len(sizes)] or 0
            wrong = first_difference(bytes(payload), _filled(LOOKS[look], size))
            assert wrong == "no difference", f"message {number} of rank {token.rank}: {wrong}"
            asked.append(number)
            back = (size * 5 + 8 * number) % (most + 1)
            answer(token, "medium", log.medium, number, payload=_filled(LOOKS[look], back))

        def ask_short(token: Token, number: int) -> None:
            check(token, b"", number)

        log = await attached(ep, ask_short, check)
        count = ROUNDS * len(sizes)
        for number in range(count):
            size = sizes[number % len(sizes)]
            if size is None:
                await ep.request_short(neighbour(ep), ask_short, number)
            else:
                await ep.request_medium(neighbour(ep), check, _filled(LOOKS[look], size), number)
        seen = await log.until(count)
        await ep.block_until(lambda: len(asked) == count)
        assert sorted(asked) == sorted(one.args[0] for one in seen) == list(range(count))
        for one in seen:
            back = ((sizes[one.args[0] % len(sizes)] or 0) * 5 + 8 * one.args[0]) % (most + 1)
            wrong = first_difference(one.payload or b"", _filled(LOOKS[look], back))
            assert wrong == "no difference", f"the reply to message {one.args[0]}: {wrong}"
        return len(asked), len(seen)

    count = ROUNDS * len(sizes)
    assert list(case.run(main).values) == [(count, count)] * case.size
