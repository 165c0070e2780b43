"""What the hosts of a cluster have published: what their kernels tell one another."""

from __future__ import annotations

from typing import Protocol

from conduits.rsm.provider import Backing, Permission


class Published(Protocol):
    """A segment, as other hosts know it.  Its text names it in errors."""

    @property
    def host(self) -> int:
        """Where it is."""

    @property
    def published(self) -> bool:
        """Whether other hosts can connect to it now."""

    @property
    def backing(self) -> Backing:
        """The memory as the provider knows it; another object after each `unpublish`."""

    def permission(self, host: int) -> Permission:
        """Return what a host may do with it."""


class SegmentDirectory:
    """The published segments of a cluster by host and id; one object for all processes of a job."""

    __slots__ = ("_published",)

    def __init__(self) -> None:
        self._published: dict[tuple[int, int], Published] = {}

    def find(self, host: int, number: int) -> Published | None:
        """Return what `host` has published under `number`, None if nothing."""
        return self._published.get((host, number))

    def add(self, segment: Published, number: int) -> bool:
        """Enter a segment of its host; False if the id is taken."""
        return self._published.setdefault((segment.host, number), segment) is segment

    def remove(self, segment: Published, number: int) -> None:
        """Take a segment out."""
        del self._published[segment.host, number]
