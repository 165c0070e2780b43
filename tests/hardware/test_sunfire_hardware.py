"""The simulated Sun Fire Link cluster against closed forms with the numbers written out again here."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduit.sim import Cpu, Kernel, simulate
from conduits.rsm import Permission
from conduits.sunfire.driver import StoreMapping, SunfireProcess
from conduits.sunfire.hardware import (
    READ,
    TOPOLOGIES,
    WRITE,
    ClusterTopology,
    ErrorStatus,
    FireLinkFabric,
    Inventory,
    TableEntry,
)

NS = 1000
LINE = 102_078
LANDING = (450 + 698) * NS
BARRIER = LINE + LANDING + 450 * NS


class Bytes:
    """Memory as a bytearray."""

    def __init__(self, nbytes):
        self.data = bytearray(nbytes)

    def write(self, address, data):
        self.data[address : address + len(data)] = data

    def read(self, address, nbytes):
        return bytes(self.data[address : address + nbytes])


class Cluster:
    """Hosts with a segment of each that all others have mapped."""

    def __init__(self, machine=TOPOLOGIES["sis"], nbytes=1 << 16, seed=0, **options):
        self.kernel = Kernel(seed)
        self.fabric = FireLinkFabric(self.kernel, machine, **options)
        self.nbytes = nbytes
        self.entries = []
        for host in range(machine.hosts):
            entry = TableEntry(host, Bytes(nbytes), nbytes)
            self.fabric.enter(entry, 1, None)
            self.entries.append(entry)

    def process(self, host, index=0):
        return SunfireProcess(self.fabric, host, index, Cpu(self.kernel))

    def mapping(self, process, target, interface=None, permission=READ | WRITE):
        channel = process.processor.channel(target, interface)
        return StoreMapping(process, self.entries[target], channel, permission)

    def run(self, *acts):
        """Run `(time, function)` acts in virtual time and everything that follows from them."""

        async def body():
            for when, act in acts:
                self.kernel.at(when, act)
            await self.kernel.until(10**13)

        simulate(self.kernel, body)

    def memory(self, host):
        return bytes(self.entries[host].memory.data)


def stored(mapping, offset, data, times, **options):
    """Store, and append to `times` when the CPU is free again."""
    end = mapping.store(offset, data, times.append, **options)
    if end:
        times.append(end)


# -- one store ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stripes", [1, 2, 4])
@given(lines=st.integers(1, 64), at=st.integers(0, 100))
@settings(max_examples=15)
def test_a_run_of_lines_is_paced_by_the_cpu(stripes, lines, at):
    cluster = Cluster(stripes=stripes)
    mapping, landed, issued = cluster.mapping(cluster.process(0), 1), [], []
    cluster.entries[1].landing = lambda offset, data: landed.append((cluster.kernel.now, offset, len(data)))
    data = bytes(range(64)) * lines
    cluster.run((5, lambda: stored(mapping, at * 64, data, issued)))
    end = 5 + 200 * NS + lines * LINE
    assert issued == [end]
    assert landed == [(end + LANDING, at * 64, len(data))]
    assert cluster.memory(1)[at * 64 : at * 64 + len(data)] == data


@pytest.mark.parametrize("announced", [False, True])
def test_a_run_takes_one_event_and_what_is_announced_none(announced):
    def events(runs):
        cluster = Cluster()
        mapping = cluster.mapping(cluster.process(0), 1)
        cluster.run(*((at * 10**7, lambda: store(mapping)) for at in range(runs)))
        return cluster.kernel.events

    def store(mapping):
        mapping.store(0, bytes(64 * 20), print, announced)

    assert events(5) - events(3) == 2 * (1 if announced else 2)  # one is the act


@pytest.mark.parametrize("lines", [1, 64, 65, 1000])
def test_a_long_run_goes_on_at_the_same_pace(lines):
    cluster = Cluster()
    mapping, issued, landed = cluster.mapping(cluster.process(0), 1), [], []
    cluster.entries[1].landing = lambda offset, data: landed.append(cluster.kernel.now)
    cluster.run((0, lambda: stored(mapping, 0, bytes(64 * lines), issued)))
    assert issued == [200 * NS + lines * LINE]
    assert landed == [issued[0] + LANDING]


@pytest.mark.parametrize("called", [0, 302_078])
def test_a_fence_is_a_message_there_and_back_behind_the_stores(called):
    cluster = Cluster()
    mapping, backs = cluster.mapping(cluster.process(0), 1), []
    end = 200 * NS + LINE
    cluster.run(
        (0, lambda: stored(mapping, 0, bytes(64), [])), (called, lambda: backs.append(mapping.fence(backs.append)))
    )
    assert backs == [end + BARRIER]


def test_a_fence_with_nothing_stored_still_goes_there_and_back():
    cluster = Cluster()
    mapping, backs = cluster.mapping(cluster.process(0), 1), []
    cluster.run((1000, lambda: backs.append(mapping.fence(backs.append))))
    assert backs == [1000 + BARRIER]


@given(st.integers(1, 256), st.integers(0, 256))
@settings(max_examples=15)
def test_loads_are_not_pipelined(lines, at):
    cluster = Cluster(nbytes=1 << 15)
    cluster.entries[1].memory.data[:] = bytes(range(256)) * 128
    mapping, got = cluster.mapping(cluster.process(0), 1), []
    cluster.run((0, lambda: mapping.load(at * 64, lines * 64, lambda *result: got.append(result))))
    assert got == [(cluster.memory(1)[at * 64 : (at + lines) * 64], lines * 1_451_600, 0)]


def test_a_load_sees_what_is_stored_meanwhile():
    cluster = Cluster()
    mapping, got = cluster.mapping(cluster.process(0), 1), []

    def write(value):
        cluster.entries[1].memory.data[0] = value

    cluster.run(
        (0, lambda: mapping.load(0, 64, lambda data, when, status: got.append(data[0]))),
        (1_451_600 - 450 * NS - 1, lambda: write(1)),
        (1_451_600 - 450 * NS + 1, lambda: write(2)),
    )
    assert got == [1]


def test_announced_bytes_land_with_their_flag():
    cluster = Cluster()
    mapping, seen = cluster.mapping(cluster.process(0), 1), []
    cluster.entries[1].landing = lambda offset, data: seen.append((offset, cluster.memory(1)[64]))

    def flag(when):
        cluster.kernel.at(when, mapping.store, 0, b"f" * 64, print)

    def act():
        end = mapping.store(64, b"d" * 128, print, announced=True)
        assert end == 200 * NS + 2 * LINE
        flag(mapping.fence(print))

    cluster.run((0, act))
    assert seen == [(64, ord("d")), (0, ord("d"))]
    assert cluster.memory(1)[:192] == b"f" * 64 + b"d" * 128


def test_announced_bytes_land_where_their_flag_is_refused():
    cluster, status = Cluster(), []
    process = cluster.process(0)
    data, flags = cluster.mapping(process, 1), cluster.mapping(process, 2)
    cluster.entries[2].grant({})

    def act():
        assert data.store(64, b"d" * 128, print, announced=True)
        cluster.kernel.at(data.fence(print), flag)

    def flag():
        assert flags.store(0, b"f" * 64, print)
        flags.fence(lambda when, found: status.append(found))

    cluster.run((0, act))
    assert cluster.memory(1)[64:192] == b"d" * 128
    assert cluster.memory(2) == bytes(1 << 16)
    assert status == [ErrorStatus.REFUSED]


# -- sharing -----------------------------------------------------------------------------------------


def rate(cluster, senders, nbytes=1 << 16):
    """Return MB/s that each receiving host gets when `(host, cpu, target)` all store at once."""
    last, got = {}, {}

    def watch(host):
        def landing(offset, data):
            last[host] = cluster.kernel.now
            got[host] = got.get(host, 0) + len(data)

        return landing

    for host, entry in enumerate(cluster.entries):
        entry.landing = watch(host)
    data, acts = bytes(nbytes), []
    for host, cpu, target in senders:
        mapping = cluster.mapping(cluster.process(host, cpu), target)
        acts.append((0, lambda mapping=mapping: stored(mapping, 0, data, [])))
    cluster.run(*acts)
    return {host: got[host] / (last[host] / 1e6) for host in got}


def crowd(source, target, count):
    return [(source, cpu, target) for cpu in range(count)]


def test_one_cpu_uses_more_than_half_of_a_link():
    assert rate(Cluster(stripes=1), crowd(0, 1, 1))[1] == pytest.approx(627, rel=0.02)


@pytest.mark.parametrize(("stripes", "limit"), [(1, 1000), (2, 2000), (4, 4000)])
def test_one_way_links_carry_1000(stripes, limit):
    assert rate(Cluster(stripes=stripes), crowd(0, 1, 8))[1] == pytest.approx(limit, rel=0.03)


def test_both_ways_a_link_carries_800_each():
    found = rate(Cluster(stripes=1), crowd(0, 1, 4) + crowd(1, 0, 4))
    assert found[0] == pytest.approx(800, rel=0.04)
    assert found[1] == pytest.approx(800, rel=0.04)


def test_the_data_path_limits_both_directions_together():
    """Four links could carry 3200 each way; two NIs' paths let 4800 in and out together."""
    found = rate(Cluster(stripes=4), crowd(0, 1, 12) + crowd(1, 0, 12))
    assert found[0] + found[1] == pytest.approx(4800, rel=0.04)


def test_what_arrives_takes_the_path_too():
    """Two senders with all their links: the receiver has four links, and its paths 4800."""
    assert rate(Cluster(stripes=4), crowd(0, 2, 12) + crowd(1, 2, 12))[2] == pytest.approx(4000, rel=0.03)


def short_runs(cluster, senders, lines):
    """Return MB/s that each sending host stores when `(host, cpu, target)` store runs of so many lines for long."""
    until, sent, acts = 3 * 10**8, {}, []

    def go(mapping, host):
        def store():
            end = mapping.store(0, bytes(64 * lines), again)
            sent[host] += 64 * lines
            if end:
                again(end)

        def again(when):
            if when < until:
                cluster.kernel.at(when, store)

        return store

    for number, (host, cpu, target) in enumerate(senders):
        sent[host] = 0
        acts.append((number * 37 * NS, go(cluster.mapping(cluster.process(host, cpu), target), host)))
    cluster.run(*acts)
    return {host: nbytes / (until / 1e6) for host, nbytes in sent.items()}


@pytest.mark.parametrize("lines", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("cpus", [1, 4, 7, 8, 10, 12, 16])
def test_short_runs_of_many_cpus_add_up_to_what_the_links_carry(cpus, lines):
    alone = 64 * lines / ((200 * NS + lines * LINE) / 1e6)
    found = short_runs(Cluster(), crowd(0, 1, cpus), lines)
    assert found[0] == pytest.approx(min(cpus * alone, 4000), rel=0.04)


@pytest.mark.parametrize("lines", [1, 4, 16])
@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_what_comes_the_other_way_holds_up_nobody_while_there_is_room(cpus, lines):
    """Both ways together take less than half of the links and of the paths."""
    found = short_runs(Cluster(), crowd(0, 1, cpus) + crowd(1, 0, cpus), lines)
    alone = 64 * lines / ((200 * NS + lines * LINE) / 1e6)
    assert list(found.values()) == pytest.approx([cpus * alone] * 2, rel=0.02)


def test_cpus_of_a_host_share_fairly():
    cluster = Cluster(stripes=1)
    ends = {}
    for cpu in range(4):
        mapping = cluster.mapping(cluster.process(0, cpu), 1)
        cluster.kernel.at(0, stored, mapping, 0, bytes(1 << 16), ends.setdefault(cpu, []))
    cluster.run()
    times = [end for (end,) in ends.values()]
    assert max(times) - min(times) < 0.1 * max(times)


def test_a_store_waits_for_the_one_before_it_of_the_same_cpu():
    """A link that is taken holds one run of a CPU; the next is issued when that has its place."""
    cluster = Cluster(stripes=1)
    other = cluster.mapping(cluster.process(0, 1), 1)
    mine, issued, landed = cluster.mapping(cluster.process(0, 0), 1), [], []
    cluster.entries[1].landing = lambda offset, data: landed.append((offset, cluster.kernel.now))

    def act(index=0):
        def free(when):
            issued.append(when)
            if index < 2:
                cluster.kernel.at(when, act, index + 1)

        end = mine.store(64 * index, bytes(64), free)
        if end:
            free(end)

    cluster.run((0, lambda: stored(other, 4096, bytes(4096), [])), (0, act))
    assert issued[0] == 200 * NS + LINE  # its own buffer takes it
    taken = 200 * NS + 64 * 64 * NS  # the link is free again
    assert issued[1] >= taken
    assert issued[2] == issued[1] + 200 * NS + LINE
    assert [offset for offset, _ in landed if offset < 4096] == [0, 64, 128]
    assert all(when >= taken for offset, when in landed if offset < 4096)


def test_stripes_of_a_run_do_not_overtake_each_other():
    """The first and third share a data path, which becomes free too late for the two lines of the first alone."""
    cluster = Cluster(stripes=4)
    other, mine = (cluster.mapping(cluster.process(0, cpu), 1) for cpu in (1, 0))
    path = cluster.fabric.inventory.interfaces[0, 0].path
    taken = 2 * path.takes[16 * 64]  # by two stripes of 64 lines
    tail = 6 * LINE
    when = taken - tail + path.takes[128] - path.takes[64] // 2
    cluster.run((0, lambda: stored(other, 4096, bytes(4096), [])), (when, lambda: stored(mine, 0, bytes(6 * 64), [])))
    assert path.statistics().waits == 2


def test_what_loads_bring_waits_for_links_that_others_store_over():
    def took(senders):
        cluster, got = Cluster(stripes=1), []
        for cpu in range(senders):
            mapping = cluster.mapping(cluster.process(1, cpu), 0)
            cluster.kernel.at(0, stored, mapping, 0, bytes(1 << 16), [])
        reader = cluster.mapping(cluster.process(0), 1)
        cluster.run((10**6, lambda: reader.load(0, 64 * 20, lambda data, when, status: got.append(when - 10**6))))
        return got[0]

    assert took(0) == 20 * 1_451_600
    assert took(24) > 2 * took(0)


RUNS = st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(1, 90), st.booleans()), max_size=6)


@pytest.mark.parametrize("stripes", [1, 2, 4])
@given(runs=st.lists(RUNS, min_size=2, max_size=5))
@settings(max_examples=25)
def test_hardware_that_might_fail_and_does_not_is_as_fast_as_other(stripes, runs):
    """Several CPUs of two hosts store, and now and then wait for a barrier: everything happens at the same times."""

    def times(may_fail):
        cluster, found = Cluster(TOPOLOGIES["q"], stripes=stripes, may_fail=may_fail), []
        kernel = cluster.kernel
        for host, entry in enumerate(cluster.entries):
            entry.landing = lambda offset, data, host=host: found.append((kernel.now, "landed", host, len(data)))

        def go_on(cpu, mapping, left):
            if left:
                kernel.at(kernel.now + left[0][0], store, cpu, mapping, left)

        def store(cpu, mapping, left):
            (_, lines, fenced), *rest = left

            def issued(when):
                kernel.at(when, free)

            def free():
                found.append((kernel.now, "free", cpu))
                if not fenced:
                    go_on(cpu, mapping, rest)
                elif when := mapping.fence(back):
                    back(when, 0)

            def back(when, status):
                assert not status
                kernel.at(when, over)

            def over():
                found.append((kernel.now, "fenced", cpu))
                go_on(cpu, mapping, rest)

            if end := mapping.store(0, bytes(64 * lines), issued):
                issued(end)

        for cpu, left in enumerate(runs):
            host = int(cpu == 2)
            go_on(cpu, cluster.mapping(cluster.process(host, cpu), 1 - host), left)
        cluster.run()
        return sorted(found)

    assert times(may_fail=True) == times(may_fail=False)


def test_a_fence_behind_a_store_that_waits_for_a_link_is_back_an_answer_after_its_landing():
    """Others have the one link; the fence is asked for while nobody knows yet when the store gets there."""
    cluster, back, issued, landed = Cluster(stripes=1), [], [], []
    first, second, third = (cluster.mapping(cluster.process(0, cpu), 1) for cpu in range(3))
    cluster.entries[1].landing = lambda offset, data: landed.append((cluster.kernel.now, offset))

    def fence():
        assert not second.fence(lambda when, status: back.append((when, status)))

    cluster.run(
        (0, lambda: stored(first, 0, bytes(64 * 60), [])),
        (1, lambda: stored(third, 8192, bytes(64 * 60), [])),
        (2, lambda: stored(second, 4096, bytes(64 * 20), issued)),
        (2 + 200 * NS + 20 * LINE, fence),
    )
    assert issued == [2 + 200 * NS + 20 * LINE]
    (arrival,) = (when for when, offset in landed if offset == 4096)
    assert arrival > issued[0] + LANDING
    assert back == [(arrival - LANDING + BARRIER, 0)]


# -- wiring ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hosts", "nis", "switches"), [(4, 2, 2), (8, 2, 4), (5, 2, 4), (2, 2, 1), (8, 1, 2), (3, 1, 1), (2, 5, 3)]
)
def test_switches(hosts, nis, switches):
    """Two for four hosts of four links, four for five to eight; none with more than eight links."""
    machine = ClusterTopology(hosts, nis)
    assert machine.switches == switches
    inventory = Inventory(Kernel(), machine)
    used = [inventory._switch(end) for end in inventory.links()]
    assert max(map(used.count, set(used))) <= 8
    for source in range(hosts):
        for target in range(hosts):
            if source != target:
                assert len(inventory.lanes(source, target)) == machine.links


@pytest.mark.parametrize(("hosts", "nis", "lanes"), [(2, 1, 2), (2, 2, 4), (3, 1, 1), (3, 2, 2)])
def test_direct_wiring(hosts, nis, lanes):
    inventory = Inventory(Kernel(), ClusterTopology(hosts, nis, switched=False))
    assert len(inventory.cables) == hosts * nis * 2 // 2
    for source in range(hosts):
        for target in range(hosts):
            if source != target:
                found = inventory.lanes(source, target)
                assert len(found) == lanes
                assert len({lane.cables[0] for lane in found}) == lanes


def test_the_first_stripes_use_different_interfaces():
    lanes = Inventory(Kernel(), TOPOLOGIES["q"]).lanes(0, 1)
    assert [lane.source.index for lane in lanes] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("hosts", "nis", "switched", "message"),
    [
        (9, 2, True, "9 hosts cannot be wired through switches; 2 to 8 can"),
        (1, 2, True, "1 hosts cannot be wired through switches; 2 to 8 can"),
        (4, 2, False, "4 hosts cannot be wired without switches; 2 to 3 can"),
        (2, 0, True, "nis"),
        (2, 9, True, "nis"),
    ],
)
def test_machines_that_cannot_be(hosts, nis, switched, message):
    with pytest.raises(ValueError, match=message):
        ClusterTopology(hosts, nis, switched)


@pytest.mark.parametrize(("host", "cpu"), [(0, 25), (0, -1), (4, 0), (-1, 0)])
def test_hosts_have_24_cpus_and_one_for_themselves(host, cpu):
    fabric = FireLinkFabric(Kernel(), TOPOLOGIES["q"])
    assert fabric.processor(3, 24) is fabric.processor(3, 24)
    with pytest.raises(ValueError, match=rf"no CPU {cpu} of host {host}; the 4 hosts, from 0, have CPUs 0 to 23"):
        fabric.processor(host, cpu)


def test_a_controller_of_one_interface_uses_its_links_alone():
    cluster = Cluster()
    mapping = cluster.mapping(cluster.process(0), 1, interface=1)
    cluster.run((0, lambda: stored(mapping, 0, bytes(64 * 10), [])))
    out = [cluster.fabric.inventory.interfaces[0, index].counters().lines_out for index in range(2)]
    into = [cluster.fabric.inventory.interfaces[1, index].counters().lines_in for index in range(2)]
    assert out == [0, 10]
    assert into == [0, 10]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
@settings(max_examples=20)
def test_stripes_take_turns(runs):
    cluster = Cluster(nbytes=1 << 15)
    mapping = cluster.mapping(cluster.process(0), 1)
    cluster.run(*((index * 10**8, lambda n=n: stored(mapping, 0, bytes(64 * n), [])) for index, n in enumerate(runs)))
    lines = [lane.lines for lane in cluster.fabric.inventory.lanes(0, 1)]
    assert sum(lines) == sum(runs)
    assert max(lines) - min(lines) <= 1


# -- rights ------------------------------------------------------------------------------------------


def test_the_receiving_tables_refuse():
    cluster = Cluster()
    process = cluster.process(0)
    mapping, statuses, issued = cluster.mapping(process, 1), [], []
    cluster.entries[1].grant({0: Permission.READ, 2: Permission.READ_WRITE})

    def act():
        stored(mapping, 0, b"x" * 64, issued)
        assert mapping.fence(lambda when, status: statuses.append(status)) == 0

    cluster.run((0, act), (10**7, lambda: mapping.load(0, 64, lambda data, when, status: statuses.append(status))))
    assert issued == [200 * NS + LINE]
    assert statuses == [ErrorStatus.REFUSED, ErrorStatus.OK]
    assert process.read_cesr() == ErrorStatus.REFUSED
    assert process.read_cesr() == ErrorStatus.OK
    assert cluster.memory(1) == bytes(cluster.nbytes)


def test_only_the_processor_that_stored_has_the_error():
    cluster = Cluster()
    guilty, innocent = cluster.process(0, 0), cluster.process(0, 1)
    cluster.entries[1].grant({})
    alarms = []
    guilty.processor.alarm = lambda: alarms.append(cluster.kernel.now)
    cluster.run((0, lambda: stored(cluster.mapping(guilty, 1), 0, bytes(64), [])))
    assert guilty.processor.cesr == ErrorStatus.REFUSED
    assert innocent.processor.cesr == ErrorStatus.OK
    assert alarms == [200 * NS + LINE + LANDING + 450 * NS]
    assert guilty.counters()[0].errors == 1


def test_what_is_under_way_lands_when_the_tables_change():
    cluster = Cluster()
    mapping = cluster.mapping(cluster.process(0), 1)
    cluster.run(
        (0, lambda: stored(mapping, 0, b"x" * 64, [])), (LANDING, lambda: cluster.fabric.strike(cluster.entries[1]))
    )
    assert cluster.memory(1)[:64] == b"x" * 64


# -- weak ordering -----------------------------------------------------------------------------------


@given(seed=st.integers(0, 1000), lines=st.integers(2, 40))
@settings(max_examples=25)
def test_weak_ordering_keeps_lines_whole_and_fences_order(seed, lines):
    cluster = Cluster(weak=True, seed=seed)
    mapping = cluster.mapping(cluster.process(0), 1)
    landings, fenced = [], []
    cluster.entries[1].landing = lambda offset, data: landings.append((offset, len(data), cluster.kernel.now))
    data = b"".join(bytes([line]) * 64 for line in range(lines))

    def act():
        stored(mapping, 0, data, [], announced=True)
        when = mapping.fence(lambda when, status: fenced.append(when))
        if when:
            fenced.append(when)

    cluster.run((0, act))
    assert sorted(offset for offset, _, _ in landings) == [64 * line for line in range(lines)]
    assert {nbytes for _, nbytes, _ in landings} == {64}
    first = 200 * NS + lines * LINE + LANDING
    assert all(first <= when < first + 5000 * NS for _, _, when in landings)
    assert fenced[0] > max(when for _, _, when in landings)
    assert cluster.memory(1)[: len(data)] == data


def test_weak_ordering_does_reorder():
    cluster = Cluster(weak=True, seed=3)
    mapping, order = cluster.mapping(cluster.process(0), 1), []
    cluster.entries[1].landing = lambda offset, data: order.append(offset)
    cluster.run((0, lambda: stored(mapping, 0, bytes(64 * 20), [])))
    assert order != sorted(order)


def test_the_same_seed_gives_the_same_order():
    def order(seed):
        cluster, found = Cluster(weak=True, seed=seed), []
        cluster.entries[1].landing = lambda offset, data: found.append((offset, cluster.kernel.now))
        mapping = cluster.mapping(cluster.process(0), 1)
        cluster.run((0, lambda: stored(mapping, 0, bytes(64 * 20), [])))
        return found

    assert order(1) == order(1) != order(2)
