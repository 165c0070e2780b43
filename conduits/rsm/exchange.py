"""What the hosts of a cluster have published: what their kernels tell one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conduits.rsm.export import ExportSegment


class Exchange:
    """The published segments of a cluster by host and id; one object for all processes of a job."""

    __slots__ = ("_published",)

    def __init__(self) -> None:
        self._published: dict[tuple[int, int], ExportSegment] = {}

    def find(self, host: int, number: int) -> ExportSegment | None:
        """Return what `host` has published under `number`, None if nothing."""
        return self._published.get((host, number))

    def add(self, segment: ExportSegment, number: int) -> bool:
        """Enter a segment of its host; False if the id is taken."""
        return self._published.setdefault((segment.host, number), segment) is segment

    def remove(self, segment: ExportSegment, number: int) -> None:
        """Take a segment out."""
        del self._published[segment.host, number]
