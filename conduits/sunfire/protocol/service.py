"""The service process of a host: it exports areas there for processes of other hosts.

An area serves all ranks of its host and belongs to none of them, so the host's service makes it, on a CPU of
its own, and tells the ranks through the host's shared memory which queues there are.  (The papers do not say
which process of the receiving host exports an area.)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from conduit.sim import Store
from conduit.sim.memory import Buffer
from conduit.simnet.chain import Done
from conduits.rsm import Controller, ExportSegment, Permission
from conduits.sunfire.protocol.costs import SERVICE_PS
from conduits.sunfire.protocol.layout import Layout


class Reader(Protocol):
    """A rank that has queues in areas of its host."""

    def request_landed(self, source: int, memory: Store, offset: int, data: Buffer) -> None:
        """Take note that lines of rank `source` have landed in this rank's queue."""


class Service:
    """One host's service process.

    Args:
        controller: of the service process.
        layout: of areas.
        readers: the host's ranks by their place there.

    Attributes:
        areas: the exports, by the rank that writes them.
    """

    def __init__(self, controller: Controller, layout: Layout, readers: Mapping[int, Reader]) -> None:
        self._controller = controller
        self._layout = layout
        self._readers = readers
        self.areas: dict[int, ExportSegment] = {}

    def make_area(self, writer: int, host: int, number: int, done: Done) -> None:
        """Export an area for rank `writer` of `host`, in an event; `done(when)` when it can be connected to.

        Args:
            writer: the rank.
            host: where it runs.
            number: the segment's id.
            done: called in an event.
        """
        cpu, kernel = self._controller.transport.cpu, self._controller.transport.kernel
        cpu.charge(SERVICE_PS)
        made = self.areas[writer] = self._controller.export_create(self._layout.area_bytes)
        made.publish(number, {host: Permission.READ_WRITE})
        made.landing = partial(self._landed, writer, made.memory)
        kernel.at(cpu.free, done, cpu.free)

    def _landed(self, writer: int, memory: Store, offset: int, data: Buffer) -> None:
        """Lines have landed: tell the rank whose queue it is; blocks of the pool concern nobody yet."""
        if offset < self._layout.pool_at:
            self._readers[offset // self._layout.queue_bytes].request_landed(writer, memory, offset, data)
