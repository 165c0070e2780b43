"""The memory of a host, which its processors share."""

import pytest

from conduit.sim import Kernel, simulate
from conduit.simnet import HostModel
from conduits.mpi.libraries.memory import SMALL, HostMemory

HOST = HostModel(copy_bytes_per_s=1e9, copy_call_ps=50_000)
NBYTES = 40_960
ALONE = HOST.copy_ticks(NBYTES)


def ends(rate, copies, nbytes=NBYTES):
    """Return when so many copies end that begin at once, picoseconds."""
    kernel, found = Kernel(), []
    memory = HostMemory(kernel, HOST, rate, "memory 0")
    for _ in range(copies):
        kernel.at(0, memory.copy, nbytes, found.append)

    async def wait():
        await kernel.until(10**12)

    simulate(kernel, wait)
    return found


def test_one_copy_goes_at_the_processor_s_rate():
    assert ends(3_000_000_000, 1) == [ALONE]


@pytest.mark.parametrize("copies", [2, 4, 8])
def test_copies_share_what_the_memory_gives(copies):
    """Each copy reads and writes, so all together take twice their bytes at the memory's rate."""
    together = 2 * copies * NBYTES * 1000 // 3  # at 3 GB/s, picoseconds
    last = max(ends(3_000_000_000, copies))
    assert last == pytest.approx(max(ALONE, together), rel=0.15)
    assert last >= together


@pytest.mark.parametrize("copies", [2, 8])
def test_without_a_rate_there_is_no_sharing(copies):
    assert ends(None, copies) == [ALONE] * copies


def test_short_copies_stay_in_the_cache():
    assert ends(1_000_000_000, 8, SMALL) == [HOST.copy_ticks(SMALL)] * 8
