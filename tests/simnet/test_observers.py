"""What observers hear adds up, and nobody else notices that they are there."""

import gc
import itertools
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.contract import REQUEST, Category, Identity, JobSetup, Message
from conduit.core.observer import CpuListener, LandingListener, LinkListener, MessageListener, WaitListener
from conduit.errors import BadRequest
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.registry import parse_spec
from conduit.sim.link import Link, Route
from conduit.simnet.observed import Landings
from conduits.loggp.port import LoggpTransport

NETWORKS = ["loggp", "origin", "sci", "sunfire", "startx"]
KINDS = [CpuListener, LinkListener, MessageListener, LandingListener, WaitListener]
SIZES = [1, 7, 40, 100, 513, 2047, 2048, 2049, 4099, 20_000]


class Recorder:
    """Keeps all that it is told, by the name of the call."""

    def __init__(self):
        self.heard = defaultdict(list)

    def __getattribute__(self, name):
        if name in {call for kind in KINDS for call in vars(kind) if not call.startswith("_")}:
            return lambda *what: self.heard[name].append(what)
        return super().__getattribute__(name)


def recorder(*kinds):
    return type("Recorder", (Recorder, *kinds), {})()


def job(spec, main, *observers, ranks=4, ranks_per_host=2, **settings):
    parsed = parse_spec(spec)
    hosts = parsed.cls.placement(parsed.options, ranks, ranks_per_host)
    setup = JobSetup(ranks=ranks, hosts=hosts, segment=1 << 20, seed=0)
    return SimulatedJob(main, (), parsed, setup, observers=observers, **settings)


async def everything(ep):
    """A program: all categories to all ranks, itself included, with and without replies; works, waits and charges."""
    got = Counter()
    sizes = [size for size in SIZES if size <= min(ep.limits.max_long_request, ep.limits.max_long_reply)]

    def short(token, number):
        got["asked"] += 1
        if number % 2:
            ep.charge(1e-7)
            token.reply_short(answer, number)

    def medium(token, payload, number):
        got["asked"] += 1
        token.reply_medium(answer_payload, bytes(payload), number)

    def long(token, payload, number):
        got["asked"] += 1
        token.reply_long(answer_payload, bytes(payload), 500_000 + token.rank * 50_000 + 3, number)

    def answer(token, number):
        got["answered"] += 1

    def answer_payload(token, payload, number):
        got["answered"] += 1

    await ep.attach(short, medium, long, answer, answer_payload)
    answers = 0
    for step in range(ep.size):
        dest = (ep.rank + step) % ep.size
        for number in range(4):
            await ep.request_short(dest, short, number)
            answers += number % 2
        for number, size in enumerate(sizes):
            await ep.request_medium(dest, medium, bytes(min(size, ep.limits.max_medium)), number)
            await ep.request_long(dest, long, bytes([number]) * size, 100_000 + ep.rank * 50_000 + number, number)
            answers += 2
        await ep.compute(3e-6)
    await ep.block_until(lambda: got["answered"] == answers)
    await ep.block_until(lambda: got["asked"] == ep.size * (4 + 2 * len(sizes)))
    return got["asked"], got["answered"], ep.now


@pytest.mark.parametrize("kinds", [(kind,) for kind in KINDS] + [tuple(KINDS)])
@pytest.mark.parametrize("network", NETWORKS)
def test_nobody_notices_observers(network, kinds):
    plain = job(network, everything).run()
    observer = recorder(*kinds)
    observed = job(network, everything, observer).run()
    assert observed.digest == plain.digest
    assert observed.values == plain.values
    assert observed.seconds == plain.seconds
    assert observed.statistics == plain.statistics
    calls = {call for kind in kinds for call in vars(kind) if not call.startswith("_")}
    assert set(observer.heard) == calls - ({"carried"} if network == "loggp" else set())


@pytest.mark.parametrize("network", NETWORKS)
def test_time_is_spent_once(network):
    observer = recorder(CpuListener)
    found = job(network, everything, observer)
    found.run()
    for rank in range(4):
        spans = [span[1:] for span in observer.heard["spent"] if span[0] == rank]
        assert all(begin < end for begin, end, _ in spans)
        assert all(end <= begin for (_, end, _), (begin, _, _) in itertools.pairwise(spans))
        # This program never sleeps: from its start to its end a rank works or polls.
        assert spans[0][0] == 0
        assert sum(end - begin for begin, end, _ in spans) == spans[-1][1]
        totals = Counter()
        for begin, end, why in spans:
            totals[why] += end - begin
        assert set(totals) <= {"start", "compute", "polling", "waiting", "send", "receive", "copy", "handler", "reply"}
        assert totals["compute"] == 4 * 3_000_000
        own = sum(found._ranks[0]._port.conduit.host_model.copy_ticks(size) for size in SIZES)
        assert totals["handler"] == 2 * 4 * 100_000  # what handlers charge
        assert totals["copy"] >= 2 * own  # what a rank copies for itself
        assert spans[-1][1] <= found._ranks[rank]._port.ticks()


@pytest.mark.parametrize("network", NETWORKS)
def test_each_message_has_one_life(network):
    observer = recorder(MessageListener)
    job(network, everything, observer).run()
    sent = {message: (begin, end) for message, begin, end, _, _ in observer.heard["sent"]}
    noticed = dict(observer.heard["noticed"])
    handled = {message: (begin, end, name) for message, begin, end, name in observer.heard["handled"]}
    assert len(sent) == len(observer.heard["sent"])
    assert len(noticed) == len(observer.heard["noticed"])
    assert len(handled) == len(observer.heard["handled"])
    assert set(sent) == set(handled) <= set(noticed)
    requests = [message for message in sent if not message.reply]
    assert len(requests) == 4 * 4 * (4 + 2 * len(SIZES))
    for message in requests:
        assert sent[message][0] < noticed[message] <= handled[message][0] <= handled[message][1]
        back = message._replace(reply=True)
        if message.source != message.dest:
            # If only to free the slot, for which origin has a word of its own, which is no message.
            assert back in noticed or (network == "origin" and back not in sent)
        assert (back in sent) == (handled[message][2] != "short" or back in handled)
        if back in sent:
            assert handled[message][1] == sent[back][0] <= noticed[back] <= handled[back][0]
            assert (sent[back][0] < sent[back][1]) == (message.source != message.dest)
            assert handled[back][2].startswith("answer")


@pytest.mark.parametrize("network", NETWORKS)
def test_each_byte_lands_once(network):
    async def main(ep):
        got = []

        def request(token, payload, number):
            got.append(number)
            token.reply_long(reply, bytes(payload), number * 30_000 + 5)

        def reply(token, payload):
            got.append(-1)

        await ep.attach(request, reply)
        if ep.rank == 0:
            for dest in range(1, ep.size):
                for number, size in enumerate(SIZES):
                    await ep.request_long(dest, request, bytes(size), number * 30_000 + number, number)
                    await ep.block_until(lambda: len(got) and got.pop() == -1)

    observer = recorder(LandingListener)
    job(network, main, observer, ranks=3).run()
    landed = {rank: Counter() for rank in range(3)}
    for rank, when, offset, nbytes, _ in observer.heard["landed"]:
        assert when > 0
        landed[rank].update(range(offset, offset + nbytes))
    for dest in (1, 2):
        expected = {
            place for number, size in enumerate(SIZES) for place in range(number * 30_001, number * 30_001 + size)
        }
        assert set(landed[dest]) == expected
        assert set(landed[dest].values()) == {1}
    expected = {place for n, size in enumerate(SIZES) for place in range(n * 30_000 + 5, n * 30_000 + 5 + size)}
    assert set(landed[0]) == expected
    assert set(landed[0].values()) == {2}


@pytest.mark.parametrize("network", [*NETWORKS, "sci:dynamic_mapping=yes", "sci:order=weak"])
def test_bytes_that_land_say_of_which_message_they_are(network):
    """All ranks write to all at once, and in replies several ranks the same bytes to one place."""
    observer, only_landings = recorder(LandingListener, MessageListener), recorder(LandingListener)
    job(network, everything, observer).run()
    longs = {message: nbytes for message, _, _, category, nbytes in observer.heard["sent"] if category >= Category.LONG}
    assert len(longs) == 2 * 4 * 4 * len(SIZES)
    landed = Counter()
    for rank, _, _, nbytes, origin in observer.heard["landed"]:
        assert rank == (origin.source if origin.reply else origin.dest)
        landed[origin] += nbytes
    assert landed == longs
    job(network, everything, only_landings).run()
    assert only_landings.heard["landed"] == observer.heard["landed"]


@pytest.mark.parametrize("size", [1, 3000, 16_384])
@pytest.mark.parametrize("network", NETWORKS)
def test_of_equal_bytes_for_one_place_the_sender_is_told_or_nobody(network, size):
    async def main(ep):
        got = []

        def request(token, payload):
            got.append(token.rank)

        await ep.attach(request)
        if ep.rank:
            await ep.request_long(0, request, b"x" * size, 64)
        else:
            await ep.block_until(lambda: len(got) == 3)

    observer = recorder(LandingListener)
    job(network, main, observer).run()
    origins = Counter()
    for rank, _, _, nbytes, origin in observer.heard["landed"]:
        assert rank == 0
        origins[origin.source if isinstance(origin, Identity) else origin] += nbytes
    anonymous = origins.pop(None, 0)
    assert sum(origins.values()) + anonymous == 3 * size
    assert set(origins) <= {1, 2, 3}
    assert all(count <= size for count in origins.values())
    if network in ("loggp", "startx") or size == 1:
        assert not anonymous


def test_what_is_no_messages_has_no_origin():
    heard = []
    landings = Landings(3, lambda *what: heard.append(what))
    landings.land(7, 100, b"abc", -1)
    landings.land(8, 100, b"abc", 2)
    assert heard == [(3, 7, 100, 3, None), (3, 8, 100, 3, 2)]


@given(
    longs=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 8), st.binary(min_size=1, max_size=6)), min_size=1, max_size=6
    ),
    data=st.data(),
)
def test_the_origin_is_never_another_message_than_could_have_written(longs, data):
    """Whoever wrote is named, as message or as rank, or nobody: never somebody else whose bytes differ."""
    heard = []
    landings = Landings(9, lambda *what: heard.append(what[-1]))
    for number, (source, offset, payload) in enumerate(longs):
        message = Message(REQUEST | Category.LONG << 9, payload=payload, offset=offset, nbytes=len(payload))
        message.identity = Identity(source, 9, number, reply=False)
        landings.sent(source, message)
    number = data.draw(st.integers(0, len(longs) - 1))
    source, offset, payload = longs[number]
    start = data.draw(st.integers(0, len(payload) - 1))
    end = data.draw(st.integers(start + 1, len(payload)))
    named = data.draw(st.sampled_from([source, -1]))
    landings.land(1, offset + start, payload[start:end], named)

    def same(other):
        begin = offset + start - other[1]
        return begin >= 0 and other[2][begin : begin + end - start] == payload[start:end] and named in (-1, other[0])

    alike = [index for index, other in enumerate(longs) if same(other)]
    ranks = {longs[index][0] for index in alike}
    if len(alike) == 1:
        assert heard == [Identity(source, 9, number, reply=False)]
    else:
        assert heard == [source if len(ranks) == 1 else None]


@pytest.mark.parametrize("network", NETWORKS)
def test_copies_are_told_apart(network):
    async def main(ep):
        got = []

        def request(token, payload):
            got.append(len(payload))

        await ep.attach(request)
        ep.charge(copied=1000)
        ep.charge(copied=1000)
        ep.charge(seconds=1e-6, copied=7)
        await ep.compute(1e-6)
        await ep.request_long(ep.rank, request, bytes(5000), 0)
        await ep.block_until(lambda: got)

    observer = recorder(CpuListener)
    found = job(network, main, observer, ranks=1, ranks_per_host=1)
    found.run()
    copy_ticks = found._ranks[0]._port.conduit.host_model.copy_ticks
    totals = Counter()
    for _, begin, end, why in observer.heard["spent"]:
        totals[why] += end - begin
    assert totals["copy"] == 2 * copy_ticks(1000) + copy_ticks(7) + copy_ticks(5000)
    assert totals["compute"] == 2_000_000
    assert not totals["handler"]


def parts_of(found, kind):
    """Return all parts of the hardware of a job that are of a class."""
    return [part for part in gc.get_objects() if isinstance(part, kind) and part.kernel is found.kernel]


@pytest.mark.parametrize("network", ["sci", "startx"])
def test_links_are_busy_as_their_statistics_say(network):
    observer = recorder(LinkListener)
    found = job(network, everything, observer)
    found.run()
    carried = defaultdict(list)
    for name, begin, end, nbytes in observer.heard["carried"]:
        carried[name].append((begin, end, nbytes))
    links = parts_of(found, Link)
    assert len({link.name for link in links}) == len(links)
    used = 0
    for link in links:
        counted, spans = link.statistics(), sorted(carried.pop(link.name, []))
        assert len(spans) == counted.transfers, link.name
        assert sum(nbytes for _, _, nbytes in spans) == counted.nbytes
        assert sum(end - begin for begin, end, _ in spans) == pytest.approx(counted.busy * 1e12)
        assert all(end <= begin for (_, end, _), (begin, _, _) in itertools.pairwise(spans))
        used += bool(spans)
    assert used > 2
    assert {name.partition(" ")[0] for name in carried} <= {"DMA", "RDMA", "lock"}


def test_engines_and_locks_of_startx_are_heard():
    observer = recorder(LinkListener)
    found = job("startx", everything, observer)
    statistics = found.run().statistics
    engines = defaultdict(list)
    for name, begin, end, nbytes in observer.heard["carried"]:
        if name.startswith(("RDMA", "lock")):
            assert begin < end
            engines[name].append((begin, end, nbytes))
    assert sorted(engines) == ["RDMA in 0", "RDMA in 1", "RDMA out 0", "RDMA out 1", "lock 0", "lock 1"]
    for spans in engines.values():
        spans.sort()
        assert all(end <= begin for (_, end, _), (begin, _, _) in itertools.pairwise(spans))
    for host, rank in enumerate((0, 2)):
        out, into = engines[f"RDMA out {host}"], engines[f"RDMA in {host}"]
        assert len(out) == statistics[rank]["dma_pieces"]
        assert sum(nbytes for *_, nbytes in out) == statistics[rank]["dma_bytes"]
        assert len(into) == statistics[rank]["dma_in_transfers"]
        assert sum(nbytes for *_, nbytes in into) == statistics[rank]["dma_in_bytes"]
        assert len(engines[f"lock {host}"]) <= statistics[rank]["lock_taken"]


def test_service_processes_of_sunfire_are_heard():
    observer = recorder(LinkListener)
    job("sunfire", everything, observer).run()
    spans = defaultdict(list)
    for name, begin, end, nbytes in observer.heard["carried"]:
        if name.startswith("service"):
            assert begin < end
            assert not nbytes
            spans[name].append((begin, end))
    assert set(spans) == {"service 0", "service 1"}
    for taken in spans.values():
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(taken))


def test_links_of_sunfire_carry_all_lines():
    """Its lanes count lines; their links take what is longer than that, one direction after the other."""
    observer = recorder(LinkListener)
    found = job("sunfire", everything, observer)
    found.run()
    lanes = [part for part in gc.get_objects() if isinstance(part, Route) and part.links[0].kernel is found.kernel]
    lines = Counter()
    for lane in lanes:
        for link in lane.links:
            lines[link.name] += lane.lines
    carried, spans = Counter(), defaultdict(list)
    for name, begin, end, nbytes in observer.heard["carried"]:
        if name.startswith("service"):
            continue
        carried[name] += nbytes
        spans[name].append((begin, end))
    assert carried == Counter({name: 64 * count for name, count in lines.items()})
    for taken in spans.values():
        taken.sort()
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(taken))


@pytest.mark.parametrize("network", NETWORKS)
def test_waits_begin_and_end(network):
    observer = recorder(WaitListener)
    job(network, everything, observer).run()
    waiting = {}
    for rank, when, task, what, ranks in observer.heard["blocked"]:
        assert isinstance(what, str)
        assert set(ranks) <= set(range(4))
        waiting.setdefault((rank, task), []).append(when)
    for rank, when, task in observer.heard["resumed"]:
        assert waiting[rank, task].pop(0) <= when
    assert not any(waiting.values())


def test_an_observer_that_listens_to_nothing_is_refused():
    with pytest.raises(BadRequest, match="observers: 5 listens to nothing; derive its class of CpuListener, "):
        job("loggp", everything, 5)


def test_several_observers_hear_the_same():
    first, second = recorder(MessageListener), recorder(MessageListener, CpuListener)
    job("loggp", everything, first, second).run()
    assert first.heard["sent"] == second.heard["sent"] != []
    assert first.heard["handled"] == second.heard["handled"]
    assert second.heard["spent"]
    assert not first.heard["spent"]


def test_a_network_may_send_its_replies_as_its_requests(monkeypatch):
    """What is heard is the same: no reply is on its way twice, and its time is a reply's."""

    def heard():
        listener = recorder(CpuListener, LandingListener, MessageListener)
        return job("loggp", everything, listener).run().digest, listener.heard

    plain = heard()
    monkeypatch.setattr(
        LoggpTransport,
        "send_reply",
        lambda self, request, reply, then: self.send_request(request.source, request.slot, reply, then),
    )
    assert heard() == plain
    assert len(plain[1]["sent"]) > 100
