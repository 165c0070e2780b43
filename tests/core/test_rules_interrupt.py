"""Rule E8: Ctrl-C in the main thread ends the job at once; elsewhere `time_limit` or the host does."""

import asyncio
import contextlib
import gc
import heapq
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from typing import NamedTuple

import pytest
import trio

import conduit
from conduit.contract import JobSetup
from conduit.core.endpoint import Endpoint
from conduit.launch import interrupts
from conduit.launch.jobs import in_tasks
from conduit.launch.jobs.messages import MessageRank
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.oversights.unawaited import told
from conduit.launch.program.folders import is_own
from conduit.launch.registry import parse_spec
from conduit.sim.run import run_tasks
from conduit.simnet.allgather import Allgather
from extended import shmem
from extended.shmem import contexts
from extended.shmem.contexts import OperationStream

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread"
)


def _busy(where):
    """A program that goes on for ever, and interrupts itself once, at `where`."""

    async def main(ep):
        rounds, sent = [], []

        def interrupt(place):
            if place == where and len(rounds) > 3 and not sent and ep.rank == ep.size - 1:
                sent.append(1)
                signal.raise_signal(signal.SIGINT)

        def note(token):
            rounds.append(1)
            interrupt("handler")

        def look():
            interrupt("predicate")
            return len(rounds) > expected[0]

        async def progress():
            interrupt("progress")

        expected = [0]
        await ep.attach(note)
        ep.on_progress(progress)
        while True:
            await ep.request_short((ep.rank + 1) % ep.size, note)
            ep.want_progress()
            interrupt("program")
            await ep.block_until(look)
            expected[0] += 1
            with trio.CancelScope(shield=True):
                interrupt("shield")
                await trio.sleep(1e-6)

    return main


def test_a_call_that_it_breaks_off_is_not_said_to_be_forgotten(monkeypatch):
    """It may come after the call was made and before it could be awaited."""
    rounds = []
    polled = Endpoint._poll

    def poll(self, guard):
        rounds.append(1)
        if len(rounds) == 5:
            del guard  # as Python does when it drops what the call had
            signal.raise_signal(signal.SIGINT)
        return polled(self, guard)

    async def main(ep):
        while True:
            await ep.poll()

    monkeypatch.setattr(Endpoint, "_poll", poll)
    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, conduit="loggp")
    (note,) = caught.value.__notes__
    assert "where the ranks were" in note
    assert "awaited" not in note


def test_a_coroutine_of_a_call_that_it_breaks_off_is_not_said_to_be_forgotten(monkeypatch, capsys):
    """It may come when a call has made the coroutine that it awaits, and has not awaited it yet."""
    rounds = []

    def interrupt():
        rounds.append(1)
        if len(rounds) == 5:
            signal.raise_signal(signal.SIGINT)

    async def main(pe):
        while True:
            await pe.fence()

    # In a file of the package, as every call that makes another: the new coroutine is in no variable yet.
    known = {"made": OperationStream.order, "interrupt": interrupt}
    source = "def order(self, call):\n    return (made(self, call), interrupt())[0]\n"
    exec(compile(source, contexts.__file__, "exec"), known)
    monkeypatch.setattr(OperationStream, "order", known["order"])
    shown_always = warnings.catch_warnings(action="always")
    with shown_always, told(__file__, otherwise=print), pytest.raises(KeyboardInterrupt) as caught:
        shmem.run(main, conduit="loggp")
    notes = caught.value.__notes__
    del caught
    gc.collect()
    shown = capsys.readouterr()
    assert "awaited" not in "".join(notes) + shown.out + shown.err


@pytest.mark.parametrize("name", ["helper", "other"])
def test_a_function_of_the_program_that_is_not_awaited_is_told_of_wherever_it_dies(name):
    async def helper():
        pass

    functions = [helper]  # by no name that the file shows

    async def main(ep):
        if name == "helper":
            helper()
        else:
            functions[0]()

    with pytest.warns(conduit.ConduitWarning), told(__file__, otherwise=print):
        result = conduit.run(main, ranks=1, conduit="loggp")
    (warning,) = result.warnings[0]
    assert "helper(" in warning
    assert "was called but never awaited, so it did nothing; write `await helper(" in warning


PLACES = ["program", "handler", "predicate", "progress", "shield"]


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("inline", ["yes", "no"])
@pytest.mark.parametrize("network", ["loggp", "sci", "startx"])
def test_E8_an_interrupt_ends_a_job_of_64_ranks_wherever_it_hits(where, inline, network):
    ranks = 64 if network == "loggp" else 6
    with pytest.raises(KeyboardInterrupt):
        conduit.run(_busy(where), ranks=ranks, conduit=f"{network}:inline={inline}", time_limit=0.1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _computes_for_ever(where):
    """A program one of whose handlers or predicates never returns, while no task runs; Ctrl-C comes while it does."""

    async def main(ep):
        def work(reached=()):
            signal.raise_signal(signal.SIGINT)  # at once, were it let through
            while True:
                reached += (1,)
                if len(reached) > 1000:
                    reached = ()
                    held.append(1)
                    assert len(held) < 100, "Ctrl-C was held back"

        def note(token):
            got.append(1)
            if where == "handler":
                work()

        def look():
            if got and where == "predicate":
                work()
            return False

        got, held = [], []
        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
            await trio.sleep(1)
        await ep.block_until(look)

    return main


def test_E8_an_interrupt_that_python_drops_is_tried_again():
    """It comes while an object dies, out of which nothing can be raised: Python would print it, and go on."""
    before = sys.unraisablehook

    async def main(ep):
        class Thing:
            pass

        thing = Thing()
        dying = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
        del thing
        for _ in range(10**8):
            pass
        return dying

    with pytest.raises(KeyboardInterrupt):
        conduit.run(main, ranks=1, conduit="loggp")
    assert sys.unraisablehook is before


def test_E8_an_interrupt_that_python_drops_at_the_end_of_a_job_is_not_lost():
    async def main(ep):
        class Thing:
            def __init__(self):
                self.dying = weakref.finalize(self, signal.raise_signal, signal.SIGINT)

        Thing()

    def run_and_go_on():
        conduit.run(main, ranks=1, conduit="loggp")
        for _ in range(10**8):
            pass

    with pytest.raises(KeyboardInterrupt):
        run_and_go_on()


def test_E8_an_interrupt_that_python_drops_as_a_job_lets_go_of_what_it_had_is_tried_again(monkeypatch, capsys):
    """Calls of the program die then, and trio handles signals no more."""

    class Dying:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def release(rank):
        Dying()
        for _ in range(10**8):
            pass

    async def main(ep):
        raise KeyError("first")

    monkeypatch.setattr(MessageRank, "release", release)
    with pytest.raises(KeyboardInterrupt):
        conduit.run(main, ranks=1, conduit="loggp")
    assert capsys.readouterr().err == ""


CLOSED = """
import signal
from trio._core._wakeup_socketpair import WakeupSocketpair

import conduit

def close(self):
    self.wakeup_sock.close()
    self.write_sock.close()
    if self.old_wakeup_fd is not None:  # of a loop that runs
        signal.raise_signal(signal.SIGINT)
        signal.set_wakeup_fd(self.old_wakeup_fd)

async def main(ep):
    signal.raise_signal(signal.SIGINT)

WakeupSocketpair.close = close
try:
    conduit.run(main, conduit="loggp")
    print("nothing came")
except KeyboardInterrupt:
    print("interrupted")
print(signal.set_wakeup_fd(-1))
"""


def test_E8_another_interrupt_while_the_event_loop_of_a_job_is_closed_shows_nothing():
    """Trio closes the socket that a signal would wake it by before it tells Python so."""
    done = subprocess.run([sys.executable, "-c", CLOSED], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("interrupted\n-1\n", "")


def test_E8_what_else_python_drops_is_told_as_before():
    told = []

    async def main(ep):
        class Thing:
            def __del__(self):
                raise KeyError("lost")

        Thing()

    before = sys.unraisablehook
    sys.unraisablehook = told.append
    try:
        conduit.run(main, ranks=1, conduit="loggp")
    finally:
        sys.unraisablehook = before
    assert [each.exc_type for each in told] == [KeyError]


@pytest.mark.parametrize("where", ["handler", "predicate"])
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_ends_a_handler_or_a_predicate_that_never_returns(where, inline):
    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(_computes_for_ever(where), conduit=f"loggp:inline={inline}", time_limit=0.1)
    assert [note for note in getattr(caught.value, "__notes__", []) if "held back" in note] == []


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_of_a_job_that_is_ending_goes_before_what_ended_it(inline):
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        if ep.rank == 0:
            await ep.compute(1e-6)
            raise KeyError("first")
        try:
            await ep.block_until(lambda: False)
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
                signal.raise_signal(signal.SIGINT)
                await trio.sleep(1)

    with pytest.raises(KeyboardInterrupt):
        conduit.run(main, conduit=f"loggp:inline={inline}")


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_that_a_program_catches_ends_nothing_however_often(inline):
    async def main(ep):
        caught = 0
        await ep.attach()
        while caught < 3:
            try:
                await ep.poll()
                signal.raise_signal(signal.SIGINT)
            except:  # noqa: E722  what the rule is about
                caught += 1
        return caught

    assert conduit.run(main, ranks=2, conduit=f"loggp:inline={inline}").values == [3, 3]


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_passes_what_catches_exceptions_alone(inline):
    async def main(ep):
        await ep.attach()
        while True:
            try:
                await ep.poll()
                signal.raise_signal(signal.SIGINT)
            except Exception:
                pass

    with pytest.raises(KeyboardInterrupt):
        conduit.run(main, ranks=2, conduit=f"loggp:inline={inline}")


@pytest.mark.parametrize("clean_up", [True, False])
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_of_a_task_of_a_rank_is_an_interrupt_too(inline, clean_up):
    """Trio puts it into a group, for each nursery that it passes."""

    async def child(ep):
        await ep.compute(1e-6)
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            if clean_up:
                raise KeyError("of the clean-up")

    async def sibling(ep):
        try:
            await ep.block_until(lambda: False)
        finally:
            raise ValueError("of the sibling")

    async def main(ep):
        async with trio.open_nursery() as outer:
            async with trio.open_nursery() as inner:
                if ep.rank == 0:
                    inner.start_soon(sibling, ep)
                    inner.start_soon(child, ep)
            outer.start_soon(ep.block_until, lambda: False)

    if clean_up:  # which took the place of the interrupt
        with pytest.RaisesGroup(pytest.RaisesGroup(KeyError, ValueError)):
            conduit.run(main, conduit=f"loggp:inline={inline}")
    else:
        with pytest.raises(KeyboardInterrupt) as caught:
            conduit.run(main, conduit=f"loggp:inline={inline}")
        assert "rank 0 raised ExceptionGroup too: ValueError: of the sibling" in caught.value.__notes__


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_of_an_attach_is_no_cancelled_attach(monkeypatch, inline):
    give = Allgather.give

    def interrupted(self, rank, data):
        give(self, rank, data)
        if rank == 1:
            signal.raise_signal(signal.SIGINT)

    async def main(ep):
        await ep.attach()

    monkeypatch.setattr(Allgather, "give", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, ranks=3, conduit=f"loggp:inline={inline}")
    assert any(note.startswith("interrupted at ") for note in caught.value.__notes__)


def test_E8_an_interrupt_goes_before_other_errors():
    async def main(ep):
        if ep.rank == 0:
            await ep.compute(1e-5)
            signal.raise_signal(signal.SIGINT)
        try:
            while True:
                await ep.compute(1e-6)
        finally:
            raise KeyError("on the way out")

    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, conduit="loggp")
    assert caught.value.__notes__[0].startswith("interrupted at 10.00")
    assert caught.value.__notes__[1:] == ["while the job ended, rank 1 raised KeyError: 'on the way out'"]


async def _never_polls(ep):
    """Rank 0 watches a list that only a poll of its own could fill."""
    got = []

    def note(token):
        got.append(1)

    await ep.attach(note)
    if ep.rank:
        await ep.request_short(0, note)
        await ep.block_until(lambda: False, what="an answer", ranks=[0])
    turns = 0
    while not got:
        await trio.sleep(1e-6)
        turns += 1
        if turns == 100:
            signal.raise_signal(signal.SIGINT)


def _note(main, inline):
    """Return the first note of the interrupt that ends a job of two ranks on loggp."""
    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, conduit=f"loggp:inline={inline}", time_limit=0.1)
    return caught.value.__notes__[0].splitlines()


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_says_where_all_ranks_were(inline):
    head, *lines = _note(_never_polls, inline)
    assert re.fullmatch(
        r"interrupted at \d+\.\d\d\d us: where the ranks were \(what ran was \S+interrupt\.py:\d+ in _never_polls\)",
        head,
    )
    assert lines[:2] == ["rank 0: its task ran that", "    rank 1 waits for it"]
    assert re.fullmatch(r"    1 message not handled: for note \(\S+interrupt\.py:\d+\)", lines[2])
    assert re.fullmatch(r"rank 1: \S+:\d+ in _never_polls: waits for an answer, which rank 0 must bring .*", lines[3])


@pytest.mark.parametrize("inline", ["yes", "no"])
@pytest.mark.parametrize("where", ["handler", "predicate"])
def test_E8_what_an_interrupt_says_calls_nothing_of_the_program(where, inline):
    """A predicate that never returns would not return for the report either."""
    head, *_ = _note(_computes_for_ever(where), inline)
    assert re.search(r"\(what ran was \S+:\d+ in work, of rank 1\)$", head)


@pytest.mark.parametrize("inline", ["yes", "no"])
@pytest.mark.parametrize("where", ["handler", "predicate"])
def test_E8_an_interrupt_does_not_blame_the_rank_that_drove_the_events(where, inline):
    """Rank 1's code ran, while rank 0 was in a call that let time pass."""

    async def main(ep):
        asked = []

        def note(token):
            if where == "handler":
                signal.raise_signal(signal.SIGINT)

        def never():
            asked.append(1)
            if where == "predicate" and len(asked) == 2:
                signal.raise_signal(signal.SIGINT)
            return False

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
            await ep.compute(1e-3)
        await ep.block_until(never, what="news")

    head, first, *rest = _note(main, inline)
    assert re.search(rf"\(what ran was \S+:\d+ in {'note' if where == 'handler' else 'never'}, of rank 1\)$", head)
    assert re.fullmatch(r"rank 0: \S+:\d+ in main: is in ep.compute", first)
    assert re.fullmatch(r"rank 1: \S+:\d+ in main: waits for news since .*", rest[-1])


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_of_a_rank_s_own_handler_blames_its_task(inline):
    async def main(ep):
        def note(token):
            signal.raise_signal(signal.SIGINT)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(0, note)
            await ep.poll()
        await ep.block_until(lambda: False, what="news")

    head, first, *_ = _note(main, inline)
    assert re.search(r"\(what ran was \S+:\d+ in note\)$", head)
    assert first == "rank 0: its task ran that"


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_of_a_rank_whose_own_code_ran_an_interrupt_does_not_say_that_it_polls(inline):
    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            await ep.compute(1e-3)
            signal.raise_signal(signal.SIGINT)
        await ep.block_until(lambda: False, what="news", ranks=[0])

    _, *lines = _note(main, inline)
    assert lines[:2] == ["rank 0: its task ran that", "    rank 1 waits for it"]


def test_E8_an_interrupt_where_all_wait_for_a_thread():
    async def main(ep):
        if ep.rank == 0:
            await trio.to_thread.run_sync(signal.raise_signal, signal.SIGINT)
            await trio.sleep_forever()
        await ep.block_until(lambda: False)

    with pytest.raises(KeyboardInterrupt):
        conduit.run(main, conduit="loggp")


def test_E8_an_interrupt_in_a_notebook_is_not_lost():
    """An asyncio loop is running, whose own handler would keep the first Ctrl-C for itself."""

    async def notebook():
        handler = signal.getsignal(signal.SIGINT)
        assert handler is not signal.default_int_handler
        with pytest.raises(KeyboardInterrupt):
            conduit.run(_busy("program"), conduit="loggp", time_limit=0.1)
        assert signal.getsignal(signal.SIGINT) is handler
        await asyncio.sleep(0)
        return "goes on"

    assert asyncio.run(notebook()) == "goes on"


def test_E8_a_handler_of_the_programs_own_is_put_back():
    def mine(number, frame):
        raise AssertionError("the job has its own")

    previous = signal.signal(signal.SIGINT, mine)
    try:
        with pytest.raises(KeyboardInterrupt):
            conduit.run(_busy("program"), conduit="loggp", time_limit=0.1)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, previous)


def test_E8_a_job_in_another_thread_leaves_signals_alone_and_ends_by_its_limit():
    errors = []

    def job():
        try:
            conduit.run(_busy("nowhere"), conduit="loggp", time_limit=1e-3)
        except conduit.TimeLimit as error:
            errors.append(error)

    handler = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=job)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert signal.getsignal(signal.SIGINT) is handler


SCRIPT = """
import conduit

async def main(ep):
    got = []

    def note(token):
        got.append(1)

    await ep.attach(note)
    if ep.rank == 0:
        print("running", flush=True)
    while True:
        await ep.request_short((ep.rank + 1) % ep.size, note)
        await ep.block_until(lambda: got)
        got.clear()

conduit.run(main, ranks=64, conduit="sci")
"""


def _interrupt(code):
    """Run a program, send it SIGINT when it says that it runs, and check that it ends by that."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "running\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in errors.splitlines()
    assert process.returncode == -signal.SIGINT


def test_E8_a_signal_from_outside_ends_a_job_of_64_ranks():
    _interrupt(SCRIPT)


ENDLESS = """
import conduit, trio

async def main(ep):
    got = []

    def note(token):
        print("running", flush=True)
        while True:
            pass

    def look():
        if got:
            print("running", flush=True)
        while got:
            pass

    def only(token):
        got.append(1)

    await ep.attach(note, only)
    if ep.rank == 0:
        await ep.request_short(1, {request})
        await trio.sleep(1)
    await ep.block_until(look)

conduit.run(main, conduit="loggp:inline={inline}")
"""


@pytest.mark.parametrize("request_", ["note", "only"])
@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_a_signal_from_outside_ends_a_handler_or_a_predicate_that_never_returns(request_, inline):
    _interrupt(ENDLESS.format(request=request_, inline=inline))


@pytest.mark.parametrize("network", ["loggp", "mpi:library=scampi"])
def test_E8_an_interrupt_before_a_rank_s_first_step_is_an_interrupt_too(network):
    """Python raises it where the task's function begins, before that can keep it; most ranks have not started."""
    sent = []

    def trace(frame, event, argument):
        if frame.f_code.co_name == "run_one" and not sent:
            sent.append(1)
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)

    async def main(ep):
        await ep.attach()
        return ep.rank

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        with pytest.raises(KeyboardInterrupt):
            conduit.run(main, ranks=3, conduit=network)
    finally:
        sys.settrace(before)
    assert sent
    assert conduit.run(main, ranks=3, conduit=network).values == [0, 1, 2]


async def _starts_tasks(ep):
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ep.compute, 1e-6)
    await ep.compute(1e-6)


def _interrupted_at(step):
    """Run a job that is interrupted at a step of what starts its ranks; return how many there are before main."""
    steps = 0

    def trace(frame, event, _):
        nonlocal steps
        caller = frame
        while caller is not None and caller.f_code is not starting:
            caller = caller.f_back
        if caller is None:
            return trace
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps += 1
            if steps == step:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    starting = next(each for each in run_tasks.__code__.co_consts if getattr(each, "co_name", "") == "main")
    sys.settrace(trace)
    try:
        conduit.run(_starts_tasks, conduit="loggp")
    finally:
        sys.settrace(None)
    return steps


def test_E8_an_interrupt_as_the_ranks_are_started_is_no_deadlock():
    for step in range(1, _interrupted_at(0) + 1, 23):
        with pytest.raises(KeyboardInterrupt):
            _interrupted_at(step)


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_as_a_task_is_started_is_not_lost(monkeypatch, inline):
    def interrupted(file):
        signal.raise_signal(signal.SIGINT)
        return is_own(file)

    monkeypatch.setattr(in_tasks, "is_own", interrupted)
    with pytest.raises(KeyboardInterrupt):
        conduit.run(_starts_tasks, conduit=f"loggp:inline={inline}")


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_an_interrupt_that_a_program_catches_ends_the_job(monkeypatch, inline):
    async def main(ep):
        if ep.rank == 0:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        while True:
            await ep.compute(1e-6)

    monkeypatch.setattr(interrupts, "GRACE_S", 0.0)
    with pytest.raises(KeyboardInterrupt):
        conduit.run(main, conduit=f"loggp:inline={inline}")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("inline", ["yes", "no"])
@pytest.mark.parametrize("network", ["loggp", "sci"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_E8_what_another_thread_ends_ends_at_the_next_awaits(ranks, network, inline):
    """Not once a thousand events have passed, each of which a program may precede by a sleep of its own (I3)."""
    steps = []

    async def main(ep):
        while True:
            await ep.compute(1e-6)
            steps.append(ep.rank)
            if len(steps) == 10:
                job.stop()  # from any thread, this one too

    spec = parse_spec(f"{network}:inline={inline}")
    setup = JobSetup(ranks=ranks, hosts=(0,) * ranks, segment=0, seed=0)
    job = SimulatedJob(main, (), spec, setup, None)
    job.run()
    assert 10 <= len(steps) <= 10 + 2 * ranks


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_E8_it_ends_a_program_that_catches_everything(monkeypatch, inline):
    async def main(ep):
        if ep.rank == 0:
            with contextlib.suppress(BaseException):
                signal.raise_signal(signal.SIGINT)
        while True:
            with contextlib.suppress(BaseException):
                await ep.poll()

    monkeypatch.setattr(interrupts, "GRACE_S", 0.0)
    with pytest.raises(KeyboardInterrupt) as caught:
        conduit.run(main, conduit=f"loggp:inline={inline}")
    assert any("what caught all that was to end it was left where it stood" in note for note in caught.value.__notes__)


def test_E8_a_program_that_catches_it_may_end_by_itself():
    async def main(ep):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            await ep.compute(1e-3)
            return ep.now

    assert list(conduit.run(main, ranks=1, conduit="loggp").values) == [pytest.approx(1e-3)]


@pytest.mark.parametrize("leaves", ["async with", "finally"])
def test_an_interrupt_before_an_await_is_no_call_that_was_forgotten(leaves):
    """What leaves the block makes a call, which would accuse the program of the one that was thrown away."""

    async def main(ep):
        @contextlib.asynccontextmanager
        async def block():
            try:
                yield
            finally:
                await ep.poll()

        def thrown_away():
            ep.poll()
            signal.raise_signal(signal.SIGINT)

        await ep.attach()
        if leaves == "async with":
            async with block():
                thrown_away()
        try:
            thrown_away()
        finally:
            await ep.poll()

    with pytest.raises(KeyboardInterrupt) as found:
        conduit.run(main, ranks=2, conduit="loggp")
    error = found.value
    while error is not None:
        assert "never awaited" not in str(error)
        error = error.__cause__ or error.__context__


def test_a_deadlock_after_an_interrupt_that_a_rank_has_caught_is_the_end_of_the_interrupt():
    async def main(ep):
        if ep.rank == 1:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            return
        await ep.block_until(lambda: False)

    with pytest.raises(KeyboardInterrupt) as found:
        conduit.run(main, ranks=2, conduit="loggp")
    first, second = found.value.__notes__
    assert first == "the job could not go on after a Ctrl-C that rank 1 caught"
    assert second.startswith("interrupted at ")


def test_a_call_that_an_interrupt_has_broken_off_is_not_forgotten_where_it_is_caught():
    """It comes between the call and its await."""

    async def main(ep):
        await ep.attach()
        try:
            made = ep.poll()
            signal.raise_signal(signal.SIGINT)
            await made
        except KeyboardInterrupt:
            del made

    with pytest.raises(KeyboardInterrupt) as found:
        conduit.run(main, ranks=2, conduit="loggp")
    (note,) = found.value.__notes__
    assert re.fullmatch("the job could not go on after a Ctrl-C that rank [01] caught", note)


def _ended(source, tmp_path, count, *, pause=0.0):
    """Run a program with `conduit run`, interrupt it so many times once it says so; return how it has ended."""
    (tmp_path / "prog.py").write_text(source)
    words = [sys.executable, "-m", "conduit", "run", "prog.py", "--conduit", "loggp", "-n", "1"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    time.sleep(pause)
    told = ""
    for _ in range(count):
        process.send_signal(signal.SIGINT)
        told += process.stderr.readline()
    out, err = process.communicate(timeout=60)
    return process.returncode, out, told + err


def test_what_waits_for_a_thread_is_told_and_the_second_interrupt_ends_the_process(tmp_path):
    source = """
import time

import trio


async def main(ep):
    print("begins", flush=True)
    await trio.to_thread.run_sync(time.sleep, 1000)
"""
    status, _, err = _ended(source, tmp_path, 2, pause=0.5)
    assert status == -signal.SIGINT
    assert err == (
        "rank 0 waits for a thread at prog.py:9 that Ctrl-C does not end (`abandon_on_cancel=True` does); one more "
        "Ctrl-C ends the process\n"
    )


def test_what_catches_everything_and_awaits_nothing_is_told_and_the_second_interrupt_ends_the_process(tmp_path):
    source = """
async def main(ep):
    print("begins", flush=True)
    while True:
        try:
            while True: sum(range(1000))
        except:
            pass
"""
    status, _, err = _ended(source, tmp_path, 2)
    assert status == -signal.SIGINT
    assert err == (
        "the program has caught Ctrl-C, and is at prog.py:6 in main: it has not come to an await that lets the job "
        "end, where `except Exception:` lets Ctrl-C through; one more Ctrl-C ends the process\n"
    )


def test_what_catches_the_end_of_its_job_too_is_told_and_the_second_interrupt_ends_the_process(tmp_path):
    source = """
import time

print("begins", flush=True)


async def main(ep):
    while True:
        try:
            time.sleep(0.02)
            await ep.poll()
        except:
            pass
"""
    status, _, err = _ended(source, tmp_path, 2, pause=0.5)
    assert status == -signal.SIGINT
    assert err == (
        "the job has ended, and the program goes on at prog.py:10 in main: `except Exception:` lets through what ends "
        "it; one more Ctrl-C ends the process\n"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_a_program_forks_is_ended_by_signals_as_any_other(tmp_path, number):
    (tmp_path / "prog.py").write_text(f"""
import os, signal, sys


async def main(ep):
    child = os.fork()
    if not child:
        print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), {int(number)})
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    words = [sys.executable, "-m", "conduit", "run", "prog.py", "--conduit", "loggp", "-n", "1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[:3] == ["True", "True", str(-number)]


def test_an_interrupt_inside_a_library_is_told_with_the_line_of_the_program():
    async def main(ep):
        await ep.attach()
        heapq.nlargest(1, [signal.SIGINT], key=signal.raise_signal)

    with pytest.raises(KeyboardInterrupt) as found:
        conduit.run(main, ranks=1, conduit="loggp")
    first = found.value.__notes__[0].partition("\n")[0]
    line = main.__code__.co_firstlineno + 2
    assert first.endswith(f"(what ran was {__file__}:{line} in main, in heapq)")


def test_an_interrupt_where_a_named_tuple_is_made_is_told_with_the_line_that_makes_it(monkeypatch):
    """Python makes it in a lambda without a file, of which nothing is known."""

    class Pair(NamedTuple):
        one: int
        other: int

    interrupt = compile("lambda kind, values: raise_signal(SIGINT)", conduit.__file__, "eval")  # no line of a program
    monkeypatch.setitem(Pair.__new__.__globals__, "_tuple_new", eval(interrupt, vars(signal).copy()))

    async def main(ep):
        await ep.attach()
        Pair(1, 2)

    with pytest.raises(KeyboardInterrupt) as found:
        conduit.run(main, ranks=1, conduit="loggp")
    first = found.value.__notes__[0].partition("\n")[0]
    line = main.__code__.co_firstlineno + 2
    assert first.endswith(f"(what ran was {__file__}:{line} in main)")


@pytest.mark.parametrize("module", ["namedtuple_Pair", "conduit.sim.kernel", "extended.upc.array", "conduits.sci.port"])
def test_code_that_python_makes_for_the_package_is_no_line_of_a_program(module):
    """Of named tuples and the like: its file is `<string>`, as that of `python -c` is."""
    interrupt = eval(compile("lambda: raise_signal(SIGINT)", conduit.__file__, "eval"), vars(signal).copy())
    made = eval(compile("lambda: interrupt()", "<string>", "eval"), {"__name__": module, "interrupt": interrupt})
    own = eval(compile("lambda: made()", conduit.__file__, "eval"), {"made": made})

    async def main(ep):
        await ep.attach()
        while True:
            own()

    with pytest.raises(KeyboardInterrupt) as found:
        conduit.run(main, ranks=1, conduit="loggp")
    first, second, *more = "\n".join(found.value.__notes__).splitlines()
    line = main.__code__.co_firstlineno + 3
    assert first.endswith(f"(what ran was {__file__}:{line} in main)")
    assert second == "rank 0: its task ran that"
    assert any(f"the loop at {__file__}:{line - 1} has no `await`" in each for each in more)


def test_a_program_on_the_command_line_is_told_with_its_line():
    source = (
        "import conduit, signal\nasync def main(ep):\n    await ep.attach()\n    signal.raise_signal(signal.SIGINT)\n"
        "conduit.run(main, ranks=1, conduit='loggp')"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert "(what ran was <string>:4 in main)" in done.stderr
