"""Sun MPI on Sun Fire Link: what goes in which way, and what it takes."""

import numpy as np
import pytest

import conduit
from conduit.sim import Memory
from conduits.mpi import MPI
from conduits.mpi.libraries.sunmpi import Sunmpi
from conduits.mpi.libraries.sunmpi import constants as c
from conduits.mpi.libraries.sunmpi.connections import Outward, PostboxArea
from conduits.mpi.libraries.sunmpi.installation import SunmpiOptions
from conduits.mpi.libraries.sunmpi.layout import BufferPoolShape
from conduits.mpi.libraries.sunmpi.pool import BufferPool
from conduits.mpi.libraries.sunmpi.wire import (
    EAGER,
    FREED,
    HEADER,
    INLINE,
    KEPT,
    LINE,
    POINTER,
    PostboxHeader,
    ack,
    count,
    decode,
    entry,
    is_further,
    line_of,
    postboxes,
)
from conduits.sunfire import constants as sunfire


async def ping_pong(comm, size, turns, *, warm=True):
    """Return half of a round trip, seconds."""
    ep, data = conduit.current(), np.zeros(size, np.uint8)
    begun = ep.now
    for turn in range(turns + warm):
        if turn == warm:
            begun = ep.now
        if comm.rank == 0:
            await comm.Send(data, 1)
            await comm.Recv(data, 1)
        else:
            await comm.Recv(data, 0)
            await comm.Send(data, 0)
    return (ep.now - begun) / turns / 2


def half(size, library="sunmpi", **options):
    return MPI.run(ping_pong, size, 10, ranks=2, library=library, **options).values[0] * 1e6


def us(constant):
    return c.ps(constant) / 1e6


def issue(lines):
    return us(sunfire.STORE_START) + lines * us(sunfire.STORE_LINE)


def one_way(lines, size, software):
    """As docs/models/sunmpi.md adds it up."""
    poll = us(c.POLL) + us(c.HEAD)
    copy = us(sunfire.COPY_START) + size / 935 if size else 0
    send = poll + us(c.CALL) + software + issue(lines)
    take = poll + software + us(c.LINE_MISS) + us(c.MATCH) + copy + us(c.COMPLETE)
    return send + us(sunfire.TRANSIT) + us(sunfire.WRITE) + take + issue(lines)


@pytest.mark.parametrize(("config", "software"), [("sis", c.SIS_ENTRY), ("q", c.Q_ENTRY)])
@pytest.mark.parametrize("size", [0, 8, 24, 25, 500, 2000])
def test_the_latency_of_a_short_message_is_the_sum_of_its_parts(config, software, size):
    """What is not exact is where the polling loop stands at the arrival; a queue's end cuts some runs in two."""
    lines = -(-(32 + size) // 56)
    least = one_way(lines, size, us(software))
    most = least + lines * (us(c.RECLAIM) + LINE / 935) + 2 * lines / 128 * us(sunfire.STORE_START)
    assert least - 0.1 < half(size, f"sunmpi:config={config}") < most + 0.1


@pytest.mark.parametrize(("size", "blocks"), [(2001, 1), (4096, 1), (4097, 2), (16384, 4)])
def test_the_latency_of_a_long_message_is_the_sum_of_its_parts(size, blocks):
    fills = us(c.SPACE) + us(sunfire.OPEN_BARRIER) + blocks * us(sunfire.STORE_START)
    fills += -(-size // LINE) * us(sunfire.STORE_LINE) + us(sunfire.CLOSE_BARRIER)
    expected = fills + one_way(count(POINTER * blocks), size, us(c.SIS_ENTRY))
    assert half(size) == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize(("config", "size", "latency"), [("sis", 0, 1.5), ("q", 1, 2.8)])
def test_the_latency_within_a_host_is_its_anchor(config, size, latency):
    """s.t1.lat.on and q.t4.on.1: these two calibrate and predict nothing."""
    assert half(size, f"sunmpi:config={config}", ranks_per_host=2) == pytest.approx(latency, abs=0.05)


def test_the_bandwidth_within_a_host_is_its_anchor():
    """s.t1.bw.on: it calibrates the copy rate and predicts nothing."""
    size = 1 << 20
    assert size / half(size, "sunmpi:config=sis", ranks_per_host=2) == pytest.approx(806, rel=0.01)


def test_acknowledgements_are_read_from_memory_run_by_run():
    """Messages of 3 of 128 postboxes: behind 42 there is no room, and 126 acknowledgements are taken back."""

    async def main(comm, turns):
        ep, data, calls = conduit.current(), np.zeros(136, np.uint8), []
        for _ in range(turns):
            begun = ep.now
            if comm.rank == 0:
                await comm.Send(data, 1)
                calls.append((ep.now - begun) * 1e6)
                await comm.Recv(data[:0], 1)
            else:
                await comm.Recv(data, 0)
                await comm.Send(data[:0], 0)
        return calls

    calls = MPI.run(main, 160, ranks=2, library="sunmpi").values[0]
    longer = {turn: took - min(calls) for turn, took in enumerate(calls) if turn and took > min(calls) + 1}
    # The store of the first of these, and the acknowledgements of the others, are cut in two by the queue's end.
    assert longer == {
        42: pytest.approx(126 * 0.02 + 0.25 + 125 * LINE / 935 + 0.2, abs=1e-3),
        84: pytest.approx(126 * 0.02 + 0.50 + 124 * LINE / 935, abs=1e-3),
        126: pytest.approx(126 * 0.02 + 0.50 + 124 * LINE / 935, abs=1e-3),
    }


@pytest.mark.parametrize(
    ("config", "size", "way"),
    [
        ("sis", 0, "short"), ("sis", 2000, "short"), ("sis", 2001, "eager"), ("sis", 262144, "eager"),
        ("sis", 262145, "rendezvous"), ("q", 3911, "short"), ("q", 3912, "eager"), ("q", 262143, "eager"),
        ("q", 262144, "rendezvous"),
    ],
)  # fmt: skip
def test_the_size_decides_the_way(config, size, way):
    result = MPI.run(ping_pong, size, 3, ranks=2, library=f"sunmpi:config={config}")
    for counts in result.statistics:
        assert {each: counts[f"mpi_{each}"] for each in ("short", "eager", "rendezvous")} == {
            "short": 0, "eager": 0, "rendezvous": 0, way: 4,
        }  # fmt: skip


@pytest.mark.parametrize(("size", "way"), [(0, "inline"), (256, "inline"), (257, "eager"), (8192, "eager")])
def test_the_size_decides_the_way_within_a_host(size, way):
    result = MPI.run(ping_pong, size, 3, ranks=2, library="sunmpi", ranks_per_host=2)
    for counts in result.statistics:
        assert counts[f"mpi_{way}_on_host"] == 4
        assert counts["mpi_areas"] == counts["mpi_short"] == 0


def test_connections_are_made_at_the_first_message_and_kept():
    async def main(comm):
        ep, times = conduit.current(), []
        for dest in (2, 2, 3, 3, 4):
            begun = ep.now
            if comm.rank == 0:
                await comm.Send(b"x", dest)
            times.append(ep.now - begun)
        for _ in range((0, 0, 2, 2, 1, 0)[comm.rank]):
            await comm.Recv(bytearray(1), 0)
        return times

    result = MPI.run(main, ranks=6, library="sunmpi", ranks_per_host=2)
    first, second, third, fourth, fifth = result.values[0]
    rsm = us(sunfire.EXPORT_CREATE) + us(sunfire.EXPORT_PUBLISH)
    assert first > 2 * rsm * 1e-6  # the acknowledgements, and the area
    assert second < 2e-6
    assert 1e-4 < third < 0.75 * first  # the area is there: it serves all ranks of its host
    assert fourth < 2e-6
    assert fifth == pytest.approx(first, rel=0.05)
    assert result.statistics[0]["mpi_areas"] == 2


def test_where_the_pool_has_no_room_messages_wait_as_a_rendezvous_does():
    async def main(comm):
        if comm.rank == 0:
            requests = [await comm.Isend(np.full(4096, number, np.uint8), 1, number) for number in range(20)]
            await MPI.Request.Waitall(requests)
            return None
        await conduit.current().compute(1e-2)
        got = np.zeros((20, 4096), np.uint8)
        for number in reversed(range(20)):
            await comm.Recv(got[number], 0, number)
        return (got == np.arange(20)[:, None]).all()

    result = MPI.run(main, ranks=2, library="sunmpi:pool=32768")
    assert result.values[1]
    assert (result.statistics[0]["mpi_eager"], result.statistics[0]["mpi_rendezvous"]) == (8, 12)


def test_a_message_whose_receive_is_there_gets_through_beside_a_pool_full_of_others():
    """Rank 2 wants nothing before rank 3 has its message, which needs blocks of the same pool."""

    async def main(comm):
        big = np.full(100_000, 7, np.uint8)
        if comm.rank == 0:
            held = [await comm.Isend(np.full(4096, 1, np.uint8), 2) for _ in range(30)]
            await comm.Send(big, 3)
            await MPI.Request.Waitall(held)
        elif comm.rank == 3:
            got = np.zeros_like(big)
            await comm.Recv(got, 0)
            await comm.Send(b"", 2, 9)
            return (got == 7).all()
        elif comm.rank == 2:
            await comm.Recv(bytearray(), 3, 9)
            for _ in range(30):
                await comm.Recv(np.zeros(4096, np.uint8), 0)
        return None

    assert MPI.run(main, ranks=4, library="sunmpi:pool=32768", ranks_per_host=2).values[3]


def test_directed_polls_cost_one_look_however_many_connections_there_are():
    async def main(comm):
        ep, data, last = conduit.current(), np.zeros(8, np.uint8), comm.size - 1
        for source in range(1, comm.size):
            if comm.rank == source:
                await comm.Send(data, 0)
            elif comm.rank == 0:
                await comm.Recv(data, source)
        begun = ep.now
        for turn in range(11 if comm.rank in (0, last) else 0):
            if turn == 1:  # the first one makes the connection back
                begun = ep.now
            if comm.rank == 0:
                await comm.Send(data, last)
                await comm.Recv(data, last)
            else:
                await comm.Recv(data, 0)
                await comm.Send(data, 0)
        return (ep.now - begun) / 20 * 1e6

    general, directed = (
        MPI.run(main, ranks=16, ranks_per_host=2, library=f"sunmpi:poll={poll}").values[0]
        for poll in ("general", "directed")
    )
    assert directed == pytest.approx(half(8), abs=0.2)
    assert directed < general - 0.05


@pytest.mark.parametrize("fault", ["ni0.0~700us/300us", "links%1e-3"])
@pytest.mark.parametrize("order", ["strict", "weak"])
def test_nothing_is_lost_or_doubled_where_links_fail(fault, order):
    sizes = [0, 8, 1000, 2000, 3000, 20_000, 100_000] * 2

    async def main(comm):
        if comm.rank == 0:
            for number, size in enumerate(sizes):
                await comm.Send(np.random.default_rng(number).bytes(size), 1)
            return None
        wrong = []
        for number, size in enumerate(sizes):
            got = bytearray(size)
            await comm.Recv(got, 0)
            if got != np.random.default_rng(number).bytes(size):
                wrong.append(number)
        return wrong

    result = MPI.run(main, ranks=2, library=f"sunmpi:fault={fault},order={order}")
    assert result.values[1] == []
    assert result.statistics[0]["mpi_retries"] > 0


@pytest.mark.parametrize("fault", ["none", "ni0.0~700us/300us", "links%1e-3"])
def test_time_that_passes_without_events_changes_nothing(fault):
    """A store may end in the midst of an act of the hardware, in which no time may pass."""
    lossy = "%" in fault  # each message takes many tries

    async def main(comm):
        peer = 1 - comm.rank
        for number, size in enumerate([8, 300, 0, 5000, 24, 25, 20_000, 1] * (1 if lossy else 3)):
            got, count = np.zeros((5, size), np.uint8), 1 + number % 5
            requests = [await comm.Irecv(got[place], peer, place) for place in range(count)]
            requests += [await comm.Isend(np.full(size, number, np.uint8), peer, place) for place in range(count)]
            await MPI.Request.Waitall(requests)
            assert (got[:count] == number).all()
            await comm.Send(bytes(8), peer)
            await comm.Recv(bytearray(8), peer)

    with_events, without = (
        MPI.run(main, ranks=2, library=f"sunmpi:fault={fault},inline={inline}") for inline in ("no", "yes")
    )
    assert without.digest == with_events.digest
    assert without.seconds == with_events.seconds
    assert not lossy or without.statistics[0]["mpi_retries"] > 100


def test_a_rank_that_sends_where_no_path_leads_says_so():
    async def main(comm):
        if comm.rank == 0:
            for _ in range(1000):
                await comm.Send(bytes(5000), 1)
                await comm.Recv(bytearray(1), 1)
        else:
            for _ in range(1000):
                await comm.Recv(bytearray(5000), 0)
                await comm.Send(b"x", 0)

    with pytest.raises(conduit.NetworkError, match="no path from host"):
        MPI.run(main, ranks=2, library="sunmpi:fault=ni1.0@3ms+ni1.1@3ms")


@pytest.mark.parametrize("call", ["Send", "Isend", "Ssend", "Bsend"])
def test_a_job_whose_program_catches_that_no_path_is_left_ends(call):
    async def main(comm):
        if comm.rank == 0:
            await comm.Send(b"x", 1)
        else:
            await comm.Recv(bytearray(1), 0)
        await conduit.current().compute(5e-3)
        if comm.rank == 0:
            MPI.Attach_buffer(bytearray(1000))
            with pytest.raises(conduit.NetworkError, match=r"no path from host 0 to host 1"):
                await getattr(comm, call)(b"y", 1)
            await MPI.Detach_buffer()
        return comm.rank

    result = MPI.run(main, ranks=2, ranks_per_host=1, library="sunmpi:fault=links@3ms")
    assert result.values == [0, 1]
    assert result.statistics[0]["mpi_sends"] == 1


def test_an_exchange_for_whose_send_no_path_is_left_leaves_no_receive_behind():
    async def main(comm):
        if comm.rank == 0:
            await comm.Send(b"x", 1)
        else:
            await comm.Recv(bytearray(1), 0)
        await conduit.current().compute(5e-3)
        got = bytearray(1)
        if comm.rank == 1:
            await conduit.current().compute(5e-3)
            await comm.Send(b"z", 0, 6)
        else:
            with pytest.raises(conduit.NetworkError, match=r"no path from host 0 to host 1"):
                await comm.Sendrecv(b"y", 1, 5, bytearray(1), 1, 6)
            await comm.Recv(got, 1, 6)
        return bytes(got)

    result = MPI.run(main, ranks=2, ranks_per_host=1, library="sunmpi:fault=links@3ms-9ms")
    assert result.values[0] == b"z"


def test_an_exchange_for_whose_send_no_path_is_left_tells_of_the_message_that_it_has_received():
    async def main(comm):
        if comm.rank == 1:
            await comm.Recv(bytearray(1), 0)
            await comm.Send(b"z", 0, 6)
            return None
        await comm.Send(b"x", 1)
        await comm.Probe(1, 6)
        await conduit.current().compute(5e-3)
        got, status = bytearray(1), MPI.Status()
        with pytest.raises(conduit.NetworkError, match=r"no path from host 0 to host 1") as error:
            await comm.Sendrecv(b"y", 1, 5, got, 1, 6, status)
        return bytes(got), status.source, status.tag, status.count, error.value.__notes__

    note = "its receive had the message of rank 1, tag 6, by then, which goes into its buffer: no other receive gets it"
    result = MPI.run(main, ranks=2, ranks_per_host=1, library="sunmpi:fault=links@3ms")
    assert result.values[0] == (b"z", 1, 6, 1, [note])


def test_options_that_cannot_be_are_refused():
    async def main(comm):
        pass

    with pytest.raises(conduit.BadRequest, match="postboxes"):
        MPI.run(main, ranks=2, library="sunmpi:postboxes=70")
    with pytest.raises(conduit.BadRequest, match="pool"):
        MPI.run(main, ranks=2, library="sunmpi:pool=16384")
    with pytest.raises(conduit.BadRequest, match="short"):
        MPI.run(main, ranks=2, library="sunmpi:short=4000")


@pytest.mark.parametrize("size", [0, 24, 25, 80, 81, 2000])
@pytest.mark.parametrize("number", [0, 5, 2**32 - 2])
def test_an_entry_says_what_was_put_into_it(size, number):
    header = PostboxHeader(INLINE, 1, 0, 1 << 30, -1, 2**31 - 1, size, 2**32 - 1, 6)
    data = bytes(range(256)) * 8
    lines = entry(header, data[:size], number)
    assert len(lines) == LINE * count(size)
    cut = [lines[start : start + LINE] for start in range(0, len(lines), LINE)]
    assert postboxes(cut[0], number) == len(cut)
    assert not postboxes(cut[0], number + 1)
    assert not postboxes(bytes(LINE), 0)
    assert all(is_further(line, number + place) for place, line in enumerate(cut) if place)
    found, rest = decode(cut)
    assert found == header
    assert rest[:size] == data[:size]


def test_an_acknowledgement_changes_with_every_use_of_its_line():
    lines = [ack(7 + use * 128, 128, 0) for use in range(255)]
    assert len(set(lines)) == 255
    assert all(line[0] and len(line) == LINE for line in lines)


def test_a_pool_gives_no_block_twice_and_keeps_what_it_must():
    pool = BufferPool(BufferPoolShape(small=2048, large=4096, smalls=2, larges=4))
    assert pool.free_bytes == 20480
    assert pool.allocate([5000, 2000], keep=4096) == [(0, 4), (5,)]
    assert pool.free_bytes == 20480 - 4096 - 2 * 2048
    assert pool.allocate([4096, 4096], keep=8192) is None
    assert pool.free_bytes == 12288
    assert sorted(pool.allocate([4096, 4096, 2048])) == [(1,), (2,), (3,)]
    assert pool.allocate([1]) is None
    pool.free((0, 4))
    assert pool.allocate([1, 4096]) == [(4,), (0,)]


def test_lines_that_came_since_the_last_look_are_told_from_those_in_the_cache():
    layout = SunmpiOptions().layout(1)
    area = PostboxArea(0, BufferPool(layout.pool))
    way, acks = Outward(1, 0, area, layout, keep=False), Memory(layout.acks_bytes)
    way.acks, (blocks,) = acks, area.pool.allocate([4096])
    for kind, data, names in [(INLINE, b"short", ()), (EAGER, b"\0\0", blocks), (INLINE, b"long" * 30, ())]:
        way.place(PostboxHeader(kind, 0, len(names), 0, 0, 0, len(data), 0, 0), data, names)
    assert way.reclaim() == (0, 0, 0)
    acks.write(0, ack(0, 128, FREED) + ack(1, 128, KEPT) + ack(2, 128, FREED))  # of three of the last one the first
    assert way.reclaim() == (2 + 1, 2, 1)  # and the line of the data that are kept, which nobody has written
    acks.write(3 * LINE, ack(3, 128, FREED) + ack(4, 128, FREED))
    acks.write(layout.release_at(blocks[0]), line_of(1 + 1))
    assert way.reclaim() == (3 + 1, 3 + 1, 2)
    assert way.reclaim() == (0, 0, 0)
    assert not way.look_taken()
    acks.write(layout.taken_at, line_of(5))
    assert way.look_taken()
    assert not way.look_taken()


def test_constants_name_their_sources():
    assert HEADER == 32
    for constant in c.CONSTANTS:
        assert constant.source, constant.name
    anchors = {each.name: each.source for each in c.CONSTANTS if each.kind == "anchor"}
    assert anchors.keys() == {"sis.entry", "q.entry"}
    assert "s.t1.lat.on" in anchors["sis.entry"]
    assert "q.t4.on.1" in anchors["q.entry"]
    assert Sunmpi.constants[: len(list(c.CONSTANTS))] == tuple(c.CONSTANTS)


def test_postboxes_of_an_empty_message_that_waits_are_acknowledged_once():
    """Acknowledged again when it is received they would be free, or not, by what they held before."""

    async def main(comm):
        got, nothing = np.zeros(1, int), bytearray()
        if comm.rank == 0:
            await comm.Send(nothing, 1, 9)
        for part in range(2):
            for number in range(100):
                if comm.rank == 0:
                    await comm.Send(np.array([number]), 1, 3)
                else:
                    await comm.Recv(got, 0, 3)
            if comm.rank == 1 and not part:
                await comm.Recv(nothing, 0, 9)
            await comm.Sendrecv(nothing, 1 - comm.rank, 4, nothing, 1 - comm.rank, 4)
        return int(got[0])

    assert MPI.run(main, ranks=2, library="sunmpi:postboxes=71").values[1] == 99
