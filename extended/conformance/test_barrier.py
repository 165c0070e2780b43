"""The barrier: synchronisation, ids and mismatches, split phases, cancellation."""

from contextlib import nullcontext
from typing import Any

import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from extended import BarrierMismatch, Extended
from extended.barrier_words import parts_of
from extended.conformance.programs import attached, holds, left, right

ONE_ROUND = r"\Abarrier: ranks gave ids "


@pytest.mark.rule("X31", "X32")
@pytest.mark.crowds
def test_nobody_leaves_before_all_have_come(case: Case) -> None:
    """Each rank in turn comes late; what it put before is then there for all."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for late in range(ep.size):
            if ep.rank == late:
                await ep.compute(1e-4)
                for dest in range(ep.size):
                    await x.put(dest, 0, bytes([late + 1]))
            await x.barrier()
            assert holds(ep, 0, bytes([late + 1]))
            await x.barrier()

    case.run(main)


@pytest.mark.rule("X31")
@pytest.mark.simulated
@pytest.mark.crowds
def test_all_leave_after_the_last_has_come(case: Case) -> None:
    """By the job's own clock, whoever is the last."""

    async def main(ep: Endpoint) -> list[tuple[float, float]]:
        x = await attached(ep)
        times = []
        for late in range(ep.size):
            await ep.compute(1e-3 * (1 + (late == ep.rank)))
            came = ep.now
            await x.barrier()
            times.append((came, ep.now))
        return times

    values = case.run(main).values
    for turn in range(case.size):
        assert max(rank[turn][0] for rank in values) <= min(rank[turn][1] for rank in values)


@pytest.mark.rule("X31", "X39")
@pytest.mark.crowds
def test_many_barriers_in_a_row(case: Case) -> None:
    """Fast and slow ranks: a signal of the next phase that comes early is kept for it."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for turn in range(30):
            if ep.random.random() < 0.3:
                await ep.compute(ep.random.random() * 1e-5)
            await x.barrier(turn)

    case.run(main)


@pytest.mark.rule("X32")
@pytest.mark.crowds
def test_work_between_notify_and_wait(case: Case) -> None:
    """Puts, gets and messages go on in between."""

    async def main(ep: Endpoint) -> None:
        seen: list[int] = []

        def handler(token: Any) -> None:
            seen.append(token.rank)

        x = await attached(ep)
        await ep.attach(handler)
        for turn in range(4):
            await x.barrier_notify()
            await x.put(right(ep), 0, bytes([ep.rank, turn]))
            await ep.request_short(right(ep), handler)
            await x.barrier_wait()
            # Everybody had notified, nobody has to have put: that takes another barrier.
            await x.barrier()
            assert holds(ep, 0, bytes([left(ep), turn]))
            await x.barrier()
        await ep.block_until(lambda: len(seen) == 4)

    case.run(main)


@pytest.mark.rule("X32")
@pytest.mark.simulated
@pytest.mark.crowds
def test_any_poll_carries_the_barrier_forward(case: Case) -> None:
    """A rank that has notified and sits in the core's own waits forwards what others need."""

    async def main(ep: Endpoint) -> None:
        released: list[int] = []

        def release(token: Any) -> None:
            released.append(token.rank)

        x = await attached(ep)
        await ep.attach(release)
        await x.barrier_notify(5)
        if ep.rank == 0:
            await x.barrier_wait(5)
            for rank in range(1, ep.size):
                await ep.request_short(rank, release)
        else:
            await ep.block_until(lambda: bool(released), what="a word from rank 0", ranks=(0,))
            await x.barrier_wait(5)

    case.run(main)


@pytest.mark.rule("X32")
@pytest.mark.crowds
def test_a_rank_may_end_after_notify(case: Case) -> None:
    """It serves, and that carries the barrier forward too."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.barrier_notify()
        if ep.rank == 0:
            await x.barrier_wait()

    notified = main.__code__.co_firstlineno + 2
    said = rf"a barrier was notified at {__file__}:{notified} and never waited for"
    with case.warns(said) if case.size > 1 else nullcontext():
        case.run(main)


@pytest.mark.rule("X33")
def test_notify_and_wait_alternate(case: Case) -> None:
    """A second notify, a wait without one, and a whole barrier in between are refused; the barrier goes on."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for call in (x.barrier_wait, x.barrier_try):
            with pytest.raises(conduit.BadRequest, match=rf"\A{call.__name__}: .*not notified; call barrier_notify"):
                await call()
        await x.barrier_notify(3)
        for call in (x.barrier_notify, x.barrier):
            with pytest.raises(conduit.BadRequest, match=rf"\A{call.__name__}: .*has notified .*call barrier_wait"):
                await call(3)
        await x.barrier_wait(3)
        with pytest.raises(conduit.BadRequest, match=r"\Abarrier_wait: .*not notified"):
            await x.barrier_wait(3)
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X33")
def test_one_task_of_a_rank_waits(case: Case) -> None:
    """A second one that waits for the same barrier is refused."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 1:  # whose notice is late, so that nobody's wait is over before it has begun
            await ep.block_until(lambda: went)
        await x.barrier_notify()
        if ep.rank == 0:
            failed: list[str] = []

            async def second() -> None:
                try:
                    await x.barrier_wait()
                except conduit.BadRequest as error:
                    failed.append(str(error))
                await ep.request_short(1, go)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(second)
                await x.barrier_wait()
            assert failed[0].startswith("barrier_wait: another task")
        else:
            await x.barrier_wait()

    went: list[int] = []

    def go(token: Any) -> None:
        went.append(token.rank)

    async def attach_and_main(ep: Endpoint) -> None:
        await ep.attach(go)
        await main(ep)

    case.run(attach_and_main)


@pytest.mark.rule("X34")
@pytest.mark.crowds
def test_ids_that_agree(case: Case) -> None:
    """Equal ids, signed or unsigned; anonymous ranks go with any id, and with each other."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for id in (0, 1, -1, 2**31 - 1, -(2**31)):
            await x.barrier(id)
        await x.barrier(-1 if ep.rank % 2 else 2**32 - 1)
        await x.barrier(-(2**31) if ep.rank % 2 else 2**31)
        await x.barrier()
        for named in range(ep.size):
            await x.barrier(7 if ep.rank == named else None)
            await x.barrier(None if ep.rank == named else 8)
            await x.barrier_notify(9 if ep.rank == named else None)
            await x.barrier_wait(None if ep.rank == named else 9)
        await x.barrier_notify()
        await x.barrier_wait(4)

    case.run(main)


@pytest.mark.rule("X35")
@pytest.mark.crowds
def test_a_mismatch_is_raised_on_every_rank(case: Case) -> None:
    """Whoever has the other id, and among anonymous ones; the next barrier works."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for odd in range(ep.size):
            with pytest.raises(BarrierMismatch, match=ONE_ROUND) as caught:
                await x.barrier(1 if ep.rank == odd else 2)
            assert {"1", "2"} <= set(str(caught.value).replace(",", " ").split())
            await x.barrier(odd)
        with pytest.raises(BarrierMismatch, match=ONE_ROUND):
            await x.barrier({0: 1, ep.size - 1: -1}.get(ep.rank))
        with pytest.raises(BarrierMismatch, match=ONE_ROUND):
            await x.barrier(ep.rank)
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X35")
@pytest.mark.crowds
def test_a_mismatch_is_raised_by_wait_and_by_try(case: Case) -> None:
    """And it still synchronises."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            await ep.compute(1e-5)
            for dest in range(ep.size):
                await x.put(dest, 0, b"\1")
        await x.barrier_notify(ep.rank)
        with pytest.raises(BarrierMismatch, match=r"\Abarrier_(wait|try): ranks gave ids "):
            await _end(x, ep.rank % 2 == 0, ep.rank)
        assert holds(ep, 0, b"\1")
        await x.barrier()

    case.run(main)


async def _end(x: Extended, by_trying: bool, id: int | None) -> None:
    if not by_trying:
        await x.barrier_wait(id)
        return
    while not await x.barrier_try(id):
        await x.ep.compute(1e-6)


@pytest.mark.rule("X36")
@pytest.mark.crowds
def test_the_id_of_the_wait_is_compared_on_its_own_rank(case: Case) -> None:
    """A named wait that differs is a mismatch there; the others, and the next barrier, are not concerned."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.barrier_notify(6)
        if ep.rank == ep.size - 1:
            with pytest.raises(BarrierMismatch, match=r"\Abarrier_wait: id=7, but the barrier's id is 6"):
                await x.barrier_wait(7)
        else:
            await x.barrier_wait(6)
        await x.barrier(6)

    case.run(main)


@pytest.mark.rule("X28", "X34")
def test_ids_are_integers_of_32_bits(case: Case) -> None:
    """Others are refused by every call, at the call."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for call in (x.barrier, x.barrier_notify, x.barrier_wait, x.barrier_try):
            for wrong in (2**32, -(2**31) - 1, 1.0, "1"):
                id: Any = wrong
                with pytest.raises(conduit.BadRequest, match=rf"\A{call.__name__}: id="):
                    call(id)

    case.run(main)


@pytest.mark.rule("X37", "X2")
@pytest.mark.crowds
def test_try_polls_once_and_says_whether_it_is_over(case: Case) -> None:
    """False until all have notified; True once, and then the phase has ended."""

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        tries = 0
        for turn in range(3):
            if ep.rank == 0:
                await ep.compute(1e-5)
            await x.barrier_notify(turn)
            while not await x.barrier_try(turn):
                tries += 1
                assert tries < 100_000
                await ep.compute(1e-6)
            with pytest.raises(conduit.BadRequest, match=r"\Abarrier_try: .*not notified"):
                await x.barrier_try(turn)
        return tries

    case.run(main)


@pytest.mark.rule("X38")
@pytest.mark.crowds
def test_notify_cannot_be_cancelled(case: Case) -> None:
    """In a cancelled scope it still gives this rank's part, and so does barrier."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        with trio.CancelScope() as scope:
            scope.cancel()
            await x.barrier_notify(1)
        assert not scope.cancelled_caught
        await x.barrier_wait(1)
        with trio.CancelScope() as scope:
            scope.cancel()
            await x.barrier(2)
        assert scope.cancelled_caught
        with pytest.raises(conduit.BadRequest, match=r"\Abarrier: .*has notified the barrier \(id 2\)"):
            await x.barrier(2)
        await x.barrier_wait(2)
        await x.barrier(3)

    case.run(main)


@pytest.mark.rule("X38")
@pytest.mark.simulated
def test_a_cancelled_wait_is_done_later(case: Case) -> None:
    """By barrier_wait, as often as it takes."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            await ep.compute(1e-2)
            await x.barrier(4)
        else:
            with trio.move_on_after(1e-3) as scope:
                await x.barrier(4)
            while scope.cancelled_caught:
                with trio.move_on_after(1e-3) as scope:
                    await x.barrier_wait(4)
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X39")
def test_a_barrier_completes_no_operation(case: Case) -> None:
    """What was begun before it is still to be waited for, and can be."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        handle = await x.put_nb(right(ep), 0, b"one")
        await x.put_nbi(right(ep), 3, b"two")
        await x.barrier()
        assert await handle is None
        await x.sync()
        await x.barrier()
        assert holds(ep, 0, b"onetwo")

    case.run(main)


@pytest.mark.rule("X40")
@pytest.mark.crowds
def test_hosts_combine_before_they_talk(case: Case) -> None:
    """Signals: one up and one down for every rank but the first of each host, log2 of the hosts for those."""

    async def main(ep: Endpoint) -> tuple[int, ...]:
        x = await attached(ep)
        id = 7 if ep.rma is not None and ep.rma.barriers else None  # the network's own has signals for ids alone
        for _ in range(5):
            await x.barrier(id)
        return ep.ranks_on_host if ep.rma is None else parts_of(ep.size).groups[parts_of(ep.size).group_of[ep.rank]]

    result = case.run(main)
    hosts = set(result.values)
    steps = (len(hosts) - 1).bit_length()
    expected = sum(steps + 2 * (len(ranks) - 1) for ranks in hosts)
    sent = [counts["requests_sent"] + counts.get("rma_puts", 0) for counts in result.statistics]
    assert sum(sent) == 5 * expected
    if result.statistics[0].get("rma_puts"):
        assert sum(counts["rma_puts"] for counts in result.statistics) >= 3 * expected  # all but the first ones
    firsts = [min(ranks) for ranks in hosts]
    for rank in set(range(case.size)) - set(firsts):
        # A rank that is not the first of its host never signals another host.
        assert result.statistics[rank]["payload_bytes_off_host"] == 0


@pytest.mark.rule("X31", "X32")
@pytest.mark.simulated
def test_a_rank_that_never_comes_is_named_in_the_report(case: Case) -> None:
    """The deadlock report says who waits for the barrier."""
    case = case.with_ranks(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            await x.barrier(17)

    with pytest.raises(conduit.Deadlock, match=r"(?s)\A.*barrier 17"):
        case.run(main)
