"""Barriers whose signals are native puts: late, in any legal order, and in parts."""

import re
import sys
from collections import Counter

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import conduit
from conduit.simnet import HardwareBarrier
from extended import BarrierMismatch, Extended, barrier_words

pytestmark = pytest.mark.usefixtures("late")

ids = st.sampled_from((None, None, None, 0, -1, 2**32 - 1, 7))
WAYS = ("whole", "wait", "try")


async def one(x, team, id, way):
    """Make one barrier in one of the ways; say what came of it."""
    try:
        if way == "whole":
            await team.barrier(id)
        else:
            await team.barrier_notify(id)
            if way == "wait":
                await team.barrier_wait()
            else:
                while not await team.barrier_try(id):
                    await x.ep.compute(1e-6)
    except BarrierMismatch:
        return "mismatch"
    return "agreed"


async def rounds_of(ep, rounds, come):
    """Make barriers; `come` has how often each rank has come to one."""
    x = await Extended.attach(ep)
    seen = []
    for turn, (given_ids, delays, ways) in enumerate(rounds):
        await ep.compute(delays[ep.rank] * 1e-6)
        come[ep.rank] += 1
        seen.append(await one(x, x, given_ids[ep.rank], ways[ep.rank]))
        assert set(come) <= {turn + 1, turn + 2}  # all have come, and none is two rounds ahead
    return seen


class Shared(list):
    """A list that is the same one on all ranks, where arguments are copied."""

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("own", ["no", "yes"])
@given(data=st.data(), ranks=st.sampled_from((1, 2, 3, 8, 9, 20)), part=st.sampled_from((24, 8, 5, 1)))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ranks_agree_or_all_hear_of_the_mismatch(own, data, ranks, part):
    each = st.lists(ids, min_size=ranks, max_size=ranks)
    delays = st.lists(st.integers(0, 60), min_size=ranks, max_size=ranks)
    ways = st.lists(st.sampled_from(WAYS), min_size=ranks, max_size=ranks)
    rounds = data.draw(st.lists(st.tuples(each, delays, ways), min_size=1, max_size=6))
    spec = f"late:part={part},barrier={own}"
    result = conduit.run(rounds_of, rounds, Shared([0] * ranks), ranks=ranks, conduit=spec, segment=1001)
    expected = [
        "mismatch" if len({id % 2**32 for id in given_ids if id is not None}) > 1 else "agreed"
        for given_ids, _, _ in rounds
    ]
    assert list(result.values) == [expected] * ranks


def test_the_first_signals_are_messages_and_all_others_puts():
    """Eight parts of two ranks: one signal up and one down in each, and three steps of the eight first ones."""
    signals = 8 * 2 + 8 * 3

    async def main(ep, turns):
        x = await Extended.attach(ep)
        for _ in range(turns):
            await x.barrier()

    def counted(turns, spec="late"):
        found = conduit.run(main, turns, ranks=16, conduit=spec, segment=64).statistics
        return sum(each["requests_sent"] for each in found), sum(each.get("rma_puts", 0) for each in found)

    assert counted(1) == (signals, 0)
    messages, puts = counted(10)
    assert (messages + puts, puts >= 8 * signals) == (10 * signals, True)
    assert counted(10, "late:rma=am") == (10 * 16 * 4, 0)


def test_teams_for_which_no_words_are_left_signal_by_messages(monkeypatch):
    """The words of teams that have ended are used again."""
    monkeypatch.setattr(barrier_words, "BYTES", 100)

    async def main(ep):
        x = await Extended.attach(ep)
        for _ in range(3):
            teams = [await x.split(0, -ep.rank) for _ in range(4)]
            for turn in range(12):
                await ep.compute((ep.rank + turn) % 3 * 1e-6)
                await teams[turn % 4].barrier()
            before = ep.rma.counted()["rma_puts"]
            for team in teams[::-1]:
                await team.destroy()
        return before

    result = conduit.run(main, ranks=4, conduit="late", segment=64)
    assert all(result.values)
    assert all(each["requests_sent"] > 0 for each in result.statistics)


def test_a_layer_is_told_what_lands_in_its_auxiliary_memory_alone():
    async def main(ep):
        told = []
        mine = ep.take_auxiliary(16, lambda *what: told.append(what))
        other = ep.take_auxiliary(16)
        with pytest.raises(conduit.BadRequest, match=r"ep\.take_auxiliary: landed=3 cannot be called; pass a plain"):
            ep.take_auxiliary(1, 3)
        with pytest.raises(conduit.BadRequest, match=r"ep\.rma\.put: 8 bytes at offset=-8 are not inside the aux"):
            await ep.rma.put(1, -8, bytes(8), auxiliary=True)
        await ep.attach()
        if ep.rank == 0:
            for place, data in ((mine.start + 8, b"for you!"), (other.start, b"for none"), (mine.start, b"and you.")):
                await ep.rma.put(1, place, data, auxiliary=True)
                await ep.rma.quiet()
            await ep.rma.put(1, 0, b"!")
        else:
            await ep.block_until(lambda: ep.segment[0])
        return told, ep.segment[1:].any()

    values = conduit.run(main, ranks=2, conduit="late", segment=64).values
    assert values == [([], False), ([(0, 8, b"for you!"), (0, 0, b"and you.")], False)]


OWN = "late:barrier=yes"


def test_barriers_of_all_ranks_without_ids_are_the_networks_own():
    """So they take neither messages nor puts; those with ids do, and those of other teams."""

    async def main(ep, id, of_some):
        x = await Extended.attach(ep)
        whole = await x.split(0, -ep.rank)
        some = await x.split(ep.rank == 0)
        team = some if of_some else whole
        before = Counter(ep.rma.counted()) + Counter(requests=ep.counts.requests_sent)
        for _ in range(3):
            await team.barrier(id)
        return Counter(ep.rma.counted()) + Counter(requests=ep.counts.requests_sent) - before

    def signals(id=None, of_some=False):
        found = sum(conduit.run(main, id, of_some, ranks=9, conduit=OWN, segment=64).values, Counter())
        return found["requests"] + found["rma_puts"]

    assert signals() == 0
    assert signals(7) > 0
    assert signals(None, True) > 0


def test_the_report_of_a_deadlock_names_who_has_not_come_to_the_networks_barrier():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        if ep.rank not in (1, 3):
            await x.barrier()

    with pytest.raises(conduit.Deadlock, match="a barrier, to which ranks 1, 3 have not come") as caught:
        conduit.run(main, ranks=5, conduit=OWN, segment=64)
    waits = {rank.rank: [task.wait for task in rank.tasks] for rank in caught.value.report.ranks}
    assert [[set(wait.ranks) for wait in waits[rank]] for rank in (0, 2, 4)] == [[{1, 3}]] * 3


def test_a_wait_for_the_networks_barrier_that_was_cancelled_can_be_made_again():
    async def main(ep):
        x = await Extended.attach(ep)
        for turn in range(3):
            if ep.rank == turn:
                await ep.compute(1e-3)
                await x.barrier()
                continue
            with trio.move_on_after(1e-4) as scope:
                await x.barrier()
            assert scope.cancelled_caught
            with pytest.raises(conduit.BadRequest, match=r"in a barrier that was cancelled at \S+:\d+, and"):
                await x.barrier()
            await x.barrier_wait()

    conduit.run(main, ranks=3, conduit=OWN, segment=64)


def test_a_rank_that_has_notified_and_returned_still_compares_ids():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier_notify(ep.rank)
        if ep.rank:
            await ep.compute(1e-4)
            with pytest.raises(BarrierMismatch, match="barrier_wait: ranks gave ids "):
                await x.barrier_wait()

    with pytest.warns(conduit.ConduitWarning, match="never waited for"):
        conduit.run(main, ranks=9, conduit=OWN, segment=64)


class Short(HardwareBarrier):
    access_ps = 0

    def seen(self, arrived):
        return [0 for _ in arrived]


class Fractions(Short):
    def seen(self, arrived):
        return [max(arrived) + 0.5 for _ in arrived]


class Hasty(Short):
    access_ps = -500


NO_TICKS = r" is no int of picoseconds from 0 on; set it to what an arrival takes the CPU, by conduit\.sim\.units\.ps"
TIMES = r"return a time for each of 2 ranks, an int of picoseconds from now on, which is \d+ ps"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (3, r"Late\.make_barrier returned 3; return a conduit\.simnet\.HardwareBarrier, or None"),
        (Short(), r"Short\.seen returned \[0, 0\]; " + TIMES),
        (Fractions(), r"Fractions\.seen returned \[\d+\.5, \d+\.5\]; " + TIMES),
        (Hasty(), r"Hasty\.access_ps=-500" + NO_TICKS),
    ],
)
def test_mistakes_of_who_writes_a_barrier(late, monkeypatch, made, words):
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()

    conduit.run(main, conduit=late, segment=64)  # so that its module is there
    monkeypatch.setattr(sys.modules["late_network"].Late, "make_barrier", lambda self: made)
    with pytest.raises(conduit.ConduitError, match=rf"\A{words}"):
        conduit.run(main, conduit=late, segment=64)


def test_a_rank_arrives_once_and_only_where_there_are_barriers(late):
    async def main(ep):
        for _ in range(0 if ep.rank else 2):
            await ep.rma.arrive((0, 5), False, lambda _: None)

    none = r"\Aep\.rma\.arrive: this network has no barriers of its own; look at ep\.rma\.barriers first\n"
    with pytest.raises(conduit.BadRequest, match=none):
        conduit.run(main, conduit=late, segment=64)
    twice = r"\Arank 0 arrives at the barrier \(0, 5\) of the network, at which it is already; arrive again once `then`"
    with pytest.raises(conduit.ConduitError, match=twice):
        conduit.run(main, conduit=OWN, segment=64)


@pytest.mark.parametrize("barrier", [5, None, (1, 2, 3), []], ids=str)
def test_a_barrier_is_named_by_two_integers(barrier):
    async def main(ep):
        await ep.attach()
        await ep.rma.arrive(barrier, False, lambda _: None)

    words = f"ep.rma.arrive: barrier={barrier} names no barrier; pass a tuple of two ints, the same on all ranks"
    with pytest.raises(conduit.BadRequest, match=re.escape(words)):
        conduit.run(main, ranks=1, conduit="t3e")
