"""Algorithms: all give the same, by size and topology, and by what they send."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import names, refusal
from extended.conformance.oracle import array, folded, rows, same, small, stacked
from extended.conformance.programs import attached

BROADCAST = ("eager", "flat", "tree", "two_level", "pipelined", "binomial")
BLOCKS = ("flat", "tree", "two_level", "binomial")
ALL_GATHER = ("dissemination", "ring", "tree", "two_level")
ALL_TO_ALL = ("pairwise", "dissemination", "spread")
REDUCE = ("flat", "tree", "two_level", "pipelined")
ALL_REDUCE = ("dissemination", "tree", "two_level", "pipelined")
SCAN = ("dissemination", "pipelined")
CALLS = {
    "broadcast": BROADCAST, "scatter": BLOCKS, "gather": BLOCKS, "all_gather": ALL_GATHER, "all_to_all": ALL_TO_ALL,
    "reduce": REDUCE, "all_reduce": ALL_REDUCE, "scan": SCAN,
}  # fmt: skip


@pytest.mark.rule("X80", "X67")
@pytest.mark.crowds
def test_every_broadcast(case: Case) -> None:
    """Small and large; the other ranks may name the algorithm or leave that to the root."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        root = ep.size // 2
        for algorithm in BROADCAST:
            for size in (5, 400) if algorithm == "eager" else (5, 5000):
                sent = array(root, (size,), "u1")
                given = sent if ep.rank == root else None
                named = algorithm if ep.rank in (root, 0) else None
                assert same(await x.broadcast(given, root, algorithm=named), sent)

    case.run(main)


@pytest.mark.rule("X80", "X68", "X69")
@pytest.mark.crowds
def test_every_scatter_and_gather(case: Case) -> None:
    """Small and large blocks, roots in the middle."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        root = ep.size // 2
        for algorithm in BLOCKS:
            for size in (3, 1500):
                blocks = rows(ep.size, (size,), "u1")
                found = await x.scatter(blocks if ep.rank == root else None, root, algorithm=algorithm)
                assert same(found, blocks[ep.rank])
                found = await x.gather(blocks[ep.rank], root, algorithm=algorithm)
                assert found is None or same(found, blocks)

    case.run(main)


@pytest.mark.rule("X80", "X70", "X71")
@pytest.mark.crowds
def test_every_exchange(case: Case) -> None:
    """Gather to all and all-to-all."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for size in (3, 600)[: 2 if ep.size < 8 else 1]:
            everything = rows(ep.size, (size,), "u1")
            for algorithm in ALL_GATHER:
                assert same(await x.all_gather(everything[ep.rank], algorithm=algorithm), everything)
            expected = stacked([rows(ep.size, (size,), "u1", rank)[ep.rank] for rank in range(ep.size)])
            for algorithm in ALL_TO_ALL:
                assert same(await x.all_to_all(rows(ep.size, (size,), "u1", ep.rank), algorithm=algorithm), expected)

    case.run(main)


@pytest.mark.rule("X80", "X72", "X73", "X74")
@pytest.mark.crowds
def test_every_reduction(case: Case) -> None:
    """Reduce, reduce to all and scan."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        root = ep.size // 2
        for size in (2, 700)[: 2 if ep.size < 8 else 1]:
            operands = [small(rank, (size,), "i4", rank) for rank in range(ep.size)]
            total = folded(operands, np.add)
            for algorithm in REDUCE:
                found = await x.reduce(operands[ep.rank], "sum", root, algorithm=algorithm)
                assert found is None or same(found, total)
            for algorithm in ALL_REDUCE:
                assert same(await x.all_reduce(operands[ep.rank], algorithm=algorithm), total)
            for algorithm in SCAN:
                below = folded(operands[: ep.rank + 1], np.add)
                assert same(await x.scan(operands[ep.rank], algorithm=algorithm), below)

    case.run(main)


@pytest.mark.rule("X80", "X62")
def test_algorithms_on_teams_in_any_order(case: Case) -> None:
    """Ranks of a host need not be neighbours in a team: reversed, and even ranks before odd ones."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for key in (-ep.rank, ep.rank % 2):
            team = await x.split(0, key)
            everything = stacked([array(team.job_rank(rank), (3,)) for rank in range(team.size)])
            mine, root = everything[team.rank], team.size - 1
            for algorithm in BLOCKS:
                assert same(
                    await team.scatter(everything if team.rank == root else None, root, algorithm=algorithm), mine
                )
                found = await team.gather(mine, root, algorithm=algorithm)
                assert found is None or same(found, everything)
                assert same(await team.broadcast(mine, 1 % team.size, algorithm=algorithm), everything[1 % team.size])
            for algorithm in ALL_GATHER:
                assert same(await team.all_gather(mine, algorithm=algorithm), everything)
            assert same(await team.all_reduce(mine), everything.sum(0))

    case.run(main)


@pytest.mark.rule("X80", "X88")
def test_unknown_algorithms_are_refused_with_a_list(case: Case) -> None:
    """Of every call, in both forms; the list is what the documentation says."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for name, known in CALLS.items():
            for call in (getattr(x, name), getattr(x, name + "_nb")):
                for wrong in ("quick", "", 3):
                    message = refusal(partial(call, [1] * ep.size, algorithm=wrong))
                    names(message, name, "algorithm")
                    assert ", ".join(known) in message

    case.run(main)


@pytest.mark.rule("X80", "X88")
def test_unsuitable_algorithms_are_refused_with_a_list(case: Case) -> None:
    """Too large to be sent at once; a function in pieces; hosts whose ranks are not neighbours."""
    case = case.at_least(3)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        message = refusal(partial(x.broadcast, np.zeros(5000), ep.rank, algorithm="eager"))
        names(message, "broadcast", "eager", 40000, "flat", "pipelined")
        for call in (x.reduce, x.all_reduce, x.scan):
            names(refusal(partial(call, 1, max, algorithm="pipelined")), call.__name__, "max", "in pieces")
        assert await x.all_reduce(1, algorithm="pipelined") == ep.size
        hosts = [ep.host_of(rank) for rank in range(ep.size)]
        team = await x.split(0, 0 if ep.rank == 0 else ep.size - ep.rank)
        ordered = [hosts[team.job_rank(rank)] for rank in range(team.size)]
        scattered = len(set(ordered)) < 1 + sum(one != other for one, other in pairwise(ordered))
        for call in (team.reduce, team.all_reduce):
            if scattered:
                names(refusal(partial(call, 1, algorithm="two_level")), call.__name__, "two_level", "consecutive")
            else:
                assert await call(1, algorithm="two_level") in (None, ep.size)

    case.run(main)


async def _two_level(ep: Endpoint, nbytes: int, algorithm: str | None, before: bool) -> None:
    x = await attached(ep)
    data = np.ones(nbytes, np.uint8)
    if not before:
        found = await x.broadcast(data if ep.rank == 0 else None, algorithm=algorithm)
        assert found.all()


def _off_host(case: Case, nbytes: int, algorithm: str | None) -> int:
    counts: list[int] = [
        sum(one["payload_bytes_off_host"] for one in case.run(_two_level, nbytes, algorithm, before).statistics)
        for before in (True, False)
    ]
    return counts[1] - counts[0]


@pytest.mark.rule("X81")
@pytest.mark.crowds
def test_each_byte_reaches_each_host_once(case: Case) -> None:
    """Two-level broadcast, small and large: payload that leaves its host is the array once for each other host."""

    async def hosts_of(ep: Endpoint) -> int:
        return len({ep.host_of(rank) for rank in range(ep.size)})

    hosts = case.run(hosts_of).values[0]
    for nbytes in (100, 20_000):
        assert _off_host(case, nbytes, "two_level") == (hosts - 1) * nbytes
        assert _off_host(case, nbytes, "pipelined") == (hosts - 1) * nbytes
        assert _off_host(case, nbytes, None) <= (case.size - 1) * nbytes


@pytest.mark.rule("X81")
@pytest.mark.simulated
def test_two_levels_send_less_than_flat_where_hosts_are_shared(case: Case) -> None:
    """The root sends to each other rank in a flat broadcast, hosts or not."""
    case = case.at_least(3)

    async def elsewhere(ep: Endpoint) -> int:
        return sum(ep.host_of(rank) != ep.host_of(0) for rank in range(ep.size))

    far = case.run(elsewhere).values[0]
    assert _off_host(case, 300, "flat") == far * 300
    assert _off_host(case, 300, "two_level") <= far * 300


@pytest.mark.rule("X85", "X81")
@pytest.mark.simulated
def test_large_data_waits_until_it_is_asked_for(case: Case) -> None:
    """A rank that has not come is sent nothing large: what it must keep for later is small."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        begun = np.zeros(50_000, np.uint8)
        seen: list[int] = []

        def note(token: Any) -> None:
            seen.append(token.rank)

        await ep.attach(note)
        if ep.rank == 0:
            handle = await x.broadcast_nb(begun, algorithm="flat")
            for rank in range(1, ep.size):
                await ep.request_short(rank, note)
            await handle
            return 0
        await ep.block_until(lambda: bool(seen))
        while ep.now < 1.0:
            await ep.compute(1e-2)
            await ep.poll()
        assert not (await x.broadcast(algorithm="flat")).any()
        return 0

    async def never(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            await x.broadcast_nb(np.zeros(50_000, np.uint8), algorithm="flat")

    case.run(main)
    with case.warns("broadcast_nb"):
        sent = case.run(never).statistics[0]["payload_bytes_sent"]
    assert sent <= 4096 * (case.size - 1)  # at most the last, small piece goes at once


@pytest.mark.rule("X85")
def test_ranks_run_ahead_by_a_bounded_number_of_calls(case: Case) -> None:
    """A root begins a bounded number of broadcasts that are not taken yet; all are done in the end."""
    case = case.at_least(2).with_ranks(2)

    async def main(ep: Endpoint) -> int:
        seen: list[int] = []

        def note(token: Any) -> None:
            seen.append(token.rank)

        x = await attached(ep)
        await ep.attach(note)
        ahead = 0
        if ep.rank == 0:
            handles = [await x.broadcast_nb(np.full(10, turn)) for turn in range(150)]
            ahead = sum(handle.done for handle in handles)
            await ep.request_short(1, note)
            found = await x.wait_all(handles)
        else:
            await ep.block_until(lambda: bool(seen))
            found = [await x.broadcast() for _ in range(150)]
        assert [row[0] for row in found] == list(range(150))
        return ahead

    assert case.run(main).values[0] <= 64


@pytest.mark.rule("X86")
@pytest.mark.simulated
def test_copies_and_operations_take_time(case: Case) -> None:
    """Longer for more, on the rank's own clock, also where nothing is sent."""
    case = case.with_ranks(1)

    async def main(ep: Endpoint) -> list[float]:
        x = await attached(ep)
        times = []
        for count in (1000, 100_000):
            for call in (x.broadcast, x.all_gather, x.all_reduce, x.scan):
                began = ep.now
                await call(np.zeros(count))
                times.append(ep.now - began)
        return times

    (times,) = case.run(main).values
    for less, more in zip(times[:4], times[4:], strict=True):
        assert more > 10 * less


@pytest.mark.rule("X87")
@pytest.mark.simulated
def test_large_data_lands_in_the_segment(case: Case) -> None:
    """Where `out` lies in the segment it comes by long messages, not in the medium pieces that handlers copy."""
    case = case.with_ranks(2)
    nbytes = 16_000

    async def main(ep: Endpoint, inside: bool) -> float:
        x = await attached(ep)
        out = ep.segment[8 : 8 + nbytes] if inside else np.empty(nbytes, np.uint8)
        await x.barrier()
        began = ep.now
        await x.broadcast(np.ones(nbytes, np.uint8) if ep.rank == 0 else None, out=out, algorithm="flat")
        assert out.all()
        return ep.now - began

    inside, outside = (case.run(main, flag) for flag in (True, False))
    longs, mediums = (result.statistics[1]["requests_handled"] for result in (inside, outside))
    pieces = [-(-nbytes // limit) for limit in (case.limits.max_long_request, case.limits.max_medium)]
    # What lies elsewhere may be staged behind the segment, where that is cheaper: by as many long messages.
    assert longs - mediums in (pieces[0] - pieces[1], 0)
