"""What the model says, pinned: Table 1, the worked examples of docs/models/startx.md, and the count of events."""

import math
from functools import partial
from itertools import pairwise

import pytest

import conduit
from conduit.sim import Kernel, Waiter, simulate
from conduits.startx import raw
from conduits.startx.driver import HIGH, LOW, POLL_PS, StartXProcess
from conduits.startx.hardware import StartXError
from conduits.startx.machine import StartXMachine, build
from conduits.startx.port import StartX, StartXOptions

PIECE = 4096


@pytest.fixture
def ping_pong(ping_pong):
    """Give what measures round trips, on startx where no spec is named."""
    return partial(ping_pong, spec="startx")


# -- Table 1 -------------------------------------------------------------------------------------------


def test_table_1_is_met_within_one_percent():
    """By construction: every cell, measured on the simulated driver, beside the paper's."""
    (table, _) = StartX.raw_tables(StartXOptions())
    assert [row[0] for row in table.rows] == [*"aaaaa", *"bbbbb", *"ccccc"]
    for *_, measured, paper in table.rows:
        assert measured == pytest.approx(paper, rel=0.01)


@pytest.mark.parametrize(("access", "nbytes", "polled"), [("word", 16, 5.95), ("word", 64, 15.34), ("block", 64, 6.10)])
def test_a_receiver_that_polls_waits_for_the_rest_of_a_poll(access, nbytes, polled):
    """A ping-pong on the driver whose receivers look again and again: what docs/models/startx.md says of Table 1."""
    kernel, over, rounds = Kernel(), Waiter(), 200
    cluster = build(kernel, (0, 1), StartXMachine(access=access))
    ends = [cluster.process(0), cluster.process(1)]
    returned = []

    def send(me):
        kernel.at(kernel.now + ends[me].send(LOW, 1 - me, 7, bytes(nbytes - 8)), look, me)

    def look(me):
        if not ends[me].poll(LOW):
            kernel.at(kernel.now + POLL_PS, look, me)
        else:
            kernel.at(kernel.now + ends[me].receive(LOW, kernel.now)[1], loaded, me)

    def loaded(me):
        if me == 0:
            returned.append(kernel.now)
        if len(returned) == rounds:
            over.wake()
        else:
            send(me)

    async def main():
        look(1)
        send(0)
        await kernel.wait(over)

    simulate(kernel, main)
    assert returned[-1] / 1e6 / rounds / 2 == pytest.approx(polled, abs=0.006)


def test_arranging_a_transfer_takes_8_us():
    """The request of 16 bytes by words, as row a has it, and a grant of 24 that no processor loads."""
    way, grant = 0.561 + 0.150 + 0.562, 0.334 + 3 * 0.133 + 0.627
    for nbytes in (8, 1024, 16384):
        found = raw.rdma(nbytes, PIECE) * 1e6 - nbytes / 60 - way
        assert found == pytest.approx(5.5 + grant + way, abs=0.01) == pytest.approx(8.1, abs=0.05)
    assert 2 * 5.5 - found == pytest.approx(2.9, abs=0.05)


def test_rdma_approaches_60_mb_per_s_over_16_kbyte():
    (_, table) = StartX.raw_tables(StartXOptions())
    rates = {row[0]: row[2] for row in table.rows}
    assert rates[8192] < 57 < rates[16384] < rates[65536] < rates[1 << 20] < 60
    assert rates[1 << 20] == pytest.approx(60, rel=0.001)


def test_packets_in_a_row_go_as_fast_as_the_slower_side():
    """Two full packets: 96 bytes of two lines each, which the receiver loads in 6.766 us."""
    assert raw.one_way("block", 176, PIECE, by_rdma=False) * 1e6 == pytest.approx(
        0.466 + 96 / 150 + 1.273 + 2 * 6.766, abs=0.1
    )


# -- the worked examples -----------------------------------------------------------------------------------


def test_a_short_round_trip(ping_pong):
    """A packet of 16 bytes each way; a poll before the request, and the last look of the one that takes the reply."""
    took = ping_pong("short", 0)
    one_way = 1.2 + 0.4 + 16 / 150 + 1.273 + 3.5 + 1.2
    assert 2 * 1.383 + 2 * one_way == pytest.approx(18.1, abs=0.1)
    assert 2 * 1.383 + 2 * one_way <= took <= 2 * 1.383 + 2 * (one_way + 1.383)


def test_a_look_costs_only_where_it_finds_nothing():
    """One poll takes three messages, so there is a look behind them; two of them make it no longer."""

    def poll(messages):
        async def main(ep):
            def request(token):
                handled.append(ep.now)

            handled = []
            await ep.attach(request)
            if ep.rank:
                for _ in range(messages):
                    await ep.request_short(0, request)
            else:
                await ep.compute(1e-3)
                began = ep.now
                await ep.poll()
                return [round((when - began) * 1e6, 3) for when in (*handled, ep.now)]

        return conduit.run(main, ranks=2, conduit="startx").values[0]

    assert poll(0) == [1.383]
    assert poll(1)[0] == pytest.approx(3.5 + 1.2, abs=1e-3)
    first, second, end = poll(2)
    assert second - first > 3.5 + 1.2  # its bare answer too
    assert end - second == pytest.approx(poll(1)[1] - poll(1)[0], abs=1e-3)
    assert end - second > 1.383


@pytest.mark.parametrize("messages", [9, 10, 11])
def test_a_poll_behind_a_full_one_costs_what_it_finds(messages):
    """A poll takes ten messages at most and then looks no further; the next one looks once."""

    async def main(ep):
        def request(token):
            pass

        await ep.attach(request)
        if ep.rank:
            for _ in range(messages):
                await ep.request_short(0, request)
            return []
        await ep.compute(1e-3)
        times = [ep.now]
        for _ in range(3):
            await ep.poll()
            times.append(ep.now)
        return [round((end - start) * 1e6, 3) for start, end in pairwise(times)]

    first, *others = conduit.run(main, ranks=2, conduit="startx:slots=12,high_queue=2048").values[0]
    one = 3.5 + 1.2 + 1.2 + 0.4  # loaded and dispatched, its bare answer built and stored
    look = 1.383
    assert first == pytest.approx(min(messages, 10) * one + (look if messages < 10 else 0), abs=1e-3)
    assert others == [pytest.approx(one + look if messages > 10 else look, abs=1e-3), look]


def test_words_cost_more_than_lines(ping_pong):
    """A packet of 88 bytes: 11 stores and loads of 8 bytes against 2 lines."""
    lines, words = ping_pong("medium", 64), ping_pong("medium", 64, spec="startx:access=word")
    more = (0.334 + 10 * 0.133 + 0.627 - 0.466) + (0.234 + 10 * 1.383 - 6.766) - 80 / 150
    assert words - lines == pytest.approx(2 * more, abs=3)


def test_a_medium_message_of_1024_bytes(ping_pong):
    """13 packets, which the receiver loads while they come: all but the first are two lines."""
    took = ping_pong("medium", 1024)
    loads = 13 * 6.766
    assert 2 * loads < took < 2 * (loads + 15)


def test_a_long_message_of_1_mb_one_way_is_its_rdma_and_a_constant(ping_pong):
    """The copies on both sides hide behind the transfer: the first piece's in front, the last one's behind."""
    took = ping_pong("long", 1 << 20, reply_bytes=0, turns=2)
    transfer = 256 * math.ceil(PIECE * 1e6 / 60) / 1e6
    copies = 2 * (0.4 + PIECE / 161.2)
    assert transfer + copies < took < transfer + copies + 50


def test_a_long_round_trip_of_64_kbyte(ping_pong):
    """The sum of docs/models/startx.md: the first piece's copy in front, 16 pieces, the last one's copy behind."""
    copy = 0.4 + PIECE / 161.2
    one_way = 1.2 + 0.4 + 0.5 + copy + 0.133 + 16 * PIECE / 60 + 1.273 + copy + 1.2
    assert ping_pong("long", 65536) == pytest.approx(1.383 + 2 * one_way, abs=0.1)


@pytest.mark.parametrize(
    ("kb", "quarter", "fourfold"), [(2, -18, 0), (4, -29, 0), (8, -19, 27), (16, -11, 47), (64, -3, 13)]
)
def test_what_the_grain_of_the_overlap_changes(ping_pong, kb, quarter, fourfold):
    """Percent of a long round trip: what docs/models/startx.md says of `piece`."""
    times = [ping_pong("long", kb << 10, spec=f"startx:piece={piece}") for piece in (PIECE, PIECE // 4, PIECE * 4)]
    usual, *others = times
    assert [100 * (each / usual - 1) for each in others] == pytest.approx([quarter, fourfold], abs=0.6)


def test_where_rdma_begins(ping_pong):
    below, over = ping_pong("long", 1024), ping_pong("long", 1025)
    assert over < below  # loading 14 packets over PCI takes longer than an appointment
    assert ping_pong("long", 1024, spec="startx:crossover=512") == pytest.approx(over, rel=0.02)


def test_a_transfer_over_the_buffer_goes_in_parts(ping_pong):
    whole = ping_pong("long", 65536, reply_bytes=0)
    parts = ping_pong("long", 65536, reply_bytes=0, spec="startx:buffer=16384")
    appointment = 0.4 + 24 / 150 + 1.273  # at least a grant for each further part
    assert parts > whole + 3 * appointment


# -- SMPs ----------------------------------------------------------------------------------------------------


def test_a_shared_niu_costs_its_lock(ping_pong):
    """Ranks 0 and 2 on two hosts with two ranks each, against ranks alone: a lock to send and one to load."""
    alone = ping_pong("short", 0)
    shared = ping_pong("short", 0, ranks=4, peer=2, ranks_per_host=2)
    locks = 2 * (0.6 + 0.6 + 0.5)
    assert alone + locks - 3 <= shared <= alone + locks + 2 * 2 * 1.5 + 2


def test_processes_of_a_host_wait_for_one_another():
    """Eight ranks of a host send at once; the lock and the one link make each slower than alone."""

    async def main(ep):
        def take(token, payload):
            pass

        await ep.attach(take)
        begun = ep.now
        if ep.host == 0 and ep.rank < busy:
            for _ in range(20):
                await ep.request_medium(ep.rank + 8, take, bytes(500))
        return (ep.now - begun) * 1e6

    busy = 1
    alone = max(conduit.run(main, ranks=16, conduit="startx", ranks_per_host=8).values)
    busy = 8
    together = max(conduit.run(main, ranks=16, conduit="startx", ranks_per_host=8).values)
    assert together > 3 * alone


def test_the_crossover_of_shared_memory_is_its_own(ping_pong):
    """Through the slot the receiver copies once more: for four turns of the requester's loop."""
    size = round((4 * (1.383 + 0.04) - 0.4) * 161.2)
    through = ping_pong("long", size, ranks=2, ranks_per_host=2)
    straight = ping_pong("long", size, ranks=2, ranks_per_host=2, spec=f"startx:crossover_shared={size - 1}")
    assert through - straight == pytest.approx(2 * (0.4 + size / 161.2), abs=0.1)
    assert ping_pong("long", size, ranks=2, ranks_per_host=2, spec="startx:crossover=0") == pytest.approx(through)


def test_a_pentium_ii_copies_at_another_rate(ping_pong):
    """161.2 and 180 MB/s; through the slot in shared memory each payload is copied in and out."""
    sun = ping_pong("long", 1000, ranks=2, ranks_per_host=2)
    intel = ping_pong("long", 1000, ranks=2, ranks_per_host=2, spec="startx:host=pentium2")
    assert sun - intel > 4 * (1000 / 161.2 - 1000 / 180)


# -- the conflict of RDMA and high priority ---------------------------------------------------------------


async def long_and_short(ep):
    """Rank 1 sends a long payload to rank 0, and meanwhile answers rank 2."""
    got = []

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        got.append(ep.now)

    def store(token, payload):
        got.append(ep.now)

    await ep.attach(ask, answer, store)
    if ep.rank == 1:
        await ep.request_long(0, store, bytes(1 << 20), 0)
    if ep.rank == 2:
        await ep.compute(10_000e-6)
        for turn in range(5):
            await ep.request_short(1, ask)
            await ep.block_until(lambda turn=turn: len(got) > turn)
    if ep.rank != 2:
        await ep.block_until(lambda: ep.rank == 1 or got)
    if ep.rank == 1:
        await ep.compute(1e-6)
    return got


def test_the_protocol_holds_the_engine_for_a_reply():
    """The reply waits for the end of a piece, 68 us at most, and the transfer goes on after it."""
    result = conduit.run(long_and_short, ranks=3, conduit="startx", segment=1 << 20)
    replies = result.values[2]
    assert all(later - before < (2 * 68 + 40) * 1e-6 for before, later in pairwise(replies))
    assert max(replies) < result.values[0][0]  # while the payload was on its way


def test_a_protocol_that_ignores_the_conflict_is_told_by_the_hardware(monkeypatch):
    monkeypatch.setattr(StartXProcess, "hold", lambda self, then: then())
    monkeypatch.setattr(StartXProcess, "release", lambda self, when: None)
    with pytest.raises(
        StartXError, match=r"\Ahost 1: RDMA conflict: a message of high priority was stored while the eng"
    ):
        conduit.run(long_and_short, ranks=3, conduit="startx", segment=1 << 20)


def test_a_long_payload_does_not_keep_the_lock_from_the_neighbours():
    """Copying 256 KB takes 1.7 ms; the lock is for the store of the packet before that."""

    async def main(ep):
        got, trips = [], []

        def ask(token):
            token.reply_short(answer)

        def answer(token):
            got.append(token.rank)

        def land(token, payload):
            pass

        await ep.attach(ask, answer, land)
        if ep.rank == 0:
            await ep.request_long(2, land, bytes(1 << 18), 0)
        if ep.rank == 1:
            for turn in range(60):
                begun = ep.now
                await ep.request_short(3, ask)
                await ep.block_until(lambda turn=turn: len(got) > turn)
                trips.append(ep.now - begun)
        return trips

    trips = conduit.run(main, ranks=4, ranks_per_host=2, conduit="startx", segment=1 << 18).values[1]
    assert max(trips) < 3 * min(trips)


# -- events -------------------------------------------------------------------------------------------------


def test_a_round_trip_of_64_bytes_takes_seven_events(jobs, ping_pong):
    """Each way: the store, the arrival, the look that finds it; and the end of the poll before the request."""
    ping_pong("medium", 64, turns=10)
    ping_pong("medium", 64, turns=110)
    few, many = (job.kernel.events for job in jobs)
    assert many - few <= 100 * 7


@pytest.mark.parametrize("category", ["request", "reply"])
def test_an_rdma_of_1_mb_takes_two_events_for_each_piece(jobs, category):
    """One when a piece has been packetized, one when it has landed and is copied; nothing else grows."""
    nbytes = 1 << 20

    async def main(ep, nbytes):
        got = []

        def take(token, payload):
            got.append(len(payload))
            if category == "reply" and token.is_request:
                token.reply_long(take, bytes(nbytes), 0)

        await ep.attach(take)
        if ep.rank == 0:
            await ep.request_long(1, take, bytes(nbytes if category == "request" else 8), 0)
        await ep.block_until(lambda: got or (category == "request" and ep.rank == 0))

    for size in (nbytes, 2 * PIECE):
        conduit.run(main, size, ranks=2, conduit="startx", segment=nbytes)
    large, small = (job.kernel.events for job in jobs)
    assert large - small == 2 * (256 - 2)
    assert small < 60


def test_nothing_of_high_priority_ever_waits_for_a_place(jobs):
    """What a requester sets aside is enough: everybody floods rank 0's host and is answered by the largest replies."""

    async def main(ep):
        got = []

        def ask(token, payload):
            token.reply_medium(answer, bytes(1024), *range(16))

        def answer(token, payload, *args):
            got.append(1)

        await ep.attach(ask, answer)
        for _ in range(6):
            for dest in range(ep.size):
                if ep.host_of(dest) != ep.host:
                    await ep.request_medium(dest, ask, bytes(600))
        if ep.rank < 8:
            await ep.compute(2e-3)
        await ep.block_until(lambda: len(got) == 6 * 8)

    conduit.run(main, ranks=16, conduit="startx", ranks_per_host=8)
    (job,) = jobs
    for host in range(2):
        found = job.cluster.fabric.niu(host).statistics(HIGH)
        assert found.held == 0
        assert 0 < found.most_received <= 512
