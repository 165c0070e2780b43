"""Collective calls that need not wait: they too can be cancelled, take time, and let others have their turn."""

import pytest
import trio

import conduit
from extended import Extended

CALLS = {
    "all_reduce": lambda team: team.all_reduce(1),
    "broadcast": lambda team: team.broadcast(1),
    "scatter": lambda team: team.scatter([1]),
    "gather": lambda team: team.gather(1),
    "all_gather": lambda team: team.all_gather(1),
    "all_to_all": lambda team: team.all_to_all([1]),
    "reduce": lambda team: team.reduce(1),
    "scan": lambda team: team.scan(1),
    "split": lambda team: team.split(0),
    "all_reduce_nb": lambda team: team.all_reduce_nb(1),
    "broadcast_nb": lambda team: team.broadcast_nb(1),
}


async def _alone(ep):
    """Attach, and give a team in which this rank is alone."""
    return await (await Extended.attach(ep)).split(ep.rank)


@pytest.mark.parametrize("inline", ["yes", "no"])
@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_a_loop_of_calls_of_one_rank_ends_by_the_time_limit(call, inline):
    async def main(ep):
        x = await Extended.attach(ep)
        while True:
            await call(x)

    with pytest.raises(conduit.TimeLimit, match=r"\Atime limit at 10\.000 us"):
        conduit.run(main, ranks=1, conduit=f"loggp:inline={inline}", time_limit=10e-6)


@pytest.mark.filterwarnings("ignore:.*never waited for")
@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_a_timeout_ends_a_loop_of_calls_of_one_rank_and_a_sibling_has_its_turn(call):
    async def main(ep):
        team = await _alone(ep)
        woken = []

        async def sleeper():
            await trio.sleep(2e-6)
            woken.append(ep.now)

        start = ep.now
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sleeper)
            with trio.move_on_after(8e-6) as scope:
                while True:
                    await call(team)
        assert scope.cancelled_caught
        assert ep.now == pytest.approx(start + 8e-6, abs=1e-6)
        assert woken == [pytest.approx(start + 2e-6, abs=1e-6)]

    conduit.run(main, ranks=2, conduit="loggp", time_limit=1)


@pytest.mark.parametrize("call", [*CALLS.values(), lambda team: team.destroy()], ids=[*CALLS, "destroy"])
def test_what_one_rank_calls_in_a_cancelled_scope_is_not_begun(call):
    async def main(ep):
        team = await _alone(ep)
        with trio.CancelScope() as scope:
            scope.cancel()
            await call(team)
        assert scope.cancelled_caught
        assert await team.all_reduce(7) == 7  # the team is whole

    conduit.run(main, ranks=2, conduit="loggp", time_limit=1)


def test_ranks_that_all_call_in_a_cancelled_scope_are_all_cancelled():
    async def main(ep):
        x = await Extended.attach(ep)
        team = await x.split(0)
        with trio.CancelScope() as scope:
            scope.cancel()
            await team.broadcast(1)
        return scope.cancelled_caught

    assert conduit.run(main, ranks=2, conduit="loggp", time_limit=1).values == [True, True]


def test_a_team_of_one_that_another_task_destroys_is_not_used():
    """Both have passed their checks: whoever comes second is refused."""

    async def main(ep):
        team = await _alone(ep)
        refused = []

        async def end():
            try:
                await team.destroy()
            except conduit.BadRequest as error:
                refused.append(str(error))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(end)
            nursery.start_soon(end)
        assert refused == ["destroy: this team was destroyed; make a new one with split"]

    conduit.run(main, ranks=1, conduit="loggp", time_limit=1)
