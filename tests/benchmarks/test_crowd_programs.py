"""What programs of many ranks cost, beside SimPy doing the bare same in the same run where it can.

In SimPy each rank is a client and a server process, and each message's flight a process of its own.  It moves no bytes,
checks no arguments and knows no CPU: a floor.
"""

import math
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import simpy

import conduit
from conduit.launch.registry import parse_spec
from extended import Extended

NETWORKS = ["loggp", "sci", "sunfire", "startx"]
PARTNERS = 16
MILLION = 1_000_000
PUT_BYTES = 64 << 20
MEETINGS = {"sunfire": 8 * 38}
"""Requests from each rank to each other after which their whole simulated memory has been written, 10 if not given.

On `sunfire` a queue of replies holds 8 of the longest, of 38 postboxes each, and one of requests 256 postboxes.  A
postbox takes memory from its first use on, in its turn: its line, and a reference to that of its acknowledgement."""


def everybody(rank: int, ranks: int) -> Sequence[int]:
    """Return all others, beginning behind `rank`."""
    return [(rank + step) % ranks for step in range(1, ranks)]


def partners(rank: int, ranks: int) -> Sequence[int]:
    """Return some ranks at random, the same at every call."""
    return random.Random(rank).sample([other for other in range(ranks) if other != rank], min(PARTNERS, ranks - 1))


def neighbours(rank: int, ranks: int) -> Sequence[int]:
    """Return those beside, above and below on a square that is closed at its edges."""
    side = round(ranks**0.5)
    row, column = divmod(rank, side)
    beside = [row * side + (column + step) % side for step in (1, -1)]
    return beside + [(row + step) % side * side + column for step in (1, -1)]


PATTERNS = {"all-to-all": everybody, "random partners": partners, "halo exchange": neighbours}


async def exchange(ep: Any, pattern: str, rounds: int) -> None:
    """In each round a short request to each of this rank's partners, which answer."""
    answered = 0

    def ask(token: Any, number: int) -> None:
        token.reply_short(answer, number)

    def answer(token: Any, number: int) -> None:
        nonlocal answered
        answered += 1

    await ep.attach(ask, answer)
    dests = PATTERNS[pattern](ep.rank, ep.size)
    for round_ in range(rounds):
        for number, dest in enumerate(dests):
            await ep.request_short(dest, ask, number)
        if pattern == "halo exchange":
            await ep.block_until(lambda: answered >= (round_ + 1) * len(dests))  # noqa: B023  over before the next
    await ep.block_until(lambda: answered >= rounds * len(dests))


def bare_exchange(ranks: int, pattern: str, rounds: int) -> None:
    """Do the same in SimPy, without waiting between rounds."""
    env = simpy.Environment()
    inboxes = [simpy.Store(env) for _ in range(ranks)]
    answers = [simpy.Store(env) for _ in range(ranks)]

    def flight(store: simpy.Store, source: int) -> Iterator[Any]:
        yield env.timeout(5)
        store.put(source)

    def server(rank: int) -> Iterator[Any]:
        while True:
            source = yield inboxes[rank].get()
            env.process(flight(answers[source], rank))

    def client(rank: int) -> Iterator[Any]:
        dests = PATTERNS[pattern](rank, ranks)
        for _ in range(rounds):
            for dest in dests:
                env.process(flight(inboxes[dest], rank))
                yield env.timeout(1)
        for _ in range(rounds * len(dests)):
            yield answers[rank].get()

    for rank in range(ranks):
        env.process(server(rank))
    for rank in range(ranks):
        env.process(client(rank))
    env.run()


def trips(pattern: str, ranks: int) -> int:
    """Return the requests of all ranks in a round."""
    return sum(len(PATTERNS[pattern](rank, ranks)) for rank in range(ranks))


def measure(bench: Any, make_job: Callable[..., Any], spec: str, pattern: str, ranks: int, rounds: int) -> Any:
    """Measure a request and its reply against SimPy's."""
    each = trips(pattern, ranks)

    def make(count: int) -> Any:
        return make_job(exchange, pattern, count, ranks=ranks, spec=spec)

    def bare() -> float:
        begin = time.process_time()
        bare_exchange(ranks, pattern, rounds)
        return (time.process_time() - begin) / (rounds * each)

    what = f"{pattern}, {spec}, {ranks} ranks"
    return bench.measure(what, make, rounds, count=rounds * each, before=1, rounds=5, bare=bare)


@pytest.mark.parametrize("ranks", [16, 64])
@pytest.mark.parametrize("spec", NETWORKS)
def test_all_to_all(bench: Any, make_job: Callable[..., Any], spec: str, ranks: int) -> None:
    """Every rank asks every other one."""
    measure(bench, make_job, spec, "all-to-all", ranks, 8 if ranks == 16 else 2)


def most_ranks(spec: str, ranks: int) -> int:
    """Return so many ranks, or all that the network has room for."""
    parsed = parse_spec(spec)
    per_host, hosts = parsed.cls.max_ranks_per_host(parsed.options), parsed.cls.max_hosts(parsed.options)
    return ranks if per_host is None or hosts is None else min(ranks, per_host * hosts)


@pytest.mark.parametrize("ranks", [64, 1024])
@pytest.mark.parametrize("spec", NETWORKS)
def test_random_partners(bench: Any, make_job: Callable[..., Any], spec: str, ranks: int) -> None:
    """Every rank asks 16 others; on 1024 ranks the memory that a message touches shows."""
    measure(bench, make_job, spec, "random partners", most_ranks(spec, ranks), 2)


@pytest.mark.parametrize("ranks", [64, 256])
@pytest.mark.parametrize("spec", NETWORKS)
def test_halo_exchange(bench: Any, make_job: Callable[..., Any], spec: str, ranks: int) -> None:
    """Every rank of a square asks its four neighbours, and goes on when all have answered."""
    side = math.isqrt(most_ranks(spec, ranks))
    measure(bench, make_job, spec, "halo exchange", side * side, 10)


async def steal(ep: Any, count: int) -> None:
    """Take so many pieces of work, each from the counter of a rank at random."""
    layer = await Extended.attach(ep)
    counters = layer.atomic("i8")
    for _ in range(count):
        await counters.fetch_add(ep.random.randrange(ep.size), 0, 1)
    await layer.barrier()


@pytest.mark.parametrize("spec", NETWORKS)
def test_work_stealing(bench: Any, make_job: Callable[..., Any], spec: str) -> None:
    """An atomic operation on a number of another rank, awaited."""

    def make(count: int) -> Any:
        return make_job(steal, count, ranks=64, spec=spec, segment=64)

    bench.measure(f"fetch_add at random, {spec}, 64 ranks", make, 10, count=640, before=10, rounds=5)


async def collectives(ep: Any, count: int) -> None:
    """Exchange a row with every rank, so many times."""
    layer = await Extended.attach(ep)
    for _ in range(count):
        await layer.all_to_all(np.ones((ep.size, 8)))


@pytest.mark.parametrize("spec", NETWORKS)
def test_collective_all_to_all(bench: Any, make_job: Callable[..., Any], spec: str) -> None:
    """The collective on rows of 64 bytes."""

    def make(count: int) -> Any:
        return make_job(collectives, count, ranks=64, spec=spec)

    bench.measure(f"all_to_all of 64-byte rows, {spec}, 64 ranks", make, 1, before=1, rounds=3)


async def barriers(ep: Any, count: int) -> None:
    """Go through so many barriers."""
    layer = await Extended.attach(ep)
    for _ in range(count):
        await layer.barrier()


@pytest.mark.parametrize("spec", NETWORKS)
def test_whole_job_of_1024_ranks(note: Callable[[str], None], spec: str) -> None:
    """Start, attach, two barriers with all first contacts, end."""
    ranks = most_ranks(spec, 1024)
    begin = time.process_time()
    conduit.run(barriers, 2, ranks=ranks, conduit=spec)
    note(f"whole job of {ranks} ranks with two barriers, {spec}: {time.process_time() - begin:.2f} s of CPU")


async def sums(ep: Any, count: int) -> None:
    """Sum 8 KB over all ranks, so many times."""
    layer = await Extended.attach(ep)
    for _ in range(count):
        await layer.all_reduce(np.ones(1024), "sum")


@pytest.mark.parametrize("spec", NETWORKS)
def test_two_all_reduces(note: Callable[[str], None], spec: str) -> None:
    """A whole job of 64 ranks with two sums of 8 KB."""
    begin = time.process_time()
    conduit.run(sums, 2, ranks=64, conduit=spec)
    note(f"whole job of 64 ranks with two all_reduces of 8 KB, {spec}: {time.process_time() - begin:.2f} s of CPU")


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def million(ep: Any, meetings: int, each: int, seen: list[int]) -> None:
    """Ask every rank so many times, then ranks at random; rank 0 looks at the memory on its way."""
    layer = await Extended.attach(ep)
    answered = 0

    def ask(token: Any) -> None:
        token.reply_short(answer)

    def answer(token: Any) -> None:
        nonlocal answered
        answered += 1

    await ep.attach(ask, answer)
    for _ in range(meetings):
        for dest in everybody(ep.rank, ep.size):
            await ep.request_short(dest, ask)
    await layer.barrier()
    for number in range(each):
        await ep.request_short((ep.rank + 1 + ep.random.randrange(ep.size - 1)) % ep.size, ask)
        if ep.rank == 0 and number % (each // 10) == 0:
            seen.append(resident())
    await ep.block_until(lambda: answered >= each + meetings * (ep.size - 1))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
@pytest.mark.parametrize("spec", NETWORKS)
def test_a_million_messages(make_job: Callable[..., Any], note: Callable[[str], None], spec: str) -> None:
    """A million requests and replies in one job take no memory, once all ranks have met.

    They have met when every queue between two of them has been written from its beginning to its end.  Until then the
    memory grows, up to what the machine has for its queues: simulated memory is made when it is first written.
    """
    seen: list[int] = []

    async def main(ep: Any) -> None:  # a closure, because arguments are copied for every rank
        await million(ep, MEETINGS.get(spec, 10), MILLION // 2 // 64, seen)

    begin = time.process_time()
    make_job(main, ranks=64, spec=spec).run()
    took = time.process_time() - begin
    met = seen[0]
    note(
        f"a million messages, {spec}, 64 ranks: {took:.0f} s of CPU with meeting, memory {met / 1e6:.0f} MB, "
        f"at the end {seen[-1] / 1e6:.0f} MB"
    )
    assert seen[-1] < 1.1 * met


async def put(ep: Any, nbytes: int, count: int) -> None:
    """Put so many bytes, so many times."""
    layer = await Extended.attach(ep)
    if ep.rank == 0:
        data = np.ones(nbytes, np.uint8)
        for _ in range(count):
            await layer.put(1, 0, data)


@pytest.mark.parametrize("spec", ["loggp", "sunfire", "startx"])
def test_large_put(make_job: Callable[..., Any], note: Callable[[str], None], spec: str) -> None:
    """A put of 64 MB takes less than 10 ns for each byte."""

    def took(count: int) -> float:
        begin = time.process_time()
        make_job(put, PUT_BYTES, count, ranks=2, spec=spec, segment=PUT_BYTES, ranks_per_host=1).run()
        return time.process_time() - begin

    took(0)
    per_byte = (took(1) - took(0)) / PUT_BYTES
    note(f"put of 64 MB, {spec}: {per_byte * 1e9:.2f} ns for each byte")
    assert per_byte < 10e-9
