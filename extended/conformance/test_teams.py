"""Teams: who is in them, how ranks translate, that they are apart from each other, and how they end."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import names, refusal
from extended import BarrierMismatch, CollectiveMismatch
from extended.conformance.programs import attached


@pytest.mark.rule("X60", "X61")
@pytest.mark.crowds
def test_colors_make_teams_ordered_by_key_and_rank(case: Case) -> None:
    """Equal keys keep the order of ranks; ranks translate both ways, and who is no member is None."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for colors in (1, 2, 3):
            for way in (0, 1, -1):
                team = await x.split(ep.rank % colors, way * (ep.rank // 2))
                members = [rank for rank in range(ep.size) if rank % colors == ep.rank % colors]
                members = [rank for _, rank in sorted((way * (rank // 2), rank) for rank in members)]
                assert team.size == len(members)
                assert [team.job_rank(rank) for rank in range(team.size)] == members
                assert members[team.rank] == ep.rank
                for rank in range(ep.size):
                    assert team.rank_of(rank) == (members.index(rank) if rank in members else None)

    case.run(main)


@pytest.mark.rule("X60")
@pytest.mark.crowds
def test_color_none_is_no_member(case: Case) -> None:
    """It gets None, takes part all the same, and the team of the others works."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(None if ep.rank == 0 else 7)
        if ep.rank == 0:
            assert team is None
        else:
            assert team.rank_of(0) is None
            assert (team.rank, team.size) == (ep.rank - 1, ep.size - 1)
            assert list(await team.all_gather(ep.rank)) == list(range(1, ep.size))
        assert await x.split(None) is None
        assert await x.all_reduce(1) == ep.size

    case.run(main)


@pytest.mark.rule("X60", "X65")
def test_colors_and_keys_of_64_bits(case: Case) -> None:
    """The least and the largest are kept apart and in order."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        least, most = -(2**63), 2**63 - 1
        team = await x.split(most, least if ep.rank == ep.size - 1 else most)
        assert team.job_rank(0) == ep.size - 1
        alone = await x.split(least if ep.rank == 0 else True)
        assert alone.size == (1 if ep.rank == 0 else ep.size - 1)

    case.run(main)


@pytest.mark.rule("X61")
def test_the_layer_is_the_team_of_all(case: Case) -> None:
    """Its ranks are those of the job."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        assert (x.rank, x.size) == (ep.rank, ep.size)
        assert [x.job_rank(rank) for rank in range(ep.size)] == list(range(ep.size))
        assert [x.rank_of(rank) for rank in range(ep.size)] == list(range(ep.size))

    case.run(main)


@pytest.mark.rule("X62")
@pytest.mark.crowds
def test_teams_of_teams(case: Case) -> None:
    """Halved until each rank is alone; roots and ranks are those of the team at every level."""

    async def main(ep: Endpoint) -> None:
        team = await attached(ep)
        members = list(range(ep.size))
        while len(members) > 1:
            upper = team.rank >= team.size // 2
            members = members[team.size // 2 :] if upper else members[: team.size // 2]
            team = await team.split(upper)
            root = team.size - 1
            assert await team.broadcast(ep.rank if team.rank == root else None, root) == members[-1]
            assert list(await team.all_gather(ep.rank)) == members
        assert (team.rank, team.size) == (0, 1)

    case.run(main)


@pytest.mark.rule("X62", "X82")
@pytest.mark.crowds
def test_calls_of_overlapping_teams_do_not_meet(case: Case) -> None:
    """Rows and columns of a grid, operations of both under way at once, waited for in another order."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        row, column = await x.split(ep.rank // 3), await x.split(ep.rank % 3, -ep.rank)
        for turn in range(3):
            handles = [await team.all_reduce_nb(ep.rank + turn) for team in (row, x, column)]
            along = sum(row.job_rank(rank) + turn for rank in range(row.size))
            across = sum(column.job_rank(rank) + turn for rank in range(column.size))
            everybody = sum(range(ep.size)) + turn * ep.size
            assert await handles[2] == across
            assert await handles[0] == along
            assert await handles[1] == everybody

    case.run(main)


@pytest.mark.rule("X62")
@pytest.mark.crowds
def test_a_slow_member_finds_what_came_early(case: Case) -> None:
    """Others use the team before this rank has learned of it: barrier signals and data are kept."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for slow in range(min(ep.size, 3)):
            if ep.rank == slow:
                await ep.compute(1e-4)
            team = await x.split(0, -ep.rank)
            if ep.rank == slow:
                await ep.compute(1e-4)
            await team.barrier_notify(slow)
            found = await team.broadcast(ep.rank if team.rank == 0 else None)
            await team.barrier_wait(slow)
            assert found == ep.size - 1

    case.run(main)


@pytest.mark.rule("X63")
def test_a_destroyed_team_refuses_everything(case: Case) -> None:
    """At the call, every one of them; and destroy itself."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        await team.destroy()
        calls: list[Any] = [
            *(getattr(team, name) for name in ("barrier", "barrier_notify", "barrier_wait", "barrier_try", "destroy")),
            *(partial(getattr(team, name), 0) for name in ("split", "job_rank", "rank_of")),
        ]
        for name in ("broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce", "scan"):
            calls += [partial(getattr(team, name), [1]), partial(getattr(team, name + "_nb"), [1])]
        for call in calls:
            name = getattr(call, "func", call).__name__
            assert refusal(call).startswith(f"{name}: this team was destroyed; ")
        for name in ("rank", "size"):
            assert refusal(partial(getattr, team, name)).startswith(f"{name}: this team was destroyed; ")
        assert await x.all_reduce(1) == ep.size

    case.run(main)


@pytest.mark.rule("X63")
def test_destroy_waits_for_what_was_begun(case: Case) -> None:
    """Handles are done and hold their results when it returns."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        handles = [await team.all_gather_nb(np.full(700, ep.rank + turn)) for turn in range(3)]
        await team.destroy()
        for turn, handle in enumerate(handles):
            assert handle.done
            assert [row[0] for row in await handle] == [rank + turn for rank in range(ep.size)]

    case.run(main)


@pytest.mark.rule("X63", "X65")
def test_what_cannot_be_destroyed(case: Case) -> None:
    """The team of all, and a team between notify and wait, which can go on."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        names(refusal(x.destroy), "destroy", "split")
        team = await x.split(0)
        await team.barrier_notify()
        names(refusal(team.destroy), "destroy", "notified", "wait")
        await team.barrier_wait()
        await team.destroy()

    case.run(main)


@pytest.mark.rule("X64")
def test_teams_come_and_go(case: Case) -> None:
    """Used and destroyed many times over, in changing shapes."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for turn in range(6):
            team = await x.split((ep.rank + turn) % (1 + turn % 3), turn % 2 * -ep.rank)
            assert await team.all_reduce(1, algorithm=("tree", None)[turn % 2]) == team.size
            await team.barrier(turn)
            await team.destroy()

    case.run(main)


@pytest.mark.rule("X65")
def test_wrong_colors_keys_and_ranks_are_refused(case: Case) -> None:
    """What is no integer, too wide, no rank of the team or of the job."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(ep.rank)
        for wrong in (1.5, "red", 2**63):
            names(refusal(partial(x.split, wrong)), "split", "color")
            names(refusal(partial(x.split, 0, wrong)), "split", "key")
        names(refusal(partial(x.split, 0, None)), "split", "key")
        for wrong in (-1, 1, "0"):
            names(refusal(partial(team.job_rank, wrong)), "job_rank", "rank")
        for wrong in (-1, ep.size, 0.0):
            names(refusal(partial(team.rank_of, wrong)), "rank_of", "job_rank")

    case.run(main)


@pytest.mark.rule("X66")
@pytest.mark.crowds
def test_barriers_of_teams_are_their_own(case: Case) -> None:
    """Each team goes through as many as it likes, with ids of its own; a mismatch stays in its team."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        half = ep.rank % 2
        team = await x.split(half)
        for turn in range(1 + 3 * half):
            await team.barrier(turn)
            await team.barrier_notify(-turn)
            await team.barrier_wait()
        if half and team.size > 1:
            with pytest.raises(BarrierMismatch, match=r"\Abarrier: ranks gave ids "):
                await team.barrier(team.rank)
        else:
            await team.barrier(5)
        await x.barrier(1)

    case.run(main)


@pytest.mark.rule("X66")
@pytest.mark.simulated
@pytest.mark.crowds
def test_a_team_barrier_holds_its_members_alone(case: Case) -> None:
    """Nobody leaves before the last member has come, and no other rank is waited for."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> tuple[float, float]:
        x = await attached(ep)
        team = await x.split(None if ep.rank == 0 else 1, -ep.rank)
        if ep.rank == 0:
            for _ in range(100):  # what it has sent may have been lost, and is sent again in a poll
                await ep.compute(1e-2)
                await ep.poll()
            return 0.0, 0.0
        await ep.compute(1e-3 * ep.rank)
        came = ep.now
        await team.barrier()
        return came, ep.now

    (_, *members) = case.run(main).values
    assert max(came for came, _ in members) <= min(left for _, left in members) < 0.5


@pytest.mark.rule("X66")
@pytest.mark.crowds
def test_split_phases_of_several_teams_at_once(case: Case) -> None:
    """A rank may have notified many barriers, and waits for them in any order."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        teams = [x, await x.split(0, -ep.rank), await x.split(ep.rank // 2)]
        for team in teams:
            await team.barrier_notify(3)
        with pytest.raises(conduit.BadRequest, match=r"\Abarrier_notify: .*has notified"):
            await teams[1].barrier_notify(4)
        for team in reversed(teams):
            await team.barrier_wait(3)

    case.run(main)


@pytest.mark.rule("X63", "X83")
@pytest.mark.parametrize("name", ["split", "destroy"])
@pytest.mark.ends
def test_split_and_destroy_are_collective_calls(case: Case, name: str) -> None:
    """A rank that makes another call instead is found out."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        if ep.rank == 0:
            await (team.split(0) if name == "split" else team.destroy())
        else:
            await team.all_gather(1)

    with pytest.raises(CollectiveMismatch, match=rf"(?s)rank \d called .*{name}\(|all_gather"):
        case.run(main)
