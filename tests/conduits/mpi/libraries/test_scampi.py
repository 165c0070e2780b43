"""ScaMPI on SCI: what goes in which way, and what it takes."""

import numpy as np
import pytest

import conduit
from conduits.mpi import MPI
from conduits.mpi.libraries.rings.pair import RingPair
from conduits.mpi.libraries.rings.wire import HEADER, RingHeader, RingLayout, sequence, unpack
from conduits.mpi.libraries.scampi import Scampi, installation
from conduits.mpi.libraries.scampi import constants as c
from conduits.sci import constants as sci
from conduits.sci.raw import neighbours, one_way


async def ping_pong(comm, size, turns):
    """Return half of a round trip, seconds."""
    ep, data = conduit.current(), np.zeros(size, np.uint8)
    await comm.Barrier()
    begun = ep.now
    for _ in range(turns):
        if comm.rank == 0:
            await comm.Send(data, 1)
            await comm.Recv(data, 1)
        else:
            await comm.Recv(data, 0)
            await comm.Send(data, 0)
    return (ep.now - begun) / turns / 2


def half(size, library="scampi", **options):
    return MPI.run(ping_pong, size, 10, ranks=2, library=library, **options).values[0]


def us(constant):
    return sci.ps(constant) / 1e6


@pytest.mark.parametrize("size", [0, 8, 500])
def test_the_latency_of_an_inline_message_is_the_sum_of_its_parts(size):
    """As docs/models/scampi.md adds it up; what is not exact is where the polling loop stands at the arrival."""
    poll = us(c.POLL) + us(c.POLL_PEER)
    send = poll + us(c.CALL) + us(c.BUILD)
    way = one_way(neighbours(Scampi.Options()), size + HEADER, by_dma=False) * 1e6
    copy = us(sci.COPY_START) + size / 700 if size else 0
    receive = poll + us(c.TAKE) + us(c.MATCH) + copy + us(c.COMPLETE)
    assert half(size) * 1e6 == pytest.approx(send + way + receive, abs=2 * poll)


@pytest.mark.parametrize(
    ("size", "way"), [(0, "inline"), (560, "inline"), (561, "eager"), (16384, "eager"), (16385, "large")]
)
@pytest.mark.parametrize("ranks_per_host", [1, 2])
def test_the_size_decides_the_way(size, way, ranks_per_host):
    result = MPI.run(ping_pong, size, 3, ranks=2, ranks_per_host=ranks_per_host)
    for counts in result.statistics:
        assert counts[f"mpi_{way}"] >= 3
        assert not any(counts[f"mpi_{other}"] for other in ("eager", "large") if other != way)


def test_every_size_goes_by_pio():
    counts = MPI.run(ping_pong, 1_000_000, 1, ranks=2).statistics[0]
    assert counts["dma_transfers"] == 0
    assert counts["pio_packets"] > 1_000_000 // 64


def test_a_large_message_streams_at_the_rate_of_pio():
    """The paper's best rate is an anchor of the machine; pieces, answers and copies take little beside it."""
    rate = 4_000_000 / half(4_000_000) / 1e6
    assert 0.9 * 190 < rate < 190


def test_where_no_eager_buffer_is_free_messages_wait_as_large_ones_do():
    async def main(comm):
        if comm.rank == 0:
            requests = [await comm.Isend(np.full(5000, number, np.uint8), 1, number) for number in range(20)]
            await MPI.Request.Waitall(requests)
            return None
        await conduit.current().compute(1e-2)
        got = np.zeros((20, 5000), np.uint8)
        for number in reversed(range(20)):
            await comm.Recv(got[number], 0, number)
        return (got == np.arange(20)[:, None]).all()

    result = MPI.run(main, ranks=2)
    assert result.values[1]
    assert (result.statistics[0]["mpi_eager"], result.statistics[0]["mpi_large"]) == (8, 12)


def test_two_processes_that_copy_at_once_share_the_memory_of_their_host(monkeypatch):
    """Both ways at once through one host's memory take longer than they do where that has no rate of its own."""

    async def main(comm, busy):
        ep, data = conduit.current(), np.zeros(1_000_000, np.uint8)
        await comm.Barrier()
        begun = ep.now
        if comm.rank in busy:
            partner = comm.rank ^ 1
            receive = await comm.Irecv(np.zeros_like(data), partner)
            await comm.Send(data, partner)
            await receive.Wait()
        return ep.now - begun

    options = {"ranks": 2, "ranks_per_host": 2}
    slow = MPI.run(main, (0, 1), **options).values[0]
    plain = installation.HostMemory
    monkeypatch.setattr(installation, "HostMemory", lambda kernel, host, rate, name: plain(kernel, host, None, name))
    fast = MPI.run(main, (0, 1), **options).values[0]
    assert slow > 1.1 * fast


def test_a_header_says_what_was_put_into_it():
    header = RingHeader(3, 1, 7, 1 << 30, -1, 2**31 - 1, 1 << 40, 5, 6, sequence(2**32 - 2))
    assert RingHeader._make(unpack(header.pack())) == header
    assert header.sequence == 2**32 - 1
    assert sequence(2**32 - 1) == 1


@pytest.mark.parametrize("ranks_per_host", [1, 2])
@pytest.mark.parametrize("short", [8, 1000])
def test_entries_are_where_they_are_looked_for_when_their_numbers_begin_anew(monkeypatch, short, ranks_per_host):
    """After 2**32 - 1 entries, which is no whole number of rounds; in all ways, while entries wait to be stored."""
    begun, plain = 2**32 - 1 - 20, RingPair.__init__

    def init(self, *args):
        plain(self, *args)
        self.entries = self.taken = begun
        self._credits = (begun, 0, 0)
        self.tell()
        self._next_entry()

    monkeypatch.setattr(RingPair, "__init__", init)

    async def main(comm):
        """Exchange short and large messages, some of them at once; return what has come."""
        found, other = [], 1 - comm.rank
        for turn in range(30):
            data = [np.full(size, turn, np.uint8) for size in (short, 100_000, short)]
            got = [np.zeros(len(each), np.uint8) for each in data]
            receives = [await comm.Irecv(each, other) for each in got]
            sends = [await comm.Isend(each, other) for each in data]
            await MPI.Request.Waitall(receives + sends)
            await comm.Sendrecv(data[0], other, recvbuf=got[0], source=other)
            await comm.Send(data[0], other)
            await comm.Recv(got[0], other)
            found += [bytes(each) for each in got]
        return found

    expected = [bytes([turn]) * size for turn in range(30) for size in (short, 100_000, short)]
    result = MPI.run(main, ranks=2, ranks_per_host=ranks_per_host, time_limit=1.0)
    assert result.values == [expected, expected]
    assert min(counts["mpi_inline" if short == 8 else "mpi_eager"] for counts in result.statistics) >= 90


def test_the_parts_of_a_region_do_not_overlap():
    layout = RingLayout(entries=5, inline=100, inline_pool=1000, eager_buffers=3, eager=1000, pieces=2, piece=5000)
    edges = [
        0, layout.end_of_entry(4), layout.credits_at, layout.releases_at, layout.eager_at,
        layout.eager_buffer(2) + 1000, layout.pieces_at, layout.piece_buffer(1) + 5000, layout.nbytes,
    ]  # fmt: skip
    assert edges == sorted(edges)
    assert layout.end_of_entry(5) == layout.end_of_entry(0)


def test_constants_name_their_sources():
    for constant in c.CONSTANTS:
        assert constant.kind == "assumed", constant.name  # the paper says nothing of ScaMPI but what is the machine's
        assert constant.source, constant.name


async def many_to_one(comm, size, count):
    """Return how long rank 0 takes for messages of all others, whose receives are there, seconds."""
    ep, data = conduit.current(), np.zeros(size, np.uint8)
    taken = []
    if comm.rank == 0:
        taken = [await comm.Irecv(np.zeros(size, np.uint8)) for _ in range(count * (comm.size - 1))]
    for _ in range(2):
        await comm.Barrier()
    begun = ep.now
    await MPI.Request.Waitall(taken)
    for _ in range(count if comm.rank else 0):
        await comm.Send(data, 0)
    return ep.now - begun


@pytest.mark.parametrize("size", [4096, 16384])
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.parametrize("piece", [256, 4096])
def test_a_receiver_gets_what_its_senders_send_or_its_bus_carries(size, ranks, piece):
    """What it gives buffers back with, a byte for each message, waits for no queue of others' bytes at its bus."""
    count = 20
    seconds = MPI.run(many_to_one, size, count, ranks=ranks, library=f"scampi:piece={piece}").values[0]
    sent = us(c.CALL) + us(c.BUFFER) + us(c.BUILD) + 2 * us(sci.PIO_START) + (size + HEADER) / sci.PIO_RATE.value
    carried = sci.BUS_RATE.value * 64 / (64 + 16)
    expected = min((ranks - 1) * size / sent, carried)  # MB/s
    assert (ranks - 1) * count * size / seconds / 1e6 == pytest.approx(expected, rel=0.08)
