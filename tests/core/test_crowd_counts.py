"""What a request and its reply cost to simulate where many ranks send to many: exact, alike on every computer."""

import gc
import sys
from collections import Counter

import pytest

from conduit.contract import JobSetup
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.registry import parse_spec

RANKS = 8
TRIPS = 2 * RANKS * (RANKS - 1)  # by which a job of three rounds is longer than one of a single round

BYTECODES = {"loggp": 2267, "sci": 3224, "sunfire": 3496, "startx": 3991}
"""Of a short request and its reply, the program's own included; they may fall, not rise.

Up to two more than they take: where in memory functions lie changes the order of sets, and with it a count by one."""
EVENTS = {"loggp": 6.08, "sci": 7.17, "sunfire": 6.08, "startx": 5.0}
"""Of the kernel, for the same."""


async def all_to_all(ep, rounds):
    """A program: every rank sends to every other one, which answers."""
    answered = 0

    def ask(token, number):
        token.reply_short(answer, number)

    def answer(token, number):
        nonlocal answered
        answered += 1

    await ep.attach(ask, answer)
    for _ in range(rounds):
        for step in range(1, ep.size):
            await ep.request_short((ep.rank + step) % ep.size, ask, step)
    await ep.block_until(lambda: answered == rounds * (ep.size - 1))


def make_job(rounds, network):
    spec = parse_spec(network)
    hosts = spec.cls.placement(spec.options, RANKS, None)
    return SimulatedJob(all_to_all, (rounds,), spec, JobSetup(ranks=RANKS, hosts=hosts, segment=0, seed=0), None)


def counted(network, rounds):
    """Run a job and count its bytecodes, its events and the steps that Trio's own loop makes."""
    counts = Counter()

    def trace(frame, event, arg):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        counts["bytecodes"] += event == "opcode"
        if event == "call":
            counts["steps"] += frame.f_code.co_qualname == "TaskHooks.before_task_step"
        return trace

    job = make_job(rounds, network)
    before = sys.gettrace()
    gc.collect()
    gc.disable()  # or what other tests have left ends in this job, and is counted
    sys.settrace(trace)
    try:
        job.run()
    finally:
        sys.settrace(before)
        gc.enable()
    counts["events"] = job.kernel.events
    return counts


@pytest.mark.parametrize("network", ["loggp", "sci", "sunfire", "startx"])
def test_an_all_to_all_takes_no_more_than_it_did(network):
    make_job(1, network).run()  # what is made once for the process
    one, three = counted(network, 1), counted(network, 3)
    each = {name: (three[name] - one[name]) / TRIPS for name in three}
    assert each["events"] <= EVENTS[network]
    assert each["steps"] < 0.05, "the kernel steps nearly all tasks itself"
    if sys.version_info[:2] == (3, 11):  # other versions of Python have other bytecodes
        assert 1000 < each["bytecodes"] <= BYTECODES[network]
