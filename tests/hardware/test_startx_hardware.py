"""The simulated StarT-X cluster against closed forms with the numbers written out again here."""

import math
import random
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.sim import Kernel, simulate
from conduits.startx.driver import HIGH, LOW, SpinLock, StartXError, StartXProcess, access_cost, tag_of
from conduits.startx.hardware import ArcticFabric

NS = 1000
US = 1_000_000


def run(kernel, *acts):
    """Run `(time, function)` acts in virtual time and everything that follows from them."""

    async def body():
        for when, act in acts:
            kernel.at(when, act)
        await kernel.until(10**15)

    simulate(kernel, body)


class Hosts:
    """Some hosts with a process each."""

    def __init__(self, hosts=2, *, access="block", seed=0, **settings):
        self.kernel = Kernel(seed)
        self.fabric = ArcticFabric(self.kernel, **settings)
        self.at = [StartXProcess(self.fabric, host, access) for host in range(hosts)]

    def drain(self, host, priority, log, *, each=0):
        """Let `host` load whatever arrives at once, noting (time, tag, payload)."""

        def arrived():
            while self.at[host].poll(priority):
                data, _ = self.at[host].receive(priority, self.kernel.now + each)
                log.append((self.kernel.now, tag_of(data), data[8:]))

        self.at[host].niu.on_arrival.append(arrived)


def way(switches):
    """Picoseconds from the link's near end until a message is in the queue, apart from its own length."""
    return (561 + 562 + 150 * switches) * NS


def on_link(nbytes):
    return math.ceil(nbytes * 10**12 / 150e6)


# -- programmed input and output -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "nbytes", "send", "receive"),
    [
        ("word", 16, 600, 3000),  # row a of Table 1
        ("word", 64, 1398, 11298),  # row b
        ("block", 64, 400, 3500),  # row c
        ("block", 16, 400, 3500),  # a line is moved whole
        ("block", 96, 466, 6766),  # two lines
        ("word", 96, 334 + 12 * 133, 234 + 12 * 1383),
    ],
)
def test_costs_of_loads_and_stores(access, nbytes, send, receive):
    cost = access_cost(access, nbytes)
    assert (cost.send, cost.receive) == (send * NS, receive * NS)


@given(st.sampled_from(["word", "block"]), st.integers(2, 22))
def test_a_message_to_a_neighbour(access, words):
    hosts = Hosts(access=access)
    log = []
    hosts.drain(1, LOW, log)
    payload = bytes(range(4 * words))
    run(hosts.kernel, (0, lambda: hosts.at[0].send(LOW, 1, 0xDEADBEEF, payload)))
    size = 8 + 4 * words
    if access == "block":
        arrival = (334 + 66) * NS + max(on_link(size), 66 * (size > 64) * NS) + way(1)
    else:
        stores = math.ceil(size / 8)
        arrival = (334 + 133 + 627) * NS + max(on_link(size), (stores - 1) * 133 * NS) + way(1)
    assert log == [(arrival, 0xDEADBEEF, payload)]


@pytest.mark.parametrize(("target", "switches"), [(1, 1), (2, 3), (3, 3), (4, 5), (7, 5), (15, 7)])
def test_the_way_through_the_tree(target, switches):
    hosts = Hosts(16)
    log = []
    hosts.drain(target, HIGH, log)
    run(hosts.kernel, (0, lambda: hosts.at[0].send(HIGH, target, 1, bytes(56))))
    assert log[0][0] == 400 * NS + on_link(64) + way(switches)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda at: at.send(LOW, 1, 0, bytes(4)),
            "host 0: a message has 8 to 88 bytes of payload in words of 4, not 4",
        ),
        (
            lambda at: at.send(LOW, 1, 0, bytes(92)),
            "host 0: a message has 8 to 88 bytes of payload in words of 4, not 92",
        ),
        (
            lambda at: at.send(LOW, 1, 0, bytes(9)),
            "host 0: a message has 8 to 88 bytes of payload in words of 4, not 9",
        ),
        (lambda at: at.send(LOW, 0, 0, bytes(8)), "host 0: a message of 16 bytes to host 0 announces 2 payload words"),
        (lambda at: at.receive(LOW, 0), "host 0: the receive queue is empty; poll before you receive"),
        (lambda at: at.pin(0), "host 0 cannot pin 0 bytes"),
        (lambda at: at.pin(50331649), "host 0 cannot pin 50331649 bytes: 0 of the 50331648 bytes of the pinned region"),
    ],
)
def test_the_driver_refuses(act, message):
    with pytest.raises(StartXError, match=r"\A" + re.escape(message)):
        act(Hosts().at[0])


# -- order -----------------------------------------------------------------------------------------------


def tags(seed, *, fifo, weak, priorities=(LOW,)):
    """The order in which 30 messages of one host arrive at another, by priority."""
    hosts = Hosts(8, seed=seed, fifo=fifo, weak=weak)
    logs = [[], []]
    for priority in priorities:
        hosts.drain(6, priority, logs[priority])
    acts = [
        (number * US // 2, lambda p=priority, n=number: hosts.at[1].send(p, 6, n, bytes(8)))
        for number in range(30)
        for priority in priorities
    ]
    run(hosts.kernel, *acts)
    found = [[tag for _, tag, _ in log] for log in logs]
    assert all(sorted(found[priority]) == list(range(30)) for priority in priorities)
    return found


@pytest.mark.parametrize("weak", [False, True])
def test_fifo_keeps_the_order_of_source_target_and_priority(weak):
    for seed in range(5):
        low, high = tags(seed, fifo=True, weak=weak, priorities=(LOW, HIGH))
        assert low == high == list(range(30))


@pytest.mark.parametrize("weak", [False, True])
def test_without_fifo_the_order_is_the_seed_s(weak):
    orders = [tuple(tags(seed, fifo=False, weak=weak)[LOW]) for seed in range(4)]
    assert len(set(orders)) == 4
    assert orders[0] == tuple(tags(0, fifo=False, weak=weak)[LOW])


# -- queues and priorities ---------------------------------------------------------------------------------


def test_a_full_receive_queue_holds_back_and_loses_nothing():
    """Nobody loads: 4 messages fit there, 4 in the transmit queue, and then there is no room."""
    hosts = Hosts(low_queue=4)
    near, far = hosts.at
    sent, log = [], []

    def send():
        if near.room(LOW):
            near.send(LOW, 1, len(sent), bytes(8))
            sent.append(hosts.kernel.now)

    def overrun():
        assert near.room(LOW) == 0
        with pytest.raises(StartXError, match=r"\Ahost 0: the transmit queue of low priority is full \(4 messages\)"):
            near.send(LOW, 1, 99, bytes(8))

    def load():
        data, takes = far.receive(LOW, hosts.kernel.now)
        log.append((tag_of(data), hosts.kernel.now + takes))

    acts = [(n * US, send) for n in range(12)] + [(20 * US, overrun)] + [((30 + 10 * n) * US, load) for n in range(8)]
    run(hosts.kernel, *acts)
    assert len(sent) == 8
    assert [tag for tag, _ in log] == list(range(8))
    found = near.niu.statistics(LOW)
    assert (found.sent, found.held, found.most_sent) == (8, 4, 4)
    assert far.niu.statistics(LOW).most_received == 4


def test_a_message_that_has_waited_for_a_place_does_not_overtake_one_that_waits_for_a_link():
    hosts = Hosts(3, low_queue=2)
    near, far = hosts.at[0], hosts.at[1]

    def send():
        near.send(LOW, 2, 0, bytes(88))  # the link is taken for 640 ns
        near.send(LOW, 1, 2, bytes(8))  # has the second place of host 1
        near.send(LOW, 1, 3, bytes(8))  # waits for one

    log = []
    run(
        hosts.kernel,
        (0, lambda: hosts.at[2].send(LOW, 1, 1, bytes(8))),
        (10 * US, send),
        (10 * US + 100 * NS, lambda: far.receive(LOW, hosts.kernel.now - access_cost("block", 16).receive)),
        (10 * US + 200 * NS, lambda: hosts.drain(1, LOW, log)),
    )
    assert [tag for _, tag, _ in log] == [2, 3]


@pytest.mark.parametrize("second", [False, True], ids=["first in the queue", "behind another"])
@pytest.mark.parametrize("freed", [0, 100, 399, 401, 450, 1000, 1500, 2500, 3000])
@pytest.mark.parametrize("access", ["block", "word"])
def test_a_message_that_gets_its_place_while_it_is_stored_leaves_no_earlier_than_its_words(access, freed, second):
    """They may take 0.4 us and more; the place is free `freed` nanoseconds after their store has begun."""
    hosts = Hosts(access=access, low_queue=2)
    near, far = hosts.at
    log, last = [], bytes(range(88))
    begun = 50 * US
    free = begun + freed * NS

    def load():
        for _ in range(2):
            far.niu.load(LOW, free)

    def send():
        near.send(LOW, 1, 3, last)
        hosts.drain(1, LOW, log)

    acts = [(n * US, lambda n=n: near.send(LOW, 1, n, bytes(8))) for n in range(2 + second)]
    run(hosts.kernel, *acts, (begun - NS, load), (begun, send))
    cost = access_cost(access, 96)
    first, whole = begun + cost.first, begun + cost.first + cost.span
    least = max(max(free, first) + on_link(96), whole) + way(1)
    arrival, *sent = log[-1]
    assert sent == [3, last]
    assert least <= arrival <= least + second * on_link(16)  # for which the other one has the link


def test_room_is_told_of_once():
    hosts = Hosts(low_queue=1)
    near, far = hosts.at
    told = []
    near.niu.when_room(LOW, lambda: told.append(hosts.kernel.now))
    run(
        hosts.kernel,
        (0, lambda: near.send(LOW, 1, 0, bytes(8))),
        (US, lambda: near.send(LOW, 1, 1, bytes(8))),
        (2 * US, lambda: near.niu.when_room(LOW, lambda: told.append(hosts.kernel.now))),
        (50 * US, lambda: far.receive(LOW, 50 * US)),
    )
    assert told == [0, 50 * US + 3500 * NS]  # the place is free when the message has been loaded


def test_low_priority_never_blocks_high():
    """The low queue there is full and holds everything back; a message of high priority passes."""
    hosts = Hosts(low_queue=2)
    log = []
    hosts.drain(1, HIGH, log)
    acts = [(n * US, lambda: hosts.at[0].send(LOW, 1, 0, bytes(88))) for n in range(4)]
    run(hosts.kernel, *acts, (10 * US, lambda: hosts.at[0].send(HIGH, 1, 7, bytes(56))))
    assert log == [(10 * US + 400 * NS + on_link(64) + way(1), 7, bytes(56))]


def test_on_a_busy_link_high_priority_goes_first():
    """Four hosts send into one link; what is of high priority waits for the packet on it and for nothing else."""
    hosts = Hosts(8)
    low, high = [], []
    hosts.drain(7, LOW, low)
    hosts.drain(7, HIGH, high)
    acts = [(n, lambda n=n: hosts.at[n].send(LOW, 7, n, bytes(88))) for n in range(4)]
    # Sent last, 0.2 us behind the others, over no other link of theirs.
    acts.append((200 * NS, lambda: hosts.at[5].send(HIGH, 7, 9, bytes(56))))
    run(hosts.kernel, *acts)
    assert sorted(tag for _, tag, _ in low) == [0, 1, 2, 3]
    assert low[0][0] < high[0][0] < low[1][0]


def test_high_priority_may_block_low():
    """A crowd of urgent messages over one link lets a low one wait until they are through."""
    hosts = Hosts(8)
    low, high = [], []
    hosts.drain(7, LOW, low)
    hosts.drain(7, HIGH, high)
    acts = [(n, lambda n=n: hosts.at[n].send(HIGH, 7, n, bytes(88))) for n in range(6)]
    acts.insert(3, (2, lambda: hosts.at[4].send(LOW, 7, 9, bytes(88))))
    run(hosts.kernel, *acts)
    assert max(when for when, _, _ in high) < low[0][0]


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_nothing_is_lost_or_made_up_whatever_the_queues(seed, room):
    """Random traffic of four hosts in both priorities, loaded at random times; all of it arrives, in order."""
    chance = random.Random(seed)
    hosts = Hosts(4, low_queue=room, high_queue=room)
    sent, got = [], []

    def try_to_send(source, target, priority, number):
        if hosts.at[source].room(priority):
            sent.append((source, target, priority, number))
            hosts.at[source].send(priority, target, source << 16 | number, bytes(8 * chance.randrange(1, 12)))

    def load(host):
        for priority in (HIGH, LOW):
            if hosts.at[host].poll(priority):
                data, _ = hosts.at[host].receive(priority, hosts.kernel.now)
                tag = tag_of(data)
                got.append((tag >> 16, host, priority, tag & 0xFFFF))

    acts = []
    for number in range(40):
        source, target = chance.sample(range(4), 2)
        priority = chance.randrange(2)
        acts.append(
            (chance.randrange(20 * US), lambda s=source, t=target, p=priority, n=number: try_to_send(s, t, p, n))
        )
    acts += [(chance.randrange(300 * US), partial(load, chance.randrange(4))) for _ in range(60)]
    acts += [((400 + 20 * n) * US, partial(load, n % 4)) for n in range(200)]
    run(hosts.kernel, *acts)
    assert sorted(got) == sorted(sent)


# -- RDMA ------------------------------------------------------------------------------------------------


class Transfer:
    """Two hosts, one RDMA of `nbytes` between them, granted at 0."""

    def __init__(self, nbytes=65536, *, channel=5, hosts=2, **settings):
        self.hosts = Hosts(hosts, **settings)
        self.kernel = self.hosts.kernel
        self.near, self.far = self.hosts.at[0], self.hosts.at[1]
        self.nbytes, self.channel = nbytes, channel
        self.source, self.sink = self.near.pin(nbytes), self.far.pin(nbytes)
        self.data = random.Random(1).randbytes(nbytes)
        self.source.write(self.data)
        self.left, self.pieces, self.whole = [], [], []

    def arm(self, ready=()):
        self.near.arm(self.channel, 1, self.source, self.nbytes, lambda: self.left.append(self.kernel.now), ready)

    def accept(self):
        landed = lambda start, size: self.pieces.append((start, size))  # noqa: E731
        self.far.accept(0, self.channel, self.sink, self.nbytes, landed, lambda: self.whole.append(self.kernel.now))


@pytest.mark.parametrize(
    ("nbytes", "weak"), [(8, False), (4096, False), (65536, False), (65536, True), (1 << 20, False)]
)
def test_an_rdma_moves_its_bytes_at_60_mb_per_s(nbytes, weak):
    transfer = Transfer(nbytes, weak=weak)
    transfer.arm()
    run(transfer.kernel, (0, transfer.accept))
    assert transfer.sink.read(0, nbytes) == transfer.data
    assert sorted(transfer.pieces) == [(at, min(4096, nbytes - at)) for at in range(0, nbytes, 4096)]
    granted = 400 * NS + on_link(24) + way(1)
    moved = sum(math.ceil(min(4096, nbytes - at) * 10**12 / 60e6) for at in range(0, nbytes, 4096))
    if not weak:
        assert transfer.left == [granted + moved]
        assert transfer.whole == [granted + moved + way(1)]
    # Two events for each piece, that it has been packetized and that it has landed, and a constant.
    assert transfer.kernel.events <= 2 * len(transfer.pieces) + 5


def test_a_piece_waits_until_the_processor_has_filled_it():
    transfer = Transfer(3 * 4096)
    transfer.arm([0, 500 * US, 510 * US])
    run(transfer.kernel, (0, transfer.accept))
    piece = math.ceil(4096 * 10**12 / 60e6)
    assert transfer.left == [500 * US + 2 * piece]


@pytest.mark.parametrize("last", [30, 510])
def test_a_posted_piece_waits_until_the_engine_has_been_told_of_it(last):
    transfer = Transfer(3 * 4096)
    transfer.near.arm(5, 1, transfer.source, 3 * 4096, lambda: transfer.left.append(transfer.kernel.now), posted=True)
    posts = [(when * US, lambda: transfer.near.post(5)) for when in (10, 20, last)]
    run(transfer.kernel, (0, transfer.accept), *posts)
    piece = math.ceil(4096 * 10**12 / 60e6)
    begun = max(10 * US, 400 * NS + on_link(24) + way(1))
    assert transfer.left == [max(begun + 2 * piece, last * US) + piece]
    assert transfer.sink.read(0, 3 * 4096) == transfer.data


def test_a_held_engine_takes_a_posted_piece_when_it_is_released():
    transfer = Transfer(2 * 4096)
    transfer.near.arm(5, 1, transfer.source, 2 * 4096, lambda: transfer.left.append(transfer.kernel.now), posted=True)
    acts = [
        (50 * US, lambda: transfer.near.hold(lambda: None)),
        (60 * US, lambda: transfer.near.post(5)),
        (70 * US, lambda: transfer.near.post(5)),
        (90 * US, lambda: transfer.near.release(90 * US)),
    ]
    run(transfer.kernel, (0, transfer.accept), *acts)
    assert transfer.left == [90 * US + 2 * math.ceil(4096 * 10**12 / 60e6)]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda t: (t.arm(), t.near.post(5)),
            "host 0: a piece is posted to RDMA channel 5, where no transfer waits for any; arm one first",
        ),
        (
            lambda t: t.near.arm(1, 1, t.source, 4, print),
            "host 0: RDMA of 4 bytes at address 0 refused; both must be mult",
        ),
        (
            lambda t: t.near.arm(1, 1, t.source, 0, print),
            "host 0: RDMA of 0 bytes at address 0 refused; both must be mult",
        ),
        (lambda t: t.near.arm(1, 1, t.source, 65544, print), "host 0: RDMA of 65544 bytes out of a buffer of 65536"),
        (
            lambda t: t.near.arm(1, 1, t.near.pin((16 << 20) + 8), (16 << 20) + 8, print),
            "host 0: RDMA of 16777224 bytes is over the 16777216 of one transfer; make several",
        ),
        (lambda t: (t.arm(), t.arm()), "host 0: RDMA channel 5 is armed already; wait for its transfer"),
        (
            lambda t: (t.accept(), t.accept()),
            "host 1: the RDMA engine receives from host 0 already; it takes one transfer at a time",
        ),
        (
            lambda t: t.far.accept(0, 5, t.far.pin(8), 16, print, print),
            "host 1: RDMA of 16 bytes into a buffer of 8",
        ),
    ],
)
def test_the_driver_refuses_an_rdma(act, message):
    with pytest.raises(StartXError, match=r"\A" + re.escape(message)):
        act(Transfer())


def test_a_grant_without_a_transfer_is_reported():
    transfer = Transfer()
    with pytest.raises(
        StartXError, match=r"\Ahost 0: host 1 grants channel 5 an RDMA of 65536 bytes, but it is not arm"
    ):
        run(transfer.kernel, (0, transfer.accept))


def test_a_transfer_that_nobody_has_opened_the_engine_for_is_reported():
    transfer = Transfer(hosts=3)
    transfer.arm()
    engine = transfer.near.niu.rdma_out
    with pytest.raises(
        StartXError, match=r"\Ahost 1: RDMA of host 0, channel 5, arrives for address 0, but the engine is"
    ):
        run(transfer.kernel, (0, lambda: engine.granted(5, 1, 65536, 0)))


def test_the_engine_works_off_grants_in_order():
    hosts = Hosts(3)
    left = []
    for channel, target in ((1, 1), (2, 2)):
        hosts.at[0].arm(
            channel, target, hosts.at[0].pin(8192), 8192, lambda n=channel: left.append((n, hosts.kernel.now))
        )
    sinks = [at.pin(8192) for at in hosts.at]
    acts = [
        (host, lambda h=host: hosts.at[h].accept(0, h, sinks[h], 8192, lambda start, size: None, lambda: None))
        for host in (1, 2)
    ]
    run(hosts.kernel, *acts)
    assert [channel for channel, _ in left] == [1, 2]
    assert left[1][1] - left[0][1] == 2 * math.ceil(4096 * 10**12 / 60e6)


# -- the conflict of RDMA and high priority ----------------------------------------------------------------

CONFLICT = r"\Ahost 0: RDMA conflict: a message of high priority was stored while the engine packetized a piece; hold"


def test_a_protocol_that_ignores_the_conflict_is_told():
    transfer = Transfer()
    transfer.arm()
    with pytest.raises(StartXError, match=CONFLICT):
        run(transfer.kernel, (0, transfer.accept), (100 * US, lambda: transfer.near.send(HIGH, 1, 0, bytes(8))))


def test_a_piece_that_begins_while_a_message_is_stored_is_told_too():
    """The message is still being stored, word by word, when the grant arrives and the engine begins."""
    transfer = Transfer(access="word")
    transfer.arm()
    grant = (334 + 133 + 627) * NS + max(on_link(24), 2 * 133 * NS) + way(1)
    with pytest.raises(StartXError, match=CONFLICT):
        run(transfer.kernel, (0, transfer.accept), (grant - US, lambda: transfer.near.send(HIGH, 1, 0, bytes(88))))


def test_low_priority_does_not_conflict():
    transfer = Transfer()
    transfer.arm()
    run(transfer.kernel, (0, transfer.accept), (100 * US, lambda: transfer.near.send(LOW, 1, 0, bytes(8))))
    assert transfer.whole


@pytest.mark.parametrize("when", [0, 10, 70, 100, 139, 500, 1094])
def test_a_held_engine_lets_a_message_pass_between_two_pieces(when):
    transfer = Transfer()
    transfer.arm()
    sent = []

    def now():
        sent.append(transfer.kernel.now)
        transfer.near.release(transfer.kernel.now + transfer.near.send(HIGH, 1, 0, bytes(88)))

    run(transfer.kernel, (0, transfer.accept), (when * US, lambda: transfer.near.hold(now)))
    piece = math.ceil(4096 * 10**12 / 60e6)
    assert when * US <= sent[0] <= when * US + piece
    assert transfer.sink.read(0, transfer.nbytes) == transfer.data
    undisturbed = 400 * NS + on_link(24) + way(1) + 16 * piece + way(1)
    assert undisturbed <= transfer.whole[0] <= undisturbed + 466 * NS


def test_a_message_that_passes_before_the_first_piece_is_there_changes_nothing():
    transfer = Transfer(3 * 4096)
    transfer.arm([500 * US, 510 * US, 520 * US])

    def now():
        transfer.near.release(transfer.kernel.now + transfer.near.send(HIGH, 1, 0, bytes(88)))

    run(transfer.kernel, (0, transfer.accept), (100 * US, lambda: transfer.near.hold(now)))
    assert transfer.pieces == [(0, 4096), (4096, 4096), (8192, 4096)]
    assert transfer.left == [500 * US + 3 * math.ceil(4096 * 10**12 / 60e6)]


def test_several_holds_end_together():
    transfer = Transfer()
    transfer.arm()
    order = []

    def held(name, release):
        order.append(name)
        transfer.kernel.at(release, transfer.near.release, release)

    acts = [(100 * US, lambda: transfer.near.hold(lambda: held("a", 200 * US)))]
    acts += [(101 * US, lambda: transfer.near.hold(lambda: held("b", 300 * US)))]
    run(transfer.kernel, (0, transfer.accept), *acts)
    assert order == ["a", "b"]
    piece = math.ceil(4096 * 10**12 / 60e6)
    assert transfer.left == [300 * US + 14 * piece]  # two had been packetized


@given(
    st.lists(st.tuples(st.integers(0, 1000 * US), st.integers(0, 40 * US)), max_size=12),
    st.lists(st.integers(0, 600 * US), min_size=5, max_size=5),
    st.booleans(),
)
def test_whoever_holds_the_engine_and_when_every_piece_goes_once(holds, ready, word):
    """Messages of high priority at any times, after holding the engine for any time; a busy link besides."""
    transfer = Transfer(5 * 4096, access="word" if word else "block")
    transfer.arm(sorted(ready))
    kernel, near = transfer.kernel, transfer.near
    sent = []

    def send(wait):
        def act():
            sent.append(kernel.now)
            near.release(kernel.now + near.send(HIGH, 1, 0, bytes(88)))

        near.hold(lambda: kernel.at(kernel.now + wait, act))

    run(kernel, (0, transfer.accept), *[(when, partial(send, wait)) for when, wait in holds])
    assert [start for start, _ in transfer.pieces] == [0, 4096, 8192, 12288, 16384]
    assert transfer.sink.read(0, transfer.nbytes) == transfer.data
    assert len(sent) == len(holds)
    piece = math.ceil(4096 * 10**12 / 60e6)
    assert transfer.left[0] <= max([*ready, 2 * US]) + 5 * piece + 1041 * US


# -- the lock of an SMP ------------------------------------------------------------------------------------


def test_a_lock_goes_to_those_who_spin_in_their_order():
    kernel = Kernel()
    lock = SpinLock(kernel)
    got = []

    def take(name):
        lock.take(lambda: (got.append((name, kernel.now)), lock.leave(kernel.now + 10 * US)))

    run(kernel, *[(n * US, lambda n=n: take(n)) for n in range(3)], (100 * US, lambda: take(3)))
    passes = 300 * NS
    assert got == [(0, 0), (1, 10 * US + passes), (2, 20 * US + 2 * passes), (3, 100 * US)]
    found = lock.statistics()
    assert (found.taken, found.waited) == (4, 2)
    assert found.wait_ps == (10 * US + passes - US) + (20 * US + 2 * passes - 2 * US)
