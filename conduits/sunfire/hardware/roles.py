"""What the cluster, a processor and one of its channels are to the runs of lines that stand below them.

`FireLinkFabric`, `Processor` and `StoreChannel` say what each attribute is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from conduit.sim.kernel import Kernel
from conduits.sunfire.hardware.parts import Lane
from conduits.sunfire.hardware.paths import Paths
from conduits.sunfire.hardware.wiring import Inventory


class Cluster(Protocol):
    """The cluster, as its processors and what they store know it."""

    kernel: Kernel
    inventory: Inventory
    may_fail: bool
    piece: int
    draw: Callable[[], float]

    def paths(self, source: int, target: int, interface: int | None = None) -> Paths:
        """Return the way from one host to another, over all NIs or one of the source's."""


class LineRun(Protocol):
    """A run of lines that waits for those before it."""

    def begin(self) -> None:
        """Feed the first piece, in an event."""


class Issuer(Protocol):
    """A processor, as its channels know it."""

    fabric: Cluster
    kernel: Kernel
    host: int
    held: bool

    def begin(self, flight: LineRun) -> None:
        """Begin a run when what was stored before has its place on every link."""

    def release(self) -> None:
        """What it stored last has its place on every link: go on with what waits."""

    def raise_error(self, status: int) -> None:
        """Set an error in the register."""


class Lanes(Protocol):
    """A channel, as the runs of lines that go over it know it."""

    processor: Issuer
    target: int
    paths: Paths
    may_fail: bool

    def stripe(self, lines: int) -> list[tuple[Lane, int]]:
        """Choose the lanes of the next lines, in turn, and how many lines each of them takes."""

    def count_errors(self, lines: int) -> None:
        """Count lines that never got on a lane, or were refused."""

    def fail(self, status: int) -> None:
        """Something of this channel went wrong: the processor's register says so, and the next barrier."""
