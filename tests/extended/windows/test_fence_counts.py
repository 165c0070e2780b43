"""What a fence of a window costs to simulate, by native puts and by a network's own barrier: exact everywhere."""

import sys
from collections import Counter

import pytest

import conduit
from extended import Extended
from extended.windows import Win

RANKS = 16
FENCES = 3

EVENTS = 20.84
"""Of the kernel, of a rank for a fence; they may fall, not rise."""
BYTECODES = {"origin": 10286, "t3e": 3772}
"""Of the same."""


async def fences(ep, counts):
    """A program: a few fences, of which rank 0 counts all that is done for them."""
    x = await Extended.attach(ep)
    window = await Win.Allocate(64, comm=x, checks=False)
    for _ in range(2):  # from the second on all signals are puts
        await window.Fence()
    if ep.rank == 0:
        counts.begin(ep)
    for _ in range(FENCES):
        await window.Fence()
    if ep.rank == 0:
        counts.end(ep)
    await ep.compute(1e-3)  # rank 0 is not the first out of the last fence, and what follows is none of it
    await window.Free()


class Counts:
    """Counts bytecodes and events."""

    def __init__(self):
        self.counted = Counter()

    def __deepcopy__(self, memo):
        return self  # one for all ranks

    def begin(self, ep):
        self.before = sys.gettrace()
        self.counted["events"] -= ep._port.kernel.events
        sys.settrace(self._trace)

    def end(self, ep):
        sys.settrace(self.before)
        self.counted["events"] += ep._port.kernel.events

    def _trace(self, frame, event, arg):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.counted["bytecodes"] += event == "opcode"
        return self._trace


@pytest.mark.parametrize("network", ["origin", "t3e"])
def test_a_fence_takes_no_more_than_it_did(network):
    counts = Counts()
    conduit.run(fences, counts, conduit=network, ranks=RANKS, segment=65536)
    each = {name: count / RANKS / FENCES for name, count in counts.counted.items()}
    assert each["events"] <= EVENTS
    if sys.version_info[:2] == (3, 11):  # other versions of Python have other bytecodes
        assert BYTECODES[network] / 2 < each["bytecodes"] <= BYTECODES[network], each
