"""What the benchmarks of bare RSMAPI are made of (`conduit raw`): two processes, and the time that calls take.

took = every_call(Bench(near, far), 16384)      # seconds by name
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from conduit.sim import Kernel, Waiter, simulate
from conduit.sim.units import seconds
from conduits.rsm.directory import SegmentDirectory
from conduits.rsm.export import ExportSegment
from conduits.rsm.imports import BarrierMode, ImportSegment, RsmBarrier
from conduits.rsm.library import Controller, Rsm
from conduits.rsm.provider import RsmProvider

NUMBER = 1
"""Of the segment that is exported."""


class Bench:
    """Two processes of a cluster, on different hosts.

    Args:
        near: the importer's provider.
        far: the exporter's.

    Attributes:
        kernel: their time.
        near, far: the API of each.
    """

    def __init__(self, near: RsmProvider, far: RsmProvider) -> None:
        directory = SegmentDirectory()
        self.kernel: Kernel = near.kernel
        self.near = Rsm(near, directory)
        self.far = Rsm(far, directory)

    def run(self, body: Callable[[], Awaitable[object]]) -> None:
        """Run a task in virtual time to its end."""
        simulate(self.kernel, body)

    async def call(self, rsm: Rsm, act: Callable[[], Any]) -> tuple[Any, float]:
        """Make a plain call; return its result and its seconds."""
        begun = self.kernel.now
        result = act()
        await self.kernel.until(rsm.provider.cpu.free)
        return result, seconds(self.kernel.now - begun)

    async def until(self, rsm: Rsm, start: Callable[[Callable[..., object]], object]) -> float:
        """Make a call that ends with the hardware; return its seconds."""
        begun, waiter = self.kernel.now, Waiter()

        def then(*_: object) -> None:
            self.kernel.at(rsm.provider.cpu.free, waiter.wake)

        start(then)
        await self.kernel.wait(waiter)
        return seconds(self.kernel.now - begun)

    async def connect(self, nbytes: int) -> tuple[ImportSegment, ExportSegment]:
        """Export `nbytes` on the far host, filled up to whole pages, and import them on the near one."""
        attributes = self.near.provider.controllers()[0]
        theirs = (await self.call(self.far, lambda: self.far.get_controller(attributes.name)))[0]
        mine = (await self.call(self.near, lambda: self.near.get_controller(attributes.name)))[0]
        size = max(attributes.min_segment, -(-nbytes // attributes.page) * attributes.page)
        segment = (await self.call(self.far, lambda: theirs.export_create(size)))[0]
        await self.call(self.far, lambda: segment.publish(NUMBER))
        host = self.far.provider.host
        imported = (await self.call(self.near, lambda: mine.import_connect(host, NUMBER)))[0]
        return imported, segment

    async def closed_put(self, imported: ImportSegment, data: bytes) -> tuple[float, float]:
        """Return the seconds of a put, and of opening a barrier, the put, and closing it."""
        barrier: RsmBarrier = (await self.call(self.near, imported.init_barrier))[0]
        begun = self.kernel.now
        await self.call(self.near, barrier.open)
        put = await self.until(self.near, lambda then: imported.put(0, data, then))
        await self.until(self.near, barrier.close)
        return put, seconds(self.kernel.now - begun)


def every_call(bench: Bench, nbytes: int) -> dict[str, float]:
    """Make every call of the API between two processes, in an order that RSM allows.

    Args:
        bench: the processes, which have made no call yet.
        nbytes: of the segment, and of what is put and got.

    Returns:
        The seconds of each call by its name without `rsm_`, in that order.
    """
    found: dict[str, float] = {}
    near, far = bench.near, bench.far

    async def call(name: str, rsm: Rsm, act: Callable[[], Any]) -> Any:
        result, found[name] = await bench.call(rsm, act)
        return result

    async def end(name: str, rsm: Rsm, start: Callable[[Callable[..., object]], object]) -> None:
        found[name] = await bench.until(rsm, start)

    async def body() -> None:
        topology = await call("get_interconnect_topology", far, far.get_topology)
        name = topology.controllers[0].name
        theirs: Controller = await call("get_controller", far, lambda: far.get_controller(name))
        mine: Controller = (await bench.call(near, lambda: near.get_controller(name)))[0]
        segment: ExportSegment = await call("memseg_export_create", far, lambda: theirs.export_create(nbytes))
        await call("memseg_export_publish", far, lambda: segment.publish(NUMBER))
        imported: ImportSegment = await call(
            "memseg_import_connect", near, lambda: mine.import_connect(far.provider.host, NUMBER)
        )
        await call("memseg_import_map", near, imported.map)
        barrier: RsmBarrier = await call("memseg_import_init_barrier", near, imported.init_barrier)
        await call("memseg_import_set_mode", near, lambda: imported.set_mode(BarrierMode.EXPLICIT))
        await call("memseg_import_open_barrier", near, barrier.open)
        await end("memseg_import_order_barrier", near, barrier.order)
        await end("memseg_import_put", near, lambda then: imported.put(0, bytes(nbytes), then))
        await end("memseg_import_get", near, lambda then: imported.get(0, nbytes, then))
        await end("memseg_import_close_barrier", near, barrier.close)
        await call("memseg_import_destroy_barrier", near, barrier.destroy)
        await end("intr_signal_post", near, imported.signal_post)
        await call("memseg_import_unmap", near, imported.unmap)
        await call("memseg_import_disconnect", near, imported.disconnect)
        await call("memseg_export_unpublish", far, segment.unpublish)
        await call("memseg_export_destroy", far, segment.destroy)
        await call("release_controller", far, lambda: far.release_controller(theirs))
        await call("free_interconnect_topology", far, lambda: far.free_topology(topology))

    bench.run(body)
    return found
