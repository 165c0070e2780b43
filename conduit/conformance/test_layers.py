"""What the core offers to the layers above it: progress, warnings, and jobs beside jobs."""

import asyncio
import threading
from typing import Any

import pytest
import trio

import conduit
from conduit import ConduitError, Endpoint, Token
from conduit.conformance.cases import TIME_LIMIT, Case
from conduit.conformance.programs import attached, neighbour


@pytest.mark.rule("R70")
def test_progress_runs_at_the_next_poll_and_may_send(case: Case) -> None:
    """A handler asks for it; what it sends arrives, before the predicate of the wait is looked at."""

    async def main(ep: Endpoint) -> tuple[int, int]:
        runs = 0
        log: Any = None

        async def progress() -> None:
            nonlocal runs
            runs += 1
            await ep.request_short(neighbour(ep), log.short, 7)

        def poke(token: Token) -> None:
            ep.want_progress()

        ep.on_progress(progress)
        log = await attached(ep, poke)
        await ep.request_short(neighbour(ep), poke)
        await log.until(1)
        await ep.block_until(lambda: runs)  # a late request may come after what the other rank's progress sent
        return runs, log.seen[0].args[0]

    assert list(case.run(main).values) == [(1, 7)] * case.size


@pytest.mark.rule("R70")
def test_progress_does_not_run_unasked(case: Case) -> None:
    """And once per asking, however many polls follow."""

    async def main(ep: Endpoint) -> list[int]:
        runs: list[int] = []

        async def progress() -> None:
            runs.append(1)

        ep.on_progress(progress)
        await ep.attach()
        for _ in range(5):
            await ep.poll()
        before = len(runs)
        ep.want_progress()
        asked = len(runs)
        for _ in range(5):
            await ep.poll()
        return [before, asked, len(runs)]

    assert list(case.run(main).values) == [[0, 0, 1]] * case.size


@pytest.mark.rule("R70")
def test_progress_is_not_entered_twice(case: Case) -> None:
    """Asked for again while it runs, and waiting itself, it runs once more after its end."""

    async def main(ep: Endpoint) -> tuple[int, int]:
        runs = inside = worst = 0

        async def progress() -> None:
            nonlocal runs, inside, worst
            inside += 1
            worst = max(worst, inside)
            if runs < 3:
                ep.want_progress()
            runs += 1
            for _ in range(3):
                await ep.poll()
            inside -= 1

        ep.on_progress(progress)
        await ep.attach()
        ep.want_progress()
        for _ in range(12):
            await ep.poll()
        await ep.block_until(lambda: runs == 4)
        return runs, worst

    assert list(case.run(main).values) == [(4, 1)] * case.size


@pytest.mark.rule("R70", "R43")
@pytest.mark.crowds
def test_progress_may_send_while_tasks_wait_for_slots(case: Case) -> None:
    """To the same rank; all get their slots, those in line first."""
    tasks = 12

    async def main(ep: Endpoint) -> int:
        answers = 0
        log = await attached(ep)
        there = neighbour(ep)

        def answered(token: Token) -> None:
            nonlocal answers
            answers += 1

        def ask(token: Token) -> None:
            token.reply_short(answered)

        async def progress() -> None:
            await ep.request_short(there, ask)

        await ep.attach(ask, answered)
        ep.on_progress(progress)
        async with trio.open_nursery() as nursery:
            for _ in range(tasks):
                nursery.start_soon(ep.request_short, there, ask)
            await trio.lowlevel.checkpoint()
            await ep.request_short(there, log.short, 1)
            await ep.compute(1e-3)  # while answers come
            ep.want_progress()
            await ep.poll()
        await ep.block_until(lambda: answers > tasks)
        await log.until(1)
        return answers

    assert list(case.run(main).values) == [tasks + 1] * case.size


@pytest.mark.rule("R70", "R44")
def test_progress_runs_while_a_rank_serves_after_its_end(case: Case) -> None:
    """Others' requests ask for it when this rank's program is long over."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> int:
        log: Any = None
        told: list[int] = []

        async def progress() -> None:
            await ep.request_short(0, tell)

        def poke(token: Token) -> None:
            ep.want_progress()

        def tell(token: Token) -> None:
            told.append(token.rank)

        ep.on_progress(progress)
        log = await attached(ep, poke, tell)
        if ep.rank == 0:
            await ep.compute(1e-4)
            for dest in range(1, ep.size):
                await ep.request_short(dest, poke)
            await ep.block_until(lambda: len(told) == ep.size - 1)
        assert log.seen == []
        return len(told)

    assert case.run(main).values[0] == case.size - 1


@pytest.mark.rule("R70", "R76")
def test_progress_is_not_cancelled_with_the_call_that_polled(case: Case) -> None:
    """The call ends, the layer's work goes on to its end."""

    async def main(ep: Endpoint) -> list[str]:
        done: list[str] = []

        async def progress() -> None:
            done.append("begun")
            for _ in range(5):
                await ep.compute(1e-6)
            done.append("ended")

        ep.on_progress(progress)
        await ep.attach()
        with trio.move_on_after(2e-6):
            ep.want_progress()
            await ep.block_until(lambda: False)
        await ep.block_until(lambda: len(done) == 2)
        return done

    if case.simulated:
        assert list(case.run(main).values) == [["begun", "ended"]] * case.size


@pytest.mark.rule("R70", "R65")
@pytest.mark.ends
def test_an_error_in_progress_ends_the_job(case: Case) -> None:
    """It is the rank's own."""

    class _Oops(Exception):
        pass

    async def main(ep: Endpoint) -> None:
        async def progress() -> None:
            raise _Oops("in progress")

        ep.on_progress(progress)
        await ep.attach()
        if ep.rank == 0:
            ep.want_progress()
        await ep.block_until(lambda: False)

    with pytest.raises(_Oops, match=r"\Ain progress\n"):
        case.run(main)


@pytest.mark.rule("R71")
def test_warnings_are_kept_and_issued_after_the_job(case: Case) -> None:
    """By rank in the result, and each as a ConduitWarning."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == ep.size - 1:
            ep.warn("the first")
            ep.warn("the second")

    with case.warns("the second") as told:
        result = case.run(main)
    if told:
        assert len(told) == 2
        assert "the first" in told[0]
        assert "the second" in told[1]
    assert [list(result.warnings[rank]) for rank in range(case.size)] == [[]] * (case.size - 1) + [
        ["the first", "the second"]
    ]


@pytest.mark.rule("R79")
@pytest.mark.simulated
def test_jobs_run_inside_a_trio_program(case: Case) -> None:
    """``run_async`` gives the same result as ``run``, and one job after another."""

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        await ep.request_short(neighbour(ep), log.short, ep.rank)
        return (await log.until(1))[0].args[0]

    async def outer() -> list[Any]:
        settings: dict[str, Any] = {
            "ranks": case.ranks,
            "conduit": case.spec,
            "seed": case.seed,
            "ranks_per_host": case.ranks_per_host,
            "time_limit": TIME_LIMIT,
        }
        return [await conduit.run_async(main, **settings) for _ in range(2)]

    inside = trio.run(outer)
    outside = case.run(main, segment=1 << 20)
    for result in inside:
        assert list(result.values) == list(outside.values)
        assert result.digest == outside.digest


@pytest.mark.rule("R79")
def test_jobs_run_where_an_asyncio_loop_is_running(case: Case) -> None:
    """As in a notebook; the loop goes on afterwards."""

    async def main(ep: Endpoint) -> int:
        await ep.attach()
        return ep.rank

    async def outer() -> list[int]:
        values = list(case.run(main).values)
        await asyncio.sleep(0)
        return values

    assert asyncio.run(outer()) == list(range(case.size))


@pytest.mark.rule("R79")
@pytest.mark.simulated
def test_jobs_in_other_threads_do_not_disturb_each_other(case: Case) -> None:
    """Two at a time, with different seeds; each gives what it gives alone."""

    async def main(ep: Endpoint) -> float:
        log = await attached(ep)
        for number in range(5):
            await ep.compute(ep.random.random() * 1e-6)
            await ep.request_short(neighbour(ep), log.short, number)
        await log.until(5)
        return ep.now

    alone = {seed: case.run(main, seed=seed).digest for seed in (1, 2)}
    together: dict[int, str] = {}

    def work(seed: int) -> None:
        together[seed] = case.run(main, seed=seed).digest

    threads = [threading.Thread(target=work, args=(seed,)) for seed in alone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert alone[1] != alone[2]


@pytest.mark.rule("R72")
def test_there_is_no_current_endpoint_outside_a_job(case: Case) -> None:
    """Asking for it is an error that says so, before a job and after it."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()

    with pytest.raises(ConduitError, match=r"\A.*current"):
        conduit.current()
    case.run(main)
    with pytest.raises(ConduitError, match=r"\A.*current"):
        conduit.current()
