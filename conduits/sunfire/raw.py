"""RSM's own benchmarks, as `conduit raw sunfire` shows them: no conduit, no messages.

Two hosts with nothing else on the network.  Each call of RSMAPI is timed from its beginning until the CPU goes
on, beside the paper's figure.  Then put, get and mapped stores by size, and a ping-pong of mapped stores: store,
spin until all lines are there, store back; half the round trip counts.

Source: the Queen's paper, section VI-A and Table III; Sistare and Jackson, section 4.2 for the ping-pong.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from conduit.contract import Buffer, Constant, RawTable
from conduit.sim import Kernel, Waiter, simulate
from conduit.sim.units import seconds
from conduit.simnet.bench import until_done
from conduits.rsm import (
    Barrier,
    BarrierMode,
    Controller,
    ExportSegment,
    ImportSegment,
    Permission,
    Rsm,
)
from conduits.sunfire import constants as c
from conduits.sunfire.constants import LANDING_PS
from conduits.sunfire.driver import Mapping, SunfireProcess
from conduits.sunfire.hardware import LINE
from conduits.sunfire.machine import SunfireMachine, build

SIZES = (1, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
TABLE_BYTES = 16384
"""The segment that the paper's Table III is about."""
PAGE = c.whole(c.MIN_SEGMENT)
MEMORY_PS = c.ps(c.MEMORY)
INTERRUPT_PS = c.ps(c.INTERRUPT)


def tables(options: SunfireMachine) -> Sequence[RawTable]:
    """Return the tables for two hosts of a cluster.

    Args:
        options: of the machine; nothing fails, whatever they say, and lines land in order.
    """
    return (
        RawTable(
            "RSMAPI, each call", ("call", "paper us", "here us", "off by %"),
            [_beside(name, paper, took) for name, paper, took in calls(options)],
            "segment and data of 16 KB; the paper's column is Table III of the Queen's evaluation",
        ),
        RawTable(
            "RSMAPI, calls that Table III does not have", ("call", "here us"),
            [(name, round(took * 1e6, 3)) for name, took in other_calls(options)],
            "assumed, see conduit show; the wait is for a signal that has come already, the put in implicit mode is of "
            "16 KB and ends when it is in remote memory",
        ),
        RawTable(
            "Put and get", ("bytes", "put us", "MB/s", "put and barrier us", "get us", "get MB/s"),
            [_transfers(options, size) for size in SIZES],
            "put: until the CPU goes on; and barrier: open, put and close, until all is in remote memory; MB = 10**6 "
            "bytes; below a line the target's kernel merges the bytes",
        ),
        RawTable(
            "Map: stores, and a ping-pong of them", ("bytes", "store and fence us", "MB/s", "half round trip us"),
            [_stores(options, size) for size in SIZES if size >= LINE],
            "whole lines; the smallest half round trip is the anchor of 1.7 us (sf.rsm.pingpong)",
        ),
    )  # fmt: skip


def _beside(name: str, paper: float, took: float) -> tuple[str, float, float, float]:
    return name, paper, round(took * 1e6, 3), round((took * 1e6 / paper - 1) * 100, 3) + 0.0


def _transfers(options: SunfireMachine, nbytes: int) -> tuple[int, float, float, float, float, float]:
    put, closed = puts(options, nbytes)
    got = get(options, nbytes)
    return nbytes, *_rate(nbytes, put), round(closed * 1e6, 3), *_rate(nbytes, got)


def _rate(nbytes: int, took: float) -> tuple[float, float]:
    return round(took * 1e6, 3), round(nbytes / took / 1e6, 3)


def _stores(options: SunfireMachine, nbytes: int) -> tuple[int, float, float, float]:
    took = stores(options, nbytes)
    half = one_way(options, nbytes)
    return nbytes, *_rate(nbytes, took), round(half * 1e6, 3)


# -- measurements --------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def calls(options: SunfireMachine) -> tuple[tuple[str, float, float], ...]:
    """Return name, the paper's microseconds and the simulated seconds of every call in the paper's Table III."""
    bench = _Bench(options)
    found: list[tuple[str, float, float]] = []

    async def body() -> None:
        await _every_call(bench, found)

    simulate(bench.kernel, body)
    return tuple(found)


async def _every_call(bench: _Bench, found: list[tuple[str, float, float]]) -> None:
    """Make every call in an order that RSM allows, and note what each takes."""
    near, far = Rsm(bench.near, bench.exchange), Rsm(bench.far, bench.exchange)

    async def call(name: str, constant: Constant, process: SunfireProcess, act: Callable[[], Any]) -> Any:
        result, took = await bench.call(process, act)
        found.append((name, float(str(constant.value)), took))
        return result

    async def end(name: str, constant: Constant, start: Callable[[Callable[..., object]], object]) -> None:
        took = await bench.until(bench.near, start)
        found.append((name, float(str(constant.value)), took))

    topology = await call("get_interconnect_topology", c.GET_TOPOLOGY, bench.far, far.get_topology)
    name = topology.controllers[0].name
    theirs: Controller = await call("get_controller", c.GET_CONTROLLER, bench.far, lambda: far.get_controller(name))
    mine: Controller = (await bench.call(bench.near, lambda: near.get_controller(name)))[0]
    segment: ExportSegment = await call(
        "memseg_export_create", c.EXPORT_CREATE, bench.far, lambda: theirs.export_create(TABLE_BYTES)
    )
    await call("memseg_export_publish", c.EXPORT_PUBLISH, bench.far, lambda: segment.publish(1))
    imported: ImportSegment = await call(
        "memseg_import_connect", c.IMPORT_CONNECT, bench.near, lambda: mine.import_connect(1, 1)
    )
    await call("memseg_import_map", c.IMPORT_MAP, bench.near, imported.map)
    barrier: Barrier = await call("memseg_import_init_barrier", c.INIT_BARRIER, bench.near, imported.init_barrier)
    explicit = functools.partial(imported.set_mode, BarrierMode.EXPLICIT)
    await call("memseg_import_set_mode", c.SET_MODE, bench.near, explicit)
    await call("memseg_import_open_barrier", c.OPEN_BARRIER, bench.near, barrier.open)
    await end("memseg_import_order_barrier", c.ORDER_BARRIER, barrier.order)
    await end("memseg_import_put", c.PUT_16K, lambda then: imported.put(0, bytes(TABLE_BYTES), then))
    await end("memseg_import_get", c.GET_16K, lambda then: imported.get(0, TABLE_BYTES, then))
    await end("memseg_import_close_barrier", c.CLOSE_BARRIER, barrier.close)
    await call("memseg_import_destroy_barrier", c.DESTROY_BARRIER, bench.near, barrier.destroy)
    await end("intr_signal_post", c.SIGNAL_POST, imported.signal_post)
    await call("memseg_import_unmap", c.IMPORT_UNMAP, bench.near, imported.unmap)
    await call("memseg_import_disconnect", c.IMPORT_DISCONNECT, bench.near, imported.disconnect)
    await call("memseg_export_unpublish", c.EXPORT_UNPUBLISH, bench.far, segment.unpublish)
    await call("memseg_export_destroy", c.EXPORT_DESTROY, bench.far, segment.destroy)
    await call("release_controller", c.RELEASE_CONTROLLER, bench.far, lambda: far.release_controller(theirs))
    await call("free_interconnect_topology", c.FREE_TOPOLOGY, bench.far, lambda: far.free_topology(topology))


@functools.lru_cache(maxsize=64)
def other_calls(options: SunfireMachine) -> tuple[tuple[str, float], ...]:
    """Return name and seconds of the calls that the paper does not time."""
    bench = _Bench(options)
    found: list[tuple[str, float]] = []

    async def body() -> None:
        imported, segment = await bench.connect(TABLE_BYTES)
        republish = functools.partial(segment.republish, {0: Permission.READ_WRITE})
        found.append(("memseg_export_republish", (await bench.call(bench.far, republish))[1]))
        await bench.call(bench.near, functools.partial(imported.set_mode, BarrierMode.IMPLICIT))
        put = functools.partial(imported.put, 0, bytes(TABLE_BYTES))
        found.append(("memseg_import_put, implicit", await bench.until(bench.near, put)))
        await bench.until(bench.near, imported.signal_post)
        await bench.kernel.until(bench.kernel.now + INTERRUPT_PS + LANDING_PS)
        found.append(("intr_signal_wait", await bench.until(bench.far, segment.signal_wait)))

    simulate(bench.kernel, body)
    return tuple(found)


@functools.lru_cache(maxsize=256)
def puts(options: SunfireMachine, nbytes: int) -> tuple[float, float]:
    """Return the seconds of a put of `nbytes`, and of opening a barrier, the put, and closing it."""
    bench = _Bench(options)
    took = []

    async def body() -> None:
        imported, _ = await bench.connect(nbytes)
        barrier: Barrier = (await bench.call(bench.near, imported.init_barrier))[0]
        begun = bench.kernel.now
        await bench.call(bench.near, barrier.open)
        took.append(await bench.until(bench.near, lambda then: imported.put(0, bytes(nbytes), then)))
        await bench.until(bench.near, barrier.close)
        took.append(seconds(bench.kernel.now - begun))

    simulate(bench.kernel, body)
    return took[0], took[1]


@functools.lru_cache(maxsize=256)
def get(options: SunfireMachine, nbytes: int) -> float:
    """Return the seconds of a get of `nbytes`."""
    bench = _Bench(options)
    took = []

    async def body() -> None:
        imported, _ = await bench.connect(nbytes)
        took.append(await bench.until(bench.near, lambda then: imported.get(0, nbytes, then)))

    simulate(bench.kernel, body)
    return took[0]


@functools.lru_cache(maxsize=256)
def stores(options: SunfireMachine, nbytes: int) -> float:
    """Return the seconds in which mapped stores of `nbytes` are in remote memory and the CPU knows it."""
    bench = _Bench(options)
    took = []

    async def body() -> None:
        imported, _ = await bench.connect(nbytes)
        mapping: Mapping = (await bench.call(bench.near, imported.map))[0]
        begun = bench.kernel.now
        data = bytes(_lines(nbytes))
        await until_done(bench.kernel, lambda then: mapping.store(0, data, then))
        await until_done(bench.kernel, lambda then: mapping.fence(lambda when, _: then(when)))
        took.append(seconds(bench.kernel.now - begun))

    simulate(bench.kernel, body)
    return took[0]


@functools.lru_cache(maxsize=1024)
def one_way(options: SunfireMachine, nbytes: int) -> float:
    """Return half the seconds of a ping-pong of mapped stores; nothing is stored for less than a line."""
    bench = _Bench(options)
    size = _lines(nbytes)
    there, back = bench.mappings(size)
    data = b"\1" * size

    async def ping() -> None:
        await until_done(bench.kernel, lambda then: there.store(0, data, then))
        await bench.spin(back, size)

    async def pong() -> None:
        await bench.spin(there, size)
        await until_done(bench.kernel, lambda then: back.store(0, data, then))

    simulate(bench.kernel, ping, pong)
    return seconds(bench.kernel.now) / 2


def _lines(nbytes: int) -> int:
    return max(LINE, -(-nbytes // LINE) * LINE)


class _Bench:
    """Two hosts of a cluster, a process on each."""

    def __init__(self, options: SunfireMachine) -> None:
        self.kernel = Kernel()
        cluster = build(self.kernel, (0, 1), attrs.evolve(options, fault="none", order="strict"))
        self.exchange = cluster.exchange
        self.near, self.far = cluster.process(0), cluster.process(1)

    async def connect(self, nbytes: int) -> tuple[ImportSegment, ExportSegment]:
        """Export `nbytes` on the far host, import them on the near one; return both ends."""
        near, far = Rsm(self.near, self.exchange), Rsm(self.far, self.exchange)
        name = self.near.controllers()[0].name
        theirs = (await self.call(self.far, lambda: far.get_controller(name)))[0]
        mine = (await self.call(self.near, lambda: near.get_controller(name)))[0]
        size = max(PAGE, -(-nbytes // PAGE) * PAGE)
        segment = (await self.call(self.far, lambda: theirs.export_create(size)))[0]
        await self.call(self.far, lambda: segment.publish(1))
        imported = (await self.call(self.near, lambda: mine.import_connect(1, 1)))[0]
        return imported, segment

    def mappings(self, nbytes: int) -> tuple[Mapping, Mapping]:
        """Return a mapping of each host's memory for the other, made without the time that RSM takes."""
        made = []
        for owner, user in ((self.far, self.near), (self.near, self.far)):
            entry = owner.create(owner.controllers()[0].name, nbytes, None)
            owner.publish(entry, 1, None)
            made.append(user.connect(user.controllers()[0].name, owner.host, entry).map(Permission.READ_WRITE))
        return made[0], made[1]

    async def call(self, process: SunfireProcess, act: Callable[[], Any]) -> tuple[Any, float]:
        """Make a plain call; return its result and its seconds."""
        begun = self.kernel.now
        result = act()
        await self.kernel.until(process.cpu.free)
        return result, seconds(self.kernel.now - begun)

    async def until(self, process: SunfireProcess, start: Callable[[Callable[..., object]], object]) -> float:
        """Make a call that ends with the hardware; return its seconds."""
        begun, waiter = self.kernel.now, Waiter()

        def then(*_: object) -> None:
            self.kernel.at(process.cpu.free, waiter.wake)

        start(then)
        await self.kernel.wait(waiter)
        return seconds(self.kernel.now - begun)

    async def spin(self, mapping: Mapping, nbytes: int) -> None:
        """Look at memory until every line has come, and take the last one into the cache."""
        waiter, left = Waiter(), nbytes

        def landing(_: int, landed: Buffer) -> None:
            nonlocal left
            left -= len(landed)
            if not left:
                self.kernel.at(self.kernel.now + MEMORY_PS, waiter.wake)

        mapping.entry.landing = landing
        await self.kernel.wait(waiter)
