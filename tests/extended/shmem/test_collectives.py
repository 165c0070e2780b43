"""Collectives, teams and contexts against numpy."""

import re

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
import extended
from extended import shmem

NETWORKS = ["loggp", "sci", "startx", "sunfire", "udp", "origin", "t3e"]
REDUCE = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "sum": np.add,
    "prod": np.multiply,
}


def run(main, *args, pes=2, network="loggp"):
    return shmem.run(main, *args, pes=pes, conduit=network).values


def data(me, size, dtype):
    return (np.arange(size) * 7 + me * 3 + 1).astype(dtype)


async def everything(pe, start, stride, size, dtype, root):
    """Do each collective once on a team; give all results."""
    team = await pe.TEAM_WORLD.split_strided(start, stride)
    found = {}
    if team:
        me, n = team.my_pe(), team.n_pes()
    source = await pe.array(data(0, size * pe.n_pes() * 2, dtype))
    target = await pe.zeros(size * pe.n_pes() * 2, dtype)
    if team:
        source[:] = data(me, source.size, dtype)
        await team.sync()

        async def take(name, call):
            target[:] = 0
            await team.sync()
            await call
            found[name] = target.copy()
            await team.sync()

        await take("broadcast", pe.broadcast(target, source, root % n, size, team))
        await take("fcollect", pe.fcollect(target, source, size, team))
        await take("collect", pe.collect(target, source, me % (size + 1), team))
        await take("alltoall", pe.alltoall(target, source, size, team))
        await take("alltoalls", pe.alltoalls(target, source, 2, 1, size, team))
        for op in REDUCE:
            await take(op, getattr(pe, f"{op}_reduce")(target, source, size, team))
        await pe.reduce(source, source, "max", size, team)  # in place
        found["in place"] = source.copy()
        await team.destroy()
        assert not team
    await pe.barrier_all()
    return found


def expected(me, n, pes, size, dtype, root):
    whole = size * pes * 2
    all_data = [data(k, whole, dtype) for k in range(n)]

    def padded(values, step=1):
        out = np.zeros(whole, dtype)
        out[::step][: len(values)] = values
        return out

    blocks = np.concatenate([each[me * size : (me + 1) * size] for each in all_data])
    answers = {
        "broadcast": padded(all_data[root % n][:size]),
        "fcollect": padded(np.concatenate([each[:size] for each in all_data])),
        "collect": padded(np.concatenate([each[: k % (size + 1)] for k, each in enumerate(all_data)])),
        "alltoall": padded(blocks),
        "alltoalls": padded(blocks, 2),
    }
    for op, ufunc in REDUCE.items():
        answers[op] = padded(ufunc.reduce([each[:size] for each in all_data], dtype=dtype))
    answers["in place"] = np.concatenate([answers["max"][:size], all_data[me][size:]])
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
@settings(max_examples=3)
@given(st.integers(1, 5), st.data())
def test_every_collective_on_a_team(network, pes, draw):
    start = draw.draw(st.integers(0, pes - 1))
    stride, size = draw.draw(st.sampled_from([1, 2, -1])), draw.draw(st.integers(1, 5))
    dtype, root = draw.draw(st.sampled_from(["i4", "u8", "i2"])), draw.draw(st.integers(0, 7))
    members = list(range(start, pes if stride > 0 else -1, stride))
    results = run(everything, start, stride, size, dtype, root, pes=pes, network=network)
    for pe, found in enumerate(results):
        if pe not in members:
            assert found == {}
            continue
        for name, answer in expected(members.index(pe), len(members), pes, size, dtype, root).items():
            np.testing.assert_array_equal(found[name], answer, err_msg=name)


def test_floats_are_combined_to_the_same_bits_on_every_pe():
    async def main(pe):
        source = await pe.array([0.1 * 3 ** pe.my_pe(), 1e16 if pe.my_pe() % 2 else 1.0])
        target = await pe.zeros(2)
        await pe.sum_reduce(target, source)
        return target.tolist()

    values = run(main, pes=5)
    answer = np.zeros(2)
    for k in range(5):
        answer += [0.1 * 3**k, 1e16 if k % 2 else 1.0]
    assert values == [values[0]] * 5
    np.testing.assert_allclose(values[0], answer, rtol=1e-15)


@pytest.mark.parametrize("call", ["broadcast", "fcollect", "alltoall", "sum_reduce"])
def test_unequal_sizes_are_a_mismatch(call):
    async def main(pe):
        a, b = await pe.zeros(8), await pe.zeros(8)
        extra = (0,) if call == "broadcast" else ()
        await getattr(pe, call)(a, b, *extra, size=pe.my_pe() + 1)

    with pytest.raises(extended.CollectiveMismatch):
        run(main)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda pe, a: pe.fcollect(a, a), "target has room for 4 elements, and 2 times 4"),
        (lambda pe, a: pe.alltoall(a[:3], a[:3]), "3 elements do not divide by 2"),
        (lambda pe, a: pe.alltoalls(a, a, 0), "tst=0"),
        (lambda pe, a: pe.broadcast(a, a, 2), "root=2"),
        (lambda pe, a: pe.broadcast(a, a.copy(), 0), "source is not symmetric"),
        (lambda pe, a: pe.reduce(a, a, "mean"), "op='mean'"),
        (lambda pe, a: pe.and_reduce(a, a), "and is not defined on dtype float64"),
        (lambda pe, a: pe.sync(3), "team=3 is no team"),
        (lambda pe, a: pe.sync(pe.TEAM_INVALID), "team is invalid"),
        (lambda pe, a: pe.TEAM_INVALID.my_pe(), "team.my_pe: the team is invalid"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(2), "start=2"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(0, 0), "stride=0 names one PE again and again; give another, or s"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(0, 0, 2), "size=2 is not possible; give 1, as with stride=0"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(0, 1, 3), "size=3"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(colour=3), "no 'colour' in config"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(config=3), "team.split_strided: config=3 is an int; give a dict"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(config={1: 2}), "no 1 in config; give num_contexts"),
        (lambda pe, a: pe.TEAM_WORLD.split_strided(num_contexts="x"), "num_contexts='x' is a str; give an integer, a"),
        (lambda pe, a: pe.Team(3), "no team"),
        (lambda pe, a: pe.Ctx(3), "no context"),
        (lambda pe, a: pe.Ctx.create(99), "options=99"),
    ],
)
def test_misuse_is_refused_at_the_call(wrong, words):
    async def main(pe):
        a = await pe.zeros(4)
        with pytest.raises(conduit.BadRequest, match=words):
            wrong(pe, a)
        await pe.barrier_all()

    run(main)


def test_collect_without_room_is_refused():
    async def main(pe):
        a, b = await pe.zeros(3), await pe.zeros(2)
        with pytest.raises(conduit.BadRequest, match="room for 3 elements, and the PEs give 4"):
            await pe.collect(a, b)

    run(main)


def test_a_collect_without_room_on_one_pe_is_refused_on_all_and_may_be_made_again():
    async def main(pe):
        me = pe.my_pe()
        target, source = await pe.zeros(6, "i8"), await pe.full(2, me, "i8")
        room = 5 if me == 1 else 6
        where = "target" if me == 1 else "target of PE 1"
        said = f"pe.collect: {where} has room for 5 elements, and the PEs give 6; give a longer one"
        with pytest.raises(conduit.BadRequest, match=f"^{said}$"):
            await pe.collect(target[:room], source)
        assert not target.any()
        await pe.collect(target[:room], source, 2 if me == 0 else 1)
        return target.tolist()

    assert run(main, pes=3) == [[0, 0, 1, 2, 0, 0]] * 3


@pytest.mark.parametrize("call", ["reduce", "sum_reduce", "max_reduce"])
def test_a_reduction_of_arrays_that_overlap_is_refused(call):
    async def main(pe):
        a = await pe.array(np.arange(12))
        for target, source, size in ((a[3:], a[:9], None), (a, a[4:], 5)):
            with pytest.raises(conduit.BadRequest) as caught:
                getattr(pe, call)(target, source, size=size)
            apart, count = (3, 9) if size is None else (4, 5)
            assert str(caught.value) == (
                f"pe.{call}: target and source overlap, {apart} of {count} elements apart; give the same array, or two "
                "that have no element in common"
            )
        await getattr(pe, call)(a[4:], a, size=4)
        await getattr(pe, call)(a[8:], a[8:])

    run(main)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ((1, -1, 2), "another order of the PEs: it would be PE 0 of the team, and is PE 1"),
        ((1, 1, 2), "2 PEs and 3 came"),
        ((1, 1, 1), "1 PE and 2 came"),
    ],
)
def test_pes_that_ask_for_different_teams_are_told(other, words):
    async def main(pe):
        await pe.TEAM_WORLD.split_strided(*((0, 1, 2) if pe.my_pe() == 0 else other))

    with pytest.raises(conduit.BadRequest, match=f"^team.split_strided: this PE asked for (?:{words}); give the same"):
        run(main, pes=2 if other[1] < 0 else 3)


def test_pes_that_ask_for_as_many_others_are_told():
    """PE 0 and 3 have been in one team, each with another PE in mind."""

    async def main(pe):
        await pe.TEAM_WORLD.split_strided(*((0, 2, 2), (0, 2, 2), (1, 2, 2), (0, 3, 2))[pe.my_pe()])

    words = (
        "^team.split_strided: this PE asked for PE 2 as PE 1 of the team, and PE 3 came; give the same start, stride"
    )
    with pytest.raises(conduit.BadRequest, match=words):
        run(main, pes=4)


@pytest.mark.parametrize("pes", [1, 3])
def test_a_team_of_one_pe_may_have_a_stride_of_0(pes):
    async def main(pe):
        team = await pe.TEAM_WORLD.split_strided(pe.n_pes() - 1, 0, 1)
        assert bool(team) == (pe.my_pe() == pe.n_pes() - 1)
        if team:
            assert (team.my_pe(), team.n_pes()) == (0, 1)
            again = await team.split_strided(0, 0, size=1)
            await again.sync()

    run(main, pes=pes)


def test_a_team_without_other_pes_is_told_as_that():
    async def main(pe):
        with pytest.raises(conduit.BadRequest) as caught:
            pe.TEAM_WORLD.split_strided(0, 1, 2)
        assert str(caught.value) == (
            "team.split_strided: size=2 is not possible; give 1: there is no PE but 0 from 0 on by 1"
        )

    run(main, pes=1)


def test_teams_number_their_pes_and_end_with_all_their_aliases():
    async def main(pe):
        team = await pe.TEAM_WORLD.split_strided(4, -2, num_contexts=2)
        me = pe.my_pe()
        assert bool(team) == (me % 2 == 0)
        assert pe.TEAM_SHARED.n_pes() == 1
        if not team:
            assert team == pe.TEAM_INVALID
            return None
        alias = pe.Team(team)
        assert alias == team != pe.TEAM_WORLD
        assert team.get_config() == {"num_contexts": 2}
        places = [pe.TEAM_WORLD.translate_pe(k, team) for k in range(5)]
        assert [team.translate_pe(k) for k in range(3)] == [4, 2, 0]
        result = team.my_pe(), places, team.translate_pe()
        await alias.destroy()
        assert not team
        assert team == pe.TEAM_INVALID
        with pytest.raises(conduit.BadRequest, match="the team was destroyed"):
            team.n_pes()
        await pe.TEAM_WORLD.destroy()
        assert pe.TEAM_WORLD
        return result

    places = [2, -1, 1, -1, 0]
    assert run(main, pes=5) == [(2, places, 0), None, (1, places, 2), None, (0, places, 4)]


def test_a_context_counts_pes_in_its_team_and_completes_its_own_puts():
    async def main(pe):
        a = await pe.zeros(1, "i8")
        team = await pe.TEAM_WORLD.split_strided(2, -1)
        ctx = await team.create_ctx(pe.CTX_NOSTORE)
        assert ctx.get_team() == team
        await pe.put(a, np.array([team.my_pe() + 10]), (team.my_pe() + 1) % 3, ctx=ctx)
        await ctx.quiet()
        await pe.sync_all()
        async with ctx:
            pass
        assert not ctx
        with pytest.raises(conduit.BadRequest, match="the context was destroyed"):
            ctx.quiet()
        await pe.CTX_DEFAULT.destroy()
        assert pe.Ctx(pe.CTX_DEFAULT) == pe.CTX_DEFAULT
        other = await pe.Ctx.create()
        assert other
        return int(a[0])

    assert run(main, pes=3) == [11, 10, 12]


REDUCTIONS = [f"{op}_reduce" for op in ("max", "min", "sum", "prod")]


@pytest.mark.parametrize("call", [*REDUCTIONS, "reduce", "fcollect", "collect", "alltoall", "barrier_all", "sync_all"])
def test_reports_of_waits_name_the_call_that_the_user_wrote(call):
    async def main(pe):
        a, b = await pe.zeros(2), await pe.zeros(4)
        if pe.my_pe() == 0:
            await (getattr(pe, call)(b, a) if "all" not in call or call == "alltoall" else getattr(pe, call)())

    with pytest.raises(conduit.Deadlock, match=rf"waits for pe\.{call}[(,]"):
        run(main)


@pytest.mark.parametrize("call", ["sync", "split_strided"])
def test_reports_name_calls_of_teams(call):
    async def main(pe):
        if pe.my_pe() == 0:
            await getattr(pe.TEAM_WORLD, call)()

    with pytest.raises(conduit.Deadlock, match=rf"waits for team\.{call}[(,]"):
        run(main)


def test_collective_calls_that_differ_are_named_as_the_user_wrote_them():
    async def main(pe):
        a, b = await pe.zeros(4), await pe.zeros(4)
        await (pe.max_reduce(b, a) if pe.my_pe() == 0 else pe.sum_reduce(b, a))

    here = rf" at {re.escape(__file__)}:\d+"
    with pytest.raises(extended.CollectiveMismatch) as caught:
        run(main)
    assert re.match(
        rf"collective call \d+ of their team: PE 0 called pe\.max_reduce\(op=max, \(4,\), float64\){here}, but "
        rf"PE 1 called pe\.sum_reduce\(op=sum, \(4,\), float64\){here}; all PEs of a team ",
        str(caught.value),
    ), str(caught.value)


def test_one_operation_by_two_names_is_the_same_call():
    async def main(pe):
        a, b = await pe.ones(4), await pe.zeros(4)
        await (pe.reduce(b, a, shmem.OP.SUM) if pe.my_pe() == 0 else pe.sum_reduce(b, a))
        return b.tolist()

    assert run(main) == [[2.0] * 4] * 2


def test_a_forgotten_await_is_told_of_the_call_that_the_user_wrote():
    async def main(pe):
        a, b = await pe.ones(4), await pe.zeros(4)
        pe.sum_reduce(b, a)

    with pytest.raises(conduit.BadRequest, match=r"^pe\.sum_reduce\(b, a\) at .*:\d+ was called but never awaited"):
        run(main)


def test_a_collect_that_is_cancelled_between_its_two_exchanges_is_told():
    async def main(pe):
        a, b = await pe.zeros(2, "i8"), await pe.zeros(4, "i8")
        if pe.my_pe():
            await pe.ep.compute(1e-3)  # all that it waits for has come by then
            await pe.ep.poll()
            with trio.CancelScope() as scope:
                scope.cancel()
                await pe.collect(b, a)
            assert scope.cancelled_caught
            await pe.barrier_all()
        await pe.collect(b, a)

    said = "pe.barrier_all: this team is broken: pe.collect was cancelled on PE 1 of the job at "
    with pytest.raises(conduit.BadRequest, match=f"(?m)^{said}"):
        shmem.run(main, pes=2, conduit="loggp")


CALLS = {
    "pe.broadcast": lambda pe, b, a: pe.broadcast(b, a, 0),
    "pe.fcollect": lambda pe, b, a: pe.fcollect(b, a),
    "pe.collect": lambda pe, b, a: pe.collect(b, a),
    "pe.alltoall": lambda pe, b, a: pe.alltoall(b, a),
    "pe.sum_reduce": lambda pe, b, a: pe.sum_reduce(b, a),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_is_cancelled_when_it_is_over_is_told(call):
    """The PE would be one call ahead: what it calls next would be compared with what the others called before."""

    async def main(pe):
        a, b = await pe.ones(2, "i8"), await pe.zeros(4, "i8")
        if pe.my_pe():
            await pe.ep.compute(1e-3)  # all that it waits for has come by then
            await pe.ep.poll()
            with trio.CancelScope() as scope:
                scope.cancel()
                await CALLS[call](pe, b, a)
            assert scope.cancelled_caught
        else:
            await CALLS[call](pe, b, a)
        await pe.sum_reduce(b, a)

    said = f"this team is broken: {call} was cancelled on PE 1 of the job at "
    with pytest.raises(conduit.ConduitError, match=f"(?m)^pe.sum_reduce: {said}"):
        shmem.run(main, pes=2, conduit="loggp")
