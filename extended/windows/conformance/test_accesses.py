"""Memory, puts, gets and accumulates."""

from typing import Any

import numpy as np
import pytest

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from extended import Extended
from extended.windows import NO_OP, REPLACE, SUM, Win


async def window(ep: Endpoint, size: Any = 64, disp_unit: int = 8, **options: Any) -> Any:
    """Give a new window on all ranks; typed loosely, because the checks call it in ways that types forbid."""
    return await Win.Allocate(size, disp_unit, comm=await Extended.attach(ep), **options)


def memory(win: Any, dtype: str = "i8") -> Any:
    """Give this rank's part as an array."""
    return np.frombuffer(win.tomemory(), dtype)


@pytest.mark.rule("W1", "W3", "W4")
@pytest.mark.crowds
@pytest.mark.parametrize("checks", [True, False])
def test_puts_and_gets_reach_parts_of_different_sizes(case: Case, checks: bool) -> None:
    """In the units of the target; what is outside is refused, and the memory around stays as it was."""

    async def main(ep: Endpoint) -> None:
        x = await Extended.attach(ep)
        unit = 8 if ep.rank % 2 else 1
        win = await Win.Allocate(8 * (ep.rank + 3), unit, comm=x, checks=checks)
        memory(win)[:] = -1
        right, left = (ep.rank + 1) % ep.size, (ep.rank - 1) % ep.size
        there = 8 // (8 if right % 2 else 1)
        await win.Fence()
        await win.Put(np.full(2, ep.rank), right, there)
        await win.Fence()
        out = np.zeros(2, "i8")
        await win.Get(out, right, there)
        await win.Fence()
        assert memory(win).tolist() == [-1, left, left, *[-1] * ep.rank]
        assert out.tolist() == [ep.rank] * 2
        with pytest.raises(conduit.BadRequest, match=r"win\.Put: target=.* of rank .*, whose part has .*; stay inside"):
            await win.Put(np.zeros(2, "i8"), right, there * (right + 2))
        await win.Free()

    case.run(main)


@pytest.mark.rule("W1")
def test_a_heap_without_room_is_refused_on_every_rank(case: Case) -> None:
    """And the job goes on."""

    async def main(ep: Endpoint) -> None:
        with pytest.raises(conduit.BadRequest, match=r"Win\.Allocate: no room for 1000000000 bytes on each rank"):
            await window(ep, 10**9)
        await (await window(ep)).Free()

    case.run(main)


@pytest.mark.rule("W2", "W4")
@pytest.mark.parametrize("nbytes", [8, 5000])
def test_a_window_of_any_array(case: Case, nbytes: int) -> None:
    """In the segment and out of it, several messages long; None for a rank without memory."""

    async def main(ep: Endpoint) -> None:
        x = await Extended.attach(ep)
        for mine in (np.zeros(nbytes, "u1"), ep.segment[64 : 64 + nbytes]):
            mine[:] = ep.rank
            win = await Win.Create(mine if ep.rank % 2 == 0 else None, comm=x)
            data, out = np.arange(nbytes).astype("u1"), np.zeros(nbytes, "u1")
            await win.Fence()
            if ep.rank == ep.size - 1:
                await win.Put(data, 0)
            await win.Fence()
            await win.Get(out, 0)
            await win.Fence()
            assert bytes(out) == bytes(data)
            assert bytes(mine) == (bytes(data) if ep.rank == 0 else bytes([ep.rank]) * nbytes)
            await win.Free()

    case.run(main, segment=nbytes + 8192)


@pytest.mark.rule("W5")
@pytest.mark.crowds
@pytest.mark.parametrize("dtype", ["i8", "f8", "i4"])
def test_accumulates_are_atomic(case: Case, dtype: str) -> None:
    """All ranks add at once, and each number is fetched by one alone."""

    async def main(ep: Endpoint) -> list[int]:
        win = await window(ep)
        one, out, found = np.ones(1, dtype), np.zeros(3, dtype), []
        await win.Lock_all()
        for number in range(3):
            await win.Accumulate(np.full(3, 2, dtype), ep.size - 1, 1)
            await win.Fetch_and_op(one, out[number : number + 1], 0, 7, SUM)
            await win.Flush_all()
            found.append(int(out[number]))
        await win.Unlock_all()
        await win.Fence()
        if ep.rank == ep.size - 1:
            assert np.frombuffer(win.tomemory()[8:], dtype)[:3].tolist() == [6 * ep.size] * 3
        await win.Free()
        return found

    found = [number for numbers in case.run(main).values for number in numbers]
    assert sorted(found) == list(range(len(found)))


@pytest.mark.rule("W5")
def test_accumulates_of_one_rank_are_in_order(case: Case) -> None:
    """What comes last stays, and a fetch between sees those before it alone."""

    async def main(ep: Endpoint) -> None:
        win = await window(ep, 64, 4)
        await win.Fence()
        if ep.rank == 0:
            for value in range(10):
                await win.Accumulate(np.full(2, value, "i4"), ep.size - 1, value % 2, REPLACE)
        await win.Fence()
        if ep.rank == ep.size - 1:
            assert memory(win, "i4")[:3].tolist() == [8, 9, 9]
        await win.Free()

    case.run(main)


@pytest.mark.rule("W5")
@pytest.mark.parametrize("dtype", ["i8", "i4"])
def test_one_rank_wins_a_swap(case: Case, dtype: str) -> None:
    """The others get what it has stored; NO_OP reads it."""

    async def main(ep: Endpoint) -> tuple[int, int]:
        win = await window(ep)
        found, last = np.full(1, -1, dtype), np.zeros(1, dtype)
        await win.Fence()
        await win.Compare_and_swap(np.full(1, ep.rank + 1, dtype), np.zeros(1, dtype), found, 0)
        await win.Fence()
        await win.Get_accumulate(None, last, 0, op=NO_OP)
        await win.Fence()
        await win.Free()
        return int(found[0]), int(last[0])

    values = case.run(main).values
    winners = [rank for rank, (found, _) in enumerate(values) if found == 0]
    assert len(winners) == 1
    assert {last for _, last in values} == {winners[0] + 1}
    assert {found for found, _ in values} <= {0, winners[0] + 1}
