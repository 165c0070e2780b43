"""Jobs that end although a task does all it can to go on (D6), and calls that never let time pass (T6)."""

import contextlib

import pytest
import trio

import conduit
from conduit.sim import ending, livelock


def test_D6_an_endless_loop_of_shielded_sleeps_does_not_keep_a_job_alive(fails_while):
    async def clean_up(ep):
        with trio.CancelScope(shield=True):
            while True:  # noqa: ASYNC110  what the test is about
                await trio.sleep(1e-3)

    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(fails_while(clean_up), conduit="loggp")
    assert any("a shielded wait was ended by force" in note for note in caught.value.__notes__)


def test_D6_a_shielded_sleep_of_some_length_is_let_finish(fails_while):
    ended = []

    async def clean_up(ep):
        with trio.CancelScope(shield=True):
            for _ in range(10):
                await trio.sleep(1)
            ended.append(trio.current_time())

    with pytest.raises(ValueError, match=r"^the reason"):
        conduit.run(fails_while(clean_up), conduit="loggp")
    assert ended == [pytest.approx(10)]


def test_D6_an_endless_loop_of_shielded_thread_calls_does_not_keep_a_job_alive(fails_while, monkeypatch):
    """However long each takes: real time tells, of which none is waited for here."""
    monkeypatch.setattr(ending, "THREADS_S", 0.0)
    calls = []

    async def clean_up(ep):
        with trio.CancelScope(shield=True):
            while True:
                await trio.to_thread.run_sync(calls.append, 1)

    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(fails_while(clean_up), conduit="loggp")
    assert any("what let no time pass was ended by force" in note for note in caught.value.__notes__)
    assert ending.THREAD_CALLS <= len(calls) < livelock.STILL_ENDING / 10


def test_D6_a_clean_up_in_threads_is_let_finish(fails_while, monkeypatch):
    """One long call, and a few after it, are no loop; nor are many within the time."""
    ended = []

    async def clean_up(ep):
        with trio.CancelScope(shield=True):
            for _ in range(count):
                await trio.to_thread.run_sync(ended.append, 1)
            ended.append("over")

    for count, seconds in ((ending.THREAD_CALLS // 2, 0.0), (300, 3600.0)):
        ended.clear()
        monkeypatch.setattr(ending, "THREADS_S", seconds)
        with pytest.raises(ValueError, match=r"^the reason"):
            conduit.run(fails_while(clean_up), conduit="loggp")
        assert ended == [*[1] * count, "over"]


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_T6_calls_that_take_no_time_are_a_livelock_too(inline):
    async def main(ep):
        while True:
            await ep.block_until(lambda: True)

    with pytest.raises(conduit.Livelock, match=r"(?s)^livelock at .*test_ending\.py:\d+ in main"):
        conduit.run(main, ranks=1, conduit=f"loggp:inline={inline}")


async def _chain_with_checkpoints(ep):
    async with trio.open_nursery() as nursery:

        async def link():
            nursery.start_soon(link)
            await trio.lowlevel.checkpoint()

        nursery.start_soon(link)


async def _chain_without(ep):
    async with trio.open_nursery() as nursery:

        async def link():
            nursery.start_soon(link)

        nursery.start_soon(link)


async def _workers_that_replace_each_other(ep):
    send, receive = trio.open_memory_channel(1)
    async with trio.open_nursery() as nursery:

        async def worker():
            job = await receive.receive()
            nursery.start_soon(worker)
            await send.send(job + 1)

        nursery.start_soon(worker)
        await send.send(0)


CHAINS = [_chain_with_checkpoints, _chain_without, _workers_that_replace_each_other]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_T6_tasks_that_start_one_another_at_one_instant_are_a_livelock(inline, chain, monkeypatch):
    monkeypatch.setattr(livelock, "STILL", 2000)

    async def main(ep):
        await ep.compute(1e-6)
        if ep.rank == 1:
            await chain(ep)
        await ep.block_until(lambda: False, what="nothing")

    with pytest.raises(
        conduit.Livelock, match=r"^livelock at 1\.001 us: .*test_ending\.py:\d+ in (link|worker)"
    ) as caught:
        conduit.run(main, ranks=3, conduit=f"loggp:inline={inline}")
    assert "\nrank 0: " in str(caught.value)


def test_T6_many_ranks_with_many_tasks_each_at_one_instant_are_no_livelock(monkeypatch):
    monkeypatch.setattr(livelock, "STILL", 300)

    async def some_steps():
        for _ in range(10):
            await trio.lowlevel.checkpoint()

    async def main(ep):
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(some_steps)

    conduit.run(main, ranks=64, conduit="loggp")


async def _one_checkpoint_after_another(ep):
    with trio.CancelScope(shield=True):
        while True:
            await trio.lowlevel.checkpoint()


async def _two_tasks_in_turn(ep):
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(_one_checkpoint_after_another, ep)


@pytest.mark.parametrize("loop", [_one_checkpoint_after_another, _two_tasks_in_turn, _chain_without])
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_D6_a_loop_on_the_way_out_that_lets_no_time_pass_is_ended_by_force(inline, loop, fails_while, monkeypatch):
    monkeypatch.setattr(livelock, "STILL_ENDING", 1000)  # of its 10,000: each of the loops takes as many steps

    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(fails_while(loop), ranks=4, conduit=f"loggp:inline={inline}")
    forced = [
        note for note in caught.value.__notes__ if "was ended by force: task" in note and "test_ending.py:" in note
    ]
    assert len(forced) >= 1
    assert len(forced) == len(caught.value.__notes__) - 1, caught.value.__notes__


def test_D6_waits_within_waits_on_the_way_out_are_all_ended_by_force():
    async def wait():
        with trio.CancelScope(shield=True):
            await trio.Event().wait()

    async def main(ep):
        if ep.rank == 1:
            raise ValueError("the reason")
        try:
            async with trio.open_nursery() as nursery:
                for _ in range(30):
                    nursery.start_soon(wait)
        finally:
            await wait()

    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(main, conduit="loggp")
    assert sum("a shielded wait was ended by force" in note for note in caught.value.__notes__) == 31


async def _poll(ep):
    await ep.poll()


async def _block(ep):
    await ep.block_until(lambda: False)


async def _sleep(ep):
    with trio.CancelScope(shield=True):
        await trio.sleep(1e-3)


async def _wait(ep):
    with trio.CancelScope(shield=True):
        await trio.Event().wait()


async def _step(ep):
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("act", [_poll, _block, _sleep, _wait, _step])
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_D6_what_catches_its_end_again_and_again_is_left_behind(inline, act, fails_while, monkeypatch):
    monkeypatch.setattr(livelock, "STILL_ENDING", 1000)
    monkeypatch.setattr(ending, "SLEEPS", 1000)

    async def in_its_own_task(ep):
        while True:
            with contextlib.suppress(BaseException):
                await act(ep)

    async def beside_a_nursery(ep):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await in_its_own_task(ep)

    async def in_children(ep):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(in_its_own_task, ep)
            nursery.start_soon(in_its_own_task, ep)

    for loop, count in ((in_its_own_task, 1), (beside_a_nursery, 1), (in_children, 2)):
        with pytest.raises(ValueError, match=r"^the reason") as caught:
            conduit.run(fails_while(loop), ranks=2, conduit=f"loggp:inline={inline}")
        notes = caught.value.__notes__[1:]
        left = [note for note in notes if f"{ending.LEFT}: task" in note]
        assert len(left) == count, notes
        forced = [note for note in notes if "by force" in note]
        assert len(left) + len(forced) == len(notes)
        assert all("test_ending.py:" in note or "trio.sleep_forever" in note for note in notes), notes


def test_D6_tasks_that_start_others_when_they_are_to_end_are_left_behind(fails_while):
    async def clean_up(ep):
        async with trio.open_nursery() as nursery:

            async def link():
                try:
                    await trio.lowlevel.checkpoint()
                except BaseException:
                    nursery.start_soon(link)

            nursery.start_soon(link)

    with pytest.raises(ValueError, match=r"^the reason"):
        conduit.run(fails_while(clean_up), ranks=2, conduit="loggp")


def test_D6_steps_of_a_clean_up_are_let_finish():
    ended = []

    async def main(ep):
        await ep.compute(2e-6 if ep.rank == 1 else 1e-6)
        if ep.rank == 1:
            raise ValueError("the reason")
        try:
            await ep.block_until(lambda: False)
        finally:
            with trio.CancelScope(shield=True):
                for _ in range(1000):
                    await trio.lowlevel.checkpoint()
            ended.append(ep.rank)

    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(main, conduit="loggp", ranks=30)
    assert len(ended) == 29
    assert len(caught.value.__notes__) == 1


@pytest.mark.parametrize("call", ["poll", "block_until", "request"])
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_T6_progress_that_asks_for_itself_again_is_a_livelock(inline, call, monkeypatch):
    monkeypatch.setattr(livelock, "STILL", 5000)

    async def main(ep):
        async def again():
            ep.want_progress()

        def note(token):
            pass

        await ep.attach(note)
        ep.on_progress(again)
        if ep.rank == 0:
            ep.want_progress()
            if call == "poll":
                await ep.poll()
            elif call == "request":
                await ep.request_short(1, note)
        await ep.block_until(lambda: False, what="nothing")

    with pytest.raises(conduit.Livelock, match=r"^livelock at .*test_ending\.py:\d+ in main\)\nrank 0: .*in main: "):
        conduit.run(main, conduit=f"loggp:inline={inline}")


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_T6_progress_that_asks_for_itself_many_times_may_end(inline):
    async def main(ep):
        left = [20_000 + ep.rank]

        async def again():
            left[0] -= 1
            if left[0]:
                ep.want_progress()

        ep.on_progress(again)
        ep.want_progress()
        with trio.CancelScope() as scope:
            scope.cancel()
            await trio.lowlevel.checkpoint()
        await ep.poll()
        return left

    assert conduit.run(main, conduit=f"loggp:inline={inline}").values == [[0], [0]]


@pytest.mark.parametrize("scoped", [True, False])
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_D6_progress_in_a_bare_wait_ends_with_the_job(inline, scoped):
    """In a scope of the program's it is under a shield, and that does not hold either."""
    begun, ended = [], []

    async def main(ep):
        async def progress():
            begun.append(ep.rank)
            try:
                await trio.sleep_forever()
            finally:
                ended.append(ep.rank)

        ep.on_progress(progress)
        if ep.rank == 0:
            ep.want_progress()
            with trio.CancelScope() if scoped else contextlib.nullcontext():
                await ep.poll()
        await ep.compute(1e-6)
        raise KeyError("over")

    with pytest.raises(KeyError, match="over"):
        conduit.run(main, conduit=f"loggp:inline={inline}")
    assert begun == ended == [0]
