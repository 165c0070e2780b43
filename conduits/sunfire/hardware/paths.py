"""The way from one host to another, as system software has last written it into the tables."""

from __future__ import annotations

from conduits.sunfire.hardware.parts import Lane


class Paths:
    """What system software's tables say of the way from one host to another, over all NIs or one.

    Attributes:
        lanes: the stripes, in turn; empty where there is no path.
        down: names of the parts between the two hosts that did not work when the tables were written.
        reroutes: how often the lanes have changed.
    """

    __slots__ = ("down", "interface", "lanes", "reroutes", "source", "target")

    def __init__(self, source: int, target: int, interface: int | None) -> None:
        self.source = source
        self.target = target
        self.interface = interface
        self.lanes: list[Lane] = []
        self.down: list[str] = []
        self.reroutes = 0
