"""The simulated SCI cluster against closed forms with the numbers written out again here."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.sim import Cpu, Kernel, simulate
from conduit.sim.topology import Torus
from conduits.sci.driver import RemoteSlot, RemoteSlots, SciError, Sisci, SlotWriter
from conduits.sci.hardware import SciFabric, packets, wire_bytes

NS = 1000


def run(kernel, *acts):
    """Run `(time, function)` acts in virtual time and everything that follows from them."""

    async def body():
        for when, act in acts:
            kernel.at(when, act)
        await kernel.until(10**15)

    simulate(kernel, body)


class Pair:
    """Two hosts of a fabric; `near` has a segment of `far` mapped."""

    def __init__(self, shape=(4, 2), far=1, *, nbytes=1 << 16, weak=False, seed=0, piece=4096):
        self.kernel = Kernel(seed)
        self.fabric = SciFabric(self.kernel, Torus(shape), weak=weak, piece=piece)
        self.near, self.far = Sisci(self.fabric, 0), Sisci(self.fabric, far)
        self.segment = self.far.create_segment(7, nbytes)
        self.segment.export()
        self.remote = self.near.connect(far, 7)
        self.mapping = self.near.map(self.remote)

    def store(self, offset, data, issued=lambda when: None, driver=None):
        end = (driver or self.near).store(self.mapping, offset, data, issued)
        if end:
            issued(end)


def bytes_at(nbytes, rate):
    """Picoseconds of `nbytes` at a rate in MB/s, rounded up."""
    return math.ceil(nbytes * 10**12 / (rate * 10**6))


def store_time(nbytes, links, turns=0):
    """Until the last of `nbytes` at an offset of a line is in memory: CPU or slowest link, then the way."""
    issue = 200 * NS + bytes_at(nbytes, 190)
    wire = math.ceil(nbytes / 16) * 16 + math.ceil(nbytes / 64) * 16
    bus = 200 * NS + bytes_at(wire, 528)
    way = (500 + 700 + 70 * links + 250 * turns) * NS
    return max(issue, bus) + way


@given(st.integers(1, 4096))
def test_a_store_to_a_neighbour(nbytes):
    pair = Pair()
    landed = []
    pair.segment.on_landing = lambda: landed.append(pair.kernel.now)
    issued = []
    run(pair.kernel, (0, lambda: pair.store(0, b"x" * nbytes, issued.append)))
    assert landed == [store_time(nbytes, links=1)]
    assert issued == [200 * NS + bytes_at(nbytes, 190)]
    assert pair.segment.memory.read(0, nbytes) == b"x" * nbytes


@pytest.mark.parametrize(("far", "links", "turns"), [(1, 1, 0), (3, 3, 0), (4, 1, 0), (5, 2, 1), (7, 4, 1)])
def test_the_way_through_the_torus(far, links, turns):
    pair = Pair(far=far)
    landed = []
    pair.segment.on_landing = lambda: landed.append(pair.kernel.now)
    run(pair.kernel, (0, lambda: pair.store(0, b"12345678")))
    assert landed == [store_time(8, links, turns)]


def test_a_small_store_is_in_the_decade_that_the_paper_gives():
    assert 1_000 * NS <= store_time(8, links=1) < 10_000 * NS


@pytest.mark.parametrize("far", [1, 3, 5])
def test_a_barrier_ends_when_the_response_is_back(far):
    """The response goes on around the rings; the routes there and back make whole rings."""
    pair = Pair(far=far)
    landed, back = [], []
    pair.segment.on_landing = lambda: landed.append(pair.kernel.now)

    def act():
        pair.store(0, b"12345678")
        back.append(pair.near.barrier(back.append))

    run(pair.kernel, (0, act))
    links_back = {1: 3, 3: 1, 5: 3 + 1}[far]
    turns_back = {1: 0, 3: 0, 5: 1}[far]
    assert back == [landed[0] + (500 + 70 * links_back + 250 * turns_back) * NS]


def test_a_barrier_with_nothing_under_way_is_over():
    pair = Pair()
    assert pair.near.barrier(lambda when: None) == 0


def test_a_long_store_streams_at_the_rate_of_the_anchor():
    pair = Pair(nbytes=1 << 20)
    landed = []
    pair.segment.on_landing = lambda: landed.append(pair.kernel.now)
    run(pair.kernel, (0, lambda: pair.store(0, bytes(1 << 20))))
    rate = (1 << 20) / (landed[0] / 1e12) / 1e6
    assert rate == pytest.approx(190, rel=0.001)


def test_the_window_of_16_stalls_the_cpu_where_responses_take_long():
    """On a ring of 200 hosts the response is back after 15.8 us: 16 packets of 64 bytes in that time."""
    pair = Pair((200,), far=1, nbytes=1 << 16, piece=1 << 16)
    turnaround = (500 + 700 + 500 + 200 * 70) * NS
    issued = []
    run(pair.kernel, (0, lambda: pair.store(0, bytes(64 * 160), issued.append)))
    assert issued[0] == pytest.approx(160 / 16 * turnaround, rel=0.1)
    assert pair.near.adapter.statistics().stalled > 0


def test_the_window_does_not_stall_a_single_cpu_on_the_paper_s_torus():
    pair = Pair(far=7)
    run(pair.kernel, (0, lambda: pair.store(0, bytes(4096))))
    assert pair.near.adapter.statistics().stalled == 0


def test_two_cpus_share_the_window():
    pair = Pair((60,), far=30, nbytes=1 << 16)
    second = Sisci(pair.fabric, 0)
    alone, both = [], []
    run(pair.kernel, (0, lambda: pair.store(0, bytes(2048), alone.append)))
    pair = Pair((60,), far=30, nbytes=1 << 16)
    second = Sisci(pair.fabric, 0)
    run(
        pair.kernel,
        (0, lambda: pair.store(0, bytes(2048))),
        (1 * NS, lambda: pair.store(4096, bytes(2048), both.append, second)),
    )
    assert both[0] > alone[0] + 1 * NS


def test_a_few_bytes_of_one_cpu_go_between_those_of_another():
    """A burst comes at 190 MB/s, and the bus carries it at 528: nobody waits for its end."""
    pair = Pair()
    second = Sisci(pair.fabric, 0)
    issued = []
    run(
        pair.kernel,
        (0, lambda: pair.store(0, bytes(4096))),
        (1 * NS, lambda: pair.store(8192, bytes(8), issued.append, second)),
    )
    assert issued == [1 * NS + 200 * NS + bytes_at(8, 190)]


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_store_leaves_as_much_room_however_often_it_was_made_before(before):
    """1024 bytes at 190 MB/s, and 8 of another CPU that come while the bus carries them."""
    pair = Pair()
    second = Sisci(pair.fabric, 0)
    issued = []
    for turn in range(before):
        pair.kernel.at(turn * 10**9, pair.store, 0, bytes(1024))
        pair.kernel.at(turn * 10**9 + 5 * 10**8, pair.store, 8192, bytes(8), lambda when: None, second)
    start = before * 10**9
    pair.kernel.at(start, pair.store, 0, bytes(1024))
    pair.kernel.at(start + 500 * NS, pair.store, 8192, bytes(8), issued.append, second)
    run(pair.kernel)
    assert issued == [start + 500 * NS + 200 * NS + bytes_at(8, 190)]


def rates(senders, nbytes, until=2 * 10**8):
    """Return MB/s of CPUs that store so many bytes again and again, each `(host, target)`."""
    kernel = Kernel()
    fabric, sent, acts = SciFabric(kernel, Torus((4, 2))), [0] * len(senders), []

    def sender(number, host, target):
        adapter = fabric.adapter(host)
        way = adapter.way(target)

        def store():
            end = adapter.pio(adapter.plan(way, nbytes, packets(0, nbytes), 1), again, lambda when: None)
            sent[number] += nbytes
            if end:
                again(abs(end))

        def again(when):
            if when < until:
                kernel.at(when, store)

        return store

    for number, (host, target) in enumerate(senders):
        acts.append((number * 37 * NS, sender(number, host, target)))
    run(kernel, *acts)
    return [nbytes * 10**6 / until for nbytes in sent]


@pytest.mark.parametrize("nbytes", [64, 128, 256, 1024])
def test_what_is_still_on_its_way_does_not_hold_up_stores_of_the_host_that_it_goes_to(nbytes):
    """Both ways together the buses have half of what they carry, so each CPU stores as if it were alone."""
    alone = nbytes * 10**6 / (200 * NS + bytes_at(nbytes, 190))
    assert rates([(0, 1)], nbytes) == pytest.approx([alone], rel=0.01)
    assert rates([(0, 1), (1, 0)], nbytes) == pytest.approx([alone] * 2, rel=0.01)


@pytest.mark.parametrize("nbytes", [8, 16, 64, 256])
@pytest.mark.parametrize("targets", [(1, 2), (1, 1)])
def test_a_store_holds_the_bus_for_its_bytes_and_not_for_its_start(nbytes, targets):
    """Two CPUs of a host store as if each were alone, and both ways short stores do: the bus has room for both."""
    (alone,) = rates([(0, 1)], nbytes)
    assert rates([(0, target) for target in targets], nbytes) == pytest.approx([alone] * 2, rel=0.03)
    assert rates([(0, 1), (1, 0)], nbytes) == pytest.approx([alone] * 2, rel=0.01)


def test_stores_of_one_packet_by_four_cpus_come_to_what_the_bus_carries():
    found = sum(rates([(0, 1), (0, 2), (0, 4), (0, 3)], 64))
    assert found == pytest.approx(528 * 64 / wire_bytes(64), rel=0.02)  # MB/s


def packets_of_two_masters(stores, nbytes):
    """Return when stores are over on a bus that a card fills: the two have it packet by packet, by turns."""
    card, store = bytes_at(wire_bytes(64), 528), bytes_at(wire_bytes(nbytes), 528)
    now, found = 0, []
    for when in stores:
        while now <= when:
            now += card
        now += store
        found.append(now)
    return found


@pytest.mark.parametrize("piece", [256, 4096])
@pytest.mark.parametrize("nbytes", [1, 64])
def test_a_store_of_one_packet_waits_for_one_packet_on_a_bus_that_others_fill(nbytes, piece):
    """Three CPUs stream 570 MB/s to a host whose bus carries 422, and whose own CPU stores now and then."""
    kernel = Kernel()
    fabric, took, landed, chance = SciFabric(kernel, Torus((4, 2)), piece=piece), [], [], Random(1)
    whens = [200_000 * NS + number * 20_000 * NS + chance.randrange(9_000 * NS) for number in range(40)]
    filled = []

    def fill(host):
        adapter = fabric.adapter(host)
        plan = adapter.plan(adapter.way(0), 4096, 64, 1)

        def again(when):
            if when < whens[-1]:
                kernel.at(when, store)

        def store():
            end = adapter.pio(plan, again, filled.append)
            if end:
                again(abs(end))

        return store

    def one():
        begun, adapter = kernel.now, fabric.adapter(0)
        end = adapter.pio(
            adapter.plan(adapter.way(4), nbytes, 1, 1), lambda when: took.append(when - begun),
            lambda when: landed.append(when - begun),
        )  # fmt: skip
        if end:
            took.append(abs(end) - begun)
        if end > 0:
            landed.append(adapter.arrival - begun)

    run(kernel, *[(host * 37 * NS, fill(host)) for host in (1, 2, 3)], *[(when, one) for when in whens])
    waits = [over - when for over, when in zip(packets_of_two_masters(whens, nbytes), whens, strict=True)]
    assert took == [200 * NS + bytes_at(nbytes, 190)] * len(whens)
    assert max(landed) <= store_time(nbytes, 1) + max(waits)
    into = 4096 * sum(200_000 * NS < when < whens[-1] for when in filled) / (whens[-1] - 200_000 * NS) * 10**6
    assert into == pytest.approx(528 * 64 / wire_bytes(64), rel=0.02)  # MB/s; the stores take a thousandth


@pytest.mark.parametrize("cpus", [1, 2, 3, 5])
def test_cpus_share_the_bus(cpus):
    """Each stores 4096 bytes at its own 190 MB/s, until they are more than the bus has room for."""
    pair = Pair()
    issued = []
    for cpu in range(cpus):
        driver = Sisci(pair.fabric, 0)
        pair.kernel.at(0, pair.store, 4096 * cpu, bytes(4096), issued.append, driver)
    run(pair.kernel)
    alone, wire = 200 * NS + bytes_at(4096, 190), bytes_at(4096 + 64 * 16, 528)
    assert len(issued) == cpus
    assert max(issued) >= max(alone, cpus * wire)
    assert max(issued) <= max(alone, cpus * wire) + alone


@pytest.mark.parametrize("nbytes", [4, 64, 256])
def test_a_remote_read_costs_ten_times_a_write_of_that_size(nbytes):
    pair = Pair()
    pair.segment.memory.write(0, bytes(range(256))[:nbytes])
    got = []
    run(pair.kernel, (0, lambda: pair.near.read(pair.mapping, 0, nbytes, lambda data, when: got.append((data, when)))))
    written = (200 + 500 + 700 + 70) * NS + bytes_at(nbytes, 190)
    assert got == [(bytes(range(256))[:nbytes], 10 * written)]


@given(st.integers(1, 2048))
def test_dma_costs_its_set_up_and_streams(words):
    nbytes = 8 * words
    pair = Pair()
    done = []
    run(pair.kernel, (0, lambda: pair.near.dma(memoryview(bytes(nbytes)), 0, pair.remote, 0, done.append)))
    way = (500 + 700 + 70 + 500 + 3 * 70) * NS
    rest = done[0] - 30_000 * NS - way
    # The engine's rate, or for the last piece the bus, whichever is slower.
    assert bytes_at(nbytes, 239) <= rest <= bytes_at(nbytes, 239) + bytes_at(wire_bytes(64), 528)


def test_dma_of_two_processes_goes_through_one_engine():
    pair = Pair()
    second = Sisci(pair.fabric, 0)
    done = []
    data = memoryview(bytes(8192))
    run(
        pair.kernel,
        (0, lambda: pair.near.dma(data, 0, pair.remote, 0, done.append)),
        (0, lambda: second.dma(data, 0, pair.remote, 16384, done.append)),
    )
    first, then = done
    assert then - first >= 30_000 * NS + bytes_at(8192, 239) - 1


@given(st.integers(0, 4095), st.integers(1, 300))
def test_packets_are_the_lines_that_a_store_touches(offset, nbytes):
    assert packets(offset, nbytes) == len({byte // 64 for byte in range(offset, offset + nbytes)})


# -- the driver refuses what the hardware would ------------------------------------------------------


@pytest.mark.parametrize(("address", "offset", "size"), [(1, 0, 8), (0, 4, 8), (0, 0, 12), (0, 0, 0)])
def test_unaligned_dma_is_refused(address, offset, size):
    pair = Pair()
    with pytest.raises(
        SciError, match=r"\Ahost 0: DMA of .* refused; all three must be multiples of 8 and the size not 0\Z"
    ):
        pair.near.dma(memoryview(bytes(size)), address, pair.remote, offset, lambda when: None)


def test_dma_out_of_the_segment_is_refused():
    pair = Pair(nbytes=64)
    with pytest.raises(
        SciError, match=r"\Ahost 0: DMA of 16 bytes to offset 56 leaves segment 7 of host 1, which has 64 "
    ):
        pair.near.dma(memoryview(bytes(16)), 0, pair.remote, 56, lambda when: None)


@pytest.mark.parametrize(("offset", "size"), [(-1, 4), (61, 4), (0, 0), (64, 1)])
def test_stores_out_of_the_segment_are_refused(offset, size):
    pair = Pair(nbytes=64)
    with pytest.raises(SciError, match=r"\Ahost 0: .* of segment 7 of host 1: outside its 64 bytes, or none\Z"):
        pair.near.store(pair.mapping, offset, bytes(size), lambda when: None)
    with pytest.raises(SciError, match=r"\Ahost 0: .*: outside its 64 bytes, or none\Z"):
        pair.near.read(pair.mapping, offset, size, lambda data, when: None)


def test_a_mapping_given_up_is_of_no_use():
    pair = Pair()
    pair.near.unmap(pair.mapping)
    with pytest.raises(SciError, match=r"\Ahost 0: .*: the segment is not mapped any more\Z"):
        pair.near.store(pair.mapping, 0, b"x", lambda when: None)
    slot = RemoteSlot(RemoteSlots(pair.near, pair.mapping, pair.mapping, 2), 0, 8, (0, 1))
    with pytest.raises(SciError, match=r"\Ahost 0: .*: the segment is not mapped any more\Z"):
        SlotWriter(pair.near, Cpu(pair.kernel)).announce(slot, lambda: None)


def test_a_slot_ends_with_its_mapping():
    pair = Pair()
    slot = RemoteSlot(RemoteSlots(pair.near, pair.mapping, pair.mapping, 2), 8, 8, (0, 1))
    writer = SlotWriter(pair.near, Cpu(pair.kernel))
    pair.near.unmap(pair.mapping)
    with pytest.raises(SciError, match=r"\Ahost 0: 1 bytes at offset 1 .*: the segment is not mapped any more\Z"):
        writer.announce(slot, lambda: None)
    slot.data = b"data"
    with pytest.raises(SciError, match=r"\Ahost 0: 4 bytes at offset 8 .*: the segment is not mapped any more\Z"):
        slot.plan_data()


def test_only_exported_segments_can_be_connected_to():
    pair = Pair()
    with pytest.raises(SciError, match=r"\Ahost 0 cannot connect to segment 8 of host 1: there is none\Z"):
        pair.near.connect(1, 8)
    pair.far.create_segment(8, 64)
    with pytest.raises(SciError, match=r"\Ahost 0 cannot connect to segment 8 of host 1: it is not exported\Z"):
        pair.near.connect(1, 8)
    with pytest.raises(SciError, match=r"\Ahost 1 has a segment 8 already; take another id\Z"):
        pair.far.create_segment(8, 64)


@pytest.mark.parametrize("size", [0, (2 << 20) + 1])
def test_contiguous_memory_is_limited(size):
    pair = Pair()
    with pytest.raises(SciError, match=r"\Ahost 1 cannot allocate segment 9: .* it gives 1 to 2097152\Z"):
        pair.far.create_segment(9, size)
    with pytest.raises(SciError, match=r"\Ahost 1 cannot allocate segments 20 to 24: .* it gives 1 to 2097152\Z"):
        pair.far.create_segments(20, 5, size, 64)


def test_a_patched_kernel_gives_more():
    driver = Sisci(Pair().fabric, 2, patched=True)
    assert driver.create_segment(1, 512 << 20).memory.resident == 0


def test_segments_made_together_exist_when_first_touched():
    pair = Pair()
    made = []
    pair.far.create_segments(20, 1000, 4096, 512, made.append)
    assert not made
    pair.near.connect(1, 25)
    pair.near.connect(1, 25)
    assert [segment.number for segment in made] == [25]
    assert pair.far.segment(1, 1020) is None


# -- order (rule O) --------------------------------------------------------------------------------


def landings(seed, acts):
    """Which bytes are there after each landing, in weak ordering."""
    pair = Pair(weak=True, seed=seed, nbytes=256)
    other = pair.far.create_segment(8, 256)
    other.export()
    second = pair.near.map(pair.near.connect(1, 8))
    seen = []
    pair.segment.on_landing = lambda: seen.append(("one", pair.segment.memory.read(0, 256)))
    other.on_landing = lambda: seen.append(("two", other.memory.read(0, 256)))
    run(pair.kernel, (0, lambda: acts(pair, second)))
    return seen


def test_weak_stores_to_one_segment_stay_in_order():
    def acts(pair, _):
        for number in range(1, 6):
            pair.store(8 * number, bytes([number]) * 8)

    for seed in range(20):
        for _, state in landings(seed, acts):
            there = set(state) - {0}
            assert there == set(range(1, len(there) + 1))


class Crowd:
    """Three hosts of a ring of four, each with two processes and a segment; who stores what, and what becomes of it.

    Args:
        programs: for each process of hosts 0, 0, 1, 1, 2, 2 its stores `(way, size, pause, barrier)`: how many
            hosts further the segment is, bytes, picoseconds before it, whether a barrier follows.
        weak: whether landings are delayed at random.
    """

    SPACE = 16384

    def __init__(self, programs, *, weak=False):
        self.kernel = Kernel(0)
        self.fabric = SciFabric(self.kernel, Torus((4,)), weak=weak)
        self.programs = [list(program) for program in programs]
        total = sum(map(len, programs))
        self.drivers = [Sisci(self.fabric, index // 2) for index in range(len(programs))]
        self.segments = [Sisci(self.fabric, host).create_segment(1, self.SPACE * (total + 1)) for host in range(3)]
        self.stores = []  # what is known of each; `begun`, `issued` and `landed` in picoseconds
        for host, segment in enumerate(self.segments):
            segment.export()
            segment.on_landing = lambda host=host: self.look(host)
        for index in range(len(programs)):
            self.kernel.at(0, self.step, index)
        run(self.kernel)

    def step(self, index):
        """Begin what a process does next."""
        if self.programs[index]:
            way, size, pause, barrier = self.programs[index].pop(0)
            self.kernel.at(self.kernel.now + pause, self.begin, index, (index // 2 + way) % 3, size, barrier)

    def begin(self, index, target, size, barrier):
        driver = self.drivers[index]
        made = dict(process=index, host=index // 2, target=target, offset=len(self.stores) * self.SPACE, size=size)
        made |= dict(begun=self.kernel.now, issued=None, landed=None)
        self.stores.append(made)

        def issued(when):
            made["issued"] = when
            self.kernel.at(when, wait if barrier else go_on)

        def wait():
            when = driver.barrier(complete)
            if when:
                complete(when)

        def complete(when):
            self.kernel.at(when, covered)

        def covered():
            mine = [store for store in self.stores if store["process"] == index]
            response = {store["target"]: driver.adapter.way(store["target"]).response for store in mine}
            for store in mine:
                assert store["landed"] is not None
                assert store["landed"] + response[store["target"]] <= self.kernel.now
            go_on()

        def go_on():
            self.step(index)

        mapping = driver.map(driver.connect(target, 1))
        end = driver.store(mapping, made["offset"], b"\1" * size, issued)
        if end:
            issued(end)

    def look(self, target):
        """See which stores are there in whole, and that none of those before which they were issued is missing."""
        memory = self.segments[target].memory
        here = [store for store in self.stores if store["target"] == target]
        for store in here:
            if store["landed"] is None and memory.read(store["offset"], store["size"]).count(1) == store["size"]:
                store["landed"] = self.kernel.now
        begun = [store for store in here if memory.read(store["offset"], store["size"]).count(1)]
        for store in here:
            if store["landed"] is None and store["issued"] is not None:
                behind = [o for o in begun if o["host"] == store["host"] and o["begun"] >= store["issued"]]
                assert not behind, (store, behind)


@pytest.mark.parametrize("weak", [False, True])
@given(st.integers(0), st.lists(st.sampled_from([1, 48, 640, 4096, 4096, 9000]), min_size=3, max_size=4))
def test_stores_of_an_adapter_to_a_segment_land_in_the_order_of_their_issue(weak, seed, sizes):
    """Those of two CPUs at once are in no order; a store that begins when another has been issued is behind it."""
    random = Random(seed)
    ways, pauses, barriers = [1, 2, 2, 2], [0, 1, 500 * NS, 3000 * NS, 20_000 * NS], [False] * 5 + [True]
    kinds = ways, sizes, pauses, barriers
    crowd = Crowd([[tuple(map(random.choice, kinds)) for _ in range(12)] for _ in range(6)], weak=weak)
    assert len(crowd.stores) == 72
    assert all(store["landed"] is not None for store in crowd.stores)


def test_a_short_store_does_not_overtake_a_long_one_that_waited_for_a_link():
    """The long one waits for the bus where it lands; what is stored there by others leaves room for the short one."""
    others = [(1, 9000, 1, False)], [], [], [(2, 9000, 0, False)]
    crowd = Crowd([*others, [(2, 4096, 3000 * NS, False), (2, 48, 0, True)], [(1, 4096, 500 * NS, False)]])
    long, short = [store for store in crowd.stores if store["process"] == 4]
    assert long["issued"] == short["begun"]
    assert long["landed"] > long["issued"] + (500 + 700 + 3 * 70) * NS  # it has waited
    assert short["landed"] >= long["landed"]


def test_weak_stores_to_two_segments_overtake_one_another():
    def acts(pair, second):
        pair.store(0, b"\1")
        pair.near.store(second, 0, b"\2", lambda when: None)

    orders = {tuple(name for name, _ in landings(seed, acts)) for seed in range(20)}
    assert orders == {("one", "two"), ("two", "one")}


def test_weak_dma_and_stores_overtake_one_another():
    def acts(pair, _):
        pair.near.dma(memoryview(b"\1" * 16), 0, pair.remote, 0, lambda when: None)
        pair.kernel.at(33_000_000, lambda: pair.store(64, b"\2"))

    orders = set()
    for seed in range(30):
        states = [state for _, state in landings(seed, acts)]
        done = next(index for index, state in enumerate(states) if state[:16] == b"\1" * 16)
        stored = next(index for index, state in enumerate(states) if state[64] == 2)
        orders.add(done < stored)
    assert orders == {True, False}


def test_words_of_8_bytes_never_tear():
    def acts(pair, _):
        pair.store(3, b"\1" * 21)

    cut = set()
    for seed in range(40):
        for _, state in landings(seed, acts):
            count = state.count(1)
            assert count in (5, 13, 21)
            cut.add(count)
    assert cut == {5, 13, 21}


@pytest.mark.parametrize("seed", range(10))
def test_after_the_barrier_all_is_there(seed):
    pair = Pair(weak=True, seed=seed)
    checked = []

    def check():
        checked.append(pair.segment.memory.read(0, 100) == b"\1" * 100)

    def act():
        pair.store(0, b"\1" * 100)
        when = pair.near.barrier(lambda when: pair.kernel.at(when, check))
        if when:
            pair.kernel.at(when, check)

    run(pair.kernel, (0, act))
    assert checked == [True]


@pytest.mark.parametrize("seed", range(10))
def test_after_its_completion_a_dma_is_there(seed):
    pair = Pair(weak=True, seed=seed)
    checked = []

    def check():
        checked.append(pair.segment.memory.read(0, 64) == b"\1" * 64)

    run(
        pair.kernel,
        (0, lambda: pair.near.dma(memoryview(b"\1" * 64), 0, pair.remote, 0, lambda w: pair.kernel.at(w, check))),
    )
    assert checked == [True]


def test_announced_bytes_land_with_their_flags():
    pair = Pair()
    flags = pair.far.create_segment(8, 16)
    flags.export()
    control = pair.near.map(pair.near.connect(1, 8))
    states = []
    flags.on_landing = lambda: states.append((pair.segment.memory.read(0, 3), flags.memory.read(0, 3)))

    def act():
        pair.near.store(pair.mapping, 0, b"abc", lambda when: None, True)
        when = pair.near.barrier(lambda when: None)
        slot = RemoteSlot(RemoteSlots(pair.near, pair.mapping, control, 2), 0, 8, (2, 0))
        pair.kernel.at(when, SlotWriter(pair.near, Cpu(pair.kernel)).announce, slot, lambda: None)

    run(pair.kernel, (0, act))
    assert states == [(b"abc", b"\1\0\1")]
