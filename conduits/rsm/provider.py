"""What a network supplies so that RSMAPI runs on it: the plug-in below the interface.

The library (`conduits.rsm.library`) keeps the life cycles, the rights and the order of calls; a
provider knows what a call costs and how bytes travel.  One provider object is one process's use of the
network from one host.

Time.  A call begins in an event, at the kernel's time, with the caller's CPU free.  `RsmProvider.cost` is CPU
time of the caller.  `put`, `get`, `fence` and `signal` touch shared hardware: they are called in the
event that is their time (rule T2), take no software cost of their own, and tell by `then` when the caller's
CPU goes on.

Source: the RSMAPI papers, section on RSM plug-ins and Table I.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import attrs

from conduit.sim import Cpu, Kernel, Store
from conduit.sim.memory import Buffer
from conduits.rsm.errors import RsmError

Done: TypeAlias = Callable[[int, RsmError | None], object]
"""Called as `done(when, error)`: the caller's CPU goes on at `when` picoseconds; what the hardware reports."""
Got: TypeAlias = Callable[[bytes, int, RsmError | None], object]
"""Called as `got(data, when, error)` with the bytes read; empty where there is an error."""
Landing: TypeAlias = Callable[[int, Buffer], object]
"""Called as `landing(offset, data)` in the event in which bytes of another host have landed."""


class RsmCall(enum.Enum):
    """The calls of the API that take time, by their names there."""

    GET_TOPOLOGY = "rsm_get_interconnect_topology"
    GET_CONTROLLER = "rsm_get_controller"
    FREE_TOPOLOGY = "rsm_free_interconnect_topology"
    EXPORT_CREATE = "rsm_memseg_export_create"
    EXPORT_PUBLISH = "rsm_memseg_export_publish"
    EXPORT_REPUBLISH = "rsm_memseg_export_republish"
    EXPORT_UNPUBLISH = "rsm_memseg_export_unpublish"
    EXPORT_DESTROY = "rsm_memseg_export_destroy"
    RELEASE_CONTROLLER = "rsm_release_controller"
    IMPORT_CONNECT = "rsm_memseg_import_connect"
    IMPORT_MAP = "rsm_memseg_import_map"
    INIT_BARRIER = "rsm_memseg_import_init_barrier"
    SET_MODE = "rsm_memseg_import_set_mode"
    OPEN_BARRIER = "rsm_memseg_import_open_barrier"
    ORDER_BARRIER = "rsm_memseg_import_order_barrier"
    PUT = "rsm_memseg_import_put"
    GET = "rsm_memseg_import_get"
    CLOSE_BARRIER = "rsm_memseg_import_close_barrier"
    DESTROY_BARRIER = "rsm_memseg_import_destroy_barrier"
    SIGNAL_POST = "rsm_intr_signal_post"
    SIGNAL_WAIT = "rsm_intr_signal_wait"
    IMPORT_UNMAP = "rsm_memseg_import_unmap"
    IMPORT_DISCONNECT = "rsm_memseg_import_disconnect"


class Permission(enum.IntFlag):
    """What a host may do with an exported segment."""

    NONE = 0
    READ = 1
    WRITE = 2
    READ_WRITE = 3


Rights: TypeAlias = Mapping[int, Permission] | None
"""Permission by host, none for a host that is not named; None: every host may read and write."""


@attrs.frozen
class Attributes:
    """What a controller can do (rsm_get_controller_attr).

    Attributes:
        name: the controller.
        unit: bytes, and alignment, of the accesses that the hardware makes; 1 where any will do.
        min_segment: bytes of the smallest segment; segments are multiples of `page`.
        page: see `min_segment`.
        max_segment: bytes of the largest segment.
    """

    name: str
    unit: int
    min_segment: int
    page: int
    max_segment: int


class Mapped(Protocol):
    """A mapped segment: user code's own stores and loads, without the library's time.

    What is wrong with an access is raised as `RsmError` at once; what the hardware reports is in the status of
    the next fence, 0 if all is well.
    """

    def store(self, offset: int, data: Buffer, issued: Callable[[int], object], /) -> int:
        """Store, posted: return when the CPU is free again, or 0, and then `issued(when)` tells."""

    def fence(self, then: Callable[[int, int], object], /) -> int:
        """Wait until all stores are in remote memory: return when, or 0, and then `then(when, status)` tells."""

    def load(self, offset: int, nbytes: int, then: Callable[[bytes, int, int], object], /) -> None:
        """Load: `then(data, when, status)` in an event."""


class ImportWindow(ABC):
    """An imported segment as its provider sees it.  Offsets and sizes have been checked."""

    __slots__ = ()

    nbytes: int

    @abstractmethod
    def put(self, offset: int, data: Buffer, then: Done) -> None:
        """Write `data`, posted: `then` when the CPU has given the last byte away.

        `data` must not change until it has landed; `fence` tells.
        """

    @abstractmethod
    def get(self, offset: int, nbytes: int, then: Got) -> None:
        """Read `nbytes`: `then` when the last byte is here."""

    @abstractmethod
    def fence(self, then: Done) -> None:
        """Wait until everything written through this window is in remote memory, or known to be lost."""

    @abstractmethod
    def signal(self, then: Done) -> None:
        """Interrupt the exporter's host; its kernel then calls the backing's `signalled`; `then` as for `put`."""

    @abstractmethod
    def map(self, permission: Permission) -> Mapped:
        """Return the mapping that user code stores and loads through."""

    @abstractmethod
    def unmap(self) -> None:
        """End the mapping: later stores through it are refused."""


class Backing(Protocol):
    """Local memory as the network's hardware knows it once it has been made exportable."""

    nbytes: int
    memory: Store
    landing: Landing | None
    """Called for what other hosts write; stands for the owner's next look at its memory."""
    signalled: Callable[[], object] | None
    """Called when the kernel of this host has seen a signal for it."""


class RsmProvider(ABC):
    """One process's use of a network by RSM.

    Attributes:
        kernel: the job's time.
        host: where the process runs.
        cpu: the process's CPU, which its calls take time of.
    """

    kernel: Kernel
    host: int
    cpu: Cpu

    @abstractmethod
    def controllers(self) -> Sequence[Attributes]:
        """Return the controllers of this host; the first one uses all of the hardware."""

    @abstractmethod
    def hosts(self) -> Sequence[int]:
        """Return the hosts that the interconnect joins, this one included."""

    @abstractmethod
    def cost(self, call: RsmCall, nbytes: int = 0) -> int:
        """Return the CPU time of a call in picoseconds, without what the hardware takes in it.

        Args:
            call: which.
            nbytes: of the segment, for the calls on the export side.
        """

    @abstractmethod
    def create(self, controller: str, nbytes: int, memory: Store | None) -> Backing:
        """Make local memory exportable; `memory` None: new, zeros, made when first written to.

        Raises:
            ResourceError: the host cannot give so much.
        """

    @abstractmethod
    def destroy(self, backing: Backing) -> None:
        """Give exportable memory back."""

    @abstractmethod
    def publish(self, backing: Backing, number: int, rights: Rights) -> None:
        """Enter the memory into the tables of the receiving hardware."""

    @abstractmethod
    def republish(self, backing: Backing, rights: Rights) -> None:
        """Change rights; what was imported before is under the new ones at once."""

    @abstractmethod
    def unpublish(self, backing: Backing) -> Backing:
        """Take the memory out of the tables: what arrives for it from now on is an error of its sender.

        Returns:
            The same memory for another `publish`, which what was imported before does not reach.
        """

    @abstractmethod
    def connect(self, controller: str, host: int, backing: Backing) -> ImportWindow:
        """Import what `host` has published.

        Raises:
            RemoteUnreachable: no path leads there.
        """
