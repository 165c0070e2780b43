"""The conduit's own rules: areas, pairs, pools, acknowledgements, and what it costs to simulate."""

from collections import Counter

import pytest
import trio

import conduit
from conduits.sunfire import Sunfire
from conduits.sunfire.port import SunfireOptions, layout_of
from conduits.sunfire.protocol import LIBRARIES

MEDIUM = 16384


def pattern(seed, nbytes):
    return bytes((seed * 31 + place * 7 + place // 251) % 256 for place in range(nbytes))


def exchange(sizes, *, category="medium"):
    """A program: each rank sends payloads of these sizes to all others, which send them back; all are checked."""

    async def main(ep):
        back = []

        def request(token, payload, number, seed):
            assert bytes(payload) == pattern(seed, len(payload))
            if category == "medium":
                token.reply_medium(answer, payload, number, seed)
            else:
                token.reply_long(answer, bytes(payload), place(token.rank, number), number, seed)

        def answer(token, payload, number, seed):
            assert bytes(payload) == pattern(seed, len(payload))
            assert len(payload) == sizes[number % len(sizes)]
            back.append((token.rank, number))

        def place(rank, number):  # every message has its own place, at no line's beginning
            return (rank * 2 * len(sizes) + number) * (max(sizes) + 3) + 1

        await ep.attach(request, answer)
        others = [rank for rank in range(ep.size) if rank != ep.rank]
        for number in range(len(sizes)):
            for rank in others:
                data, seed = pattern(ep.rank + number, sizes[number]), ep.rank + number
                if category == "medium":
                    await ep.request_medium(rank, request, data, number, seed)
                else:
                    at = place(ep.rank, number + len(sizes))
                    await ep.request_long(rank, request, data, at, number, seed)
        await ep.block_until(lambda: len(back) == len(sizes) * len(others))
        assert sorted(back) == sorted((rank, number) for rank in others for number in range(len(sizes)))
        return len(back)

    return main


def sizes_of(config):
    library = LIBRARIES[config]
    edges = (40, 56, library.short_limit, library.small, library.large, 2 * library.large, MEDIUM - 63)
    return sorted({size for edge in edges for size in (edge - 1, edge, edge + 1)} | {0, 1, MEDIUM})


@pytest.mark.parametrize("category", ["medium", "long"])
@pytest.mark.parametrize(
    "spec",
    [
        "config=sis",
        "config=q,order=weak",
        "config=sis,order=weak,stripes=1",
        "config=q,nis=1,wiring=direct,order=weak",  # two links for four stripes
        "config=sis,nis=8",
    ],
)
def test_every_size_at_which_the_way_changes_gets_there(spec, category):
    sizes = sizes_of(spec[7:].partition(",")[0])
    found = conduit.run(exchange(sizes, category=category), ranks=2, conduit=f"sunfire:{spec}", segment=1 << 21)
    assert found.values == [len(sizes)] * 2


async def all_to_all(ep):
    """A program: a short request of each rank to each other rank."""
    got = []

    def request(token):
        got.append(token.rank)

    await ep.attach(request)
    for step in range(1, ep.size):
        await ep.request_short((ep.rank + step) % ep.size, request)
    await ep.block_until(lambda: len(got) == ep.size - 1)


def test_areas_are_counted_by_process_and_destination_host(jobs):
    """32 processes on 4 hosts, each of which talks to all: 3 areas each, not 24; pairs are counted apart."""
    found = conduit.run(all_to_all, ranks=32, ranks_per_host=8, segment=65536, conduit="sunfire")
    (job,) = jobs
    services = job._config.services.values()
    assert [len(service.areas) for service in services] == [24] * 4
    assert {counts["sunfire_areas"] for counts in found.statistics} == {3}
    # A queue for requests from each rank of another host, and one for its replies.
    assert {counts["sunfire_connections"] for counts in found.statistics} == {2 * 24}
    layout = job._config.layout
    assert {service.areas[rank].nbytes for service in services for rank in service.areas} == {layout.area_bytes}
    # Beside each rank's own segment: an area for each process and other host, a pair for each two processes.
    own = layout.segment_bytes(65536 + Sunfire.auxiliary)
    sizes = [segment.nbytes for segment in job.cluster.directory._published.values()]
    assert Counter(sizes) == {own: 32, layout.area_bytes: 32 * 3, layout.pair_bytes: 32 * 24}
    # The hosts' tables let in nobody but the one that writes there; a segment is for all.
    for segment in job.cluster.directory._published.values():
        writers = [host for host in range(4) if segment.permission(host)]
        assert len(writers) == (4 if segment.nbytes == own else 1)
        assert segment.nbytes == layout.segment_bytes(65536) or writers != [segment.host]
    # One pool serves all eight receivers; only the queues grow with them.
    assert layout.area_bytes == 8 * 256 * 64 + layout.pool.nbytes


def test_nothing_is_made_for_ranks_that_are_not_talked_to(jobs):
    async def main(ep):
        await ep.attach()

    found = conduit.run(main, ranks=16, ranks_per_host=2, conduit="sunfire")
    (job,) = jobs
    assert not any(service.areas for service in job._config.services.values())
    assert {counts["sunfire_connections"] for counts in found.statistics} == {0}
    assert all(not port.transports[0].peers for port in job.ports)


def test_the_first_message_pays_for_the_connection():
    async def main(ep):
        got = []

        def request(token):
            token.reply_short(reply)

        def reply(token):
            got.append(ep.now)

        await ep.attach(request, reply)
        times = []
        if ep.rank == 0:
            for turn in range(3):
                began = ep.now
                await ep.request_short(1, request)
                await ep.block_until(lambda turn=turn: len(got) > turn)
                times.append(ep.now - began)
        return times

    first, second, third = conduit.run(main, conduit="sunfire").values[0]
    # Create and publish on both sides, connect and map on both sides, at the prices of Table III.
    assert first - second > 2 * (103.61 + 119.36 + 173.45 + 13.56) * 1e-6
    assert second < 20e-6
    assert third == pytest.approx(second, rel=0.05)


@pytest.mark.parametrize("spec", ["sunfire", "sunfire:config=q", "sunfire:order=weak"])
def test_a_pool_serves_all_receivers_of_its_host_and_the_sender_waits_for_blocks(spec, jobs):
    """More than fits: 3 receivers x 8 outstanding x 16 KB against 256 KB of blocks."""

    async def main(ep):
        got = []

        def request(token, payload, number):
            assert bytes(payload) == pattern(number, MEDIUM)
            got.append(number)

        await ep.attach(request)
        if ep.rank == 0:
            for number in range(30):
                await ep.request_medium(3 + number % 3, request, pattern(number, MEDIUM), number)
        if ep.rank >= 3:
            await ep.compute(5e-3)
            await ep.block_until(lambda: len(got) == 10)
        return got

    found = conduit.run(main, ranks=6, ranks_per_host=3, conduit=spec)
    (job,) = jobs
    assert found.values[3:] == [[number for number in range(30) if number % 3 == turn] for turn in range(3)]
    transport = job.ports[0].transports[0]
    transport.reclaim(transport.areas[1])
    pool = transport.areas[1].pool
    assert (pool.free, pool.withdrawn, pool.reserved) == (pool.shape.blocks, 0, 0)
    assert transport.slots_in_use() == []


def test_what_a_request_gives_back_serves_the_next_task_that_waits():
    """Seven messages leave 4 of 256 postboxes.  The first acknowledgement has room for one largest message of 38."""

    async def main(ep):
        got = []

        def slow(token, payload):
            ep.charge(1e-3)

        def quick(token):
            got.append(token.rank)

        await ep.attach(slow, quick)
        if ep.rank:
            await ep.compute(2e-3)
            await ep.block_until(lambda: len(got) == 2)
            return []
        for _ in range(7):
            await ep.request_medium(1, slow, bytes(2000))
        sent = []

        async def send():
            await ep.request_short(1, quick)
            sent.append(ep.now)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            nursery.start_soon(send)
        return sent

    first, second = conduit.run(main, conduit="sunfire:outstanding=16").values[0]
    assert first > 2e-3  # it has waited
    assert second - first < 2e-6


def test_a_stuck_job_tells_what_is_in_use():
    async def main(ep):
        def request(token, payload):
            pass

        await ep.attach(request)
        if ep.rank == 0:
            for _ in range(20):
                await ep.request_medium(1, request, bytes(MEDIUM))
        else:
            await trio.sleep_forever()

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, conduit="sunfire")
    text = str(caught.value)
    assert "8 of 8 requests to rank 1 are without their reply" in text
    assert "32 of 80 blocks of the area on host 1" in text
    assert "8 messages" in text


@pytest.mark.parametrize("outstanding", [1, 3])
@pytest.mark.parametrize("fault", ["none", "link0.1.0@1s"])
def test_many_more_messages_than_postboxes_get_through(outstanding, fault, jobs):
    async def main(ep):
        got, back = [], []

        def request(token, number):
            got.append(number)
            token.reply_short(reply, number)

        def reply(token, number):
            back.append(number)

        await ep.attach(request, reply)
        if ep.rank == 0:
            for number in range(700):
                await ep.request_short(1, request, number)
            await ep.block_until(lambda: len(back) == 700)
        else:
            await ep.block_until(lambda: len(got) == 700)
        return got or back

    found = conduit.run(main, conduit=f"sunfire:outstanding={outstanding},fault={fault}")
    (job,) = jobs
    assert found.values == [list(range(700))] * 2
    # Of replies only those are kept that the requester may not have taken, and none where nothing is written again.
    answered = job.ports[1].transports[0].peers[0].answered
    assert answered is None if fault == "none" else len(answered) == outstanding


def test_a_general_poll_costs_a_look_at_each_connection_and_a_directed_one_does_not():
    async def main(ep):
        got = []

        def request(token):
            got.append(token.rank)

        await ep.attach(request)
        if ep.rank:
            await ep.request_short(0, request)
        else:
            await ep.block_until(lambda: len(got) == ep.size - 1)
            await ep.compute(1e-3)
            began = ep.now
            await ep.poll()
            return ep.now - began

    def cost(poll, ranks):
        return conduit.run(main, ranks=ranks, ranks_per_host=1, conduit=f"sunfire:poll={poll}").values[0]

    for ranks in (2, 5, 8):
        assert cost("general", ranks) == pytest.approx((30 + 20 * (ranks - 1)) * 1e-9)
        assert cost("directed", ranks) == pytest.approx(50e-9)


def test_a_short_round_trip_takes_at_most_8_events(events_of_a_round_trip):
    assert 0 < events_of_a_round_trip("sunfire") <= 8


def test_idle_connections_cost_no_events(events_of_a_round_trip):
    """With connections to 7 more hosts a round trip takes as many events as with one."""
    assert 0 < events_of_a_round_trip("sunfire", first=range(1, 8), ranks=8) <= 8


@pytest.mark.parametrize("config", ["sis", "q"])
def test_regions_do_not_overlap(config):
    layout = layout_of(SunfireOptions(config=config), 24)
    assert layout.pool_at == 24 * layout.queue_bytes
    assert layout.block_at(layout.pool.blocks - 1) + layout.pool.small == layout.pool_at + layout.pool.nbytes
    assert layout.area_bytes >= layout.pool_at + layout.pool.nbytes
    assert layout.replies_at == layout.postboxes * 64
    assert layout.reply_block_at(0) == layout.replies_at + layout.reply_postboxes * 64
    assert layout.pair_bytes >= layout.reply_block_at(layout.outstanding - 1) + layout.max_medium
    assert layout.area_bytes % 8192 == layout.pair_bytes % 8192 == 0
    # The largest message fits its queue, and so do as many of the largest reply as may be outstanding.
    assert layout.largest <= layout.postboxes
    assert layout.reply_postboxes == layout.outstanding * layout.largest


def test_a_short_round_trip_is_at_most_half_as_long_again_in_bytecodes_as_on_sci(round_trips, bytecodes):
    """Off-node; counted, since a time would depend on what else the computer does."""

    def of(spec, turns):
        return bytecodes(round_trips, turns, conduit=spec, ranks_per_host=1)

    of("sci", 1), of("sunfire", 1)  # what is made once
    sci, sunfire = (of(spec, 30) - of(spec, 10) for spec in ("sci", "sunfire"))
    assert 0 < sunfire < 1.5 * sci


def test_a_long_reply_lands_before_what_its_receiver_does_next_is_over():
    async def main(ep):
        seen = []

        def answer(token, payload):
            seen.append(ep.now)

        def ask(token):
            token.reply_medium(answer, bytes(400))

        def busy(token):
            ep.charge(1e-3)
            seen.append(ep.now)

        def question(token):
            token.reply_short(busy)

        await ep.attach(answer, ask, busy, question)
        if ep.rank == 0:
            await ep.request_short(1, ask)
        else:
            await ep.request_short(0, question)
            await ep.compute(0.01)  # then one pass replies and finds the reply
        await ep.block_until(lambda: seen)
        return seen

    spec = "sunfire:piece=64"
    driven, parked = (
        conduit.run(main, conduit=f"{spec},inline={inline}", ranks_per_host=1) for inline in ("yes", "no")
    )
    assert driven.values == parked.values
    assert driven.digest == parked.digest is not None
    (answered,), (replied,) = driven.values
    assert answered < replied
