"""The clocks of real processes are compared over their MPI."""

import json

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import sys
from time import perf_counter_ns

from conduit.wall import Alignment, measure_offsets
from conduits.mpi.real import join

processes = join()
origin = 10**12 * processes.rank
offsets = measure_offsets(processes, clock=lambda: perf_counter_ns() + origin)
alignment = Alignment(offsets)
now = perf_counter_ns()
sys.stdout.write(json.dumps([
    [offset.ahead for offset in offsets],
    [offset.within for offset in offsets],
    [alignment.on_first(rank, now + 10**12 * rank) - now for rank in range(processes.size)],
]) + "\\n")
"""


def values_in(text):
    """Yield the JSON values of a text, with or without ends of lines between: launchers mix what ranks print."""
    text = text.strip()
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        yield value
        text = text[end:].strip()


def test_processes_of_one_host_read_one_clock(shell):
    done = shell.mpiexec(3, shell.file(SCRIPT))
    assert done.status == 0, done.err
    lines = list(values_in(done.out))
    assert len(lines) == 3
    assert all(line[:2] == lines[0][:2] for line in lines)
    for ahead, within, moved in lines:
        for rank in range(3):
            assert abs(ahead[rank] - rank * 10**12) <= within[rank] < 10**9
            assert abs(moved[rank]) <= within[rank]
