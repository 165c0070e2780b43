"""Jobs in real time: what they have, what they say they have not, and how they end."""

import math
import signal
import threading

import numpy as np
import pytest
import trio

import conduit
from conduit.commandline.files import check_trace
from conduit.commands.reported import Reported
from conduit.contract import Awaited, RankKind
from conduit.errors import BadRequest
from conduit.launch.registry import parse_spec
from conduit.wall.port import WallPort


async def idle(ep):
    await ep.attach()
    return ep.simulated


def test_a_result_has_no_digest_and_its_endpoints_say_that_time_is_real(local):
    result = conduit.run(idle, conduit=local, ranks=3)
    assert (result.digest, result.values) == (None, [False] * 3)
    assert result.seconds > 0


def test_a_time_limit_is_refused(local):
    with pytest.raises(BadRequest, match=r"time_limit=1\.0 is of virtual time, which conduit='local' does not have"):
        conduit.run(idle, conduit=local, time_limit=1)


def test_a_trace_is_refused(local, tmp_path):
    words = "'local' runs in real time with all its ranks in one process, which tells of none of them what it does"
    with pytest.raises(BadRequest, match=f"conduit={words}; leave the trace out, or run it on another conduit"):
        conduit.run(idle, conduit=local, trace=True)
    with pytest.raises(BadRequest, match=f"--trace .*trace.json: conduit {words}; leave one of the two out"):
        check_trace(tmp_path / "trace.json", [parse_spec(local)])
    assert not (tmp_path / "trace.json").exists()
    with pytest.raises(BadRequest, match=f"--report .*out: conduit {words}; leave one of the two out"):
        Reported(tmp_path / "out", [parse_spec(local)], tmp_path / "program.py")
    assert not (tmp_path / "out").exists()


def test_ranks_that_are_processes_need_a_network_that_tells_of_them(local, monkeypatch):
    monkeypatch.setattr(parse_spec(local).cls, "rank_kind", RankKind.PROCESS)
    with pytest.raises(conduit.ConduitError, match=r"Local.announced is not defined"):
        conduit.run(idle, conduit=local)


def test_other_tasks_and_threads_get_their_turn_while_a_rank_waits(local):
    async def main(ep):
        await ep.attach()
        done = []

        async def other():
            done.append(await trio.to_thread.run_sync(threading.get_ident))
            await trio.sleep(0.001)
            done.append(trio.current_time())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await ep.block_until(lambda: len(done) == 2)
        return done[0] != threading.get_ident()

    assert conduit.run(main, conduit=local).values == [True] * 2


def test_a_busy_task_does_not_keep_messages_from_who_waits(local):
    """Trio never asks how long to sleep while a task can run; the clock polls between its rounds."""

    async def main(ep):
        got = []

        def note(token):
            got.append(token.rank)

        await ep.attach(note)
        async with trio.open_nursery() as nursery:

            async def busy():
                while not got:
                    await trio.lowlevel.checkpoint()

            nursery.start_soon(busy)
            await ep.request_short(1 - ep.rank, note)
            await ep.block_until(lambda: got)
        return got

    assert conduit.run(main, conduit=local).values == [[1], [0]]


def test_P3_a_predicate_whose_answer_has_no_truth_value_raises_in_the_task_that_waits(local):
    """As one that raises: the answer of an array is asked for while the clock polls, which is in no task."""

    async def main(ep):
        box = []

        async def later():
            await trio.sleep(0.02)
            box.append(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(later)
            with pytest.raises(ValueError, match="truth value of an array") as found:
                await ep.block_until(lambda: box and np.zeros(3) == 0)
        await ep.attach()
        return str(found.value)

    assert len(set(conduit.run(main, conduit=local).values)) == 1


def test_S2_a_cancelled_request_takes_no_slot(local):
    """What frees the slot is handled after the cancellation, but before the cancelled task has run."""
    asking, released, over = trio.Event(), trio.Event(), []

    async def main(ep):
        got = []

        def ask(token, number):
            token.reply_short(take, number)

        def take(token, number):
            got.append(number)

        await ep.attach(ask, take)
        if ep.rank == 1:
            asking.set()
            await released.wait()
            await ep.block_until(lambda: over)
            return None
        await asking.wait()
        await ep.request_short(1, ask, 0)  # takes the only slot
        scope = trio.CancelScope()

        async def other():
            with scope:
                await ep.request_short(1, ask, 1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            port = ep._port
            while not port.waits():
                await trio.lowlevel.checkpoint()
            port.network.ports[1]._pass()  # rank 1 answers the first request
            scope.cancel()
            await ep.poll()
            assert got == [0]
        released.set()
        used = list(port.slots_in_use())
        with trio.move_on_after(10):
            await ep.request_short(1, ask, 2)
            await ep.block_until(lambda: 2 in got)
        over.append(True)
        return scope.cancelled_caught, used, got

    assert conduit.run(main, conduit=f"{local}:slots=1").values == [(True, [], [0, 2]), None]


@pytest.mark.parametrize(("deadline", "ended"), [(-math.inf, "deadline"), (1e300, "cancel"), (math.inf, "cancel")])
def test_a_deadline_of_any_size_is_one(local, deadline, ended):
    async def main(ep):
        await ep.attach()
        scope = trio.CancelScope()
        ends = []

        async def other():
            with scope:
                await ep.block_until(lambda: False)
            ends.append("deadline" if scope.deadline < 0 else "cancel")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            while not ep._port.waits():
                await trio.lowlevel.checkpoint()
            scope.deadline = deadline
            await trio.to_thread.run_sync(int)  # until then no task can run
            if ended == "cancel":
                assert not ends
                scope.cancel()
        return ends

    assert conduit.run(main, conduit=local, ranks=1).values == [[ended]]


@pytest.mark.parametrize("how", ["raises", "exits", "handler"])
def test_one_rank_ends_the_job_while_the_others_wait(local, how):
    async def main(ep):
        def fall(token):
            raise LookupError("lost")

        await ep.attach(fall)
        if ep.rank == 0:
            if how == "raises":
                raise LookupError("lost")
            if how == "exits":
                ep.exit(3)
            await ep.request_short(1, fall)
        try:
            await ep.block_until(lambda: False)
        finally:
            with trio.CancelScope(shield=True):  # no shield holds against the end of the job
                await ep.block_until(lambda: False)

    expected = {"raises": LookupError, "exits": SystemExit, "handler": conduit.HandlerError}[how]
    with pytest.raises(expected) as caught:
        conduit.run(main, conduit=local, ranks=3)
    if how == "exits":
        assert caught.value.code == 3
    else:
        rank = 0 if how == "raises" else 1
        assert any(note.startswith(f"raised by rank {rank} at ") for note in caught.value.__notes__)


SENT = []


def test_an_interrupt_says_which_requests_hold_the_slots(local):
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        if ep.rank == 1:
            while len(SENT) < 4:
                await trio.lowlevel.checkpoint()
            for _ in range(100):  # rank 0 is in its next request by then
                await trio.lowlevel.checkpoint()
            signal.raise_signal(signal.SIGINT)
            await trio.sleep_forever()
        while True:
            await ep.request_short(1, note)
            SENT.append(1)

    SENT.clear()
    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, conduit=local)
    report = caught.value.report
    (task,) = report.ranks[0].tasks
    assert [(each.at, each.handler, each.count) for each in task.wait.held] == [(1, "note", 4)]
    assert "rank 1 has not handled 4 of the requests that hold them, for note (" in caught.value.__notes__[0]


def test_an_interrupt_ends_the_job_and_says_where_the_ranks_were(local):
    async def main(ep):
        await ep.attach()
        if ep.rank == 1:
            await trio.sleep(0.001)
            raise KeyboardInterrupt
        await ep.block_until(lambda: False, what="a miracle", ranks=[1])

    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, conduit=local)
    assert "waits for a miracle, which rank 1 must bring about" in "\n".join(caught.value.__notes__)


def test_an_interrupt_of_an_attach_is_no_cancelled_attach(local, monkeypatch):
    wait = WallPort._wait

    def interrupted(self, waiting):
        if waiting.kind is Awaited.ATTACH and self.rank == 1:
            signal.raise_signal(signal.SIGINT)
        return wait(self, waiting)

    monkeypatch.setattr(WallPort, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        conduit.run(idle, conduit=local, ranks=3)
