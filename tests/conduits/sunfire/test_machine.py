"""The machine without a conduit: its options alone, its drivers, and what its parts count."""

import re

import attrs
import pytest

import conduit
from conduit.errors import BadRequest
from conduit.options import SimOptions
from conduit.sim import Cpu, Kernel, simulate
from conduit.simnet.bench import until_done
from conduits.sunfire.machine import SunfireMachine, build
from conduits.sunfire.port import SunfireOptions


def names(cls):
    return {field.name for field in attrs.fields(cls)}


def test_the_machine_has_no_option_of_the_protocol():
    assert names(SunfireMachine) - names(SimOptions) == {"config", "nis", "wiring", "stripes", "fault"}
    assert names(SunfireOptions) - names(SunfireMachine) == {"poll", "outstanding"}


def test_what_is_to_fail_is_checked_for_the_machine_alone():
    with pytest.raises(ValueError, match=r"fault 'ni0.2@1ms': there is no ni0.2; this cluster has 8 hosts"):
        SunfireMachine(fault=("ni0.2@1ms",))
    three = SunfireMachine(wiring="direct", fault=("ni2.0@1ms",))
    with pytest.raises(BadRequest, match=r"option 'fault' of sunfire: .*: there is no ni2.0; this cluster has 2 hosts"):
        build(Kernel(), (0, 1), three)


@pytest.mark.parametrize("hosts", [(), (-1,), (0, 4), (0,) * 25])
def test_a_cluster_has_the_hosts_and_cpus_that_it_was_bought_with(hosts):
    message = (
        f"hosts={hosts}: no host for every rank; give numbers from 0 to 3, one for each rank, and none more than 24"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        build(Kernel(), hosts, SunfireMachine(config="q"))


def test_processes_are_made_once_each_on_a_cpu_of_its_host():
    kernel = Kernel()
    cluster = build(kernel, (0, 0, 2), SunfireMachine())
    own = Cpu(kernel, 2)
    first, second, third = cluster.process(0), cluster.process(1), cluster.process(2, own)
    assert [(each.host, each.processor.index) for each in (first, second, third)] == [(0, 0), (0, 1), (2, 0)]
    assert cluster.process(1) is second
    assert cluster.process(2) is cluster.process(2, own) is third
    assert third.cpu is own
    assert first.cpu is not second.cpu
    with pytest.raises(ValueError, match="rank 2 has a process on another CPU already; leave cpu out"):
        cluster.process(2, Cpu(kernel))
    assert cluster.service(2).processor.index == 24


async def mapped(cluster, nbytes):
    """Return the memory that rank 1 exports by RSM, and rank 0's mapping of it, when both are there."""
    near, far = cluster.process(0), cluster.process(1)
    theirs = cluster.controller(far).export_create(nbytes)
    theirs.publish(1)
    await cluster.kernel.until(far.cpu.free)
    imported = cluster.controller(near).import_connect(far.host, 1)
    mapping = imported.map()
    await cluster.kernel.until(near.cpu.free)
    return theirs.memory, mapping


@pytest.mark.parametrize("stripes", [1, 4])
def test_lines_travel_and_are_counted_without_a_conduit(stripes):
    kernel = Kernel()
    cluster = build(kernel, (0, 2), SunfireMachine(stripes=stripes))
    data = bytes(range(1, 193))
    got = []

    async def body():
        memory, mapping = await mapped(cluster, 8192)
        for at in (0, 1024):
            await until_done(kernel, lambda then, at=at: mapping.store(at, data, then))
        await until_done(kernel, lambda then: mapping.fence(lambda when, _: then(when)))
        assert memory.read(0, 192) == memory.read(1024, 192) == data
        await until_done(
            kernel, lambda then: mapping.load(0, 192, lambda read, when, _: (got.append(read), then(when)))
        )

    simulate(kernel, body)
    assert got == [data]
    near, far = cluster.statistics().values()
    assert list(cluster.statistics()) == [0, 2]
    for counts, sent in ((near, 6), (far, 3)):  # two stores of three lines; three lines that a load brings
        assert {name: counts[f"link_{name}"] for name in ("transfers", "bytes", "busy_ns", "waits", "waited_ns")} == {
            "transfers": sent, "bytes": 64 * sent, "busy_ns": 64 * sent, "waits": 0, "waited_ns": 0,
        }  # fmt: skip
        assert counts["link_in_bytes"] == 64 * (9 - sent)
        assert counts["ni_path_bytes"] == 64 * 9
    assert (near["ni_lines_out"], near["ni_lines_in"], near["ni_lines_read"]) == (6, 0, 3)
    assert (far["ni_lines_out"], far["ni_lines_in"], far["ni_lines_read"]) == (0, 6, 0)
    assert near["ni_barriers"] == min(stripes, 2)  # one for each NI that the lanes begin in
    assert near["ni_line_errors"] == near["ni_interrupts"] == 0


def test_lines_that_wait_for_a_link_are_counted_once():
    """Eight CPUs of a host store over one link, which carries no more than a part of it at once."""
    kernel, count = Kernel(), 8
    cluster = build(kernel, (1, *(0,) * count), SunfireMachine(stripes=1))
    entry = cluster.process(0).create("wrsm", 8192, None)
    cluster.process(0).publish(entry, 1, None)
    mappings = [cluster.process(rank).connect("wrsm", 1, entry).map(3) for rank in range(1, count + 1)]

    def storing(mapping):
        async def body():
            for _ in range(5):
                await until_done(kernel, lambda then: mapping.store(0, bytes(4096), then))
            await until_done(kernel, lambda then: mapping.fence(lambda when, _: then(when)))

        return body

    simulate(kernel, *map(storing, mappings))
    near, far = cluster.statistics()[0], cluster.statistics()[1]
    assert near["link_bytes"] == near["ni_lines_out"] * 64 == count * 5 * 4096
    assert far["link_in_bytes"] == near["link_bytes"]
    assert near["link_waits"] > 0
    assert near["link_waited_ns"] > 0


async def exchange(ep):
    """A program: all ranks send a payload to the rank after them."""
    got = []

    def take(token, payload):
        token.reply_short(answer)

    def answer(token):
        got.append(1)

    await ep.attach(take, answer)
    await ep.request_medium((ep.rank + 1) % ep.size, take, bytes(1000))
    await ep.block_until(lambda: got)


def test_counts_of_shared_parts_are_on_the_lowest_rank_of_each_host():
    found = conduit.run(exchange, ranks=5, ranks_per_host=2, conduit="sunfire")
    assert ["link_bytes" in counts for counts in found.statistics] == [True, False, True, False, True]
    assert all(isinstance(value, int) for counts in found.statistics for value in counts.values())
    hosts = found.statistics[::2]
    assert sum(counts["link_bytes"] for counts in hosts) == sum(counts["link_in_bytes"] for counts in hosts) > 3 * 1000
    assert sum(counts["ni_lines_out"] for counts in hosts) == sum(counts["ni_lines_in"] for counts in hosts)
