"""Native one-sided operations, on networks that have them."""

from functools import partial
from typing import Any

import pytest
import trio

from conduit import BadRequest
from conduit.conformance.cases import Case
from conduit.conformance.hardware import memory
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import neighbour

SIZES = (1, 7, 8, 9, 63, 500, 5000)


def native(case: Case) -> Case:
    """Give this case with its native operations in use; skip a network that has none."""
    if not case.has_option("rma"):
        pytest.skip("this network has no native one-sided operations")
    return case.option(rma="native")


def with_barriers(case: Case) -> Case:
    """Give this case with its native operations in use; skip a network that has no barriers among them."""
    case = native(case)

    async def main(ep: Any) -> bool:
        barriers: bool = ep.rma.barriers
        return barriers

    found = set(case.run(main).values)
    assert len(found) == 1
    if found == {False}:
        pytest.skip("this network has no barriers of its own")
    return case


@pytest.mark.rule("R80")
def test_layers_find_them_where_they_are_to_be_used(case: Case) -> None:
    """`ep.rma` on every rank, or None on every rank."""

    async def main(ep: Any) -> bool:
        return ep.rma is None

    wanted = not (case.has_option("rma") and case.options.rma == "native")
    assert list(case.run(main).values) == [wanted] * case.size


@pytest.mark.rule("R81", "R82")
@pytest.mark.crowds
def test_puts_of_all_ranks_are_there_when_they_are_complete(case: Case) -> None:
    """Every size, from every rank to the next while that computes; the source may be changed at once."""

    async def main(ep: Any) -> bytes:
        await ep.attach()
        done: list[int] = []
        begin = 0
        for number, size in enumerate(SIZES):
            data = bytearray(pattern(size, ep.rank))
            await ep.rma.put(neighbour(ep), begin, data, partial(done.append, number))
            data[:] = bytes(size)
            begin += size
        await ep.rma.quiet()
        assert sorted(done) == list(range(len(SIZES)))
        assert ep.rma.outstanding == 0
        await ep.attach()
        return bytes(ep.segment[:begin])

    case = native(case)
    values = case.run(main).values
    for rank, found in enumerate(values):
        left = (rank - 1) % len(values)
        assert found == b"".join(pattern(size, left) for size in SIZES)


@pytest.mark.rule("R82", "R81")
@pytest.mark.simulated  # a rank looks into the memory of another
@pytest.mark.parametrize("order", ["strict", "weak"])
@pytest.mark.parametrize("strided", [False, True], ids=["contiguous", "strided"])
def test_what_was_put_is_there_when_it_is_complete(case: Case, order: str, strided: bool) -> None:
    """Each put at the latest when its `then` is called, and all of them once `quiet` has returned."""
    case = native(case).option(order=order)
    case = case.at_least(2) if case.size <= 3 else case.with_ranks(3)
    sizes = (8, 80, 3000, 9000, 20_000)
    ranks: dict[int, Any] = {}

    async def main(ep: Any) -> None:
        ranks[ep.rank] = ep
        late: list[str] = []

        def look(begin: int, data: bytes, when: str) -> None:
            if bytes(memory(ranks[neighbour(ep)])[begin : begin + len(data)]) != data:
                late.append(f"{len(data)} bytes, {when}")

        async def put(begin: int, data: bytes, *then: Any) -> None:
            if strided:
                run = len(data) // 4
                await ep.rma.put_strided(neighbour(ep), begin, run, (4,), (run,), data, *then)
            else:
                await ep.rma.put(neighbour(ep), begin, data, *then)

        await ep.attach()
        for turn, size in enumerate(sizes):
            told, silent = pattern(size, ep.rank * 16 + turn), pattern(size, ep.rank * 16 + turn + 8)
            await put(0, told, partial(look, 0, told, "when then is called"))
            await put(size, silent)
            await ep.rma.quiet()
            look(size, silent, "after quiet")
        assert not late, f"of puts that are complete the bytes are not there: {', '.join(late)}"
        await ep.attach()

    case.run(main)


@pytest.mark.rule("R81", "R82")
def test_gets_bring_what_is_there(case: Case) -> None:
    """Every size from every rank, the own one too, into memory in and out of the segment."""

    async def main(ep: Any) -> None:
        ep.segment[:5000] = list(pattern(5000, ep.rank))
        await ep.attach()
        for dest in range(ep.size):
            for out in (bytearray(5000), ep.segment[6000:11000]):
                for size in SIZES:
                    view = memoryview(out)[:size]
                    done: list[bytes] = []
                    await ep.rma.get(dest, 5, view, lambda view=view, done=done: done.append(bytes(view)))
                    await ep.block_until(lambda done=done: done, what="the get", ranks=(dest,))
                    assert done == [(pattern(5000, dest) + bytes(5))[5 : 5 + size]]
        await ep.attach()

    native(case).run(main)


@pytest.mark.rule("R81")
def test_strided_operations_touch_their_runs_alone(case: Case) -> None:
    """Two dimensions with a stride of each sign."""
    starts = [900 - 200 * i + 24 * j for i in range(3) for j in range(5)]

    async def main(ep: Any) -> bytes:
        await ep.attach()
        data = pattern(15 * 9, ep.rank)
        await ep.rma.put_strided(neighbour(ep), 900, 9, (3, 5), (-200, 24), data)
        await ep.rma.quiet()
        out = bytearray(len(data))
        await ep.rma.get_strided(neighbour(ep), 900, 9, (3, 5), (-200, 24), out)
        await ep.rma.quiet()
        assert bytes(out) == data
        await ep.attach()
        return bytes(ep.segment[:2000])

    values = native(case).run(main).values
    for rank, found in enumerate(values):
        data = pattern(15 * 9, (rank - 1) % len(values))
        wanted = bytearray(2000)
        for number, start in enumerate(starts):
            wanted[start : start + 9] = data[9 * number : 9 * number + 9]
        assert found == wanted


@pytest.mark.rule("R83")
@pytest.mark.crowds
def test_atomics_of_all_ranks_on_one_word_take_turns(case: Case) -> None:
    """Tickets are all different; a lock of compare and swap is held by one at a time."""

    async def main(ep: Any) -> list[int]:
        await ep.attach()
        tickets: list[int] = []
        for _ in range(5):
            await ep.rma.fetch_add(0, 8, 1, tickets.append)
        await ep.rma.quiet()
        for _ in range(3):
            old = [1]
            while old[-1]:
                await ep.rma.compare_swap(0, 16, 0, ep.rank + 1, old.append)
                await ep.rma.quiet()
            held = bytearray(8)
            await ep.rma.get(0, 24, held)
            await ep.rma.quiet()
            await ep.rma.put(0, 24, (int.from_bytes(held, "little") + 1).to_bytes(8, "little"))
            await ep.rma.quiet()
            await ep.rma.swap(0, 16, 0, old.append)
            await ep.rma.quiet()
            assert old[-1] == ep.rank + 1
        await ep.attach()
        if ep.rank == 0:
            assert int.from_bytes(ep.segment[24:32], "little") == 3 * ep.size
        return tickets

    values = native(case).run(main).values
    assert sorted(ticket for tickets in values for ticket in tickets) == list(range(5 * len(values)))


@pytest.mark.rule("R84", "R42")
def test_a_landing_is_an_arrival_to_who_waits_for_it(case: Case) -> None:
    """A flag behind a fence: whoever sees it sees what was put before, and no handler runs."""
    case = native(case).at_least(2)

    async def main(ep: Any) -> None:
        await ep.attach()
        if ep.rank == 0:
            for turn in range(1, 8):
                await ep.rma.put(1, 100, bytes([turn]) * 3000)
                await ep.rma.fence(1)
                await ep.rma.put(1, 0, bytes([turn]))
                await ep.rma.fence(1)
        elif ep.rank == 1:
            for turn in range(1, 8):
                await ep.block_until(lambda turn=turn: ep.segment[0] >= turn, what="the flag", ranks=(0,))
                assert min(ep.segment[100:3100]) >= turn

    assert [counts["requests_handled"] for counts in case.run(main).statistics] == [0] * case.size


@pytest.mark.rule("R82", "R44")
def test_the_job_is_not_over_before_they_are_complete(case: Case) -> None:
    """A put that nobody waits for is there at the end."""

    async def main(ep: Any) -> Any:
        await ep.attach()
        await ep.rma.put(neighbour(ep), 8, b"at last")
        return ep.segment

    segments = native(case).run(main).values
    assert [bytes(segment[8:15]) for segment in segments] == [b"at last"] * len(segments)


@pytest.mark.rule("R85")
def test_they_need_nothing_of_their_target(case: Case) -> None:
    """While it computes they complete."""
    case = native(case).at_least(2)

    async def main(ep: Any) -> None:
        await ep.attach()
        if ep.rank == 1:
            await ep.compute(1e-1)
        elif ep.rank == 0:
            for _ in range(20):
                await ep.rma.put(1, 0, b"12345678")
                await ep.rma.fetch_add(1, 8, 1)
            out = bytearray(16)
            await ep.rma.quiet()
            await ep.rma.get(1, 0, out)
            await ep.rma.quiet()
            assert out == b"12345678\x14".ljust(16, b"\0")
            assert ep.now < 5e-2

    case.run(main)


@pytest.mark.rule("R86", "R75")
def test_a_cancelled_call_has_done_nothing(case: Case) -> None:
    """In a scope that is cancelled already."""

    async def main(ep: Any) -> None:
        await ep.attach()
        calls: list[Any] = [
            partial(ep.rma.put, 0, 0, b"never"),
            partial(ep.rma.get, 0, 0, bytearray(1)),
            partial(ep.rma.fetch_add, 0, 0, 1),
            partial(ep.rma.fence, 0),
            ep.rma.quiet,
        ]
        for call in calls:
            with trio.CancelScope() as scope:
                scope.cancel()
                await call()
            assert scope.cancelled_caught
        await ep.rma.quiet()
        await ep.attach()
        assert not ep.segment.any()

    native(case).run(main)


@pytest.mark.rule("R86", "R60")
def test_wrong_arguments_are_refused(case: Case) -> None:
    """At the call, with what is wrong."""

    async def main(ep: Any) -> None:
        rma, size = ep.rma, len(ep.segment)
        wrong: list[tuple[Any, str]] = [
            (lambda: rma.put(ep.size, 0, b"1"), "is no rank of this job"),
            (lambda: rma.put(0, size, b"1"), "are not inside the segment"),
            (lambda: rma.get(0, 0, b"1"), "is a read-only bytes"),
            (lambda: rma.put(0, 0, b"1", 1), "cannot be called"),
            (lambda: rma.fetch_add(0, 4, 1), "is not aligned"),
            (lambda: rma.swap(0, 0, 1.0), "pass an int"),
            (lambda: rma.put_strided(0, 0, 1, (2,), (size,), b"12"), "are not inside the segment"),
        ]
        for call, text in wrong:
            with pytest.raises(BadRequest, match=text):
                call()

    native(case).run(main)


@pytest.mark.rule("R86", "R78")
def test_their_jobs_repeat(case: Case) -> None:
    """The same digest again, inline or not."""

    async def main(ep: Any) -> None:
        out = bytearray(100)
        for turn in range(5):
            dest = ep.random.randrange(ep.size)
            await ep.rma.put(dest, 200 * ep.rank + 8, bytes([turn]) * 100)
            await ep.rma.fetch_add(dest, 0, turn)
            await ep.rma.get(dest, 0, out)
        await ep.rma.quiet()

    case = native(case)
    first = case.run(main).digest
    assert first == case.run(main).digest == case.option(inline=False).run(main).digest


@pytest.mark.rule("R87")
@pytest.mark.crowds
def test_all_are_told_of_an_arrival_when_the_last_rank_has_arrived(case: Case) -> None:
    """Each rank in turn is late, and the one before it marked; another name is another barrier."""

    async def main(ep: Any) -> list[float]:
        await ep.attach()
        times = []
        for late in range(ep.size):
            await ep.compute(1e-5 * (1 + (ep.rank == late)))
            told: list[bool] = []
            other: list[bool] = []
            await ep.rma.arrive((0, 0), ep.rank == (late - 1) % ep.size, told.append)
            came = ep.now
            await ep.rma.arrive((0, 1), False, other.append)
            await ep.block_until(lambda told=told, other=other: told and other, what="a barrier", ranks=())
            assert (told, other, ep.rma.outstanding) == ([True], [False], 0)
            times += [came, ep.now]
        return times

    values = with_barriers(case).run(main).values
    for turn in range(len(values)):
        assert max(times[2 * turn] for times in values) <= min(times[2 * turn + 1] for times in values)


@pytest.mark.rule("R87")
def test_neither_quiet_nor_the_end_of_the_job_waits_for_who_does_not_arrive(case: Case) -> None:
    """Rank 0 never arrives."""

    async def main(ep: Any) -> tuple[list[bool], list[int]]:
        await ep.attach()
        told: list[bool] = []
        if ep.rank:
            await ep.rma.arrive((0, 0), True, told.append)
            await ep.rma.quiet()
        await ep.attach()
        return told, list(ep.rma.missing((0, 0)))

    case = with_barriers(case).at_least(2)
    for told, missing in case.run(main).values:
        assert told == []
        assert missing in ([], [0])


@pytest.mark.rule("R87", "R75", "R60")
def test_an_arrival_that_is_refused_or_cancelled_is_none(case: Case) -> None:
    """The rank can arrive after that."""

    async def main(ep: Any) -> None:
        await ep.attach()
        told: list[bool] = []
        with pytest.raises(BadRequest, match="cannot be called"):
            ep.rma.arrive((0, 0), True, None)
        with trio.CancelScope() as scope:
            scope.cancel()
            await ep.rma.arrive((0, 0), True, told.append)
        assert scope.cancelled_caught
        await ep.rma.arrive((0, 0), False, told.append)
        await ep.block_until(lambda: told, what="a barrier", ranks=())
        assert told == [False]

    with_barriers(case).run(main)
