"""Teams, contexts and collectives."""

from typing import Any

import numpy as np
import pytest

import extended
from conduit.conformance.cases import Case
from extended.shmem.conformance.programs import play, refused

REDUCE = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "max": np.maximum, "min": np.minimum,
    "sum": np.add, "prod": np.multiply,
}  # fmt: skip


def data(pe: int, size: int) -> Any:
    """Give what a PE brings to a collective."""
    return np.arange(size) * 7 + pe * 3 + 1


@pytest.mark.rule("S15")
@pytest.mark.crowds
def test_a_team_numbers_its_pes(case: Case) -> None:
    """From the last to the first in twos; who is not in it has a false one; destroyed, all its aliases are."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        members = list(range(n - 1, -1, -2))
        team = await pe.TEAM_WORLD.split_strided(n - 1, -2)
        assert bool(team) == (me in members)
        if team:
            alias = pe.Team(team)
            assert alias == team
            assert (team.my_pe(), team.n_pes()) == (members.index(me), len(members))
            assert [team.translate_pe(k) for k in range(len(members))] == members
            back = [pe.TEAM_WORLD.translate_pe(k, team) for k in range(n)]
            assert back == [members.index(k) if k in members else -1 for k in range(n)]
            await alias.destroy()
            assert not team
            refused(team.n_pes, "the team was destroyed")
        else:
            assert team == pe.TEAM_INVALID
            refused(team.my_pe, "the team is invalid")
        await pe.barrier_all()

    play(case, main)


@pytest.mark.rule("S16")
def test_a_context_counts_pes_in_its_team_and_completes_its_own(case: Case) -> None:
    """Destroyed, it is refused."""

    async def main(pe: Any) -> None:
        n = pe.n_pes()
        a = await pe.full(600, -1)
        team = await pe.TEAM_WORLD.split_strided(n - 1, -1)
        ctx = await team.create_ctx()
        await pe.put_nbi(a, np.full(600, team.my_pe()), (team.my_pe() + 1) % n, ctx=ctx)
        await ctx.quiet()
        await pe.sync_all()
        assert a.tolist() == [(team.my_pe() - 1) % n] * 600
        await ctx.destroy()
        assert not ctx
        refused(ctx.quiet, "the context was destroyed")
        refused(lambda: pe.put(a, a, 0, ctx=ctx), "context was destroyed")

    play(case, main)


@pytest.mark.rule("S17")
@pytest.mark.crowds
@pytest.mark.parametrize("size", [1, 40])
def test_collectives_move_what_numpy_says(case: Case, size: int) -> None:
    """Of all PEs; the target of the root too, and nothing beyond."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        root, whole = n - 1, 2 * n * size + 1
        source, target = await pe.array(data(me, whole)), await pe.zeros(whole, "i8")
        every = [data(k, whole) for k in range(n)]
        blocks = np.concatenate([each[me * size : (me + 1) * size] for each in every])

        async def gives(call: Any, wanted: Any, step: int = 1) -> None:
            target[:] = 0
            await pe.sync_all()
            await call
            padded = np.zeros(whole, "i8")
            padded[::step][: len(wanted)] = wanted
            assert target.tolist() == padded.tolist()
            await pe.sync_all()

        await gives(pe.broadcast(target, source, root, size), every[root][:size])
        await gives(pe.fcollect(target, source, size), np.concatenate([each[:size] for each in every]))
        parts = [each[: k % (size + 1)] for k, each in enumerate(every)]
        await gives(pe.collect(target, source, me % (size + 1)), np.concatenate(parts))
        await gives(pe.alltoall(target, source, size), blocks)
        await gives(pe.alltoalls(target, source, 2, 1, size), blocks, 2)

    play(case, main)


@pytest.mark.rule("S18")
def test_reductions_are_numpys(case: Case) -> None:
    """In place too."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        source, target = await pe.zeros(6, "i8"), await pe.zeros(6, "i8")
        for op, ufunc in REDUCE.items():
            source[:] = data(me, 6)
            await getattr(pe, f"{op}_reduce")(target, source, 5)
            wanted = ufunc.reduce([data(k, 5) for k in range(n)]).tolist()
            assert target.tolist() == [*wanted, 0]
            await pe.reduce(source, source, op, 5)
            assert source.tolist() == [*wanted, data(me, 6)[5]]

    play(case, main)


@pytest.mark.rule("S18")
@pytest.mark.crowds
def test_floats_are_combined_to_the_same_bits(case: Case) -> None:
    """On every PE, though another order would give others."""

    async def main(pe: Any) -> bytes:
        source = await pe.array([0.1 * 3 ** pe.my_pe(), 1e16 if pe.my_pe() % 2 else 1.0])
        target = await pe.zeros(2)
        await pe.sum_reduce(target, source)
        return bytes(target)

    assert len(set(play(case, main).values)) == 1


@pytest.mark.rule("S19")
@pytest.mark.ends
@pytest.mark.parametrize("call", ["broadcast", "sum_reduce"])
def test_sizes_that_differ_are_a_mismatch(case: Case, call: str) -> None:
    """Which ends the job."""

    async def main(pe: Any) -> None:
        a, b = await pe.zeros(64), await pe.zeros(64)
        extra = (0,) if call == "broadcast" else ()
        await getattr(pe, call)(a, b, *extra, size=pe.my_pe() + 1)
        await pe.barrier_all()

    if case.size == 1:
        case = case.with_ranks(2)
    with pytest.raises(extended.CollectiveMismatch):
        play(case, main)
