"""Repeatability: the same program, options and seed do the same again."""

import os
import subprocess
import sys
from typing import Any

import pytest
import trio

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.elsewhere import digest
from conduit.conformance.programs import attached, neighbour

pytestmark = pytest.mark.simulated


async def _busy(ep: Endpoint) -> list[Any]:
    """Use a bit of everything: tasks, timeouts, sleeps, events, replies, chance."""
    log = await attached(ep)
    order: list[Any] = []

    async def flood(dest: int) -> None:
        for number in range(4):
            await ep.compute(ep.random.random() * 1e-6)
            await ep.request_medium(dest, log.medium, bytes(number * 50), number)

    async with trio.open_nursery() as nursery:
        for step in range(min(ep.size, 3)):
            nursery.start_soon(flood, (ep.rank + step) % ep.size)
        with trio.move_on_after(3e-6):
            await ep.block_until(lambda: False)
        await trio.sleep(1e-6)
        order.append(("slept", ep.now))
    await log.until(4 * min(ep.size, 3))
    order.extend((one.rank, one.args) for one in log.seen)
    return [*order, ep.now]


@pytest.mark.rule("R78")
def test_the_same_seed_gives_the_same_digest(case: Case) -> None:
    """Values, times, counts and digest, run after run."""
    first = case.run(_busy)
    for _ in range(3):
        again = case.run(_busy)
        assert again.digest == first.digest
        assert list(again.values) == list(first.values)
        assert again.seconds == first.seconds
        assert list(again.statistics) == list(first.statistics)
    assert int(first.digest, 16) >= 0


@pytest.mark.rule("R45", "R78")
def test_time_is_counted_in_whole_steps_forward(case: Case) -> None:
    """No event of the network is scheduled for what is past, or for a fraction of a picosecond."""
    assert case.run_watched(_busy).digest == case.run(_busy).digest


@pytest.mark.rule("R78")
def test_inline_driving_changes_nothing(case: Case) -> None:
    """The option is about the simulation's speed alone."""
    driven, parked = (case.option(inline=inline).run(_busy) for inline in (True, False))
    assert driven.digest == parked.digest
    assert list(driven.values) == list(parked.values)


@pytest.mark.rule("R78")
def test_other_acts_give_another_digest(case: Case) -> None:
    """One byte, one argument or one message more is seen in it."""

    async def main(ep: Endpoint, payload: bytes, arg: int, count: int) -> None:
        def handler(token: Token, payload: memoryview, arg: int) -> None:
            """Only the digest looks."""

        await ep.attach(handler)
        for _ in range(count):
            await ep.request_medium(neighbour(ep), handler, payload, arg)

    variants = [(b"abc", 1, 1), (b"abd", 1, 1), (b"abc", 2, 1), (b"abc", 1, 2)]
    digests = [case.run(main, *variant).digest for variant in variants]
    assert len(set(digests)) == len(variants)
    assert case.run(main, *variants[0]).digest == digests[0]


@pytest.mark.rule("R78", "R39")
def test_values_do_not_depend_on_the_seed(case: Case) -> None:
    """Under weak ordering another seed is another order of events; what the program computes is the same."""

    async def main(ep: Endpoint) -> list[Any]:
        log = await attached(ep)
        for step in range(ep.size):
            await ep.request_long((ep.rank + step) % ep.size, log.long, bytes([ep.rank + 1]) * 77, 77 * ep.rank, step)
        await log.until(ep.size)
        return [sorted((one.rank, one.args, one.payload) for one in log.seen), bytes(ep.segment)]

    results = [case.option(order="weak").run(main, seed=seed, segment=77 * case.size) for seed in range(5)]
    for result in results:
        assert list(result.values) == list(results[0].values)


@pytest.mark.rule("R78")
@pytest.mark.once
@pytest.mark.parametrize("order", ["strict", "weak"])
def test_another_process_gives_the_same_digest(case: Case, order: str) -> None:
    """There strings have other hashes, objects other addresses, and the time of the day is another one."""
    spec = case.option(order=order).spec
    done = subprocess.run(
        [sys.executable, "-m", "conduit.conformance.elsewhere", spec, str(case.seed)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(case.seed + 1)},
    )
    assert not done.returncode, done.stderr
    assert done.stdout.split() == [digest(spec, case.seed)], (
        "another process gives another digest: something is ordered by a set, by hash() or by id(), or drawn from "
        "another source than kernel.random"
    )
