"""The machine without a conduit: its options alone, its drivers, and what its parts count."""

import re

import attrs
import pytest

import conduit
from conduit.errors import NetworkError
from conduit.options import SimOptions
from conduit.sim import Kernel, simulate
from conduit.simnet.bench import until_done
from conduits.sci.machine import SciMachine, build
from conduits.sci.port import SciOptions


def names(cls):
    return {field.name for field in attrs.fields(cls)}


def test_the_machine_has_no_option_of_the_protocol():
    assert names(SciMachine) - names(SimOptions) == {"torus", "patched"}
    assert names(SciOptions) - names(SciMachine) == {
        "slots", "slot_payload", "transactions", "dma_threshold", "dynamic_mapping", "queue",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "hosts", "largest"),
    [({}, 65536, 2 << 20), ({"torus": (4, 2)}, 8, 2 << 20), ({"torus": (5,), "patched": True}, 5, 1 << 30)],
)
def test_what_others_ask_the_machine(options, hosts, largest):
    machine = SciMachine(**options)
    assert (machine.max_hosts, machine.max_segment) == (hosts, largest)


@pytest.mark.parametrize("hosts", [(), (-1,), (0, 8)])
def test_a_cluster_has_the_hosts_of_its_torus(hosts):
    with pytest.raises(ValueError, match=re.escape(f"hosts={hosts}: no host for every rank; give numbers from 0 to 7")):
        build(Kernel(), hosts, SciMachine(torus=(4, 2)))


def test_processes_are_made_once_on_their_hosts_and_share_its_card():
    cluster = build(Kernel(), (0, 0, 3), SciMachine())
    first, second, third = (cluster.process(rank) for rank in range(3))
    assert [process.host for process in (first, second, third)] == [0, 0, 3]
    assert [process.rank for process in (first, second, third)] == [0, 1, 2]
    assert cluster.process(1) is second
    assert first.adapter is second.adapter is not third.adapter


def test_a_driver_gives_the_memory_of_its_kernel():
    for patched in (False, True):
        driver = build(Kernel(), (0,), SciMachine(patched=patched)).process(0)
        most = driver.limit
        driver.create_segment(1, most)
        with pytest.raises(NetworkError, match=rf"host 0 cannot allocate segment 2.*1 to {most}\Z"):
            driver.create_segment(2, most + 1)


def test_bytes_travel_and_are_counted_without_a_conduit():
    kernel = Kernel()
    cluster = build(kernel, (0, 2), SciMachine(torus=(4,)))
    near, far = cluster.process(0), cluster.process(1)
    segment = far.create_segment(7, 4096)
    segment.export()
    remote = near.connect(2, 7)
    mapping = near.map(remote)
    data = bytes(range(1, 201))

    async def body():
        await until_done(kernel, lambda then: near.store(mapping, 0, data, then))
        await until_done(kernel, near.barrier)
        assert segment.memory.read(0, 200) == data
        await until_done(kernel, lambda then: near.dma(memoryview(data), 0, remote, 1024, then))
        assert segment.memory.read(1024, 200) == data

    simulate(kernel, body)
    counts = cluster.statistics()
    assert list(counts) == [0, 2]
    # Each time 200 bytes are 208 in units of 16, in 4 packets with a header of 16.
    expected = {"transfers": 2, "bytes": 2 * (208 + 4 * 16), "waits": 0, "waited_ns": 0}
    for kind, rate in (("link", 662.5e6), ("bus", 528e6)):
        found = {name: counts[0][f"{kind}_{name}"] for name in expected}
        assert found == expected
        assert counts[0][f"{kind}_busy_ns"] == pytest.approx(2 * 272 / rate * 1e9, abs=1)
    assert {name: counts[0][name] for name in ("pio_stores", "pio_packets", "pio_stalled_ns")} == {
        "pio_stores": 1, "pio_packets": 4, "pio_stalled_ns": 0,
    }  # fmt: skip
    assert (counts[0]["dma_transfers"], counts[0]["dma_bytes"], counts[0]["dma_longest_queue"]) == (1, 200, 0)
    # What arrives takes the bus of host 2; the link of host 1 lies between and is no rank's.
    assert (counts[2]["bus_bytes"], counts[2]["link_bytes"], counts[2]["dma_transfers"]) == (544, 0, 0)


def test_a_card_that_is_never_quiet_forgets_what_is_over():
    kernel = Kernel()
    cluster = build(kernel, (0, 0, 2), SciMachine(torus=(4,)))
    segment = cluster.process(2).create_segment(7, 4096)
    segment.export()
    kept = []

    def body(rank):
        async def stores():
            driver = cluster.process(rank)
            mapping = driver.map(driver.connect(2, 7))
            for _ in range(300):
                await until_done(kernel, lambda then: driver.store(mapping, 0, bytes(640), then))
                kept.append(len(driver.adapter._runs))

        return stores

    simulate(kernel, body(0), body(1))
    assert max(kept) < 20


# -- in a job --------------------------------------------------------------------------------------------

SHARED = {
    "pio_stores", "pio_packets", "pio_stalled_ns", "dma_transfers", "dma_bytes", "dma_longest_queue",
    *(f"{part}_{what}" for part in ("bus", "link") for what in ("transfers", "bytes", "busy_ns", "waits", "waited_ns")),
}  # fmt: skip


async def send_long(ep, nbytes, count):
    """A program: the ranks of the first host send long payloads to the last rank."""
    done = []

    def put(token, payload):
        token.reply_short(answer)

    def answer(token):
        done.append(token.rank)

    await ep.attach(put, answer)
    if ep.host == 0:
        for _ in range(count):
            await ep.request_long(ep.size - 1, put, bytes(nbytes), 0)
        await ep.block_until(lambda: len(done) == count)
    else:
        await ep.compute(0.1)


def test_counts_of_shared_parts_are_on_the_lowest_rank_of_each_host():
    found = conduit.run(send_long, 8192, 3, ranks=5, ranks_per_host=2, conduit="sci", segment=1 << 16)
    has = [counts.keys() & SHARED for counts in found.statistics]
    assert has == [SHARED, set(), SHARED, set(), SHARED]
    assert all(isinstance(value, int) for counts in found.statistics for value in counts.values())
    first, _, second, _, third = found.statistics
    assert (first["dma_transfers"], first["dma_bytes"]) == (6, 6 * 8192)
    assert first["dma_longest_queue"] == 1  # two ranks, one engine
    assert (second["dma_transfers"], third["dma_transfers"]) == (0, 0)
    assert first["link_bytes"] > 6 * 8192
    assert third["bus_bytes"] > 6 * 8192
