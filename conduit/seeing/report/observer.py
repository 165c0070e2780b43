"""The recording of a report: that of a trace, with the program's line of each request, and where bytes land."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from conduit.contract import Identity
from conduit.core.observer import LandingListener
from conduit.seeing.timeline import Timeline


class Landed(NamedTuple):
    """Bytes that came to a segment."""

    rank: int
    offset: int
    nbytes: int
    origin: Identity | int | None


class ReportRecording(Timeline, LandingListener):
    """All that one job told.

    Args:
        conduit: the conduit's spec.
        hosts: host of every rank.
        place: says which line of the program a task is at that begins to wait now.
        here: says which line of the program is running now.

    Attributes:
        lines: the line of the program that made each request, "" where none did.
        landings: what came to segments.
    """

    def __init__(
        self, conduit: str, hosts: Sequence[int], place: Callable[[object], str], here: Callable[[], str]
    ) -> None:
        super().__init__(conduit, hosts, place)
        self._here = here
        self.lines: dict[Identity, str] = {}
        self.landings: list[Landed] = []

    def sent(self, message: Identity, begin: int, end: int, category: int, nbytes: int) -> None:
        """Record a message and who made it."""
        super().sent(message, begin, end, category, nbytes)
        if not message.reply:
            self.lines[message] = self._here()

    def landed(self, rank: int, when: int, offset: int, nbytes: int, origin: Identity | int | None) -> None:
        """Record where bytes came to."""
        self.landings.append(Landed(rank, offset, nbytes, origin))
