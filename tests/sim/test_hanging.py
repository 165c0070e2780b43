"""Who keeps a job going for nothing is named with its line: looked at from another thread, without waiting."""

import threading
from types import SimpleNamespace

import pytest
import trio

import conduit
from conduit.launch.hanging import looks
from conduit.launch.hanging.looks import Hanging, begun

TO_DO = "only a poll runs handlers: wait with `await ep.block_until(predicate)`, or call `await ep.poll()`"

NOBODY = 0
"""The thread of a looker that the job itself calls: else it would see that the program has called it."""


@pytest.fixture
def job(monkeypatch):
    """Return what is told of a job, and let nobody be patient."""
    monkeypatch.setattr(looks, "PATIENCE", 0)
    return SimpleNamespace(mains=[], returned=0)


def _look_meanwhile(looker, said):
    here = []

    def look():
        while not here:
            pass
        said.append(looker.look())

    thread = threading.Thread(target=look)
    thread.start()
    here.append(True)
    while not said:
        pass
    thread.join()


def test_a_rank_that_never_awaits_is_named_with_its_line(job):
    said = []

    async def main(ep):
        job.mains.append(begun(ep))
        if ep.rank == 1:
            _look_meanwhile(Hanging(job, threading.get_ident()), said)

    conduit.run(main, ranks=2, conduit="loggp")
    (text,) = said
    line = _look_meanwhile.__code__.co_firstlineno
    assert text in [
        f"rank 1 is at {__file__}:{line + at} in _look_meanwhile and has not awaited anything for 0 s: nothing else "
        f"runs meanwhile, and {TO_DO}"
        for at in (10, 11, 12)
    ]


def test_nothing_is_said_of_a_job_that_is_ending(job):
    """Calls are refused then, so that no time passes although a program awaits."""
    said = []

    async def main(ep):
        job.mains.append(begun(ep))
        try:
            ep.exit(3)
        finally:
            _look_meanwhile(Hanging(job, threading.get_ident()), said)

    with pytest.raises(SystemExit):
        conduit.run(main, ranks=1, conduit="loggp")
    assert said == [""]


def test_a_handler_that_does_not_return_is_told_so_and_not_to_await(job):
    said = []

    async def main(ep):
        def handle(token):
            _look_meanwhile(Hanging(job, threading.get_ident()), said)

        job.mains.append(begun(ep))
        await ep.attach(handle)
        if ep.rank == 0:
            await ep.request_short(1, handle)

    conduit.run(main, ranks=2, conduit="loggp")
    (text,) = said
    line = _look_meanwhile.__code__.co_firstlineno
    assert text in [
        f"handler 'handle' of rank 1 at {__file__}:{line + at} in _look_meanwhile has not returned for 0 s: nothing "
        "else runs meanwhile, and it cannot wait: let it return, and main wait for what is still missing"
        for at in (10, 11, 12)
    ]


def test_a_predicate_that_does_not_return_is_told_so(job):
    said = []

    async def main(ep):
        def ready():
            if ep.rank == 0 and not said:
                _look_meanwhile(Hanging(job, threading.get_ident()), said)
            return True

        job.mains.append(begun(ep))
        await ep.block_until(ready)

    conduit.run(main, ranks=2, conduit="loggp")
    (text,) = said
    assert text.startswith("the function at ")
    assert "has not returned for 0 s: nothing else runs meanwhile, and it cannot wait: let it return" in text


@pytest.mark.parametrize("folder", [conduit, trio])
def test_a_loop_that_looks_through_a_property_is_the_programs(job, folder):
    """Whenever it is looked at: in its own line, or in what that asks; while it awaits, the machinery runs."""
    said = []

    async def main(ep):
        job.mains.append(begun(ep))
        if ep.rank == 1:
            asked = _in_folder(folder)
            _look_from_a_thread(Hanging(job, threading.get_ident()), said, asked["here"])
            asked["ask"](said)
            _look_from_a_thread(Hanging(job, threading.get_ident()), said, asked["there"])
            await asked["wait"](said)

    conduit.run(main, ranks=2, conduit="loggp")
    line = main.__code__.co_firstlineno + 5
    assert said == [
        f"rank 1 is at {__file__}:{line} in main and has not awaited anything for 0 s: nothing else runs meanwhile, "
        f"and {TO_DO}",
        "",
    ]


def test_the_machinery_before_a_job_runs_is_no_line_of_a_program(job):
    asked, said = _in_folder(conduit), []
    endpoint = SimpleNamespace(simulated=True, now=0, counts=SimpleNamespace(requests_sent=0))
    job.mains.append(SimpleNamespace(endpoint=endpoint, world=SimpleNamespace(ending=False)))
    _look_from_a_thread(Hanging(job, threading.get_ident()), said, asked["here"])
    asked["ask"](said)
    assert said == [""]


def _in_folder(package):
    """Return functions that are of a package by their file, and run until a look has said something."""
    source = """
here, there = [], []
def ask(said):
    here.append(True)
    while not said:
        pass
async def wait(said):
    there.append(True)
    while len(said) < 2:
        pass
"""
    names = {}
    exec(compile(source, package.__file__, "exec"), names)
    return names


def _look_from_a_thread(looker, said, begun):
    def look():
        while not begun:
            pass
        said.append(looker.look(awaits=False))

    threading.Thread(target=look).start()


def test_a_rank_that_sleeps_and_never_polls_is_named_once_with_what_waits_for_it(job):
    said = []

    async def main(ep):
        def f(token):
            pass

        job.mains.append(begun(ep))
        await ep.attach(f)
        if ep.rank == 1:
            await ep.request_short(0, f)
            await ep.compute(1e-3)
            looker = Hanging(job, NOBODY)
            said.extend(looker.look() for _ in range(2))
        else:
            await trio.sleep(1)

    line = main.__code__.co_firstlineno + 12
    conduit.run(main, ranks=2, conduit="loggp")
    assert said == [
        f"rank 0 is at {__file__}:{line} in main in a wait of Trio's own and does not poll, while 1 message waits for "
        f"it: {TO_DO}",
        "",
    ]


def test_a_job_that_moves_is_left_alone(job, monkeypatch):
    said = []
    monkeypatch.setattr(looks, "PATIENCE", 1)
    monkeypatch.setattr(looks, "time", clock := SimpleNamespace(monotonic=lambda: clock.now, now=0.0))

    async def main(ep):
        def f(token):
            pass

        job.mains.append(begun(ep))
        await ep.attach(f)
        looker = Hanging(job, NOBODY)
        for _ in range(3):
            clock.now += 2.0
            await ep.request_short(1 - ep.rank, f)
            said.append(looker.look())
        await ep.block_until(lambda: True)

    conduit.run(main, ranks=2, conduit="loggp")
    assert said == [""] * 6


def test_ranks_that_do_nothing_but_poll_are_named_once_with_their_line(job):
    said = []

    async def endless(ep):
        while len(said) < 6:
            await ep.poll()

    async def main(ep):
        job.mains.append(begun(ep))
        await ep.attach()
        if ep.rank == 2:
            looker = Hanging(job, NOBODY)
            for _ in range(6):
                await ep.compute(1e-6)
                said.append(looker.look())
        else:
            await endless(ep)

    conduit.run(main, ranks=3, conduit="loggp")
    line = endless.__code__.co_firstlineno + 2
    assert [each for each in said if each] == [
        f"ranks 0-1 poll again and again at {__file__}:{line} in endless, and no message has been sent or handled for "
        "0 s: unless something else ends that loop, it goes on for ever; `await ep.block_until(predicate)` in its "
        "place ends in a report where nothing can come"
    ]


def test_who_polls_while_messages_move_is_not_named(job):
    said = []

    async def main(ep):
        def f(token):
            pass

        job.mains.append(begun(ep))
        await ep.attach(f)
        looker = Hanging(job, NOBODY)
        for _ in range(6):
            await ep.request_short(1 - ep.rank, f)
            await ep.poll()
            said.append(looker.look())

    conduit.run(main, ranks=2, conduit="loggp")
    assert not any(said)
