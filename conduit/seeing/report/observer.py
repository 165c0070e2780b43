"""The recording of a report: that of a trace, with the program's line of each request, and where bytes land."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from conduit.contract import Identity
from conduit.core.observer import CallListener, LandingListener
from conduit.seeing.report.vocabulary import EXTENDED, Vocabulary
from conduit.seeing.timeline import Timeline

MESSAGE, SEND = "message", "send"
"""Level and name under which `CallListener` hears of a program's own send in a library beside Active Messages."""

LIST = "list"
"""Level under which it hears of one call that was several native operations."""


class Landed(NamedTuple):
    """Bytes that came to a segment."""

    rank: int
    offset: int
    nbytes: int
    origin: Identity | int | None


class Called(NamedTuple):
    """A call above messages, or a native operation, as `CallListener` hears it, with the line that made it."""

    rank: int
    begin: int
    end: int
    level: str
    name: str
    peer: int
    nbytes: int
    place: str


class ReportRecording(Timeline, CallListener):
    """All that one job told, as far as real time tells it too.

    Args:
        conduit: the conduit's spec.
        hosts: host of every rank.
        place: says which line of the program a task is at that begins to wait now.
        here: says which line of the program is running now.
        words: says in whose words to advise about that line.

    Attributes:
        lines: the line of the program that made each request, "" where none did.
        vocabularies: by line of the program that made a request or a call, the words of the layer that it calls.
        landings: what came to segments, as far as that is told.
        calls: puts, gets, collectives, native one-sided operations, and messages of a library beside Active Messages.
        alignment: bytes of which offsets and sizes of long messages should be multiples; 1 where that does not matter.
    """

    alignment = 1

    def __init__(
        self,
        conduit: str,
        hosts: Sequence[int],
        place: Callable[[object], str],
        here: Callable[[], str],
        words: Callable[[], Vocabulary],
    ) -> None:
        super().__init__(conduit, hosts, place)
        self._here = here
        self._words = words
        self.vocabularies: dict[str, Vocabulary] = {}
        self.lines: dict[Identity, str] = {}
        self.landings: list[Landed] = []
        self.calls: list[Called] = []

    def sent(self, message: Identity, begin: int, end: int, category: int, nbytes: int) -> None:
        """Record a message and who made it."""
        super().sent(message, begin, end, category, nbytes)
        if not message.reply:
            self.lines[message] = self._line()

    def called(self, rank: int, begin: int, end: int, level: str, name: str, peer: int, nbytes: int) -> None:
        """Record a call and who made it; the parts of a collective are sent by whoever polls."""
        place = self._line() if level != MESSAGE or name == SEND else ""
        self.calls.append(Called(rank, int(begin), int(end), level, name, peer, nbytes, place))

    def words_at(self, place: str) -> Vocabulary:
        """Return the words in which to advise about a line of the program."""
        return self.vocabularies.get(place, EXTENDED)

    @property
    def words(self) -> Vocabulary:
        """Those in which to advise about the program as a whole: of most of its requests and calls."""
        places = Counter(self.lines.values())
        places.update(call.place for call in self.calls)
        counts: Counter[Vocabulary] = Counter()
        for place, count in places.items():
            if place:
                counts[self.words_at(place)] += count
        return max(counts, key=counts.__getitem__, default=EXTENDED)

    def _line(self) -> str:
        place = self._here()
        if place and place not in self.vocabularies:
            self.vocabularies[place] = self._words()
        return place


class SimulatedReportRecording(ReportRecording, LandingListener):
    """All that one job in virtual time told: also where bytes land.

    Args:
        alignment: as of `conduit.contract.Conduit`.
    """

    def __init__(
        self,
        conduit: str,
        hosts: Sequence[int],
        place: Callable[[object], str],
        here: Callable[[], str],
        words: Callable[[], Vocabulary],
        alignment: int = 1,
    ) -> None:
        super().__init__(conduit, hosts, place, here, words)
        self.alignment = alignment

    def landed(self, rank: int, when: int, offset: int, nbytes: int, origin: Identity | int | None) -> None:
        """Record where bytes came to."""
        self.landings.append(Landed(rank, offset, nbytes, origin))
