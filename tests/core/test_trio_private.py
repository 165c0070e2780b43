"""What the kernel uses of Trio's private parts agrees with what Trio says in public, and is in force."""
# ruff: noqa: ASYNC100  scopes are looked at here, not waited in

import math
import random
from types import SimpleNamespace

import pytest
import trio
import trio._core._run as trio_run

import conduit
from conduit import trio_private
from conduit.sim import Kernel, simulate


def _public_next_deadline():
    seconds = trio.lowlevel.current_statistics().seconds_to_next_deadline
    return math.inf if seconds == math.inf else trio.current_time() + seconds


@pytest.mark.parametrize("private", [True, False])
def test_deadlines_are_those_of_the_public_statistics(private, monkeypatch):
    if not private:
        monkeypatch.setattr(trio_private, "_run", SimpleNamespace())
    seen = []

    def look():
        seen.append((trio_private.next_deadline(), _public_next_deadline()))

    async def main():
        look()
        if private:
            assert not trio_private.deadlines()
        for deadline in (5e-6, 2e-6, 9e-6):
            with trio.move_on_at(deadline):
                look()
                assert trio_private.deadlines()
                with trio.move_on_at(1e-6), trio.CancelScope():
                    look()
        look()

    simulate(Kernel(), main)
    assert [pair[0] for pair in seen] == [math.inf, 5e-6, 1e-6, 2e-6, 1e-6, 9e-6, 1e-6, math.inf]
    for private_value, public_value in seen:
        assert private_value == pytest.approx(public_value, abs=1e-18)


def test_a_cancelled_task_is_one_whose_effective_deadline_has_passed():
    seen = []

    def look():
        private = bool(trio_private.cancelled(trio.lowlevel.current_task()))
        public = trio.current_effective_deadline() == -math.inf
        seen.append(public)
        assert private == public
        assert trio_private._cancelled_in_public(None) == public

    async def main():
        look()
        with trio.CancelScope() as outer:
            look()
            outer.cancel()
            look()
            with trio.CancelScope(shield=True) as inner:
                look()
                inner.cancel()
                look()
            with trio.CancelScope():
                look()
        look()

    simulate(Kernel(), main)
    assert seen == [False, False, True, False, True, True, False]


def test_the_scope_of_a_task_tells_whether_it_is_inside_another_than_before():
    async def main():
        task = trio.lowlevel.current_task()
        own = trio_private.scope(task)
        assert own is not None
        with trio.CancelScope():
            assert trio_private.scope(task) is not own
        async with trio.open_nursery() as nursery:
            assert trio_private.scope(task) is not own

            @nursery.start_soon
            async def child():
                assert trio_private.scope(trio.lowlevel.current_task()) is not own

        assert trio_private.scope(task) is own

    simulate(Kernel(), main)
    assert trio_private.scope(SimpleNamespace()) is None


def test_the_private_parts_are_there():
    """Where Trio moves one of them the public way is taken, which is slower; this test then says so."""
    assert trio_private.cancelled is not trio_private._cancelled_in_public

    async def main():
        assert trio_private.deadlines() is trio_run.GLOBAL_RUN_CONTEXT.runner.deadlines._heap

    trio.run(main)
    assert trio_private.can_step()
    assert trio_private.waiting is not trio_private._waiting_in_public


def test_what_a_waiting_task_yields_is_what_trio_says_in_public():
    def abort(raise_cancel):
        return trio.lowlevel.Abort.SUCCEEDED

    private, public = trio_private.waiting(abort), trio_private._waiting_in_public(abort)
    assert type(private) is type(public)
    assert private == public


@pytest.mark.parametrize("lacks", ["GLOBAL_RUN_CONTEXT", "Task", "Runner", "CancelStatus"])
def test_tasks_are_left_to_trio_where_a_private_part_is_missing(monkeypatch, lacks):
    monkeypatch.delattr(trio_run, lacks)
    assert not trio_private.can_step()


async def test_the_number_of_a_task_grows_from_task_to_task():
    made = [trio_private.creation(trio.lowlevel.current_task())]

    async def look():
        made.append(trio_private.creation(trio.lowlevel.current_task()))

    for _ in range(3):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
    assert made == sorted(set(made))
    assert made[0] > 0


def test_the_names_of_trios_own_functions_and_modules():
    assert trio.to_thread.run_sync.__code__.co_name == trio_private.TO_THREAD
    assert (
        trio.from_thread.run.__code__.co_name,
        trio.from_thread.run_sync.__code__.co_name,
    ) == trio_private.FROM_THREAD
    assert callable(getattr(trio.Nursery, trio_private.LEAVES_NURSERY))
    assert trio_run.__package__ == trio_private.PACKAGE


@pytest.mark.parametrize("waits", [True, False])
def test_a_hook_may_raise_something_in_a_step_that_begins(waits):
    class Hook(trio.abc.Instrument):
        def before_task_step(self, task):
            if task.name == "child" and (ran or not waits):
                trio_private.throw(task, KeyError("thrown"))

    ran, caught = [], []

    async def child():
        ran.append(1)
        try:
            await trio.lowlevel.cancel_shielded_checkpoint()
        except KeyError as error:
            caught.append(error.args)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child, name="child")

    if waits:
        trio.run(main, instruments=[Hook()])
        assert caught == [("thrown",)]
    else:
        with pytest.RaisesGroup(KeyError):
            trio.run(main, instruments=[Hook()])
        assert not ran


def test_a_job_puts_trio_into_its_seeded_order_for_good():
    conduit.run(_nothing, conduit="loggp")
    assert trio_run._ALLOW_DETERMINISTIC_SCHEDULING is True
    assert trio_run._r is trio_private.job_order()
    assert isinstance(trio_run._r, random.Random)


async def _nothing(ep):
    pass


def _order_of(seed, tasks=6):
    order = []

    async def main():
        async def sleeper(number):
            await trio.sleep(1e-6)
            order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(tasks):
                nursery.start_soon(sleeper, number)

    simulate(Kernel(seed), main)
    return order


def test_tasks_that_meet_at_one_instant_go_on_in_an_order_drawn_from_the_seed():
    orders = [_order_of(seed) for seed in range(8)]
    assert len({tuple(order) for order in orders}) > 4
    assert all(sorted(order) == list(range(6)) for order in orders)
    assert [_order_of(seed) for seed in range(8)] == orders
    random.seed(1)  # nobody else's generator has a part in it
    assert [_order_of(seed) for seed in range(8)] == orders


def test_trio_draws_its_order_by_shuffle_alone(monkeypatch):
    """The order of a batch is a function of seed and time, so Trio must draw for nothing else."""
    order = trio_private.job_order()
    calls = []
    monkeypatch.setattr(order, "shuffle", lambda batch: calls.append(len(batch)))
    monkeypatch.setattr(order, "random", lambda: pytest.fail("Trio draws a number by itself"))
    assert _order_of(0) in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])
    assert 6 in calls


def test_outside_of_jobs_trio_stays_random():
    async def main():
        order = []

        async def child(number):
            order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(12):
                nursery.start_soon(child, number)
        return tuple(order)

    conduit.run(_nothing, conduit="loggp")
    assert len({trio.run(main) for _ in range(8)}) > 1


def test_the_public_ways_give_the_same_digests(monkeypatch):
    async def main(ep):
        got = []

        def note(token):
            got.append(1)
            scope.cancel()

        await ep.attach(note)
        for number in range(6):
            with trio.move_on_after(2e-6 * number) as scope:
                await ep.request_short((ep.rank + 1) % ep.size, note)
                await ep.block_until(lambda number=number: len(got) > number)
        return len(got)

    expected = conduit.run(main, conduit="loggp", ranks=3)
    monkeypatch.setattr(trio_private, "_run", SimpleNamespace())
    monkeypatch.setattr(trio_private, "cancelled", trio_private._cancelled_in_public)
    monkeypatch.setattr("conduit.simnet.port.cancelled", trio_private._cancelled_in_public)
    assert conduit.run(main, conduit="loggp", ranks=3) == expected
