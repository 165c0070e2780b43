"""A blocking put and get of 8 bytes beside the short round trip that they are made of.

All are done by turns in one job, a hundred at a time, so that what else the computer does falls on all of them alike;
the summary has their ratios.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

import conduit
from extended import Extended

TURNS = 60
COUNT = 100
AT_MOST = 1.5  # what a small put is to cost on loggp, in short round trips


async def by_turns(ep: Any) -> dict[str, list[float]]:
    """Give for each kind the processor time of every turn."""
    answered = asked = 0

    def ask(token: Any) -> None:
        token.reply_short(answer)

    def answer(token: Any) -> None:
        nonlocal answered
        answered += 1

    def all_answered() -> bool:
        return answered >= asked

    x = await Extended.attach(ep)
    await ep.attach(ask, answer)
    times: dict[str, list[float]] = {"round trip": [], "put": [], "get": []}
    if ep.rank:
        return times
    data = bytes(8)
    for _ in range(TURNS):
        start = time.thread_time()
        for _ in range(COUNT):
            await ep.request_short(1, ask)
            asked += 1
            await ep.block_until(all_answered)
        times["round trip"].append(time.thread_time() - start)
        start = time.thread_time()
        for _ in range(COUNT):
            await x.put(1, 0, data)
        times["put"].append(time.thread_time() - start)
        start = time.thread_time()
        for _ in range(COUNT):
            await x.get(1, 0, 8)
        times["get"].append(time.thread_time() - start)
    return times


@pytest.mark.parametrize("spec", ["loggp", "sci"])
def test_against_the_round_trip(benchmark: Any, note: Callable[[str], None], spec: str) -> None:
    """The median ratio of neighbouring turns."""
    result = benchmark.pedantic(lambda: conduit.run(by_turns, ranks=2, conduit=spec, segment=64), rounds=3)
    times = result.values[0]
    for kind in ("put", "get"):
        ratio = median(one / trip for one, trip in zip(times[kind], times["round trip"], strict=True))
        aim = f" (at most {AT_MOST} is the aim)" if (kind, spec) == ("put", "loggp") else ""
        note(f"blocking {kind} of 8 bytes, {spec}: {ratio:.2f} short round trips{aim}")
