"""RSMAPI on both networks that it has a provider for: life cycles, data, rights, and each kind of error."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduit.errors import NetworkError
from conduit.sim import Cpu, Flat, Kernel, Waiter, simulate
from conduit.sim.observed import listen
from conduits.rsm import BarrierMode, Permission, Rsm, RsmCall, SegmentDirectory, errors
from conduits.sci.machine import SciMachine, build
from conduits.sci.rsm import CONSTANTS, SciRsm
from conduits.sunfire.driver import SunfireProcess
from conduits.sunfire.hardware import TOPOLOGIES, FireLinkFabric, InterruptRange, check_faults, schedule

US = 10**6
SIZE = 16384


class Site:
    """Three hosts with a process each; `near` of host 0, `far` of host 1, `third` of host 2."""

    def __init__(self, network, *, weak=False, faults=(), seed=0, carried=None):
        self.kernel = Kernel(seed)
        if carried is not None:
            listen(self.kernel, carried)
        exchange = SegmentDirectory()
        if network == "sunfire":
            fabric = FireLinkFabric(self.kernel, TOPOLOGIES["q"], weak=weak, may_fail=bool(faults))
            schedule(fabric, check_faults(faults, TOPOLOGIES["q"])) if faults else None
            made = [SunfireProcess(fabric, host, 0, Cpu(self.kernel)) for host in range(3)]
        else:
            machine = SciMachine(torus=(4,), order="weak" if weak else "strict")
            cluster = build(self.kernel, (0, 1, 2), machine)
            made = [SciRsm(cluster, rank, Cpu(self.kernel)) for rank in range(3)]
            fabric = cluster.fabric
        self.fabric = fabric
        self.near, self.far, self.third = (Rsm(provider, exchange) for provider in made)

    def run(self, body):
        simulate(self.kernel, body)

    async def call(self, rsm, act, *args):
        """Make a plain call and wait until the CPU goes on."""
        result = act(*args)
        await self.kernel.until(rsm.provider.cpu.free)
        return result

    async def end(self, start, *args):
        """Make a call that ends with the hardware; return what it told."""
        waiter, told = Waiter(), []

        def then(*result):
            told.append(result)
            when = next(value for value in result if isinstance(value, int))
            self.kernel.at(max(when, self.kernel.now), waiter.wake)

        start(*args, then)
        await self.kernel.wait(waiter)
        return told[0]

    async def good(self, start, *args):
        """As `end`, for what must not report an error."""
        *rest, error = await self.end(start, *args)
        assert error is None
        return rest[0]

    async def controller(self, rsm):
        return await self.call(rsm, rsm.get_controller, rsm.provider.controllers()[0].name)

    async def segment(self, number=1, rights=None, memory=None, nbytes=SIZE):
        """Publish a segment on host 1."""
        made = await self.call(self.far, (await self.controller(self.far)).export_create, nbytes, memory)
        await self.call(self.far, made.publish, number, rights)
        return made

    async def imported(self, number=1, rsm=None, permission=Permission.READ_WRITE):
        rsm = rsm or self.near
        return await self.call(rsm, (await self.controller(rsm)).import_connect, 1, number, permission)

    async def store(self, mapping, offset, data):
        waiter = Waiter()

        def issued(when):
            self.kernel.at(max(when, self.kernel.now), waiter.wake)

        end = mapping.store(offset, data, issued)
        if end:
            issued(end)
        await self.kernel.wait(waiter)

    async def fence(self, mapping):
        waiter, statuses = Waiter(), []

        def then(when, status):
            statuses.append(status)
            self.kernel.at(max(when, self.kernel.now), waiter.wake)

        when = mapping.fence(then)
        if when:
            then(when, 0)
        await self.kernel.wait(waiter)
        return statuses[0]


def refused(kind, text):
    return pytest.raises(kind, match=re.escape(text))


networks = pytest.mark.parametrize("network", ["sunfire", "sci"])


# -- data ----------------------------------------------------------------------------------------------


@networks
@given(
    writes=st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(1, 700)), min_size=1, max_size=6),
    weak=st.booleans(),
    seed=st.integers(0, 100),
)
@settings(max_examples=15)
def test_puts_are_in_memory_after_a_barrier_whatever_their_alignment(network, writes, weak, seed):
    site, expected = Site(network, weak=weak, seed=seed), bytearray(SIZE)

    async def body():
        memory = bytearray(SIZE)
        await site.segment(memory=Flat(memory))
        imported = await site.imported()
        barrier = await site.call(site.near, imported.init_barrier)
        for index, (offset, nbytes) in enumerate(writes):
            data = bytes([index + 1]) * min(nbytes, SIZE - offset)
            expected[offset : offset + len(data)] = data
            await site.call(site.near, barrier.open)
            await site.good(imported.put, offset, data)
            await site.good(barrier.close)
            assert memory == expected
            got, _, error = await site.end(imported.get, offset, len(data))
            assert error is None
            assert got == data

    site.run(body)


@networks
def test_an_order_barrier_orders_what_is_written_after(network):
    site, seen = Site(network, weak=True), []

    async def body():
        memory = bytearray(SIZE)
        segment = await site.segment(memory=Flat(memory))
        imported = await site.imported()
        barrier = await site.call(site.near, imported.init_barrier)
        segment.landing = lambda offset, data: seen.append(offset >= 8192)
        await site.call(site.near, barrier.open)
        await site.good(imported.put, 0, b"a" * 4096)
        await site.good(barrier.order)
        await site.good(imported.put, 8192, b"b" * 4096)
        await site.good(barrier.close)
        assert memory == b"a" * 4096 + bytes(4096) + b"b" * 4096 + bytes(4096)

    site.run(body)
    assert seen == sorted(seen)


@networks
def test_barriers_of_two_imports_may_be_under_way_at_once(network):
    site = Site(network)

    async def body():
        memories = [bytearray(SIZE), bytearray(SIZE)]
        imports = []
        for number, memory in enumerate(memories):
            await site.segment(number, memory=Flat(memory))
            imports.append(await site.imported(number))
        told = []
        barriers = [await site.call(site.near, imported.init_barrier) for imported in imports]
        for barrier, imported in zip(barriers, imports, strict=True):
            barrier.open()
            imported.put(0, b"x" * 8192, lambda *_: None)
        for number, barrier in enumerate(barriers):
            barrier.close(lambda when, error, number=number: told.append((number, bytes(memories[number]), error)))
        await site.kernel.until(site.kernel.now + 1000 * US)
        assert told == [(number, b"x" * 8192 + bytes(SIZE - 8192), None) for number in range(2)]

    site.run(body)


@networks
def test_in_implicit_mode_a_put_ends_when_the_bytes_are_there(network):
    site = Site(network, weak=True)

    async def body():
        memory = bytearray(SIZE)
        await site.segment(memory=Flat(memory))
        imported = await site.imported()
        await site.call(site.near, imported.set_mode, BarrierMode.IMPLICIT)
        await site.good(imported.put, 100, b"x" * 1000)
        assert memory[100:1100] == b"x" * 1000

    site.run(body)


@networks
def test_a_mapping_stores_and_loads(network):
    site = Site(network)

    async def body():
        memory = bytearray(SIZE)
        await site.segment(memory=Flat(memory))
        imported = await site.imported()
        mapping = await site.call(site.near, imported.map)
        await site.store(mapping, 128, b"x" * 192)
        assert await site.fence(mapping) == 0
        assert memory == bytes(128) + b"x" * 192 + bytes(SIZE - 320)
        data, _, status = await site.end(mapping.load, 64, 128)
        assert data == bytes(64) + b"x" * 64
        assert status == 0

    site.run(body)


def test_interrupts_are_heard():
    """Two at once: the kernel of the exporter's host takes one after the other."""
    heard = []
    site = Site("sunfire", carried=lambda *what: heard.append(what))

    async def body():
        await site.segment()
        imported = await site.imported()
        other = await site.imported(rsm=site.third)
        done = [Waiter(), Waiter()]
        for waiter, each in zip(done, (imported, other), strict=True):
            each.signal_post(lambda when, error, waiter=waiter: waiter.wake())
        for waiter in done:
            await site.kernel.wait(waiter)
        await site.kernel.until(site.kernel.now + 100 * US)

    site.run(body)
    (begin, middle, size), (then, end, other_size) = (what[1:] for what in heard if what[0] == "interrupts 1")
    assert begin < middle == then < end
    assert middle - begin == end - then == 10 * US  # constant kernel.interrupt
    assert size == other_size == 64


@networks
def test_a_signal_wakes_the_exporter_after_the_post(network):
    site, log = Site(network), []

    async def body():
        segment = await site.segment()
        imported = await site.imported()
        far = site.far.provider.cpu

        segment.signal_wait(lambda when: log.append(("woken", site.kernel.now, when)))
        begun = site.kernel.now
        end = await site.good(imported.signal_post)
        log.append(("posted", end, begun))
        await site.kernel.until(site.kernel.now + 100 * US)
        # Two that come before a wait are counted.
        await site.good(imported.signal_post)
        await site.good(imported.signal_post)
        await site.kernel.until(site.kernel.now + 100 * US)
        for _ in range(3):
            await site.kernel.until(far.free)
            segment.signal_wait(lambda when: log.append("counted"))
            await site.kernel.until(site.kernel.now + 50 * US)

    site.run(body)
    assert [entry if isinstance(entry, str) else entry[0] for entry in log] == ["posted", "woken", "counted", "counted"]
    (_, posted, _), (_, woken, when) = log[:2]
    assert posted < woken <= when


@networks
def test_calls_take_the_time_of_their_caller_alone(network):
    site = Site(network)

    async def body():
        controller = await site.controller(site.far)
        begun = site.kernel.now
        segment = controller.export_create(SIZE)
        cost = site.far.provider.cost(RsmCall.EXPORT_CREATE, SIZE)
        assert site.far.provider.cpu.free == begun + cost
        assert site.near.provider.cpu.free <= begun
        await site.kernel.until(begun + cost)
        segment.publish(1)
        assert not segment.published  # until the call returns
        await site.kernel.until(site.far.provider.cpu.free)
        assert segment.published

    site.run(body)


def test_sunfire_calls_grow_with_the_segment():
    provider = Site("sunfire").far.provider
    for call in (RsmCall.EXPORT_CREATE, RsmCall.EXPORT_PUBLISH, RsmCall.EXPORT_UNPUBLISH, RsmCall.EXPORT_DESTROY):
        sizes = [provider.cost(call, pages * 8192) for pages in (1, 2, 4, 1024)]
        assert sizes == sorted(set(sizes))
    assert provider.cost(RsmCall.IMPORT_CONNECT, 8192) == provider.cost(RsmCall.IMPORT_CONNECT, 1 << 20)


def test_a_write_of_less_than_a_line_takes_the_targets_processor():
    """The put is as short as that of a line; the bytes are there when the kernel has merged them."""
    site, stolen = Site("sunfire"), []

    async def body():
        memory = bytearray(b"." * SIZE)
        await site.segment(memory=Flat(memory))
        imported = await site.imported()
        barrier = await site.call(site.near, imported.init_barrier)
        site.fabric.processor(1, 0).stolen = lambda ticks: stolen.append(ticks)
        await site.call(site.near, barrier.open)
        begun = site.kernel.now
        await site.good(imported.put, 70, b"abc")
        assert site.kernel.now - begun == pytest.approx(1.7 * US, rel=0.001)
        await site.kernel.until(site.kernel.now + 10 * US)
        assert memory[70:73] == b"..."
        await site.good(barrier.close)
        assert memory[69:74] == b".abc."
        assert stolen == [10 * US]
        await site.good(imported.put, 64 * 3 + 5, b"z" * 55)  # more than one interrupt's line holds
        await site.kernel.until(site.kernel.now + 50 * US)
        assert memory[64 * 3 + 5 : 64 * 3 + 60] == b"z" * 55
        assert len(stolen) == 3
        assert site.far.provider.counters()[0].interrupts == 3

    site.run(body)


def test_a_host_takes_one_interrupt_after_the_other():
    """Two hosts send bytes to be merged at once: 10 us of one CPU for each."""
    site, merged = Site("sunfire"), []

    async def body():
        segment = await site.segment()
        senders = (site.near, site.third)
        imports = [await site.imported(rsm=rsm) for rsm in senders]
        segment.landing = lambda offset, data: merged.append(site.kernel.now)
        begun = site.kernel.now
        for place, imported in enumerate(imports):
            imported.put(place, b"x", lambda when, error: None)
        await site.kernel.until(begun + 50 * US)
        first, second = merged
        assert first - begun > 10 * US
        assert second - first == 10 * US

    site.run(body)


def test_the_receiving_interface_writes_who_has_sent_an_interrupt():
    """What the sender writes there itself is overwritten."""
    site, lines = Site("sunfire"), []

    def taken(line):
        lines.append(line)
        return site.kernel.now

    sender, target = site.fabric.processor(2, 0), site.fabric.processor(1, 0)
    InterruptRange(site.fabric.inventory.interfaces[1, 0], target, taken).land(sender, b"forged!!" + b"x" * 56)
    assert lines == [bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b"x" * 56]
    assert site.far.provider.counters()[0].interrupts == 1


def test_the_counters_of_the_interfaces_can_be_read():
    """Lines, loads and barriers go over four links, two of each interface, in turn; interrupts to the first one."""
    site = Site("sunfire")

    async def body():
        await site.segment()
        imported = await site.imported()
        barrier = await site.call(site.near, imported.init_barrier)
        await site.call(site.near, barrier.open)
        await site.good(imported.put, 0, bytes(64 * 11))  # over links 0, 1, 2, 3, 0, ... of which 0 and 2 are NI 0's
        await site.end(imported.get, 0, 64 * 7)
        await site.good(barrier.order)
        await site.good(barrier.close)
        await site.good(imported.signal_post)
        await site.kernel.until(site.kernel.now + 50 * US)

    site.run(body)
    near, far = site.near.provider.counters(), site.far.provider.counters()
    assert [counters.lines_out for counters in near] == [6, 5 + 1]  # the signal is a line too
    assert [counters.lines_in for counters in far] == [6, 5 + 1]
    assert [counters.reads for counters in near] == [4, 3]
    assert [counters.barriers for counters in near] == [2, 2]
    assert [counters.interrupts for counters in far] == [1, 0]
    assert sum(counters.errors for counters in (*near, *far)) == 0


# -- the wrong order of calls --------------------------------------------------------------------------


def use(network, act):
    """Run `act(site, segment, imported)` with a segment published and imported."""
    site = Site(network)

    async def body():
        segment = await site.segment()
        await act(site, segment, await site.imported())

    site.run(body)


@networks
def test_errors_are_network_errors_with_a_name(network):
    async def act(site, segment, imported):
        with pytest.raises(NetworkError) as info:
            segment.publish(1)
        assert info.value.code == "RSMERR_SEG_ALREADY_PUBLISHED"
        assert str(info.value).startswith(
            "RSMERR_SEG_ALREADY_PUBLISHED: segment 1 of 16384 bytes of host 1 is published"
        )

    use(network, act)


@networks
def test_controllers_and_topologies(network):
    site = Site(network)

    async def body():
        rsm = site.near
        topology = await site.call(rsm, rsm.get_topology)
        assert topology.host == 0
        assert list(topology.hosts) == [0, 1, 2, 3]
        with refused(errors.ControllerNotPresent, "host 0 has no controller 'wrsm9'; it has "):
            rsm.get_controller("wrsm9")
        controller = await site.call(rsm, rsm.get_controller, topology.controllers[0].name)
        segment = await site.call(rsm, controller.export_create, SIZE)
        with refused(errors.SegmentInUse, "has 1 segments; destroy exports and disconnect imports first"):
            rsm.release_controller(controller)
        await site.call(rsm, segment.destroy)
        await site.call(rsm, rsm.release_controller, controller)
        with refused(errors.BadController, "release_controller: controller"):
            rsm.release_controller(controller)
        with refused(errors.BadController, "export_create: controller"):
            controller.export_create(SIZE)
        with refused(errors.BadController, "import_connect: controller"):
            controller.import_connect(1, 1)
        await site.call(rsm, rsm.free_topology, topology)
        with refused(errors.BadTopology, "was freed already"):
            rsm.free_topology(topology)
        other = await site.call(rsm, rsm.get_topology)
        with refused(errors.BadTopology, "another process has asked for it"):
            site.far.free_topology(other)

    site.run(body)


@networks
def test_the_export_side(network):
    site = Site(network)

    async def body():
        controller = await site.controller(site.far)
        segment = await site.call(site.far, controller.export_create, SIZE)
        for name, act in (("unpublish", segment.unpublish), ("republish", lambda: segment.republish(None))):
            with refused(errors.SegmentNotPublished, f"{name} of a segment of 16384 bytes of host 1, which is not"):
                act()
        with refused(errors.ArgumentError, "segment id -1 is not allowed; take one from 0 to 4294967295"):
            segment.publish(-1)
        await site.call(site.far, segment.publish, 5)
        other = await site.call(site.far, controller.export_create, SIZE)
        with refused(errors.SegmentIdInUse, "host 1 has published a segment under id 5; take another"):
            other.publish(5)
        with refused(errors.SegmentInUse, "is published; unpublish it first"):
            segment.destroy()
        await site.call(site.far, segment.unpublish)
        await site.call(site.far, other.publish, 5)
        await site.call(site.far, segment.destroy)
        for act in (segment.destroy, segment.unpublish, lambda: segment.publish(1), lambda: segment.signal_wait(print)):
            with refused(errors.BadSegment, "which was destroyed"):
                act()

    site.run(body)


@networks
def test_connecting(network):
    site = Site(network)

    async def body():
        near = await site.controller(site.near)
        with refused(errors.SegmentNotPublished, "host 1 has published no segment 1"):
            near.import_connect(1, 1)
        with refused(errors.BadNode, "import_connect to host 9; the interconnect joins [0, 1, 2, 3]"):
            near.import_connect(9, 1)
        far = await site.controller(site.far)
        segment = await site.call(site.far, far.export_create, SIZE)
        segment.publish(1)
        with refused(errors.SegmentNotPublished, "host 1 has published no segment 1"):
            near.import_connect(1, 1)  # the publishing call has not returned
        await site.kernel.until(site.far.provider.cpu.free)
        near.import_connect(1, 1)
        with refused(errors.BadNode, "host 1 imports from itself"):
            far.import_connect(1, 1)

    site.run(body)


@networks
def test_rights(network):
    site = Site(network)

    async def body():
        rights = {0: Permission.READ, 2: Permission.READ_WRITE}
        segment = await site.segment(rights=rights)
        near, third = await site.controller(site.near), await site.controller(site.third)
        text = "host 0 asks for READ_WRITE of segment 1 of host 1, which grants it READ"
        with refused(errors.PermDenied, text):
            near.import_connect(1, 1)
        reader = await site.call(site.near, near.import_connect, 1, 1, Permission.READ)
        writer = await site.call(site.third, third.import_connect, 1, 1)
        with refused(errors.PermDenied, "put of segment 1 of 16384 bytes of host 1, imported for READ"):
            reader.put(0, bytes(64), print)
        await site.end(reader.get, 0, 64)
        await site.good(writer.put, 0, bytes(64))
        mapping = await site.call(site.near, reader.map)
        with refused(errors.PermDenied, "it was imported for"):
            mapping.store(0, bytes(64), print)
        await site.call(site.far, segment.republish, {0: Permission.NONE})
        with refused(errors.PermDenied, "it no longer grants that"):
            reader.get(0, 64, print)
        with refused(errors.PermDenied, "which grants it NONE"):
            near.import_connect(1, 1, Permission.READ)

    site.run(body)


def test_sunfire_hardware_keeps_to_rights_that_were_taken_back():
    site = Site("sunfire")

    async def body():
        memory = bytearray(SIZE)
        segment = await site.segment(memory=Flat(memory))
        imported = await site.imported()
        mapping = await site.call(site.near, imported.map)
        await site.call(site.far, segment.republish, {0: Permission.READ})
        await site.store(mapping, 0, b"x" * 64)
        assert await site.fence(mapping) != 0
        await site.call(site.far, segment.republish, None)
        await site.store(mapping, 64, b"y" * 64)
        assert await site.fence(mapping) == 0
        assert memory[:128] == bytes(64) + b"y" * 64

    site.run(body)


async def check_aborted(network, site, imported, mapping):
    """An import whose segment was unpublished reaches it no more, by calls nor by stores."""
    for call in (
        lambda: imported.put(0, bytes(64), print),
        lambda: imported.get(0, 64, print),
        lambda: imported.signal_post(print),
    ):
        with refused(errors.ConnectionAborted, "it was unpublished; disconnect"):
            call()
    if network == "sci":
        with refused(errors.SegmentNotMapped, "its owner has unpublished it"):
            mapping.store(0, b"z" * 64, print)
    else:
        await site.store(mapping, 0, b"z" * 64)
        assert await site.fence(mapping) != 0


@networks
def test_after_unpublish_an_import_is_aborted(network):
    async def act(site, segment, imported):
        mapping = await site.call(site.near, imported.map)
        await site.call(site.far, segment.unpublish)
        await check_aborted(network, site, imported, mapping)
        await site.call(site.near, imported.unmap)
        await site.call(site.near, imported.disconnect)

    use(network, act)


@networks
def test_an_import_stays_aborted_when_the_segment_is_published_again(network):
    async def act(site, segment, imported):
        mapping = await site.call(site.near, imported.map)
        segment.landing = lambda offset, data: landed.append((offset, len(data)))
        await site.call(site.far, segment.unpublish)
        await site.call(site.far, segment.publish, 1)
        await check_aborted(network, site, imported, mapping)
        assert segment.memory.read(0, 64) == bytes(64)
        again = await site.imported()
        await site.good(again.put, 64, b"again..." * 8)
        assert await site.fence(await site.call(site.near, again.map)) == 0
        assert segment.memory.read(64, 64) == b"again..." * 8
        assert landed == [(64, 64)]
        woken = []
        segment.signal_wait(woken.append)
        await site.good(again.signal_post)
        await site.kernel.until(site.kernel.now + 50 * US)
        assert woken

    landed = []
    use(network, act)


@networks
def test_what_is_begun_when_the_owner_unpublishes_fails_for_its_caller(network):
    """The owner does so while the software of the call runs; on sunfire it is the barrier that says so."""

    async def act(site, segment, imported):
        def put(then):
            imported.put(0, bytes(64), then)
            segment.unpublish()

        barrier = await site.call(site.near, imported.init_barrier)
        await site.call(site.near, barrier.open)
        results = [(await site.end(start))[1] for start in (put, barrier.close)]
        aborted, good = results if network == "sci" else reversed(results)
        assert isinstance(aborted, errors.ConnectionAborted)
        assert good is None

        def get(then):
            other.get(0, 64, then)
            segment.unpublish()

        await site.call(site.far, segment.publish, 1)
        other = await site.imported()
        data, _, error = await site.end(get)
        assert data == b""
        assert isinstance(error, errors.ConnectionAborted)

    use(network, act)


@networks
def test_the_import_side(network):
    async def act(site, segment, imported):
        with refused(errors.SegmentNotMapped, "which is not mapped; map it first"):
            imported.unmap()
        mapping = await site.call(site.near, imported.map)
        with refused(errors.SegmentAlreadyMapped, "is mapped already; unmap it first"):
            imported.map()
        with refused(errors.SegmentInUse, "while it is mapped; unmap it first"):
            imported.disconnect()
        await site.call(site.near, imported.unmap)
        for call in (lambda: mapping.store(0, bytes(64), print), lambda: mapping.load(0, 64, print)):
            with refused(errors.SegmentNotMapped, "it was unmapped"):
                call()
        barrier = await site.call(site.near, imported.init_barrier)
        await site.call(site.near, imported.disconnect)
        for call in (
            imported.disconnect,
            imported.map,
            imported.unmap,
            imported.init_barrier,
            lambda: imported.set_mode(BarrierMode.IMPLICIT),
            lambda: imported.put(0, b"x", print),
            lambda: imported.get(0, 1, print),
            lambda: imported.signal_post(print),
        ):
            with refused(errors.BadSegment, "which was disconnected"):
                call()
        for call in (barrier.open, lambda: barrier.close(print), lambda: barrier.order(print), barrier.destroy):
            with refused(errors.BarrierUninitialized, "which was disconnected"):
                call()

    use(network, act)


@networks
def test_barriers(network):
    async def act(site, segment, imported):
        first = await site.call(site.near, imported.init_barrier)
        second = await site.call(site.near, imported.init_barrier)
        for call in (first.order, first.close):
            with refused(errors.BarrierNotOpened, "that is not open; open it first"):
                call(print)
        await site.call(site.near, first.open)
        for barrier in (first, second):
            with refused(errors.BarrierOpenFailed, "a barrier of it is open; close it first"):
                barrier.open()
        with refused(errors.BarrierNotOpened, "that is not open"):
            second.close(print)
        with refused(errors.BadMode, "while a barrier is open; close it first"):
            imported.set_mode(BarrierMode.IMPLICIT)
        with refused(errors.SegmentInUse, "that is open; close it first"):
            first.destroy()
        with refused(errors.SegmentInUse, "while a barrier is open; close it first"):
            imported.disconnect()
        await site.good(first.close)
        await site.call(site.near, first.destroy)
        for call in (first.open, lambda: first.order(print), lambda: first.close(print), first.destroy):
            with refused(errors.BarrierUninitialized, "a barrier that was destroyed"):
                call()
        await site.call(site.near, imported.set_mode, BarrierMode.IMPLICIT)
        with refused(errors.BarrierOpenFailed, "whose mode is implicit; set_mode(BarrierMode.EXPLICIT) first"):
            second.open()

    use(network, act)


@networks
@pytest.mark.parametrize(
    ("offset", "nbytes", "kind", "text"),
    [
        (0, 0, errors.BadLength, "of 0 bytes"),
        (0, SIZE + 1, errors.BadLength, "takes 1 to 16384"),
        (SIZE, 1, errors.BadOffset, "outside"),
        (-1, 1, errors.BadOffset, "outside"),
        (SIZE - 10, 11, errors.BadOffset, "outside"),
    ],
)
def test_places_outside(network, offset, nbytes, kind, text):
    async def act(site, segment, imported):
        with refused(kind, text):
            imported.put(offset, bytes(nbytes), print)
        with refused(kind, text):
            imported.get(offset, nbytes, print)
        mapping = await site.call(site.near, imported.map)
        unit = site.near.provider.controllers()[0].unit
        if offset % unit == 0 and nbytes % unit == 0:
            with pytest.raises(kind):
                mapping.store(offset, bytes(nbytes), print)
            with pytest.raises(kind):
                mapping.load(offset, nbytes, print)

    use(network, act)


@pytest.mark.parametrize(("offset", "nbytes"), [(1, 64), (32, 64), (0, 63), (0, 65), (64, 8)])
def test_sunfire_mappings_take_whole_lines_only(offset, nbytes):
    async def act(site, segment, imported):
        mapping = await site.call(site.near, imported.map)
        for call in (lambda: mapping.store(offset, bytes(nbytes), print), lambda: mapping.load(offset, nbytes, print)):
            with refused(errors.BadAlignment, "both must be multiples of 64, the line that the hardware moves"):
                call()

    use("sunfire", act)


@pytest.mark.parametrize(
    ("nbytes", "kind", "text"),
    [
        (0, errors.BadLength, "it may have 8192 to "),
        (4096, errors.BadLength, "it may have 8192 to "),
        (1 << 40, errors.BadLength, "it may have 8192 to 17179869184"),
        (8193, errors.BadAlignment, "it must be a multiple of the page, 8192"),
    ],
)
def test_sunfire_segments_are_pages(nbytes, kind, text):
    site = Site("sunfire")

    async def body():
        with refused(kind, text):
            (await site.controller(site.far)).export_create(nbytes)

    site.run(body)


def test_a_host_cannot_export_more_than_its_tables_hold():
    site = Site("sunfire")

    async def body():
        controller = await site.controller(site.far)
        segment = await site.call(site.far, controller.export_create, 16 << 30)
        with refused(errors.ResourceError, "host 1 cannot export another 8192 bytes"):
            controller.export_create(8192)
        await site.call(site.far, segment.destroy)
        await site.call(site.far, controller.export_create, 8192)

    site.run(body)


def test_sci_segments_are_contiguous_memory():
    site = Site("sci")

    async def body():
        with refused(errors.BadLength, "a segment of 2097153 bytes; it may have 1 to 2097152"):
            (await site.controller(site.far)).export_create((2 << 20) + 1)

    site.run(body)


def test_each_assumed_cost_of_rsm_on_sci_gives_its_reason():
    for constant in CONSTANTS:
        assert constant.kind == "assumed"
        assert len(constant.source.split()) >= 5


# -- when the hardware fails ---------------------------------------------------------------------------


def test_a_barrier_reports_lost_stores_and_writing_again_helps():
    site, outcomes = Site("sunfire", faults=("link0.1.0@2300us",)), []

    async def body():
        memory = bytearray(SIZE)
        await site.segment(memory=Flat(memory))
        imported = await site.imported()
        barrier = await site.call(site.near, imported.init_barrier)
        while True:
            await site.call(site.near, barrier.open)
            await site.good(imported.put, 0, b"x" * SIZE)
            _, error = await site.end(barrier.close)
            outcomes.append(error)
            if error is None and site.kernel.now > 2800 * US:
                break
            memory[:] = bytes(SIZE)
        assert memory == b"x" * SIZE

    site.run(body)
    failed = [error for error in outcomes if error is not None]
    assert failed
    assert all(isinstance(error, errors.BarrierFailure) for error in failed)
    assert "write it again" in str(failed[0])


@pytest.mark.parametrize("mode", BarrierMode)
def test_every_barrier_that_is_open_reports_what_another_has_reported(mode):
    """The hardware says once that something was lost on the way to a host, and not what: all open barriers fail."""
    site = Site("sunfire", faults=("links@5ms-5100us",))

    async def body():
        memories = [bytearray(SIZE), bytearray(SIZE)]
        for number, memory in enumerate(memories):
            await site.segment(number, memory=Flat(memory))
        first, second = [await site.imported(number) for number in range(2)]
        one, other = [await site.call(site.near, imported.init_barrier) for imported in (first, second)]
        await site.call(site.near, one.open)
        if mode is BarrierMode.EXPLICIT:
            await site.call(site.near, other.open)
        else:
            await site.call(site.near, second.set_mode, mode)
        assert site.kernel.now < 5000 * US - 1_700_000
        await site.kernel.until(5000 * US - 1_700_000)
        await site.good(first.put, 0, b"lost" * 16)
        await site.kernel.until(5400 * US)
        assert memories[0] == bytes(SIZE)
        if mode is BarrierMode.EXPLICIT:
            _, error = await site.end(other.close)
        else:
            _, error = await site.end(second.put, 0, b"here" * 16)
        assert isinstance(error, errors.BarrierFailure)
        _, error = await site.end(one.order)
        assert isinstance(error, errors.BarrierFailure)
        assert "segment 0" in str(error)
        assert "write it again" in str(error)
        await site.good(first.put, 0, b"here" * 16)
        await site.good(one.close)
        assert memories[0][:64] == b"here" * 16
        await site.call(site.near, one.open)
        await site.good(one.close)

    site.run(body)


def test_without_a_path_every_call_says_which():
    site = Site("sunfire", faults=("ni1.0@3ms", "ni1.1@3ms"))

    async def body():
        await site.segment()
        imported = await site.imported()
        barrier = await site.call(site.near, imported.init_barrier)
        await site.kernel.until(4000 * US)
        await site.call(site.near, barrier.open)
        await site.good(imported.put, 0, bytes(64))
        _, error = await site.end(barrier.close)
        assert isinstance(error, errors.RemoteUnreachable)
        assert str(error) == (
            "RSMERR_REMOTE_NODE_UNREACHABLE: no path from host 0 to host 1 is left; down: ni1.0, ni1.1"
        )
        data, _, error = await site.end(imported.get, 0, 64)
        assert data == b""
        assert isinstance(error, errors.RemoteUnreachable)
        with refused(errors.RemoteUnreachable, "no path from host 0 to host 1 is left"):
            (await site.controller(site.near)).import_connect(1, 1)
        await site.call(site.third, (await site.controller(site.third)).export_create, SIZE)

    site.run(body)


def test_a_controller_of_one_interface_goes_with_it():
    site = Site("sunfire", faults=("ni0.1@1ms",))

    async def body():
        await site.segment()
        await site.kernel.until(2000 * US)
        one = await site.call(site.near, site.near.get_controller, "wrsm1")
        with refused(errors.RemoteUnreachable, "no path from host 0 to host 1"):
            one.import_connect(1, 1)
        await site.imported()

    site.run(body)


def test_a_merge_that_is_lost_fails_the_barrier():
    site = Site("sunfire", faults=("links@3ms",))

    async def body():
        memory = bytearray(SIZE)
        await site.segment(memory=Flat(memory))
        imported = await site.imported()
        barrier = await site.call(site.near, imported.init_barrier)
        await site.call(site.near, barrier.open)
        await site.kernel.until(3000 * US - 1_700_000)
        await site.good(imported.put, 3, b"abc")
        _, error = await site.end(barrier.close)
        assert isinstance(error, errors.TransportError)
        assert memory == bytes(SIZE)

    site.run(body)
