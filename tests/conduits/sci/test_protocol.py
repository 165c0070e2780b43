"""The conduit's own rules: flags, slots, what is set aside for replies, and what it costs to simulate."""

import pytest

import conduit
from conduit.contract import JobSetup
from conduit.sim import Kernel, simulate
from conduit.simnet import SimulatedPort
from conduits.sci.machine import host_model
from conduits.sci.port import Sci, SciOptions


def flood(messages, *, reply=True, medium=0):
    """A program: rank 0 sends to the last rank as fast as it can; returns when all replies are there."""

    async def main(ep):
        replies, handled = [], []

        def request(token, *payload):
            handled.append(token.rank)
            if reply:
                token.reply_short(answer)

        def answer(token):
            replies.append(token.rank)

        await ep.attach(request, answer)
        last = ep.size - 1
        if ep.rank == 0:
            for _ in range(messages):
                if medium:
                    await ep.request_medium(last, request, bytes(medium))
                else:
                    await ep.request_short(last, request)
            if reply:
                await ep.block_until(lambda: len(replies) == messages)
        if ep.rank == last:
            await ep.block_until(lambda: len(handled) == messages)
        return len(replies), len(handled)

    return main


def exist(transport):
    """Return whether message-exist of a transport is set."""
    return transport._flags[0] == 1


@pytest.mark.parametrize("queue", ["paired", "single"])
@pytest.mark.parametrize("slots", [1, 2, 7])
def test_a_flood_gets_through_few_slots(queue, slots):
    found = conduit.run(flood(50), ranks=3, conduit=f"sci:slots={slots},queue={queue}")
    assert found.values == [(50, 0), (0, 0), (0, 50)]


def test_more_slots_make_a_flood_faster():
    times = [conduit.run(flood(50), conduit=f"sci:slots={slots}").seconds for slots in (1, 2, 4)]
    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]


def test_a_request_without_reply_frees_its_slot_by_a_control_message():
    found = conduit.run(flood(20, reply=False), conduit="sci:slots=1")
    assert found.values == [(0, 0), (0, 20)]
    assert found.statistics[1]["replies_sent"] == 0
    # On the wire there is one for each all the same.
    assert found.statistics[1]["sci_messages_sent"] == 20


def test_a_short_round_trip_takes_at_most_13_events(events_of_a_round_trip):
    assert 0 < events_of_a_round_trip("sci") <= 13


class NoCore:
    """A core that nothing is delivered to."""

    local = ()
    progress_due = False


class Job:
    """The transports of a job's ranks, looked at without a core or a program."""

    def __init__(self, ranks=2, **options):
        self.kernel = Kernel()
        setup = JobSetup(ranks=ranks, hosts=tuple(range(ranks)), segment=4096, seed=0)
        self.conduit = Sci(SciOptions(**options), setup, self.kernel)
        ports = [SimulatedPort(self.conduit, rank, NoCore()) for rank in range(ranks)]
        self.transports = [self.conduit.make_transport(port) for port in ports]

    def run(self, *acts):
        async def body():
            for when, act in acts:
                self.kernel.at(when, act)
            await self.kernel.until(10**12)

        simulate(self.kernel, body)

    def request(self, source, dest, message):
        """An act: send, the CPU being free."""

        def act():
            transport = self.transports[source]
            transport.cpu.free = max(transport.cpu.free, self.kernel.now)
            slot = transport.acquire(dest)
            assert slot is not None
            transport.send_request(dest, slot, message, lambda: None)

        return act


def short():
    from conduit.contract import Message, word_of

    return Message(word_of(1, 0, is_request=True))


def test_slots_are_conserved():
    job = Job(slots=3)
    transport = job.transports[0]
    slots = [transport.acquire(1) for _ in range(4)]
    assert sorted(slot.number for slot in slots[:3]) == [0, 1, 2]
    assert slots[3] is None
    assert transport.slots_in_use() == ["3 of 3 request slots to rank 1 in use"]


def test_exist_is_cleared_before_the_sweep():
    """A message that lands behind the sweep raises message-exist again and is found by the next pass."""
    job = Job(ranks=3)
    receiver = job.transports[2]
    found = []

    def first_pass():
        assert exist(receiver)
        receiver.begin_pass()
        assert not exist(receiver)
        found.append(receiver.take().source)  # the sweep is past rank 0 now

    def second_pass():
        assert receiver.take() is None
        receiver.end_pass()
        assert exist(receiver)
        receiver.begin_pass()
        found.append(receiver.take().source)
        assert receiver.take() is None
        receiver.end_pass()
        assert not exist(receiver)

    job.run(
        (0, job.request(1, 2, short())),
        (50_000_000, first_pass),
        (50_000_000, job.request(0, 2, short())),
        (100_000_000, second_pass),
    )
    assert found == [1, 0]


def test_a_pass_that_stops_at_its_limit_sets_exist_again():
    job = Job()
    receiver = job.transports[1]
    states = []

    def stopped():
        receiver.begin_pass()
        receiver.take()
        receiver.end_pass()
        states.append((exist(receiver), receiver.undelivered()))
        receiver.begin_pass()
        receiver.take()
        assert receiver.take() is None
        receiver.end_pass()
        states.append((exist(receiver), receiver.undelivered()))

    job.run((0, job.request(0, 1, short())), (20_000_000, job.request(0, 1, short())), (90_000_000, stopped))
    assert states == [(True, 1), (False, 0)]


def test_the_sweep_begins_where_the_last_one_stopped():
    """So that a flood of low ranks does not keep a high one waiting."""
    job = Job(ranks=4, slots=2)
    receiver = job.transports[3]
    order = []

    def one_message_a_pass():
        receiver.begin_pass()
        order.append(receiver.take().source)
        receiver.end_pass()

    sends = [(0, job.request(source, 3, short())) for source in (0, 1, 2)]
    more = [(40_000_000, job.request(source, 3, short())) for source in (0, 1, 2)]
    job.run(*sends, *more, *((90_000_000 + turn, one_message_a_pass) for turn in range(6)))
    assert order in ([0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2])


def test_memory_grows_with_the_peers_talked_to():
    job = Job(ranks=1024)
    fabric = job.conduit.cluster.fabric

    def resident():
        return sum(
            getattr(segment.memory, "resident", 0) for host in fabric.exports.values() for segment in host.values()
        )

    assert resident() == 0
    before = sum(map(len, fabric.exports.values()))
    job.run((0, job.request(0, 1, short())))
    assert sum(map(len, fabric.exports.values())) - before <= 2
    assert resident() <= 2 * (80 + 2048)


@pytest.mark.parametrize("order", ["strict", "weak"])
@pytest.mark.parametrize("seed", range(5))
def test_a_long_payload_is_complete_when_its_handler_runs(order, seed):
    """Below and above the threshold, for all alignments, in pieces that land in any order."""

    async def main(ep):
        done = []

        def request(token, payload, start, nbytes):
            assert bytes(payload) == bytes((start + index) % 251 for index in range(nbytes))
            token.reply_short(reply)

        def reply(token):
            done.append(1)

        await ep.attach(request, reply)
        if ep.rank == 0:
            turn = 0
            for nbytes in (1, 7, 8, 9, 15, 16, 17, 2047, 2048, 2049, 4096, 5001):
                for offset in (0, 1, 5, 7):
                    data = bytes((turn + index) % 251 for index in range(nbytes))
                    await ep.request_long(1, request, data, offset, turn, nbytes)
                    turn += 1
                    await ep.block_until(lambda turn=turn: len(done) == turn)
        return len(done)

    assert conduit.run(main, conduit=f"sci:order={order}", seed=seed).values == [48, 0]


def test_weak_orders_differ_by_seed_and_repeat():
    program = flood(10, medium=1500)
    first, again, other = (conduit.run(program, conduit="sci:order=weak", seed=seed).digest for seed in (1, 1, 2))
    assert first == again != other


def test_two_ranks_of_a_host_share_the_adapter():
    """Both flood another host; together they take longer than one, and the bus was waited for."""

    def both(count):
        async def main(ep):
            got = []

            def request(token, payload):
                token.reply_short(reply)

            def reply(token):
                got.append(1)

            await ep.attach(request, reply)
            if ep.rank < count:
                for _ in range(20):
                    await ep.request_medium(ep.rank + 2, request, bytes(2048))
                await ep.block_until(lambda: len(got) == 20)

        return conduit.run(main, ranks=4, conduit="sci", ranks_per_host=2).seconds

    assert both(2) > both(1)


def test_the_two_ranks_of_a_host_talk_through_its_memory():
    found = conduit.run(flood(5), ranks=2, conduit="sci", ranks_per_host=2)
    assert found.statistics[0]["sci_messages_sent"] == 0
    apart = conduit.run(flood(5), ranks=2, conduit="sci", ranks_per_host=1)
    assert apart.statistics[0]["sci_messages_sent"] == 5
    assert found.seconds < apart.seconds


@pytest.mark.parametrize("category", ["request", "async", "reply"])
def test_only_payloads_that_lie_otherwise_than_their_target_are_staged(category):
    """The copy to an aligned buffer is for addresses that differ modulo 8, whoever sends the payload (section 1.3)."""
    size = 4096

    async def main(ep, source, target):
        landed = []

        def note(token, payload):
            landed.append(ep.now)
            if token.is_request and category == "async":
                token.reply_short(done)

        def ask(token):
            token.reply_long(note, ep.segment[source : source + size], target)

        def done(token):
            pass

        await ep.attach(note, ask, done)
        if ep.rank == 1:
            if category == "reply":
                await ep.request_short(0, ask)
                await ep.block_until(lambda: landed)
        elif category != "reply":
            send = ep.request_long_async if category == "async" else ep.request_long
            await send(1, note, ep.segment[source : source + size], target)
        await ep.block_until(lambda: landed or ep.rank == 0)
        return landed

    def time(source, target):
        return conduit.run(main, source, target, conduit="sci", segment=1 << 14).values[1][0]

    staged = host_model().copy_ticks(size - 8) / 1e12
    assert time(8193, 1) == pytest.approx(time(8201, 1), abs=1e-12)
    polls = 2e-8  # a landing is noticed at the next step of a polling loop
    assert time(8194, 1) - time(8193, 1) == pytest.approx(staged, abs=polls)
