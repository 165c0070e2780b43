"""The export side: memory that its owner lets other hosts reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from conduit.sim import Kernel, Store
from conduits.rsm.directory import SegmentDirectory
from conduits.rsm.errors import (
    ArgumentError,
    BadSegment,
    SegmentAlreadyPublished,
    SegmentIdInUse,
    SegmentInUse,
    SegmentNotPublished,
)
from conduits.rsm.owner import SegmentController
from conduits.rsm.provider import Backing, Landing, Permission, Rights, RsmCall

MAX_NUMBER = (1 << 32) - 1


class Exporter(SegmentController, Protocol):
    """A controller, as its exports know it.

    Attributes:
        directory: where they are published.
    """

    directory: SegmentDirectory


class ExportSegment:
    """A segment of this process, made by `Controller.export_create`.

    Every call takes time of the caller's CPU, which grows with the segment's size.  What a call changes is
    changed when it returns, at the caller's `cpu.free`: a connect before that does not find the segment.

    Args:
        controller: where it was made.
        backing: its memory, as the provider knows it.
    """

    __slots__ = ("_alive", "_backing", "_controller", "_number", "_posted", "_rights", "_since", "_waiting", "nbytes")

    def __init__(self, controller: Exporter, backing: Backing) -> None:
        self._controller = controller
        self._backing = backing
        self._alive = True
        self._number: int | None = None
        self._rights: Rights = None
        self._since = 0
        self._posted = 0
        self._waiting: tuple[Callable[[int], object], ...] = ()
        self.nbytes = backing.nbytes
        backing.signalled = self._signalled

    @property
    def host(self) -> int:
        """Where it is."""
        return self._controller.provider.host

    @property
    def memory(self) -> Store:
        """Its bytes, for the owner."""
        return self._backing.memory

    @property
    def landing(self) -> Landing | None:
        """Called as `landing(offset, data)` in each event in which bytes of other hosts have landed."""
        return self._backing.landing

    @landing.setter
    def landing(self, called: Landing | None) -> None:
        self._backing.landing = called

    @property
    def backing(self) -> Backing:
        """The memory as the provider knows it; another object after each `unpublish`."""
        return self._backing

    @property
    def published(self) -> bool:
        """Whether other hosts can connect to it now."""
        return self._number is not None and self._kernel.now >= self._since

    def permission(self, host: int) -> Permission:
        """Return what a host may do with it."""
        if self._number is None:
            return Permission.NONE
        return Permission.READ_WRITE if self._rights is None else self._rights.get(host, Permission.NONE)

    def publish(self, number: int, rights: Rights = None) -> None:
        """Let other hosts connect to it (rsm_memseg_export_publish).

        Args:
            number: an id that is new on this host, 0 to 2**32 - 1.
            rights: what each host may do; None: all may read and write.

        Raises:
            SegmentAlreadyPublished: it is published; `republish` changes its rights.
            SegmentIdInUse: this host has published another segment under that id.
            BadSegment: it was destroyed.
        """
        self._check("publish")
        if self._number is not None:
            raise SegmentAlreadyPublished(f"{self} is published already; change its rights with republish")
        if not 0 <= number <= MAX_NUMBER:
            raise ArgumentError(f"segment id {number} is not allowed; take one from 0 to {MAX_NUMBER}")
        if not self._controller.directory.add(self, number):
            raise SegmentIdInUse(f"host {self.host} has published a segment under id {number}; take another")
        self._controller.provider.publish(self._backing, number, rights)
        self._number, self._rights = number, rights
        self._charge(RsmCall.EXPORT_PUBLISH)
        self._since = self._controller.provider.cpu.free

    def republish(self, rights: Rights) -> None:
        """Change what hosts may do with it (rsm_memseg_export_republish); imports that exist are bound by it too.

        Raises:
            SegmentNotPublished: it is not published.
            BadSegment: it was destroyed.
        """
        self._check("republish")
        self._number_of("republish")
        self._rights = rights
        self._controller.provider.republish(self._backing, rights)
        self._charge(RsmCall.EXPORT_REPUBLISH)

    def unpublish(self) -> None:
        """Let it be reached no more (rsm_memseg_export_unpublish); what is imported of it is aborted for good.

        Raises:
            SegmentNotPublished: it is not published.
            BadSegment: it was destroyed.
        """
        self._check("unpublish")
        number = self._number_of("unpublish")
        self._controller.directory.remove(self, number)
        self._backing = self._controller.provider.unpublish(self._backing)
        self._number = None
        self._charge(RsmCall.EXPORT_UNPUBLISH)

    def destroy(self) -> None:
        """Give it up (rsm_memseg_export_destroy).

        Raises:
            SegmentInUse: it is published.
            BadSegment: it was destroyed.
        """
        self._check("destroy")
        if self._number is not None:
            raise SegmentInUse(f"{self} is published; unpublish it first")
        self._alive = False
        self._controller.provider.destroy(self._backing)
        self._controller.dropped(self)
        self._charge(RsmCall.EXPORT_DESTROY)

    def signal_wait(self, then: Callable[[int], object]) -> None:
        """Wait for a signal of an importer (rsm_intr_signal_wait): `then(when)` when the caller's CPU goes on.

        Signals are counted; each ends one wait, in the order of the calls.

        Raises:
            BadSegment: it was destroyed.
        """
        self._check("signal_wait")
        self._charge(RsmCall.SIGNAL_WAIT)
        if self._posted:
            self._posted -= 1
            self._kernel.at(self._controller.provider.cpu.free, self._woken, then)
        else:
            self._waiting += (then,)

    def _signalled(self) -> None:
        """A signal has arrived, in the event in which the kernel of this host has seen it."""
        if self._waiting:
            first, *rest = self._waiting
            self._waiting = tuple(rest)
            self._woken(first)
        else:
            self._posted += 1

    def _woken(self, then: Callable[[int], object]) -> None:
        cpu = self._controller.provider.cpu
        cpu.free = max(cpu.free, self._kernel.now)
        then(cpu.free)

    @property
    def _kernel(self) -> Kernel:
        return self._controller.provider.kernel

    def _number_of(self, call: str) -> int:
        if self._number is None:
            raise SegmentNotPublished(f"{call} of {self}, which is not published; publish it first")
        return self._number

    def _charge(self, call: RsmCall) -> None:
        self._controller.charge(call, self.nbytes)

    def _check(self, call: str) -> None:
        self._controller.check(call)
        if not self._alive:
            raise BadSegment(f"{call} of {self}, which was destroyed")

    def __str__(self) -> str:
        name = "a segment" if self._number is None else f"segment {self._number}"
        return f"{name} of {self.nbytes} bytes of host {self.host}"
