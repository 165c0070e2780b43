"""The machine without a conduit: its options alone, its drivers, and what its parts count."""

import re

import attrs
import pytest

import conduit
from conduit.options import SimOptions
from conduit.sim import Kernel, simulate
from conduits.startx.driver import HIGH, LOW
from conduits.startx.machine import StartXMachine, build
from conduits.startx.port import StartXOptions

US = 1_000_000


def names(cls):
    return {field.name for field in attrs.fields(cls)}


def test_the_machine_has_no_option_of_the_protocol():
    assert names(StartXMachine) - names(SimOptions) == {"host", "access", "fifo", "high_queue", "low_queue"}
    assert names(StartXOptions) - names(StartXMachine) == {
        "slots", "max_medium", "crossover", "crossover_shared", "buffer",
    }  # fmt: skip


@pytest.mark.parametrize(("host", "most", "hosts"), [
    ("e5000", 8, ()), ("e5000", 8, (-1,)), ("e5000", 8, (0, 1024)), ("e5000", 8, (0,) * 9), ("pentium2", 2, (1,) * 3),
])  # fmt: skip
def test_a_cluster_has_hosts_and_processors(host, most, hosts):
    message = (
        f"hosts={hosts}: no host for every rank; give numbers from 0 to 1023, one for each rank, and none more than"
    )
    with pytest.raises(ValueError, match=re.escape(f"{message} {most} times")):
        build(Kernel(), hosts, StartXMachine(host=host))


def test_processes_are_made_once_and_share_the_niu_of_their_host_under_its_lock():
    cluster = build(Kernel(), (0, 0, 3), StartXMachine(access="word"))
    first, second, third = (cluster.process(rank) for rank in range(3))
    assert [each.host for each in (first, second, third)] == [0, 0, 3]
    assert {each.access for each in (first, second, third)} == {"word"}
    assert cluster.process(1) is second
    assert first.niu is second.niu is not third.niu
    assert cluster.lock(0) is cluster.lock(0) is not None
    assert cluster.lock(3) is None


def test_messages_rdma_and_locks_are_counted_without_a_conduit():
    kernel, size = Kernel(), 8192
    cluster = build(kernel, (0, 0, 1), StartXMachine())
    near, far, lock = cluster.process(0), cluster.process(2), cluster.lock(0)
    source, sink = near.pin(size), far.pin(size)
    source.write(bytes(range(256)) * (size // 256))

    def locked():
        near.send(LOW, 1, 7, bytes(8))
        lock.leave(kernel.now + US)

    def granted():
        far.accept(0, 3, sink, size, lambda start, size: None, lambda: None)

    async def body():
        near.arm(3, 1, source, size, lambda: None)
        lock.take(locked)
        lock.take(lambda: lock.leave(kernel.now))
        kernel.at(50 * US, lambda: far.receive(LOW, kernel.now))
        kernel.at(60 * US, granted)
        await kernel.until(1000 * US)

    simulate(kernel, body)
    assert sink.read(0, size) == bytes(range(256)) * (size // 256)
    counts = cluster.statistics()
    assert list(counts) == [0, 1]
    out, into = counts[0], counts[1]
    assert (out["dma_transfers"], out["dma_bytes"], out["dma_pieces"]) == (1, size, 2)
    assert (into["dma_in_transfers"], into["dma_in_bytes"], into["dma_in_pieces"]) == (1, size, 2)
    assert (out["niu_low_sent"], into["niu_low_received"]) == (1, 1)
    assert (into["niu_high_sent"], out["niu_high_received"]) == (1, 0)  # the grant is the NIU's own
    # 8192 bytes in packets of 88, of each piece the last is shorter, with 8 more for a header; and one of 16.
    assert out["link_bytes"] == into["link_in_bytes"] == size + 2 * 47 * 8 + 16
    assert into["link_bytes"] == out["link_in_bytes"] == 24
    assert (out["lock_taken"], out["lock_waits"], out["lock_waited_ns"]) == (2, 1, 1300)  # 1 us, and 0.3 to see it
    assert into["lock_taken"] == 0


def test_links_between_switches_are_counted_on_the_lowest_host_below_them():
    kernel = Kernel()
    cluster = build(kernel, (0, 1, 2, 3), StartXMachine())

    async def body():
        cluster.process(1).send(HIGH, 2, 7, bytes(8))
        await kernel.until(100 * US)

    simulate(kernel, body)
    counts = cluster.statistics()
    assert [counts[host]["link_transfers"] for host in range(4)] == [0, 1, 0, 0]
    assert [counts[host]["tree_link_transfers"] for host in range(4)] == [1, 0, 1, 0]
    assert [counts[host]["link_in_transfers"] for host in range(4)] == [0, 0, 1, 0]


async def exchange(ep):
    """A program: all ranks send a long payload to the rank after them."""
    got = []

    def take(token, payload):
        token.reply_short(answer)

    def answer(token):
        got.append(1)

    await ep.attach(take, answer)
    await ep.request_long((ep.rank + 1) % ep.size, take, bytes(10000), 0)
    await ep.block_until(lambda: got)


def test_counts_of_shared_parts_are_on_the_lowest_rank_of_each_host():
    found = conduit.run(exchange, ranks=5, ranks_per_host=2, conduit="startx", segment=1 << 16)
    assert ["dma_bytes" in counts for counts in found.statistics] == [True, False, True, False, True]
    assert all(isinstance(value, int) for counts in found.statistics for value in counts.values())
    first, second, third = found.statistics[::2]
    assert [each["dma_bytes"] for each in (first, second, third)] == [10000] * 3  # ranks 1, 3 and 4 send to other hosts
    assert [each["dma_in_transfers"] for each in (first, second, third)] == [1] * 3
    assert first["lock_taken"] > 0
    assert third["lock_taken"] == 0
