"""A worker does acts when the CPU is free, in order; at once only where nothing else can happen until then."""

import pytest

from conduit.sim import Cpu, Kernel
from conduits.mpi.engine.worker import Worker

STORE_PS = 700


@pytest.fixture
def machine():
    """A kernel, a CPU that is free at 1000 ps, its worker, and what happens: times and words."""
    kernel = Kernel()
    cpu = Cpu(kernel)
    cpu.free = 1000
    return kernel, cpu, Worker(kernel, cpu), []


def storing(kernel, heard):
    """Return how to store: what is stored, and when, is heard."""

    def store(offset, data, done):
        heard.append((kernel.now, offset, bytes(data)))
        return kernel.now + STORE_PS

    return store


def acts(kernel, heard, words):
    """Return steps of an act each."""

    def act(word, done):
        heard.append((kernel.now, word))
        done(kernel.now + STORE_PS)

    for word in words:
        yield lambda done, word=word: act(word, done)


def run_events(kernel):
    while kernel._heap:
        kernel._run_work()
        kernel._budget = 1000


def test_a_store_is_made_at_once_when_the_cpu_is_free(machine):
    kernel, cpu, worker, heard = machine
    worker.store(storing(kernel, heard), 64, b"line", lambda: heard.append("over"))
    assert not worker.idle
    assert heard == []
    assert worker.at_once()
    assert heard == [(1000, 64, b"line"), "over"]
    assert (worker.idle, kernel.now, cpu.free, kernel.events) == (True, 1000, 1000 + STORE_PS, 0)


def test_what_is_called_when_a_store_is_made_gets_what_was_given_for_it(machine):
    kernel, _, worker, heard = machine
    worker.store(storing(kernel, heard), 64, b"line", heard.append, "over")
    assert worker.at_once()
    assert heard == [(1000, 64, b"line"), "over"]


def test_a_store_that_is_the_end_of_a_call_is_made_without_being_given_first(machine):
    kernel, cpu, worker, heard = machine
    assert kernel.advance(cpu.free)
    worker.store_now(storing(kernel, heard), 64, b"line")
    assert heard == [(1000, 64, b"line")]
    assert (worker.idle, kernel.now, cpu.free, kernel.events) == (True, 1000, 1000 + STORE_PS, 0)
    assert worker.at_once()


def test_a_store_that_is_the_end_of_a_call_may_wait_for_the_hardware(machine):
    kernel, cpu, worker, heard = machine

    def store(offset, data, done):
        kernel.at(5000, done, 6000)
        return 0

    assert kernel.advance(cpu.free)
    worker.store_now(store, 64, b"line")
    assert not worker.idle
    assert not worker.at_once()
    worker.when_stored(heard.append, "over")
    worker.when_idle(lambda: heard.append(("idle", kernel.now)))
    run_events(kernel)
    assert heard == ["over", ("idle", 5000)]
    assert (worker.idle, cpu.free) == (True, 6000)


@pytest.mark.parametrize("later", [False, True])
def test_an_act_by_itself_is_over_when_it_says_so(machine, later):
    kernel, cpu, worker, heard = machine

    def act(done):
        heard.append(kernel.now)
        if later:
            kernel.at(5000, done, 6000)
        else:
            done(6000)

    worker.act(act, lambda: heard.append("over"))
    assert worker.at_once() is not later
    worker.when_idle(lambda: heard.append("idle"))
    run_events(kernel)
    assert heard == [1000, "over", "idle"]
    assert (worker.idle, cpu.free) == (True, 6000)


@pytest.mark.parametrize("when", [999, 1000])
def test_a_store_waits_for_its_time_where_something_else_happens_before_or_then(machine, when):
    kernel, cpu, worker, heard = machine
    kernel.call(when, lambda: heard.append("other"))
    worker.store(storing(kernel, heard), 0, b"x")
    assert not worker.at_once()
    assert (heard, kernel.now) == ([], 0)
    worker.when_idle(lambda: heard.append(("idle", kernel.now)))
    run_events(kernel)
    assert heard == ["other", (1000, 0, b"x"), ("idle", 1000)]
    assert cpu.free == 1000 + STORE_PS


@pytest.mark.parametrize("inline", [True, False])
def test_acts_follow_one_another_at_the_same_times_at_once_or_not(inline):
    kernel, heard = Kernel(inline=inline), []
    cpu = Cpu(kernel)
    worker = Worker(kernel, cpu)
    worker.store(storing(kernel, heard), 0, b"x")
    worker.do(acts(kernel, heard, "ab"))
    worker.do(acts(kernel, heard, "c"))
    kernel.call(STORE_PS + 1, lambda: heard.append("other"))
    assert worker.at_once() is False
    worker.when_idle(lambda: heard.append("idle"))
    run_events(kernel)
    assert heard == [
        (0, 0, b"x"), (STORE_PS, "a"), "other", (2 * STORE_PS, "b"), (3 * STORE_PS, "c"), "idle"
    ]  # fmt: skip
    assert worker.at_once()


@pytest.mark.parametrize("now", [False, True])
def test_what_an_act_raises_ends_the_job_and_not_the_call(machine, now):
    kernel, cpu, worker, _ = machine

    def store(offset, data, done):
        raise ValueError("no such place")

    if now:
        kernel.advance(cpu.free)
        worker.store_now(store, 0, b"x")
    else:
        worker.store(store, 0, b"x")
    assert not worker.at_once()
    assert kernel.ending
    ((when, rank, error),) = kernel.end.errors
    assert (when, rank, str(error)) == (1000, cpu.rank, "no such place")
