"""Collective calls under way together, that disagree, that are cancelled."""

import contextlib
import gc
import re
from typing import Any

import numpy as np
import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import linger
from extended import CollectiveMismatch
from extended.conformance.oracle import array, rows, same
from extended.conformance.programs import attached

COLLECTIVES = ("broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce", "scan")


@pytest.mark.rule("X82")
@pytest.mark.crowds
def test_any_number_of_calls_waited_for_in_any_order(case: Case) -> None:
    """Each rank waits in an order of its own, one by one."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        handles = []
        for turn in range(5):
            root = turn % ep.size
            handles.append((turn + ep.size, await x.all_reduce_nb(turn + np.arange(ep.size).size // ep.size)))
            handles.append((turn, await x.broadcast_nb(turn if ep.rank == root else None, root)))
            handles.append((sum(range(ep.size)), await x.reduce_nb(ep.rank, "sum", root)))
        ep.random.shuffle(handles)
        for expected, handle in handles:
            found = await handle
            if handle.call == "reduce_nb":
                assert found is None or found == expected
            elif handle.call == "broadcast_nb":
                assert found == expected
        assert await x.all_reduce(1) == ep.size

    case.run(main)


@pytest.mark.rule("X82")
@pytest.mark.crowds
def test_every_call_has_a_form_with_a_handle(case: Case) -> None:
    """Which gives the same, as often as asked."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        mine, everything = array(ep.rank, (2,)), rows(ep.size, (2,))
        handles = [
            await x.broadcast_nb(mine), await x.scatter_nb(everything), await x.gather_nb(mine),
            await x.all_gather_nb(mine), await x.all_to_all_nb(everything), await x.reduce_nb(mine, "max"),
            await x.all_reduce_nb(mine, "max"), await x.scan_nb(mine, "max"),
        ]  # fmt: skip
        first = ep.rank == 0
        expected = [
            everything[0], mine, everything if first else None, everything,
            np.tile(mine, (ep.size, 1)), everything.max(0) if first else None, everything.max(0),
            everything[: ep.rank + 1].max(0),
        ]  # fmt: skip
        found = await x.wait_all(handles)
        for handle, one, other in zip(handles, found, expected, strict=True):
            assert one is other is None or same(one, other)
            assert handle.done
            assert await handle is one

    case.run(main)


@pytest.mark.rule("X82")
@pytest.mark.crowds
def test_wait_some_of_calls_and_puts(case: Case) -> None:
    """Handles of collectives and of puts wait together."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        pending = [await x.all_gather_nb(ep.rank) for _ in range(3)]
        pending.append(await x.put_nb((ep.rank + 1) % ep.size, 0, b"x"))
        seen = 0
        while pending:
            done, pending = await x.wait_some(pending)
            assert done
            seen += len(done)
        assert seen == 4

    case.run(main)


@pytest.mark.rule("X82")
@pytest.mark.simulated
@pytest.mark.crowds
def test_any_poll_carries_calls_forward(case: Case) -> None:
    """Ranks in the core's own waits, and ranks whose main has returned, pass on what others need."""

    async def main(ep: Endpoint) -> None:
        released: list[int] = []

        def release(token: Any) -> None:
            released.append(token.rank)

        x = await attached(ep)
        await ep.attach(release)
        handle = await x.all_reduce_nb(np.full(700, ep.rank), algorithm="tree")
        if ep.rank == ep.size - 1:
            assert (await handle)[0] == sum(range(ep.size))
            for rank in range(ep.size - 1):
                await ep.request_short(rank, release)
        elif ep.rank % 2:
            await ep.block_until(lambda: bool(released), what="the last rank", ranks=(ep.size - 1,))
            assert (await handle)[0] == sum(range(ep.size))
        # The other even ranks only serve; their handles are left to the warning.

    with case.warns("all_reduce_nb") if case.size > 1 else contextlib.nullcontext():
        case.run(main)


@pytest.mark.rule("X82", "X18")
def test_a_forgotten_handle_is_a_warning(case: Case) -> None:
    """With the line that made it; the call goes on for the others."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            await x.all_gather_nb(1)
        else:
            assert list(await x.all_gather(1)) == [1] * ep.size

    with case.warns(rf"a handle of all_gather_nb, made at {__file__}:\d+, never waited for"):
        case.run(main)


@pytest.mark.rule("X15", "X18")
@pytest.mark.once
def test_waiting_for_all_where_some_have_failed_waits_for_all(case: Case) -> None:
    """The first error comes out once all are done, and nobody is warned of the handles behind it."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(ep.rank)

        def fail(first: Any, second: Any) -> Any:
            raise KeyError(first)

        # Of two: with more of them the call may have failed before the last one has made it, and would refuse it.
        pair = await x.split(0 if ep.rank < 2 else None)
        failing = [] if pair is None else [await pair.all_reduce_nb(1, fail)]
        handles = [await team.all_gather_nb(1), *failing, await x.all_gather_nb(2)]
        with pytest.raises((KeyError, conduit.ConduitError)) if failing else contextlib.nullcontext():
            await x.wait_all(handles)
        assert all(handle.awaited.done() for handle in handles)

    result = case.at_least(2).run(main)
    assert not any(result.warnings)


@pytest.mark.rule("X14", "X82")
@pytest.mark.once
def test_a_handle_that_is_done_keeps_no_argument_in_use(case: Case) -> None:
    """A bytearray cannot grow while anything looks at it."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        handles, buffers = [], []
        for name in COLLECTIVES:
            for size in (10, 5000):
                buffer = bytearray(ep.size * size)
                handles.append(await getattr(x, f"{name}_nb")(np.frombuffer(buffer, np.uint8).reshape(ep.size, size)))
                buffers.append(buffer)
        await x.wait_all(handles)
        gc.collect()
        for buffer in buffers:
            buffer.extend(b"more")
        assert all(handle.done for handle in handles)

    case.run(main)


@pytest.mark.rule("X29")
@pytest.mark.once
@pytest.mark.parametrize("name", ["all_gather", "all_gather_nb", "split"])
@pytest.mark.ends
def test_a_forgotten_call_ends_the_job(case: Case, name: str) -> None:
    """It names the call and its line."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        getattr(x, name)(1)
        await x.barrier()

    with pytest.raises(
        conduit.BadRequest, match=rf"\Agetattr\(x, name\)\(1\) at {__file__}:\d+ was called but never awaited"
    ):
        case.run(main)


# ------------------------------------------------------------------------------------------------------ disagreement


DISAGREEMENTS: dict[str, tuple[Any, Any, str]] = {
    "call": (lambda x: x.gather(1), lambda x: x.broadcast(1, x.rank), r"gather\(root=0.*broadcast\(root="),
    "root of broadcast": (lambda x: x.broadcast(1, 0), lambda x: x.broadcast(1, 1), r"root=0\).*root=1\)"),
    "root of scatter": (
        lambda x: x.scatter([1] * x.size, 1), lambda x: x.scatter([1] * x.size, 0), r"root=[01].*root=[01]",
    ),
    "root of gather": (lambda x: x.gather(1, 1), lambda x: x.gather(1, 0), r"gather\(root=1.*gather\(root=0"),
    "root of reduce": (lambda x: x.reduce(1, root=1), lambda x: x.reduce(1), r"reduce\(root=1.*reduce\(root=0"),
    "op": (lambda x: x.all_reduce(1, "max"), lambda x: x.all_reduce(1, "sum"), r"op=max.*op=sum"),
    "dtype": (lambda x: x.all_gather(1.0), lambda x: x.all_gather(1), r"float64\).*int64\)"),
    "shape": (lambda x: x.scan([1, 2]), lambda x: x.scan([1, 2, 3]), r"\(2,\).*\(3,\)"),
    "large": (lambda x: x.scan(np.ones(5000)), lambda x: x.all_gather(np.ones(5000)), "scan.*all_gather"),
    "algorithm": (lambda x: x.all_reduce(1, algorithm="tree"), lambda x: x.all_reduce(1), "algorithm='tree'.*int64"),
}  # fmt: skip


@pytest.mark.rule("X83")
@pytest.mark.once
@pytest.mark.parametrize("what", DISAGREEMENTS)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.ends
def test_every_disagreement_is_told(case: Case, what: str, late: bool) -> None:
    """One rank, the last, makes another call: the error names two ranks and what each called, and ends the job."""
    _disagree(case.with_ranks(3), what, late)


@pytest.mark.rule("X83")
@pytest.mark.crowds
@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.ends
def test_disagreements_are_told(case: Case, turn: int, late: bool) -> None:
    """Two of them, others in each case."""
    _disagree(case.at_least(2), sorted(DISAGREEMENTS)[(case.seed + 5 * turn) % len(DISAGREEMENTS)], late)


def _disagree(case: Case, what: str, late: bool) -> None:
    ours, theirs, pattern = DISAGREEMENTS[what]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if late and ep.rank == ep.size - 1:
            await ep.compute(1e-2)
            await ep.poll()  # the others' calls are known before this rank makes its own
        with contextlib.suppress(conduit.ConduitError):  # it ends the job all the same
            await (theirs(x) if ep.rank == ep.size - 1 else ours(x))
        await x.all_gather(1)

    expected = r"\Acollective call 1 of their team: rank \d+ called .*must make"
    with pytest.raises(CollectiveMismatch, match=expected) as caught:
        case.run(main)
    assert _either_way(pattern, str(caught.value))


def _either_way(pattern: str, message: str) -> bool:
    first, _, second = message.partition(", but rank ")
    wanted = pattern.split(".*", 1)
    both = re.search(pattern, message, re.DOTALL) is not None
    swapped = len(wanted) == 2 and re.search(wanted[0], second) and re.search(wanted[1], first)
    assert both or swapped, (pattern, message)
    return True


@pytest.mark.rule("X83")
@pytest.mark.ends
def test_a_disagreement_in_the_midst_of_many_calls(case: Case) -> None:
    """The number of the call is in the message."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        for turn in range(12):
            await team.all_reduce(turn, "max" if (turn, ep.rank) == (9, 0) else "sum")

    with pytest.raises(
        CollectiveMismatch, match=r"\Acollective call 10 of their team: rank 0 called all_reduce\(op=max"
    ):
        case.run(main)


@pytest.mark.rule("X83", "X79")
def test_only_the_root_s_data_count_in_broadcast_and_scatter(case: Case) -> None:
    """Other dtypes, shapes and algorithms elsewhere are no disagreement."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for root in range(min(ep.size, 3)):
            given: Any = np.ones(3) if ep.rank == root else np.zeros((2, 2), "i2")
            algorithm = "flat" if ep.rank == root else ("tree", None)[ep.rank % 2]
            assert same(await x.broadcast(given, root, algorithm=algorithm), np.ones(3))
            given = np.ones((ep.size, 2)) if ep.rank == root else 7
            assert same(await x.scatter(given, root, algorithm=algorithm), np.ones(2))

    case.run(main)


# ------------------------------------------------------------------------------------------------------ cancellation


@pytest.mark.rule("X84")
@pytest.mark.simulated
def test_a_cancelled_wait_for_a_handle_does_no_harm(case: Case) -> None:
    """The call goes on, the handle can be waited for again, and the team can be used."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        while ep.rank == 0 and ep.now < 1e-2:  # late, but polling, so that the others can send
            await ep.compute(1e-4)
            await ep.poll()
        handle = await x.all_reduce_nb(1)
        if ep.rank:
            with trio.move_on_after(1e-3) as scope:
                await handle
            assert scope.cancelled_caught
        assert await handle == ep.size
        assert await x.all_reduce(2) == 2 * ep.size

    case.run(main)


@pytest.mark.rule("X84")
@pytest.mark.simulated
@pytest.mark.crowds
def test_a_cancelled_collective_breaks_its_team(case: Case) -> None:
    """Every later call on it says so, on every rank; what the others were in ends well, and other teams go on."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team, other = await x.split(0), await x.split(0, -ep.rank)
        late = ep.now + 1e-2
        while ep.rank == 0 and ep.now < late:  # polling, so that the others can leave the splits
            await ep.compute(1e-4)
            await ep.poll()
        if ep.rank == 1:
            with trio.move_on_after(1e-3) as scope:
                await team.all_reduce(1)
            assert scope.cancelled_caught
        else:
            assert await team.all_reduce(1) == ep.size
        # This call either is refused or ends when the news comes.
        with pytest.raises(
            conduit.ConduitError, match=r"\A\w+.*: this team is broken: its collective call 1, all_reduce"
        ):
            await team.all_gather(1)
        calls: list[Any] = [
            lambda: team.split(0), team.destroy, team.barrier, team.barrier_notify, team.barrier_wait,
            team.barrier_try, lambda: team.reduce_nb(1),
        ]  # fmt: skip
        for call in calls:
            with pytest.raises(conduit.BadRequest, match=r"this team is broken: .* cancelled on rank 1 of the job"):
                call()
        assert (team.rank, team.size) == (ep.rank, ep.size)
        assert await other.all_reduce(1) == ep.size
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X84")
@pytest.mark.simulated
def test_a_collective_in_a_cancelled_scope(case: Case) -> None:
    """It gives its part and then breaks the team: the others get their results, and hear of it at the next call."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        if ep.rank == 0:
            with trio.CancelScope() as scope:
                scope.cancel()
                await team.all_gather(ep.rank)
            assert scope.cancelled_caught
        else:
            await linger(ep, 5e-3)  # else it might be over by the time rank 0 has given its part
            assert list(await team.all_gather(ep.rank)) == list(range(ep.size))
        with pytest.raises(conduit.ConduitError, match="this team is broken"):
            await team.all_gather(1)

    case.run(main)


@pytest.mark.rule("X84")
def test_a_collective_of_one_rank_in_a_cancelled_scope(case: Case) -> None:
    """It raises and has done nothing, and the team is whole."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(ep.rank)
        out = np.zeros(2)
        calls: list[Any] = [
            lambda: team.broadcast(np.ones(2), out=out), lambda: team.all_reduce(np.ones(2), out=out),
            lambda: team.gather_nb(np.ones(2), out=out.reshape(1, 2)), lambda: team.split(0), team.destroy,
        ]  # fmt: skip
        for call in calls:
            with trio.CancelScope() as scope:
                scope.cancel()
                await call()
            assert scope.cancelled_caught
        assert not out.any()
        assert await team.all_reduce(3) == 3

    case.run(main)


@pytest.mark.rule("X84")
@pytest.mark.simulated
def test_a_root_in_a_cancelled_scope(case: Case) -> None:
    """A small broadcast needs nobody but the root: it is cancelled once that has given its part, and harms nobody."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            for call in (x.broadcast, x.broadcast_nb):
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await call(5)
                assert scope.cancelled_caught
        else:
            assert await x.broadcast() == 5
            assert await (await x.broadcast_nb()) == 5
        assert await x.all_reduce(1) == ep.size

    case.run(main)


@pytest.mark.rule("X84", "X63")
@pytest.mark.simulated
def test_a_cancelled_destroy_breaks_the_team(case: Case) -> None:
    """It is not half gone: later calls say that it is broken."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        if ep.rank:
            while ep.now < 1e-2:
                await ep.compute(1e-4)
                await ep.poll()
            # Rank 0 has given its part, so the team ends for those who come, unless the news is there before.
            with contextlib.suppress(conduit.ConduitError):
                await team.destroy()
            with pytest.raises(conduit.BadRequest, match=r"this team (is broken|was destroyed)"):
                await team.all_gather(1)
        else:
            with trio.move_on_after(1e-3) as scope:
                await team.destroy()
            assert scope.cancelled_caught
            with pytest.raises(conduit.BadRequest, match="this team is broken"):
                await team.all_gather(1)
            assert (team.rank, team.size) == (0, ep.size)

    case.run(main)


@pytest.mark.rule("X84", "X63")
def test_a_destroy_cancelled_at_once_is_told(case: Case) -> None:
    """Before its rank has given its part: the others, who are in theirs, are not left there."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        if ep.rank:
            with pytest.raises(
                conduit.ConduitError, match=r"this team is broken: .* destroy\(\), was cancelled on rank 0"
            ):
                await team.destroy()
        else:
            with trio.CancelScope() as scope:
                scope.cancel()
                await team.destroy()
            assert scope.cancelled_caught
        with pytest.raises(conduit.BadRequest, match="this team is broken"):
            await team.all_gather(1)
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X84", "X31")
@pytest.mark.simulated
@pytest.mark.once
@pytest.mark.parametrize("split_phase", [False, True])
def test_a_barrier_of_a_team_that_breaks_is_ended(case: Case, split_phase: bool) -> None:
    """Those who are in it already would wait for a rank whose call is refused."""
    case = case.at_least(3)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        team = await x.split(0)
        if ep.rank == 0:  # the root, which waits for the last rank
            with trio.move_on_after(1e-2):
                await team.reduce(1, algorithm="flat")
            with pytest.raises(conduit.BadRequest, match="this team is broken"):
                await team.barrier()
        elif ep.rank < ep.size - 1:
            await team.reduce(1, algorithm="flat")
            if split_phase:
                await team.barrier_notify(4)
            with pytest.raises(
                conduit.ConduitError, match=r"\Abarrier(_wait)?: this team is broken: .* was cancelled on"
            ):
                await (team.barrier_wait(4) if split_phase else team.barrier())
            with pytest.raises(conduit.BadRequest, match="this team is broken"):
                await team.barrier_wait()
        await x.barrier()
        assert await (await x.split(0)).all_reduce(1) == ep.size

    case.run(main)
