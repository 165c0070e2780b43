"""Links, NIs and switches that fail and come back, and bits that go wrong."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduit.sim import Cpu, Kernel, simulate
from conduit.sim.units import ps
from conduits.sunfire.driver import StoreMapping, SunfireProcess
from conduits.sunfire.hardware import (
    READ,
    TOPOLOGIES,
    WRITE,
    ClusterTopology,
    ErrorStatus,
    FireLinkFabric,
    TableEntry,
    check_faults,
    schedule,
)
from conduits.sunfire.hardware.faults import parse_fault

US = 10**6
PATIENCE, REROUTE = 10 * US, 200 * US


class Bytes:
    """Memory as a bytearray."""

    def __init__(self, nbytes):
        self.data = bytearray(nbytes)

    def write(self, address, data):
        self.data[address : address + len(data)] = data

    def read(self, address, nbytes):
        return bytes(self.data[address : address + nbytes])


class Pair:
    """A process of host 0 that stores to host 1, while things fail."""

    def __init__(self, *faults, machine=TOPOLOGIES["q"], nbytes=1 << 14, seed=0, **options):
        self.kernel = Kernel(seed)
        self.fabric = FireLinkFabric(self.kernel, machine, may_fail=True, **options)
        schedule(self.fabric, check_faults(faults, machine))
        self.entry = TableEntry(1, Bytes(nbytes), nbytes)
        self.fabric.enter(self.entry, 1, None)
        self.process = SunfireProcess(self.fabric, 0, 0, Cpu(self.kernel))
        self.channel = self.process.processor.channel(1)
        self.mapping = StoreMapping(self.process, self.entry, self.channel, READ | WRITE)

    def run(self, *acts, until=10**10):
        async def body():
            for when, act in acts:
                self.kernel.at(when, act)
            await self.kernel.until(until)

        simulate(self.kernel, body)

    def store(self, offset, data, issued=lambda when: None):
        end = self.mapping.store(offset, data, issued)
        if end:
            issued(end)

    @property
    def memory(self):
        return bytes(self.entry.memory.data)


# -- what is lost --------------------------------------------------------------------------------------


def test_lines_on_a_link_that_fails_are_lost_and_the_next_fence_says_so():
    pair, fenced = Pair("link0.1.0@500ns"), []

    def act():
        pair.store(0, b"x" * 64 * 8)
        assert pair.mapping.fence(lambda *result: fenced.append(result)) == 0

    pair.run((0, act))
    lost = [line for line in range(8) if pair.memory[64 * line] == 0]
    assert lost == [1, 5]  # the second of four stripes
    (when, status), = fenced  # fmt: skip
    assert status == ErrorStatus.LOST
    assert pair.process.processor.cesr == ErrorStatus.LOST
    assert when > PATIENCE
    assert [counters.errors for counters in pair.process.counters()] == [0, 2]


def test_what_landed_before_is_safe():
    pair, fenced = Pair("link0.1.0@5us"), []

    def act():
        pair.store(0, b"x" * 64 * 8)
        pair.mapping.fence(lambda *result: fenced.append(result))

    pair.run((0, act))
    assert pair.memory[:512] == b"x" * 512
    assert [status for _, status in fenced] == [ErrorStatus.OK]
    assert pair.process.processor.cesr == ErrorStatus.OK


def test_a_link_that_was_back_in_between_has_lost_them_too():
    pair = Pair("link0.1.0@500ns-600ns")
    pair.run((0, lambda: pair.store(0, b"x" * 64 * 4)))
    assert [line for line in range(4) if pair.memory[64 * line] == 0] == [1]


@pytest.mark.parametrize(
    ("fault", "lost"), [("ni0.0", [0, 2]), ("ni1.1", [1, 3]), ("switch0", [0, 1]), ("link1.0.1", [2])]
)
def test_each_kind_of_part_takes_its_stripes(fault, lost):
    """Stripes are (NI, link) 0.0, 1.0, 0.1, 1.1; with two switches the first two of them go through switch 0."""
    pair = Pair(f"{fault}@500ns")
    lanes = pair.fabric.inventory.lanes(0, 1)
    assert lost == [index for index, lane in enumerate(lanes) if fault in {part.name for part in lane.parts}]
    pair.run((0, lambda: pair.store(0, b"x" * 64 * 4)))
    assert [line for line in range(4) if pair.memory[64 * line] == 0] == lost


def test_an_error_lands_in_the_register_after_a_while_and_rings():
    pair, rings = Pair("link0.0.0@500ns", stripes=1), []
    pair.process.processor.alarm = lambda: rings.append((pair.kernel.now, pair.process.processor.cesr))
    pair.run((0, lambda: pair.store(0, bytes(64))))
    assert rings == [(302_078 + 1_148_000 + PATIENCE, ErrorStatus.LOST)]
    assert pair.process.read_cesr() == ErrorStatus.LOST
    assert pair.process.processor.cesr == ErrorStatus.OK


def test_a_barrier_over_a_dead_link_fails_although_nothing_was_stored():
    pair, fenced = Pair("link0.1.0@1us"), []
    pair.run((2 * US, lambda: pair.mapping.fence(lambda *result: fenced.append(result))))
    assert fenced == [(2 * US + 1_700_078 + PATIENCE, ErrorStatus.LOST)]


def test_an_error_is_reported_by_one_fence():
    pair, statuses = Pair("link0.1.0@500ns"), []

    def fence():
        pair.mapping.fence(lambda when, status: statuses.append(status))

    pair.run((0, lambda: pair.store(0, bytes(64 * 4))), (1, fence), (REROUTE * 2, fence))
    assert statuses == [ErrorStatus.LOST, ErrorStatus.OK]


@pytest.mark.parametrize(
    ("faults", "down"),
    [
        (("ni0.1@10us-30us", "ni0.1@20us-50us"), [15, 25, 35]),
        (("ni0.1@20us-50us", "ni0.1@10us-60us"), [15, 25, 35, 55]),
        (("ni0.1@10us", "ni0.1@20us-30us"), [15, 25, 35, 55, 65]),
        (("ni0.1@10us", "ni0.1~1us/1us"), [15, 25, 35, 55, 65]),
    ],
)
def test_a_part_works_again_when_all_that_it_failed_for_is_over(faults, down):
    pair, found = Pair(*faults), []
    part = pair.fabric.inventory.parts["ni0.1"]

    def look(when):
        found.extend([] if part.up else [when])

    pair.run(*((when * US, lambda when=when: look(when)) for when in (15, 25, 35, 55, 65)), until=100 * US)
    assert found == down


def test_loads_over_a_dead_link_fail():
    pair, got = Pair("link0.0.0@500ns", stripes=1), []
    pair.run((0, lambda: pair.mapping.load(0, 128, lambda *result: got.append(result))))
    ((data, _, status),) = got
    assert (data, status) == (b"", ErrorStatus.LOST)
    assert pair.process.processor.cesr == ErrorStatus.LOST


@pytest.mark.parametrize(("lines", "status"), [(1, ErrorStatus.OK), (3, ErrorStatus.OK), (4, ErrorStatus.LOST)])
def test_loads_fail_with_the_links_that_their_lines_take(lines, status):
    """Four stripes, the last of which is down."""
    pair, got = Pair("link0.1.1@500ns"), []
    pair.run((0, lambda: pair.mapping.load(0, 64 * lines, lambda *result: got.append(result))))
    ((_, _, found),) = got
    assert found == status


def test_bit_errors_spoil_the_loads_that_come_over_their_link():
    """One line of four comes over a cable that spoils it in two cases of five, the first line never."""
    pair, outcomes = Pair("link0.1.1%1e-3"), {1: [], 4: []}

    def load(lines):
        pair.mapping.load(0, 64 * lines, lambda data, when, status: outcomes[lines].append(status))

    loads = [(ps(turn * 4e-5), lambda lines=lines: load(lines)) for turn in range(200) for lines in outcomes]
    pair.run(*loads, until=ps(1e-2))
    assert outcomes[1] == [ErrorStatus.OK] * 200
    assert sum(map(bool, outcomes[4])) / 200 == pytest.approx(1 - (1 - 1e-3) ** 512, abs=0.1)


def test_bit_errors_spoil_lines_at_their_rate():
    """4096 lines of 512 bits over two cables each: 1 - (1 - 1e-4)**1024 of them."""
    pair = Pair("links%1e-4", nbytes=1 << 18)
    pair.run((0, lambda: pair.store(0, b"x" * (1 << 18))))
    lost = sum(pair.memory[64 * line] == 0 for line in range(4096))
    assert lost / 4096 == pytest.approx(1 - (1 - 1e-4) ** 1024, abs=0.012)


# -- routing -------------------------------------------------------------------------------------------


def test_traffic_is_restriped_after_a_while_and_again_when_the_link_is_back():
    pair, stripes = Pair("link0.1.0@1ms-2ms"), []
    times = [0.9e-3, 1.1e-3, 1.3e-3, 2.1e-3, 2.3e-3]
    pair.run(*((ps(time), lambda: stripes.append(pair.process.stripes(1))) for time in times))
    assert stripes == [4, 4, 3, 3, 4]
    assert pair.process.reroutes() == 2


def test_who_begins_to_talk_meanwhile_knows_no_more_than_the_others():
    pair, stripes = Pair("link0.1.0@1us"), []

    def look():
        stripes.append(len(pair.fabric.paths(0, 2).lanes))

    pair.run((2 * US, look), (2 * US + REROUTE, look))
    assert stripes == [4, 3]


def test_after_that_nothing_is_lost():
    pair, statuses = Pair("link0.1.0@1us"), []

    def act():
        pair.store(0, b"x" * 4096)
        pair.mapping.fence(lambda when, status: statuses.append(status))

    pair.run((US + REROUTE, act))
    assert statuses == [ErrorStatus.OK]
    assert pair.memory[:4096] == b"x" * 4096


def test_fewer_stripes_take_another_link_when_one_fails():
    pair = Pair("link0.0.0@1us", stripes=1)
    assert [lane.source.name for lane in pair.channel.paths.lanes] == ["ni0.0"]
    pair.run((0, lambda: None))
    assert [lane.source.name for lane in pair.channel.paths.lanes] == ["ni0.1"]


def test_a_switch_lets_another_link_of_the_far_host_stand_in():
    """With two switches each host has two links on each: what is left on a switch is paired."""
    pair = Pair("link0.0.0@1us", "link1.1.0@1us")
    pair.run((0, lambda: None))
    ends = [tuple(cable.name for cable in lane.cables) for lane in pair.channel.paths.lanes]
    assert ends == [("link0.1.0", "link1.0.0"), ("link0.0.1", "link1.0.1"), ("link0.1.1", "link1.1.1")]


def test_two_hosts_that_lost_different_interfaces_still_meet_on_a_switch():
    pair = Pair("ni0.0@1us", "ni1.1@1us")
    pair.run((0, lambda: None))
    assert pair.process.stripes(1) == 2


@pytest.mark.parametrize("faults", [("nis@1us",), ("ni0.0@1us", "ni0.1@1us"), ("links@1us",), ("switches@1us",)])
def test_no_path_at_all(faults):
    pair, statuses = Pair(*faults), []

    def act():
        pair.store(0, bytes(64))
        pair.mapping.fence(lambda when, status: statuses.append((when, status)))

    pair.run((US + REROUTE, act), (10**9, lambda: pair.mapping.load(0, 64, lambda *result: statuses.append(result))))
    assert pair.process.stripes(1) == 0
    (when, status), load = statuses
    assert status == ErrorStatus.NO_PATH
    assert when < US + REROUTE + PATIENCE  # nobody waits for an answer
    assert load[0] == b""
    assert load[2] == ErrorStatus.NO_PATH
    text = str(pair.process.unreachable(1))
    assert "RSMERR_REMOTE_NODE_UNREACHABLE: no path from host 0 to host 1 is left; down: " in text


def test_a_host_that_lost_a_link_still_reaches_the_others_directly():
    machine = ClusterTopology(3, 1, switched=False)
    pair = Pair("link0.0.0@1us", machine=machine)
    pair.run((0, lambda: None))
    assert [pair.process.stripes(1), pair.process.stripes(2)] == [0, 1]


def test_a_cable_between_hosts_has_a_name_at_each_end():
    machine = ClusterTopology(3, 1, switched=False)
    pair = Pair("link1.0.1@1us", machine=machine)
    pair.run((0, lambda: None))
    assert pair.process.stripes(1) == 0
    assert pair.channel.paths.down == ["link0.0.0"]


# -- everything together --------------------------------------------------------------------------------

FAULTS = [
    "link0.0.0@50us-400us",
    "link1.1.0@120us-300us",
    "ni0.1@10us-250us",
    "switch1@60us-500us",
    "links~1ms/300us",
    "links%2e-6",
    "ni1.0~700us/200us",
]


@given(
    faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=4, unique=True),
    seed=st.integers(0, 10**6),
    stripes=st.sampled_from([1, 2, 4]),
    weak=st.booleans(),
    runs=st.lists(st.integers(1, 80), min_size=1, max_size=8),
)
@settings(max_examples=60)
def test_rewriting_until_the_fence_is_good_makes_memory_right(faults, seed, stripes, weak, runs):
    """A run is stored again until a fence finds no error; then all of it is there, whatever has failed."""
    pair = Pair(*faults, seed=seed, stripes=stripes, weak=weak)
    kernel, left, log = pair.kernel, list(runs), []

    def step(tries=0):
        lines = left[0]
        data = bytes([len(left)]) * 64 * lines
        pair.store(0, data, lambda when: kernel.at(when, fence, data, tries))

    def fence(data, tries):
        pair.mapping.fence(lambda when, status: kernel.at(when, judge, data, status, tries))

    def judge(data, status, tries):
        if status & ErrorStatus.NO_PATH or tries == 100:
            log.append("gave up")
            return
        if status:
            step(tries + 1)
            return
        log.append("good")
        assert pair.memory[: len(data)] == data
        pair.process.read_cesr()
        left.pop(0)
        if left:
            step()

    pair.run((0, step))
    assert log.count("good") == len(runs) or log[-1] == "gave up"


@given(seed=st.integers(0, 1000), weak=st.booleans())
@settings(max_examples=20)
def test_a_good_fence_and_a_clean_register_go_together(seed, weak):
    """What is missing in memory is in the status of the fence and in the register; else neither says anything."""
    pair, statuses = Pair("links%3e-5", seed=seed, weak=weak, nbytes=1 << 12), []

    def act():
        pair.store(0, b"x" * (1 << 12))
        pair.mapping.fence(lambda when, status: statuses.append(status))

    pair.run((0, act))
    lost = any(pair.memory[64 * line] == 0 for line in range(64))
    assert statuses == [ErrorStatus.LOST if lost else ErrorStatus.OK]
    assert bool(pair.process.processor.cesr) == lost


def test_the_same_seed_fails_at_the_same_times():
    def times(seed):
        pair, found = Pair("links~100us/50us", seed=seed), []
        pair.run((10**9, lambda: found.append([cable.failures for cable in pair.fabric.inventory.cables.values()])))
        return found

    assert times(1) == times(1) != times(2)


def test_schedules_keep_no_job_alive():
    kernel = Kernel()
    fabric = FireLinkFabric(kernel, TOPOLOGIES["q"], may_fail=True)
    schedule(fabric, check_faults(["links~10us/10us"], TOPOLOGIES["q"]))

    async def body():
        await kernel.until(100 * US)

    simulate(kernel, body)
    assert kernel.now < 110 * US


# -- how they are written --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("link0.1.0@50us", {"part": "link0.1.0", "down": 50 * US}),
        ("ni2.0@1.5ms-2ms", {"part": "ni2.0", "down": 1500 * US, "up": 2000 * US}),
        ("switch1@0.001", {"part": "switch1", "down": 1000 * US}),
        ("links~5ms/200us", {"part": "links", "mean": 5000 * US, "repair": 200 * US}),
        ("nis~1s", {"part": "nis", "mean": 10**12}),
        ("links%1e-7", {"part": "links", "rate": 1e-7}),
        ("link3.0.0%0", {"part": "link3.0.0", "rate": 0.0}),
    ],
)
def test_the_forms(text, expected):
    fault = parse_fault(text)
    for name in ("part", "down", "up", "mean", "repair", "rate"):
        assert getattr(fault, name) == expected.get(name)
    assert fault.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "fault '' is not understood; write PART@TIME, PART@TIME-TIME"),
        ("link0@1us", "not understood"),
        ("cable0.0.0@1us", "linkH.N.L, niH.N, switchS"),
        ("link0.0.0", "not understood"),
        ("link0.0.0@", "not understood"),
        ("link0.0.0@1us-", "not understood"),
        ("link0.0.0@soon", "'soon' is no time, such as 50us"),
        ("link0.0.0@-1us", "not understood"),
        ("link0.0.0@2us-1us", "back at 1us, which is not after 2us"),
        ("link0.0.0@2us-2us", "give a later time, or none"),
        ("links~0us/1us", "'0us' is no time"),
        ("links~1us/often", "'often' is no time"),
        ("links%2", "'2' is no rate of bit errors"),
        ("links%many", "'many' is no rate of bit errors"),
        ("ni0.0%1e-6", "no rate of bit errors of a link"),
        ("link9.0.0@1us", "there is no link9.0.0; this cluster has 4 hosts with 2 NIs of 2 links, and 2 switches"),
        ("ni0.2@1us", "there is no ni0.2"),
        ("switch2@1us", "there is no switch2"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_faults([text], TOPOLOGIES["q"])


def test_there_are_no_switches_without_switches():
    with pytest.raises(ValueError, match="there is no switches; this cluster has 2 hosts"):
        check_faults(["switches@1us"], ClusterTopology(2, 1, switched=False))


def test_of_a_long_run_only_what_was_on_the_link_is_lost():
    """Pieces that had landed when it failed are safe, and those that go after the rerouting as well."""
    pair = Pair("link0.1.0@100us-101us", nbytes=1 << 18)
    pair.run((0, lambda: pair.store(0, b"x" * (1 << 18))))
    lost = [line for line in range(4096) if pair.memory[64 * line] == 0]
    piece = [line // 64 for line in lost]
    assert lost
    assert {line % 4 for line in lost} == {1}
    # A piece takes 64 x 0.102 us; 100 us are 15.3 of them, and one or two are on their way.
    assert 14 <= min(piece) <= max(piece) <= 15
