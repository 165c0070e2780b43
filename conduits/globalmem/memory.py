"""The memory of a node: it serves one line after the other, for any processor."""

from __future__ import annotations

from conduit.sim import Kernel
from conduit.sim.link import Link
from conduit.sim.units import PS_PER_S


class _Lines(dict[int, int]):
    """How long each number of bytes takes a memory, picoseconds: whole lines."""

    __slots__ = ("line", "service")

    def __init__(self, line: int, service: int) -> None:
        super().__init__()
        self.line = line
        self.service = service

    def __missing__(self, nbytes: int) -> int:
        took = self[nbytes] = -(-nbytes // self.line) * self.service
        return took


class Bank(Link):
    """The memory of a node.

    Args:
        kernel: its clock and events.
        line: bytes that it serves at once.
        service: what that takes, picoseconds.
        name: for reports.
    """

    __slots__ = ("line",)

    def __init__(self, kernel: Kernel, line: int, service: int, name: str) -> None:
        super().__init__(kernel, line * PS_PER_S // service, name)
        self.line = line
        self.takes = _Lines(line, service)
