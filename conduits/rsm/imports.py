"""The import side: another host's memory, reached by put, get or mapped stores; barriers; signals.

Transfers, after the papers' figures (each call of the barrier takes its own time, see the provider):

    put:  init_barrier; open; put ...; [order; put ...]; close; destroy; signal_post
    get:  init_barrier; open; [order]; get; close; destroy
    map:  init_barrier; map; open; [order]; stores and loads; close; destroy; signal_post; unmap
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Protocol

from conduit.sim.memory import Buffer
from conduits.rsm.directory import Published
from conduits.rsm.errors import (
    BadLength,
    BadMode,
    BadOffset,
    BadSegment,
    BarrierFailure,
    BarrierNotOpened,
    BarrierOpenFailed,
    BarrierUninitialized,
    ConnectionAborted,
    PermDenied,
    RsmError,
    SegmentAlreadyMapped,
    SegmentInUse,
    SegmentNotMapped,
)
from conduits.rsm.owner import SegmentController
from conduits.rsm.provider import Done, Got, ImportWindow, Mapped, Permission, RsmCall


class BarrierMode(enum.Enum):
    """The scope of barriers (rsm_memseg_import_set_mode)."""

    EXPLICIT = "explicit"
    """From `RsmBarrier.open` to `RsmBarrier.close`; a put is posted."""
    IMPLICIT = "implicit"
    """Each put by itself: it ends when the bytes are in remote memory, and hands over its own errors."""


class ImportController(SegmentController, Protocol):
    """A controller, as its imports know it."""

    def scopes(self, host: int) -> dict[ImportSegment, None]:
        """Return the imports of a host, over this way, that have a barrier open."""


class ImportSegment:
    """An import, made by `Controller.import_connect`.

    Args:
        controller: where it was made.
        exported: the segment.
        window: the provider's part.
        permission: what it was asked for.

    Attributes:
        nbytes: size of the segment.
        mode: of its barriers.
    """

    __slots__ = (
        "_alive", "_backing", "_controller", "_exported", "_mapping", "_missed", "_opened", "_permission", "_window",
        "mode", "nbytes",
    )  # fmt: skip

    def __init__(
        self, controller: ImportController, exported: Published, window: ImportWindow, permission: Permission
    ) -> None:
        self._controller = controller
        self._exported = exported
        self._backing = exported.backing
        self._window = window
        self._permission = permission
        self._mapping: Mapped | None = None
        self._alive = True
        self._opened: RsmBarrier | None = None
        self._missed = False  # another import's barrier has reported an error while one of this was open
        self.mode = BarrierMode.EXPLICIT
        self.nbytes = window.nbytes

    def disconnect(self) -> None:
        """Give the import up (rsm_memseg_import_disconnect).

        Raises:
            SegmentInUse: it is mapped, or a barrier of it is open.
            BadSegment: it was disconnected.
        """
        self._check("disconnect")
        if self._mapping is not None:
            raise SegmentInUse(f"disconnect from {self._exported} while it is mapped; unmap it first")
        if self._opened is not None:
            raise SegmentInUse(f"disconnect from {self._exported} while a barrier is open; close it first")
        self._alive = False
        self._controller.dropped(self)
        self._controller.charge(RsmCall.IMPORT_DISCONNECT)

    def map(self) -> Mapped:
        """Map the segment, so that user code can store to it (rsm_memseg_import_map).

        Returns:
            The provider's mapping: its own documentation says what it can do beside what `Mapped` has.

        Raises:
            SegmentAlreadyMapped: it is mapped.
            ConnectionAborted: the exporter has unpublished it.
        """
        self._check("map")
        self._check_connection("map")
        if self._mapping is not None:
            raise SegmentAlreadyMapped(f"{self._exported} is mapped already; unmap it first")
        self._mapping = self._window.map(self._permission)
        self._controller.charge(RsmCall.IMPORT_MAP)
        return self._mapping

    def unmap(self) -> None:
        """End the mapping (rsm_memseg_import_unmap); stores through it are refused from now on.

        Raises:
            SegmentNotMapped: it is not mapped.
        """
        self._check("unmap")
        if self._mapping is None:
            raise SegmentNotMapped(f"unmap of {self._exported}, which is not mapped; map it first")
        self._window.unmap()
        self._mapping = None
        self._controller.charge(RsmCall.IMPORT_UNMAP)

    def set_mode(self, mode: BarrierMode) -> None:
        """Choose the scope of barriers (rsm_memseg_import_set_mode).

        Raises:
            BadMode: a barrier is open.
        """
        self._check("set_mode")
        if self._opened is not None:
            raise BadMode(f"set_mode of {self._exported} while a barrier is open; close it first")
        self.mode = mode
        self._controller.charge(RsmCall.SET_MODE)

    def init_barrier(self) -> RsmBarrier:
        """Make a barrier (rsm_memseg_import_init_barrier)."""
        self._check("init_barrier")
        self._controller.charge(RsmCall.INIT_BARRIER)
        return RsmBarrier(self)

    def put(self, offset: int, data: Buffer, then: Done) -> None:
        """Write `data` at `offset` (rsm_memseg_import_put).

        In explicit mode `then` comes when the CPU has given the last byte away; only a barrier tells that
        it has arrived.  In implicit mode it comes when it has.

        Raises:
            BadOffset, BadLength: outside the segment, or no bytes.
            PermDenied: not imported for writing.
            ConnectionAborted: the exporter has unpublished it.
            BadSegment: it was disconnected.
        """
        self._check_access("put", offset, len(data), Permission.WRITE)
        copy = bytes(data)
        self._after(RsmCall.PUT, lambda: self._window.put(offset, copy, self._put_done(then)))

    def get(self, offset: int, nbytes: int, then: Got) -> None:
        """Read `nbytes` at `offset` (rsm_memseg_import_get): `then` when they are here.

        Raises:
            BadOffset, BadLength: outside the segment, or no bytes.
            PermDenied: not imported for reading.
            ConnectionAborted: the exporter has unpublished it.
            BadSegment: it was disconnected.
        """
        self._check_access("get", offset, nbytes, Permission.READ)

        def done(data: bytes, when: int, error: RsmError | None) -> None:
            then(data, self._free(when), error)

        self._after(RsmCall.GET, lambda: self._window.get(offset, nbytes, done))

    def signal_post(self, then: Done) -> None:
        """Signal the exporter (rsm_intr_signal_post): `then` when the caller goes on; see `signal_wait`.

        Raises:
            ConnectionAborted: the exporter has unpublished it.
            BadSegment: it was disconnected.
        """
        self._check("signal_post")
        self._check_connection("signal_post")
        self._after(RsmCall.SIGNAL_POST, lambda: self._window.signal(self._done(then)))

    # -- for barriers ------------------------------------------------------------------------------

    def open_barrier(self, barrier: RsmBarrier) -> None:
        """Note that `barrier` is open, if none is."""
        self._check("open_barrier")
        if self.mode is BarrierMode.IMPLICIT:
            raise BarrierOpenFailed(
                f"open_barrier of {self._exported}, whose mode is implicit; set_mode(BarrierMode.EXPLICIT) first"
            )
        if self._opened is not None:
            raise BarrierOpenFailed(f"open_barrier of {self._exported}: a barrier of it is open; close it first")
        self._opened = barrier
        self._controller.scopes(self._exported.host)[self] = None
        self._controller.charge(RsmCall.OPEN_BARRIER)

    def fence(self, barrier: RsmBarrier, call: RsmCall, then: Done) -> None:
        """Order or close `barrier`, which is open."""
        if self._opened is not barrier:
            raise BarrierNotOpened(f"{call.value} of a barrier of {self._exported} that is not open; open it first")
        if call is RsmCall.CLOSE_BARRIER:
            self._opened = None
        self._after(call, lambda: self._window.fence(self._fenced(then)))

    def destroy_barrier(self, barrier: RsmBarrier) -> None:
        """Destroy `barrier`, which must not be open."""
        if self._opened is barrier:
            raise SegmentInUse(f"destroy_barrier of a barrier of {self._exported} that is open; close it first")
        self._controller.charge(RsmCall.DESTROY_BARRIER)

    def check(self, call: str) -> None:
        """Refuse a call on a barrier of an import that was disconnected."""
        if not self._alive:
            raise BarrierUninitialized(f"{call} of a barrier of {self._exported}, which was disconnected")

    # -- time and checks ---------------------------------------------------------------------------

    def _after(self, call: RsmCall, act: Callable[[], object]) -> None:
        """Act on the hardware when the software of a call has run."""
        provider = self._controller.provider
        self._controller.charge(call)
        provider.kernel.call(provider.cpu.free, act)

    def _free(self, when: int) -> int:
        cpu = self._controller.provider.cpu
        cpu.free = max(cpu.free, when)
        return cpu.free

    def _done(self, then: Done) -> Done:
        def done(when: int, error: RsmError | None) -> None:
            then(self._free(when), error)

        return done

    def _fenced(self, then: Done) -> Done:
        """Return what to call when the hardware's barrier is back.

        The hardware says once that something on the way to a host was lost, and not what; so that fails every
        barrier that is open there.
        """
        done = self._done(then)

        def fenced(when: int, error: RsmError | None) -> None:
            scopes = self._controller.scopes(self._exported.host)
            if self._opened is None:
                scopes.pop(self, None)
            if error is not None:
                for each in scopes:
                    each._missed = True
            elif self._missed:
                error = BarrierFailure(
                    f"{self._exported}: not everything to its host has arrived since the last barrier, as another one "
                    "has reported; write it again"
                )
            self._missed = False
            done(when, error)

        return fenced

    def _put_done(self, then: Done) -> Done:
        if self.mode is BarrierMode.EXPLICIT:
            return self._done(then)
        kernel = self._controller.provider.kernel

        def stored(when: int, error: RsmError | None) -> None:
            if error is not None:
                then(self._free(when), error)
            else:
                kernel.at(max(when, kernel.now), self._window.fence, self._fenced(then))

        return stored

    def _check_access(self, call: str, offset: int, nbytes: int, needed: Permission) -> None:
        self._check(call)
        self._check_connection(call)
        if nbytes < 1 or nbytes > self.nbytes:
            raise BadLength(f"{call} of {nbytes} bytes; {self._exported} takes 1 to {self.nbytes}")
        if offset < 0 or offset + nbytes > self.nbytes:
            raise BadOffset(f"{call} of {nbytes} bytes at offset {offset} of {self._exported}: outside")
        if not self._permission & needed:
            raise PermDenied(f"{call} of {self._exported}, imported for {self._permission.name}; connect anew")
        if not self._exported.permission(self._controller.provider.host) & needed:
            raise PermDenied(f"{call} of {self._exported}: it no longer grants that")

    def _check_connection(self, call: str) -> None:
        if self._exported.backing is not self._backing:
            raise ConnectionAborted(f"{call} of {self._exported}: it was unpublished; disconnect")

    def _check(self, call: str) -> None:
        self._controller.check(call)
        if not self._alive:
            raise BadSegment(f"{call} of {self._exported}, which was disconnected")


class RsmBarrier:
    """A barrier of an import: everything written through it from `open` on is in its scope."""

    __slots__ = ("_alive", "_segment")

    def __init__(self, segment: ImportSegment) -> None:
        self._segment = segment
        self._alive = True

    def open(self) -> None:
        """Begin its scope (rsm_memseg_import_open_barrier).

        Raises:
            BarrierOpenFailed: a barrier of the import is open, or its mode is implicit.
            BarrierUninitialized: it was destroyed.
        """
        self._check("open_barrier")
        self._segment.open_barrier(self)

    def order(self, then: Done) -> None:
        """Order what was written before against what is written after (rsm_memseg_import_order_barrier).

        The error, if any, is a `BarrierFailure`: what was written since the last good barrier may be lost.

        Raises:
            BarrierNotOpened: it is not open.
            BarrierUninitialized: it was destroyed.
        """
        self._check("order_barrier")
        self._segment.fence(self, RsmCall.ORDER_BARRIER, then)

    def close(self, then: Done) -> None:
        """End its scope: `then` when all is in remote memory, or known to be lost (rsm_memseg_import_close_barrier).

        The error is as for `order`.

        Raises:
            BarrierNotOpened: it is not open.
            BarrierUninitialized: it was destroyed.
        """
        self._check("close_barrier")
        self._segment.fence(self, RsmCall.CLOSE_BARRIER, then)

    def destroy(self) -> None:
        """Give it up (rsm_memseg_import_destroy_barrier).

        Raises:
            SegmentInUse: it is open.
            BarrierUninitialized: it was destroyed.
        """
        self._check("destroy_barrier")
        self._segment.destroy_barrier(self)
        self._alive = False

    def _check(self, call: str) -> None:
        if not self._alive:
            raise BarrierUninitialized(f"{call} of a barrier that was destroyed")
        self._segment.check(call)
