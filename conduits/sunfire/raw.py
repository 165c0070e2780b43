"""RSM's own benchmarks, as `conduit raw sunfire` shows them: no conduit, no messages.

Two hosts with nothing else on the network.  Each call of RSMAPI is timed from its beginning until the CPU goes
on, beside the paper's figure.  Then put, get and mapped stores by size, and a ping-pong of mapped stores: store,
spin until all lines are there, store back; half the round trip counts.

Source: the Queen's paper, section VI-A and Table III; Sistare and Jackson, section 4.2 for the ping-pong.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs

from conduit.contract import Buffer, RawTable
from conduit.sim import Kernel, Waiter, simulate
from conduit.sim.units import seconds
from conduit.simnet.bench import until_done
from conduit.simnet.constants import number
from conduits.rsm import BarrierMode, Permission
from conduits.rsm.bench import Bench, every_call
from conduits.sunfire import constants as c
from conduits.sunfire.constants import LANDING_PS
from conduits.sunfire.driver import StoreMapping
from conduits.sunfire.hardware import LINE
from conduits.sunfire.machine import SunfireMachine, build

SIZES = (1, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
TABLE_BYTES = 16384
"""The segment that the paper's Table III is about."""
TABLE_III = {
    "get_interconnect_topology": c.GET_TOPOLOGY,
    "get_controller": c.GET_CONTROLLER,
    "memseg_export_create": c.EXPORT_CREATE,
    "memseg_export_publish": c.EXPORT_PUBLISH,
    "memseg_import_connect": c.IMPORT_CONNECT,
    "memseg_import_map": c.IMPORT_MAP,
    "memseg_import_init_barrier": c.INIT_BARRIER,
    "memseg_import_set_mode": c.SET_MODE,
    "memseg_import_open_barrier": c.OPEN_BARRIER,
    "memseg_import_order_barrier": c.ORDER_BARRIER,
    "memseg_import_put": c.PUT_16K,
    "memseg_import_get": c.GET_16K,
    "memseg_import_close_barrier": c.CLOSE_BARRIER,
    "memseg_import_destroy_barrier": c.DESTROY_BARRIER,
    "intr_signal_post": c.SIGNAL_POST,
    "memseg_import_unmap": c.IMPORT_UNMAP,
    "memseg_import_disconnect": c.IMPORT_DISCONNECT,
    "memseg_export_unpublish": c.EXPORT_UNPUBLISH,
    "memseg_export_destroy": c.EXPORT_DESTROY,
    "release_controller": c.RELEASE_CONTROLLER,
    "free_interconnect_topology": c.FREE_TOPOLOGY,
}
"""What the paper says of each call."""
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
            "whole lines; the smallest half round trip is sf.rsm.pingpong, 1.7 us, to which constants add up",
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
    took = every_call(_Bench(options), TABLE_BYTES)
    return tuple((name, number(TABLE_III[name]), seconds_) for name, seconds_ in took.items())


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

    bench.run(body)
    return tuple(found)


@functools.lru_cache(maxsize=256)
def puts(options: SunfireMachine, nbytes: int) -> tuple[float, float]:
    """Return the seconds of a put of `nbytes`, and of opening a barrier, the put, and closing it."""
    bench = _Bench(options)
    took: list[float] = []

    async def body() -> None:
        imported, _ = await bench.connect(nbytes)
        took.extend(await bench.closed_put(imported, bytes(nbytes)))

    bench.run(body)
    return took[0], took[1]


@functools.lru_cache(maxsize=256)
def get(options: SunfireMachine, nbytes: int) -> float:
    """Return the seconds of a get of `nbytes`."""
    bench = _Bench(options)
    took = []

    async def body() -> None:
        imported, _ = await bench.connect(nbytes)
        took.append(await bench.until(bench.near, lambda then: imported.get(0, nbytes, then)))

    bench.run(body)
    return took[0]


@functools.lru_cache(maxsize=256)
def stores(options: SunfireMachine, nbytes: int) -> float:
    """Return the seconds in which mapped stores of `nbytes` are in remote memory and the CPU knows it."""
    bench = _Bench(options)
    took = []

    async def body() -> None:
        imported, _ = await bench.connect(nbytes)
        mapping: StoreMapping = (await bench.call(bench.near, imported.map))[0]
        begun = bench.kernel.now
        data = bytes(_lines(nbytes))
        await until_done(bench.kernel, lambda then: mapping.store(0, data, then))
        await until_done(bench.kernel, lambda then: mapping.fence(lambda when, _: then(when)))
        took.append(seconds(bench.kernel.now - begun))

    bench.run(body)
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


class _Bench(Bench):
    """Two hosts of a cluster, a process on each; nothing fails, and lines land in order."""

    def __init__(self, options: SunfireMachine) -> None:
        cluster = build(Kernel(), (0, 1), attrs.evolve(options, fault="none", order="strict"))
        self._near, self._far = cluster.process(0), cluster.process(1)
        super().__init__(self._near, self._far)

    def mappings(self, nbytes: int) -> tuple[StoreMapping, StoreMapping]:
        """Return a mapping of each host's memory for the other, made without the time that RSM takes."""
        made = []
        for owner, user in ((self._far, self._near), (self._near, self._far)):
            entry = owner.create(owner.controllers()[0].name, nbytes, None)
            owner.publish(entry, 1, None)
            made.append(user.connect(user.controllers()[0].name, owner.host, entry).map(Permission.READ_WRITE))
        return made[0], made[1]

    async def spin(self, mapping: StoreMapping, nbytes: int) -> None:
        """Look at memory until every line has come, and take the last one into the cache."""
        waiter, left = Waiter(), nbytes

        def landing(_: int, landed: Buffer) -> None:
            nonlocal left
            left -= len(landed)
            if not left:
                self.kernel.at(self.kernel.now + MEMORY_PS, waiter.wake)

        mapping.entry.landing = landing
        await self.kernel.wait(waiter)
