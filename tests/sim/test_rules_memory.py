"""Rule M: a job of many ranks has far more memory and peers than it ever touches."""

import tracemalloc

import numpy as np
import pytest

import conduit
from conduit.sim import Memory
from conduit.sim.memory import RecordMemory
from conduits.sci.driver import MAP_PS

COMMAND_SEGMENTS = 8_900_000_000  # bytes: SCI at 1024 ranks, allocated as on the real machine


def test_M_memory_is_made_by_page_on_first_write_and_reads_as_zeros_before():
    memory = Memory(COMMAND_SEGMENTS, 4096)
    assert memory.resident == 0
    assert memory.read(COMMAND_SEGMENTS - 3, 3) == bytes(3)
    assert memory.read(4000, 10_000) == bytes(10_000)
    assert memory.resident == 0
    memory.write(COMMAND_SEGMENTS - 1, b"x")
    assert memory.resident == 4096
    assert memory.read(COMMAND_SEGMENTS - 3, 3) == b"\0\0x"


@pytest.mark.parametrize("kind", [Memory, RecordMemory])
@pytest.mark.parametrize("seed", range(20))
def test_M_paged_memory_is_like_an_array(seed, kind):
    random = np.random.default_rng(seed)
    memory, model = kind(1000, 64), np.zeros(1000, np.uint8)
    for _ in range(50):
        start = int(random.integers(0, 1000))
        size = int(random.integers(0, 1001 - start))
        if random.random() < 0.5:
            data = random.integers(0, 256, size, np.uint8).tobytes()
            memory.write(start, data)
            model[start : start + size] = np.frombuffer(data, np.uint8)
        else:
            assert memory.read(start, size) == model[start : start + size].tobytes()


@pytest.mark.parametrize("kind", [Memory, RecordMemory])
@pytest.mark.parametrize(("start", "size"), [(-1, 1), (100, 1), (99, 2), (0, 101), (-5, 10), (200, 0)])
def test_M_nothing_lies_outside_a_memory(start, size, kind):
    memory = kind(100, 64)
    with pytest.raises(IndexError):
        memory.read(start, size)
    with pytest.raises(IndexError):
        memory.write(start, bytes(size))


def test_M_a_record_keeps_no_more_than_was_written():
    memory = RecordMemory(1000, 100)
    memory.write(205, b"abc")
    record, start = memory.place(310, 4)
    record[start : start + 4] = b"defg"
    assert memory.resident == 8 + 14
    assert memory.read(200, 10) == b"\0\0\0\0\0abc\0\0"
    assert memory.read(308, 8) == b"\0\0defg\0\0"
    with pytest.raises(IndexError, match=r"\A20 bytes at 390 are not in one page of 100 bytes\Z"):
        memory.place(390, 20)


def _bytes_per_rank(network, ranks):
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        await ep.request_short((ep.rank + 1) % ep.size, note)
        await ep.poll()

    tracemalloc.start()
    try:
        conduit.run(main, ranks=ranks, conduit=network, segment=0)
        return tracemalloc.get_traced_memory()[1] / ranks  # beside segments, which are mapped
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("network", ["loggp", "origin", "sci", "startx", "t3e"])
def test_M_memory_per_rank_does_not_grow_with_the_job(network):
    conduit.run(_nothing, conduit=network)  # imports
    few, many = (_bytes_per_rank(network, ranks) for ranks in (16, 96))
    assert many < few * 1.3 + 2000
    assert many < 60_000


async def _nothing(ep):
    pass


def test_M_starting_up_is_charged_and_not_performed():
    """Every rank of SCI maps two segments of every peer, and none of it happens."""
    times = {ranks: conduit.run(_nothing, conduit="sci", ranks=ranks).seconds for ranks in (2, 40)}
    for ranks, seconds in times.items():
        assert seconds >= 2 * (ranks - 1) * MAP_PS / 1e12


def test_M_a_large_segment_that_nobody_touches_costs_nothing():
    resource = pytest.importorskip("resource")

    async def main(ep):
        ep.segment[-1] = 1
        return int(ep.segment[0]), len(ep.segment)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    segment = 1 << 28
    result = conduit.run(main, conduit="loggp", ranks=8, segment=segment)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert result.values == [(0, segment)] * 8
    # ru_maxrss is in KiB on Linux, in bytes elsewhere: less than an eighth of the segments either way.
    assert after - before < 8 * segment // 8 // 1024
