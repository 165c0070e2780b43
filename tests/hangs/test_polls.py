"""What a program is told to write to poll is a call that it has: `ep` is unknown in programs of a front end."""

import signal
import sys
import threading
import types

import pytest
import trio

import conduit
from conduit.launch.program.polls import Polls, polls_of
from extended import shmem

CORE = Polls("await ep.poll()", "await ep.block_until(predicate)", "await ep.block_until(event.is_set)")
SHMEM = Polls("await pe.test(ivar, cmp, value)", "await pe.wait_until(ivar, cmp, value)")
UPC = Polls("await t.ep.poll()", "await t.ep.block_until(predicate)")
MPI = Polls("await comm.Iprobe()", "await comm.Recv(...)")


@pytest.mark.parametrize(
    ("program", "polls"),
    [
        ("", CORE),
        ("from extended import Extended", CORE),
        ("api = 'shmem'", SHMEM),
        ("api = 'upc'", UPC),
        ("api = 'mpi'", MPI),
        ("from extended import shmem", SHMEM),
        ("from extended import upc as u", UPC),
        ("from conduits.mpi import MPI", MPI),
        ("from conduits.mpi import MPI; from extended import shmem", CORE),  # it may be either
        ("from conduits.mpi import MPI; api = 'shmem'", SHMEM),
        ("api = 3", CORE),
    ],
)
def test_words_are_those_of_what_the_program_is_for(program, polls):
    known = {"sys": sys}
    exec(program + "\nframe = sys._getframe()", known)
    assert polls_of([known["frame"]]) == polls


def test_a_frame_of_a_library_says_nothing():
    assert polls_of([types.SimpleNamespace(f_globals={}), types.SimpleNamespace(f_globals={"api": "mpi"})]) == MPI


async def _never_polls(pe):
    a = await pe.zeros(1)
    while a[0] == 0:  # noqa: ASYNC110  a mistake
        await trio.sleep(1e-6)


def test_a_report_of_a_front_end_s_program_has_its_words(monkeypatch):
    monkeypatch.setitem(globals(), "api", "shmem")
    with pytest.raises(conduit.TimeLimit) as caught:
        shmem.run(_never_polls, pes=2, conduit="loggp", time_limit=1e-3)
    assert str(caught.value).splitlines()[-1] == (
        "in a wait of Trio's own nothing is polled, and only a poll runs handlers: wait with `await "
        "pe.wait_until(ivar, cmp, value)`"
    )


async def _leaves_a_put(pe):
    a = await pe.zeros(1)
    if pe.my_pe() == 0:
        await pe.put(a, a, 1)
        return
    while a[0] == 0:  # noqa: ASYNC110  a mistake
        await trio.sleep(1e-6)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
@pytest.mark.parametrize("wait", ["ep.compute", "trio.sleep", "trio.lowlevel.checkpoint"])
def test_an_interrupted_loop_that_polls_nothing_while_a_message_lies_there_is_told_what_to_write(wait):
    async def main(ep):
        came = []

        def note(token):
            came.append(token.rank)

        await ep.attach(note)
        if ep.rank == 1:
            await ep.request_short(0, note)
            return
        await ep.compute(1e-3)
        if wait == "ep.compute":
            while not came:
                signal.raise_signal(signal.SIGINT)
                await ep.compute(1e-6)
        while wait == "trio.sleep" and not came:
            signal.raise_signal(signal.SIGINT)
            await trio.sleep(1e-6)
        while not came:
            signal.raise_signal(signal.SIGINT)
            await trio.lowlevel.checkpoint()

    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, conduit="loggp")
    last = caught.value.__notes__[-1].splitlines()[-1]
    assert f" awaits nothing but {wait}, which polls nothing, and only a poll runs handlers: write `await " in last


def test_a_rank_that_waits_when_its_main_has_ended_is_at_no_line_of_the_package():
    with pytest.raises(conduit.TimeLimit) as caught:
        shmem.run(_leaves_a_put, pes=2, conduit="sci", time_limit=3e-3)
    told = "rank 0: outside its main: waits for puts and gets that main has left, which rank 1 must bring about, since "
    assert told in str(caught.value)


@pytest.mark.parametrize("wait", ["Lock", "Semaphore", "Condition"])
def test_a_lock_of_trios_that_only_the_rank_itself_can_give_back_is_no_matter_of_polls(wait):
    async def main(ep):
        await ep.attach()
        if ep.rank:
            return
        if wait == "Lock":
            lock = trio.Lock()
            await lock.acquire()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lock.acquire)
        if wait == "Semaphore":
            await trio.Semaphore(0).acquire()
        condition = trio.Condition()
        async with condition:
            await condition.wait()

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=2)
    assert "is in a wait of Trio's own" in str(caught.value)
    assert "only a poll runs handlers" not in str(caught.value)
