"""The formula of docs/models/udp.md against simulated round trips."""

from typing import Any

import pytest

import conduit


def one_way(nbytes: int) -> float:
    """Return what a datagram with a message of so many bytes of payload and no argument takes, microseconds."""
    datagram = 48 + 16 + nbytes
    wire = max(84, datagram + 66) / 125
    copy = 0.05 + datagram / 1500
    sends, way, takes = 0.3 + 0.1 + 4 + copy, 1 + wire + 0.1 + 2 + wire + 0.1 + 1, 0.8 + 0.1 + 2 + copy + 0.3
    return sends + way + 3 + takes


async def round_trips(ep: Any, nbytes: int) -> list[float]:
    answers: list[int] = []

    def ask(token: Any, payload: memoryview) -> None:
        token.reply_short(answer)

    def answer(token: Any) -> None:
        answers.append(token.rank)

    await ep.attach(ask, answer)
    found = []
    for turn in range(3 * (1 - ep.rank)):
        start = ep.now
        await ep.request_medium(1, ask, bytes(nbytes))
        await ep.block_until(lambda turn=turn: len(answers) > turn)
        found.append((ep.now - start) * 1e6)
    return found


@pytest.mark.parametrize("nbytes", [0, 1, 100, 1000, 1408])
def test_a_round_trip_without_loss_is_the_sum_of_its_parts(nbytes: int) -> None:
    for measured in conduit.run(round_trips, nbytes, conduit="udp").values[0]:
        assert measured == pytest.approx(0.8 + one_way(nbytes) + one_way(0), abs=1e-5)
