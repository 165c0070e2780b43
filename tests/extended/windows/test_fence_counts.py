"""What a fence of a window costs to simulate, by native puts and by a network's own barrier: exact everywhere."""

import sys

import pytest

import conduit
from extended import Extended
from extended.windows import Win

RANKS = 16
FENCES = 3

EVENTS = {"origin": 20.84, "t3e": 6.88}
"""Of the kernel, of a rank for a fence; they may fall, not rise."""
BYTECODES = {"origin": 10286, "t3e": 3772}
"""Of the same."""


async def fences(ep, counts, many):
    """A program: so many fences, of which rank 0 counts all that is done for them."""
    x = await Extended.attach(ep)
    window = await Win.Allocate(64, comm=x, checks=False)
    for _ in range(2):  # from the second on all signals are puts
        await window.Fence()
    if ep.rank == 0:
        counts.begin(ep)
    for _ in range(many):
        await window.Fence()
    if ep.rank == 0:
        counts.end()
    await ep.compute(1e-3)  # rank 0 is not the first out of the last fence, and what follows is none of it
    await window.Free()


class Counts:
    """Counts bytecodes, and keeps the kernel, which counts its events."""

    def __init__(self):
        self.bytecodes = 0

    def __deepcopy__(self, memo):
        return self  # one for all ranks

    def begin(self, ep):
        self.kernel, self.before = ep._port.kernel, sys.gettrace()
        sys.settrace(self._trace)

    def end(self):
        sys.settrace(self.before)

    def _trace(self, frame, event, arg):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.bytecodes += event == "opcode"
        return self._trace


def counts_of(network, many):
    counts = Counts()
    conduit.run(fences, counts, many, conduit=network, ranks=RANKS, segment=65536)
    return counts


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecodes")
@pytest.mark.parametrize("network", BYTECODES)
def test_a_fence_takes_no_more_bytecodes_than_it_did(network):
    each = counts_of(network, FENCES).bytecodes / RANKS / FENCES
    assert BYTECODES[network] / 2 < each <= BYTECODES[network]


@pytest.mark.parametrize("network", EVENTS)
def test_a_fence_takes_no_more_events_than_it_did(network):
    few, many = (counts_of(network, fences).kernel.events for fences in (FENCES, 2 * FENCES))
    assert EVENTS[network] / 2 < (many - few) / RANKS / FENCES <= EVENTS[network]
