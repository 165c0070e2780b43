"""The formula of docs/models/loggp.md against simulated round trips."""

from typing import Any

import pytest

import conduit

POLL = 1e-8
SETS = {  # L, o_s, o_r, G, as the page and the conduit's README have them in mind
    "default": (5e-6, 1e-6, 1e-6, 4e-9),
    "myrinet2000": (6e-6, 0.8e-6, 1.0e-6, 4.1e-9),
    "ethernet100": (40e-6, 15e-6, 20e-6, 90e-9),
}


async def round_trip(ep: Any, nbytes: int) -> float | None:
    answers: list[int] = []

    def ask(token: Any, payload: memoryview) -> None:
        token.reply_short(answer)

    def answer(token: Any) -> None:
        answers.append(token.rank)

    await ep.attach(ask, answer)
    if ep.rank:
        return None
    start = ep.now
    await ep.request_medium(1, ask, bytes(nbytes))
    await ep.block_until(lambda: answers)
    return ep.now - start


@pytest.mark.parametrize("nbytes", [0, 1, 1001, 65_000])
@pytest.mark.parametrize("name", SETS)
def test_round_trip_is_what_the_formula_says(name: str, nbytes: int) -> None:
    latency, send, receive, per_byte = SETS[name]
    expected = 3 * POLL + 2 * (send + latency + receive) + max(0, nbytes - 1) * per_byte
    measured = conduit.run(round_trip, nbytes, conduit=f"loggp:set={name}").values[0]
    assert expected - 1e-12 <= measured < expected + 2 * POLL  # up to one poll on each side before it is noticed
