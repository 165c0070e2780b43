"""Links and interfaces that fail under way: nothing is lost or delivered twice, or NetworkError names the path."""

import contextlib
import itertools
import math
import re
from functools import partial

import pytest
import trio

import conduit
from conduits.sunfire.protocol.connections import Connections

SHORTS, OTHERS = 60, 12


async def traffic(ep):
    """A program: shorts, mediums and longs between all ranks, each answered; every byte and every count is checked."""
    seen, back = [], []

    def data(source, number):
        return bytes((source * 37 + number * 11 + place) % 256 for place in range(number * 977 % 16000))

    def short(token, number):
        seen.append((token.rank, "short", number))
        token.reply_short(answered, number)

    def answered(token, number):
        back.append((token.rank, "short", number))

    def medium(token, payload, number):
        assert bytes(payload) == data(token.rank, number)
        seen.append((token.rank, "medium", number))
        token.reply_medium(returned, payload, number)

    def returned(token, payload, number):
        assert bytes(payload) == data(ep.rank, number)
        back.append((token.rank, "medium", number))

    def long(token, payload, number):
        assert bytes(payload) == data(token.rank, number)
        seen.append((token.rank, "long", number))
        token.reply_long(landed, payload, place(token.rank, number, 1), number)

    def landed(token, payload, number):
        assert bytes(payload) == data(ep.rank, number)
        back.append((token.rank, "long", number))

    def place(rank, number, reply):
        return ((rank * 2 + reply) * OTHERS + number) * 16003 + 5

    await ep.attach(short, answered, medium, returned, long, landed)
    others = [rank for rank in range(ep.size) if rank != ep.rank]
    for number in range(SHORTS):
        for rank in others:
            await ep.request_short(rank, short, number)
            if number < OTHERS:
                await ep.request_medium(rank, medium, data(ep.rank, number), number)
                await ep.request_long(rank, long, data(ep.rank, number), place(ep.rank, number, 0), number)
    expected = sorted(
        (rank, kind, number)
        for rank in others
        for kind, most in (("short", SHORTS), ("medium", OTHERS), ("long", OTHERS))
        for number in range(most)
    )
    await ep.block_until(lambda: len(back) >= len(expected) and len(seen) >= len(expected))
    assert sorted(back) == sorted(seen) == expected
    return len(back)


def run(fault, options="", ranks=3, **settings):
    spec = f"sunfire:{options}{',' if options else ''}fault={fault}"
    return conduit.run(traffic, ranks=ranks, conduit=spec, segment=1 << 21, ranks_per_host=1, **settings)


def total(found, name):
    return sum(counts[name] for counts in found.statistics)


SCHEDULES = [
    # One link after the other, each back before the next but one goes.
    "link0.0.0@3.6ms-4.2ms+link0.1.0@3.9ms-4.8ms+link0.0.1@4.5ms-5.4ms+link0.1.1@5.1ms-6ms",
    "ni0.0@4.1ms",
    "ni0.0@5.6ms-6.2ms+ni0.1@6.6ms-7.3ms+ni1.1@6.7ms-7.2ms",
    "link1.0.0~400us/300us+link1.1.1~500us/300us",
    "links%2e-6",
    "switch0@4ms-5ms+links%1e-6",
]


OPTIONS = ["", "config=q,order=weak,stripes=2", "order=weak,outstanding=2", "stripes=1"]


@pytest.mark.parametrize(
    ("fault", "options"),
    [
        # Each schedule with half of the options, each option with half of the schedules.
        pytest.param(fault, options, marks=[] if (row + column) % 2 == 0 else [pytest.mark.every])
        for row, fault in enumerate(SCHEDULES)
        for column, options in enumerate(OPTIONS)
    ],
)
def test_nothing_is_lost_or_delivered_twice(fault, options):
    found = run(fault, options)
    assert found.values == [2 * (SHORTS + 2 * OTHERS)] * 3
    assert total(found, "sunfire_retries") > 0
    assert total(found, "sunfire_repairs") > 0
    if "@" in fault:
        assert total(found, "sunfire_reroutes") > 0


def test_what_came_twice_is_dropped():
    """A line whose answer alone was spoiled, or which shared its repair with a lost one, comes again."""
    found = run("links%2e-6")
    assert total(found, "sunfire_old_postboxes") > 0


@pytest.mark.parametrize("options", ["", "config=q,order=weak"])
@pytest.mark.parametrize("fault", ["links%1e-5", "ni1.0@3.9ms-4.4ms+ni1.0@4.8ms-5.4ms+links%2e-6"])
def test_in_the_end_no_postbox_and_no_block_is_missing(fault, options):
    """Lost acknowledgements are written again too: after some polls at leisure everything has come back."""

    async def main(ep):
        await traffic(ep)
        for _ in range(20):
            await ep.compute(1e-4)
            await ep.poll()
        transport = ep._port.transports[0]
        for area in transport.areas.values():
            transport.reclaim(area)
            pool = area.pool
            assert (pool.free, pool.withdrawn, pool.reserved) == (pool.shape.blocks, 0, 0)
        assert [peer.unacknowledged for peer in transport.peers.values()] == [0, 0]
        return [(peer.room, peer.credits) for peer in transport.peers.values()]

    spec = f"sunfire:{options}{',' if options else ''}fault={fault}"
    found = conduit.run(main, ranks=3, conduit=spec, segment=1 << 21, ranks_per_host=1)
    assert total(found, "sunfire_repairs") > 0
    assert found.values == [[(256, 8), (256, 8)]] * 3


def test_an_old_postbox_is_dropped_and_acknowledged_again():
    async def main(ep):
        got = []

        def request(token):
            got.append(token.rank)

        await ep.attach(request)
        transport = ep._port.transports[0]
        if ep.rank == 0:
            await ep.request_short(1, request)
            await ep.compute(1e-3)
            await ep.poll()
            peer = transport.peers[1]
            assert peer.pair.read(0, 1) == b"\1"
            peer.pair.write(0, bytes(64))  # as if the acknowledgement had never come
            (store,) = peer.requests.again(0)
            transport.kernel.call(
                transport.kernel.now, lambda: peer.area.remote.mapping.store(*store, lambda when: None)
            )
            await ep.compute(1e-3)
            return peer.pair.read(0, 1)
        for _ in range(40):
            await ep.compute(1e-4)
            await ep.poll()
        return got

    found = conduit.run(main, conduit="sunfire:fault=link7.0.0@5s")
    assert found.values == [b"\1", [0]]
    assert [counts["sunfire_old_postboxes"] for counts in found.statistics] == [0, 1]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_acknowledged_again_does_not_hide_the_next_acknowledgement(seed):
    """Both go to the same line, and without a barrier between them the older one might land last."""
    queue = 256

    async def main(ep):
        got, back = [], []

        def request(token):
            got.append(token.rank)
            token.reply_short(reply)

        def reply(token):
            back.append(token.rank)

        await ep.attach(request, reply)
        if ep.rank:
            await ep.block_until(lambda: len(got) == queue)
            await ep.compute(1e-3)
            await ep.block_until(lambda: len(got) == queue + 1)
            return None
        for turn in range(queue):
            await ep.request_short(1, request)
            await ep.block_until(lambda turn=turn: len(back) > turn)
        transport, peer = ep._port.transports[0], ep._port.transports[0].peers[1]
        again = peer.requests._kept[0]  # as if its acknowledgement had come late
        transport.kernel.call(transport.kernel.now, lambda: peer.area.remote.mapping.store(0, again, lambda when: None))
        await ep.compute(20e-6)
        await ep.request_short(1, request)
        await ep.block_until(lambda: len(back) > queue)
        await ep.compute(1e-3)
        transport.reclaim(peer.area)
        return peer.unacknowledged

    found = conduit.run(main, conduit="sunfire:order=weak,fault=link7.0.0@5s", seed=seed)
    assert found.values[0] == 0
    assert total(found, "sunfire_old_postboxes") == 1


def test_faults_are_the_same_in_every_run():
    fault = "link1.0.0~400us/300us+links%1e-6"
    digests = {run(fault, "order=weak", seed=5).digest, run(fault, "order=weak,inline=no", seed=5).digest}
    assert len(digests) == 1
    assert run(fault, "order=weak", seed=6).digest not in digests


def test_without_a_fault_nothing_is_written_again():
    found = conduit.run(traffic, ranks=3, conduit="sunfire:order=weak", segment=1 << 21)
    assert {total(found, name) for name in ("sunfire_retries", "sunfire_repairs", "sunfire_reroutes")} == {0}


def test_a_schedule_in_which_nothing_happens_changes_nothing_but_the_care():
    plain = conduit.run(traffic, ranks=3, conduit="sunfire", segment=1 << 21)
    may_fail = conduit.run(traffic, ranks=3, conduit="sunfire:fault=link7.0.0@5s", segment=1 << 21)
    assert may_fail.values == plain.values
    assert may_fail.seconds == pytest.approx(plain.seconds, rel=1e-3)


# -- no path is left ------------------------------------------------------------------------------------

CUT = "ni1.0@3ms+ni1.1@3ms"
NO_PATH = re.escape("no path from host 0 to host 1 is left; down: ni1.0, ni1.1")


WAYS = {
    "short": lambda ep, short, loaded: ep.request_short(1, short),
    "medium": lambda ep, short, loaded: ep.request_medium(1, loaded, bytes(9000)),
    "long": lambda ep, short, loaded: ep.request_long(1, loaded, bytes(9000), 0),
}


def sender(way, *, at=None):
    """A program: rank 0 sends to rank 1 in one of WAYS; given `at`, at so many seconds, having connected before."""

    async def main(ep):
        got = []

        def short(token):
            got.append(token.rank)

        def loaded(token, payload):
            got.append(token.rank)

        await ep.attach(short, loaded)
        if ep.rank == 0:
            if at is not None:
                await ep.request_short(1, short)
                await ep.compute(at - ep.now)
            await WAYS[way](ep, short, loaded)
        await ep.block_until(lambda: len(got) == (1 if at is None else 2))

    return main


@pytest.mark.parametrize("way", WAYS)
def test_a_request_to_a_host_without_a_path_raises_at_the_call(way):
    with pytest.raises(conduit.NetworkError, match=NO_PATH):
        conduit.run(sender(way, at=4e-3), conduit=f"sunfire:fault={CUT}")


@pytest.mark.parametrize("way", WAYS)
def test_a_request_under_way_when_the_last_path_goes_is_reported(way):
    """Sent right after the failure, before system software has found out that no path is left."""
    with pytest.raises(conduit.NetworkError, match=NO_PATH):
        conduit.run(sender(way, at=3.05e-3), conduit=f"sunfire:fault={CUT}")


@pytest.mark.parametrize("kind", ["short", "medium", "long"])
def test_a_reply_that_cannot_go_is_reported_by_the_replier(kind):
    """The request gets there before the last path fails; its handler works until after."""

    async def main(ep):
        got = []

        def request(token):
            ep.charge(2e-3)
            if kind == "short":
                token.reply_short(answer)
            elif kind == "medium":
                token.reply_medium(loaded, bytes(5000))
            else:
                token.reply_long(loaded, bytes(5000), 3)

        def answer(token):
            got.append(1)

        def loaded(token, payload):
            got.append(1)

        await ep.attach(request, answer, loaded)
        if ep.rank == 1:
            await ep.request_short(0, request)
        await ep.block_until(lambda: len(got) > 0)

    with pytest.raises(conduit.NetworkError, match=NO_PATH) as caught:
        conduit.run(main, conduit=f"sunfire:fault={CUT}")
    assert "raised by rank 0 at" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("wait", ["poll", "block_until"])
def test_a_first_request_that_cannot_be_acknowledged_is_reported_and_not_lost(wait):
    """It got there before the last path failed; whoever takes it afterwards cannot connect to its sender any more."""

    async def main(ep):
        got = []

        def request(token):
            got.append(token.rank)

        await ep.attach(request)
        if ep.rank == 0:
            await ep.request_short(1, request)
        else:
            await ep.compute(8e-3)
            with contextlib.suppress(conduit.NetworkError):
                await (ep.poll() if wait == "poll" else ep.block_until(lambda: bool(got)))

    match = "no path from host 1 to host 0 is left; down: ni1.0, ni1.1"
    with pytest.raises(conduit.NetworkError, match=match) as caught:
        conduit.run(main, conduit=f"sunfire:fault={CUT}")
    assert "raised by rank 1 at" in "".join(caught.value.__notes__)


def test_every_rank_that_needs_a_path_is_told_which_is_gone():
    async def main(ep):
        def short(token):
            pass

        def loaded(token, payload):
            pass

        await ep.attach(short, loaded)
        await ep.compute(4e-3 - ep.now)
        across, told = (ep.rank + 2) % 4, []
        for send in (
            lambda: ep.request_short(across, short),
            lambda: ep.request_medium(across, loaded, bytes(9000)),
            lambda: ep.request_long(across, loaded, bytes(9000), 0),
        ):
            with pytest.raises(conduit.NetworkError) as caught:
                await send()
            told.append(str(caught.value).partition(": ")[2])
        await ep.request_short(ep.rank ^ 1, short)
        return told

    found = conduit.run(main, ranks=4, ranks_per_host=2, conduit=f"sunfire:fault={CUT}").values
    paths = [f"no path from host {near} to host {1 - near} is left; down: ni1.0, ni1.1" for near in (0, 0, 1, 1)]
    assert found == [[path] * 3 for path in paths]


def test_a_task_that_waits_for_a_slot_is_not_left_waiting():
    async def main(ep):
        def request(token):
            pass

        await ep.attach(request)
        if ep.rank == 0:
            while True:
                await ep.request_short(1, request)
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.NetworkError, match="no path from host"):
        conduit.run(main, conduit=f"sunfire:fault={CUT}")


def test_a_task_that_waits_for_a_slot_is_told_as_soon_as_it_is_known():
    """Nothing of it is under way, and the other rank works for long: system software alone knows."""
    told = []

    async def main(ep):
        def request(token):
            pass

        await ep.attach(request)
        if ep.rank:
            await ep.compute(20e-3)
        else:
            for _ in range(8):
                await ep.request_short(1, request)
            with pytest.raises(conduit.NetworkError, match=NO_PATH):
                await ep.request_short(1, request)
            told.append(ep.now)

    with pytest.raises(conduit.NetworkError, match="no path from host 1 to host 0 is left"):  # for its replies
        conduit.run(main, conduit=f"sunfire:fault={CUT}")
    assert told == [pytest.approx(3.2e-3, abs=1e-6)]


def test_a_program_may_catch_the_error_and_go_on_with_other_hosts():
    async def main(ep):
        got = []

        def request(token):
            got.append(token.rank)

        await ep.attach(request)
        if ep.rank == 0:
            await ep.compute(4e-3 - ep.now)
            for _ in range(3):
                with pytest.raises(conduit.NetworkError, match=NO_PATH):
                    await ep.request_short(1, request)
            await ep.request_short(2, request)
        if ep.rank == 2:
            await ep.block_until(lambda: got == [0])
        return len(got)

    assert conduit.run(main, ranks=3, conduit=f"sunfire:fault={CUT}").values == [0, 0, 1]


@pytest.mark.parametrize("way", WAYS)
def test_links_over_which_nothing_gets_end_the_job_too(way):
    match = "nothing gets from host 0 to host 1: 1000 memory barriers in a row have failed"
    with pytest.raises(conduit.NetworkError, match=match):
        conduit.run(sender(way), conduit="sunfire:fault=links%0.2")


def test_ranks_of_one_host_need_no_path():
    async def main(ep):
        got = []

        def request(token):
            got.append(token.rank)

        await ep.attach(request)
        await ep.compute(4e-3 - ep.now)
        await ep.request_short(ep.rank ^ 1, request)
        await ep.block_until(lambda: bool(got))
        return got

    assert conduit.run(main, ranks=2, ranks_per_host=2, conduit="sunfire:fault=nis@1us").values == [[1], [0]]


def fail_imports(monkeypatch, times=math.inf):
    """Let the first imports of a peer's segment fail, as where the last path has just gone."""
    import_segment, failures = Connections.segment_of, itertools.count(1)

    def segment_of(self, peer):
        if next(failures) <= times:
            raise conduit.NetworkError("no path")
        return import_segment(self, peer)

    monkeypatch.setattr(Connections, "segment_of", segment_of)


def test_a_request_that_cannot_be_begun_lets_the_next_task_go_on(monkeypatch):
    """Two tasks wait for the one request that may be outstanding; the first to get it fails at its import."""
    fail_imports(monkeypatch)

    async def main(ep):
        got = []

        def loaded(token, payload):
            got.append(len(payload))

        await ep.attach(loaded)
        if ep.rank == 0:

            async def fail():
                with pytest.raises(conduit.NetworkError, match="no path"):
                    await ep.request_long(1, loaded, bytes(9000), 0)

            await ep.request_medium(1, loaded, bytes(1))
            async with trio.open_nursery() as nursery:
                for call in (fail, fail, partial(ep.request_medium, 1, loaded, bytes(2))):
                    nursery.start_soon(call)
                    await trio.lowlevel.checkpoint()
        else:
            await ep.block_until(lambda: got == [1, 2])

    conduit.run(main, conduit="sunfire:outstanding=1", segment=9000)


def test_a_request_that_cannot_be_begun_holds_nothing_afterwards(jobs, monkeypatch):
    """The last path goes between the grant of a slot and the first long payload, which imports the peer's segment."""
    fail_imports(monkeypatch, 20)

    async def main(ep):
        got = []

        def loaded(token, payload):
            got.append(len(payload))

        await ep.attach(loaded)
        if ep.rank == 0:
            await ep.request_medium(1, loaded, bytes(1))
            for _ in range(20):
                with pytest.raises(conduit.NetworkError, match="no path"):
                    await ep.request_long(1, loaded, bytes(9000), 0)
            await ep.request_long(1, loaded, bytes(9000), 0)
        else:
            await ep.block_until(lambda: got == [1, 9000])

    found = conduit.run(main, conduit="sunfire", segment=9000)
    assert [counts["sunfire_messages_sent"] for counts in found.statistics] == [2, 2]
    transport = jobs[0].ports[0].transports[0]
    transport.reclaim(transport.areas[1])
    peer, pool = transport.peers[1], transport.areas[1].pool
    assert (peer.credits, peer.room) == (transport.layout.outstanding, transport.layout.postboxes)
    assert (pool.free, pool.reserved) == (pool.shape.blocks, 0)
