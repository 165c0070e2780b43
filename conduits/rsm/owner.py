"""What a segment needs of the controller that it was made with."""

from __future__ import annotations

from typing import Protocol

from conduits.rsm.provider import RsmCall, RsmProvider


class SegmentController(Protocol):
    """A controller, as the segments of both sides know it.

    Attributes:
        provider: the network.
    """

    provider: RsmProvider

    def charge(self, call: RsmCall, nbytes: int = 0) -> None:
        """Take the caller's CPU for what a call costs."""

    def check(self, call: str) -> None:
        """Refuse a call on a controller that was released."""

    def dropped(self, segment: object) -> None:
        """Forget a segment that was destroyed or disconnected."""
