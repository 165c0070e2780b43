"""What a port tells in real time: how the CPU of one rank spends its time, and which message an arrived one is."""

from itertools import pairwise

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from conduit.contract import REQUEST, Hooks, Identity, JobSetup, Message
from conduit.core.rank import make_endpoint
from conduit.launch.registry import parse_spec
from conduit.seeing.timeline import Recording, join_parts, part_of
from conduit.wall import WallClock, found_number, run_tasks
from conduit.wall.observed import _Identities


@pytest.fixture
def recorded(local):
    """Run a program on one rank in real time, and return the recording of it."""

    def run(main):
        spec = parse_spec(local)
        clock = WallClock()
        network = spec.cls(spec.options, JobSetup(1, (0,), 1 << 12, 0), clock)
        recording = Recording("local", (0,))
        hooks = Hooks(
            spent=recording.spent, messages=True, sent=recording.sent, noticed=recording.noticed,
            handled=recording.handled, blocked=recording.blocked, resumed=recording.resumed,
        )  # fmt: skip
        ep = make_endpoint(0, (0,), spec.limits, 1 << 12, 0, costs=spec.costs, simulated=False, hooks=hooks)
        port = network.port(0, ep._dispatch)
        ep._connect(port)

        async def live():
            await port.start()
            await main(ep)
            await port.serve()

        run_tasks(clock, [live])
        port.close()
        assert not clock.end.errors
        recording.ended([clock.now], failed=False)
        assert all(one.end <= two.begin for one, two in pairwise(recording.cpu[0]))
        return recording

    return run


def test_work_of_the_program_is_compute_and_waits_are_told_with_their_reason(recorded):
    async def main(ep):
        await ep.attach()
        end = ep.now + 0.02
        while ep.now < end:
            pass
        async with trio.open_nursery() as nursery:
            done = []

            async def other():
                await trio.sleep(0.02)
                done.append(1)

            nursery.start_soon(other)
            await ep.block_until(lambda: done, what="the other", ranks=[0])

    found = recorded(main)
    spent = {}
    for begin, end, why in found.cpu[0]:
        spent[why] = spent.get(why, 0) + end - begin
    assert spent["compute"] >= 19_000_000_000
    assert spent["waiting"] >= 15_000_000_000
    (wait,) = [each for each in found.waits[0] if each.what == "the other"]
    assert wait.ranks == (0,)
    assert wait.end - wait.begin >= 15_000_000_000


def test_a_report_reads_anew_whom_a_wait_is_for(recorded):
    """As where nobody listens; what is recorded is whom it was for when it began."""

    class Missing:
        def __iter__(self):
            return iter(missing)

    missing, named = [0], []

    async def main(ep):
        await ep.attach()
        done = []

        async def other():
            while not ep._port.waits():
                await trio.lowlevel.checkpoint()
            missing.clear()
            named.extend(wait.ranks for wait in ep._port.waits())
            done.append(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await ep.block_until(lambda: done, what="the other", ranks=Missing())

    (wait,) = [each for each in recorded(main).waits[0] if each.what == "the other"]
    assert wait.ranks == (0,)
    assert named == [()]


def test_a_wait_inside_a_wait_of_the_same_task_interrupts_it(recorded):
    async def main(ep):
        polls = []

        def polled_for(count):
            polls.append(count)
            return len(polls) > count

        async def layer():
            await ep.block_until(lambda: polled_for(10), what="inner")

        def hit(token):
            ep.want_progress()

        ep.on_progress(layer)
        await ep.attach(hit)
        await ep.request_short(0, hit)
        await ep.block_until(lambda: polled_for(20), what="outer")

    waits = [each for each in recorded(main).waits[0] if each.what in ("inner", "outer")]
    assert [each.what for each in waits] == ["outer", "inner", "outer"]
    assert {each.task for each in waits} == {0}
    assert all(one.end <= two.begin for one, two in pairwise(waits))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3), st.booleans())))
def test_messages_get_their_identities_back(script):
    """Of requests in slots, each of which is taken and answered before its slot is used again."""
    ranks = [_Identities(rank) for rank in range(3)]
    made, busy, true = [0] * 3, {}, []

    def finish(key):
        source, dest, slot = key
        arrived = ranks[dest].arrived(Message(REQUEST, source=source, slot=slot))
        true.append((dest, arrived, busy.pop(key)))
        if source != dest:
            reply = ranks[source].arrived(Message(0, source=dest, slot=slot))
            assert reply == true[-1][2]._replace(reply=True)

    for source, step, slot, early in script:
        key = source, (source + 1 + step) % 3, slot
        if key in busy:
            finish(key)
        identity = busy[key] = Identity(source, key[1], made[source])
        made[source] += 1
        ranks[source].sent(key[1], slot, identity)
        if early:
            finish(key)
    for key in sorted(busy):
        finish(key)
    for dest, arrived, identity in true:
        number = found_number(dest, arrived.number, lambda rank: ranks[rank].counted)
        assert arrived._replace(number=number) == identity
        gone = found_number(dest, arrived.number, lambda rank, dest=dest: ranks[rank].counted if rank == dest else None)
        assert gone == arrived.number < 0


def test_parts_are_joined_on_one_clock():
    own = [Recording("local", (0, 0)) for _ in range(2)]
    own[0].sent(Identity(0, 1, 7), 100_000, 300_000, 0, 5)
    own[0].spent(0, 100_000, 300_000, "send")
    own[1].noticed(Identity(0, 1, -1), 2_000)
    own[1].handled(Identity(0, 1, -1), 3_000, 4_000, "hit")
    own[1].blocked(1, 1_000, "task", "Godot", [0])
    for recording, ticks in zip(own, (900_000, 50_000), strict=True):
        recording.ended([ticks], failed=False)
    shift = {0: 0, 1: 400_000}
    joined = Recording("local", (0, 0))
    parts = {rank: part_of(recording, rank) for rank, recording in enumerate(own)}
    join_parts(joined, parts, lambda rank, ticks: ticks + shift[rank], lambda rank, number: 7, [0, 250])
    (life,) = joined.lives()
    assert life == (Identity(0, 1, 7), 100_000, 300_000, 0, 5, 402_000, 403_000, 404_000, "hit")
    assert list(joined.cpu[0]) == [(100_000, 300_000, "send")]
    assert [(each.what, each.begin, each.end) for each in joined.waits[1]] == [("Godot", 401_000, 450_000)]
    assert (joined.length, joined.failed, joined.clock_errors, joined.missing) == (900_000, False, (0, 250), ())
    lame = Recording("local", (0, 0))
    join_parts(lame, {0: parts[0]}, lambda rank, ticks: ticks, lambda rank, number: number, [0, 250])
    assert (lame.failed, lame.missing) == (True, (1,))
