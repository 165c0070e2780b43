"""What a recording comes to: time of ranks, bytes between them, sizes, links, lines of the program, late polls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import attrs

from conduit.seeing.report.epochs import MeetingEpochs, Times, epochs, meetings, times_of
from conduit.seeing.report.late import LatePoll, late_polls
from conduit.seeing.report.observer import LIST, MESSAGE, Called, ReportRecording
from conduit.seeing.timeline import Account, accounts
from conduit.seeing.timeline.recording import MessageLife
from conduit.words import natural

LEVELS = {
    "collective": "collective calls",
    "put/get": "puts and gets",
    MESSAGE: "messages",
    "native": "native operations",
    "signal": "signals of barriers",
}
"""What the levels are called at which sizes are counted, from the program down to the network."""


@attrs.define
class LineUse:
    """What one line of the program did, on all ranks together.

    Attributes:
        place: "file:line in function".
        waits: how often a task waited there.
        waited: picoseconds of these waits, the sum of them.
        requests: how many messages it sent, and native operations it began.
        nbytes: payload of these and of the replies.
    """

    place: str
    waits: int = 0
    waited: int = 0
    requests: int = 0
    nbytes: int = 0


@attrs.frozen
class LinkUse:
    """How a link or an engine was used after the start: picoseconds taken, bytes and transfers."""

    name: str
    busy: int
    nbytes: int
    transfers: int


@attrs.frozen(kw_only=True)
class Profile:
    """What a job comes to; times in picoseconds.

    Attributes:
        conduit: the spec.
        ranks: how many.
        length: of the job.
        accounts: the time of each rank, which adds up to the length.
        messages: by sender and receiver, how many; a native get is one from the rank that is read.
        nbytes: by sender and receiver, the payload.
        sizes: for each level (`LEVELS`) that has any, by bytes how many calls, messages or native operations.
        lines: of the program, the one that waited longest first.
        links: the one that was taken longest first.
        late: ranks that polled late, the costliest first.
        lives: every Active Message.
        native: every native operation of the program's.
        signals: every native put by which a layer tells another rank something, as that a barrier is reached.
        lists: every call that was several of them.
        library: every message of a library beside Active Messages, each with its line: of what a collective sends the
            collective's.
        times: how the CPUs of the ranks spent their time.
        epochs: the stretches between meetings of all ranks.
    """

    conduit: str
    ranks: int
    length: int
    accounts: list[Account]
    messages: Counter[tuple[int, int]]
    nbytes: Counter[tuple[int, int]]
    sizes: dict[str, Counter[int]]
    lines: list[LineUse]
    links: list[LinkUse]
    late: list[LatePoll]
    lives: list[MessageLife]
    native: list[Called]
    signals: list[Called]
    lists: list[Called]
    library: list[Called]
    times: Times
    epochs: MeetingEpochs

    @property
    def working(self) -> int:
        """Picoseconds after the first rank has built its queues and connections: what programs can change."""
        return max(self.length - self.started, 1)

    @property
    def started(self) -> int:
        """When the first rank has built its queues and connections, picoseconds."""
        return min(account.start for account in self.accounts)


def profile(recording: ReportRecording) -> Profile:
    """Return what a recording of a job that is over comes to."""
    lives = list(recording.lives())
    told = accounts(recording)
    started = min(account.start for account in told)
    times, met = times_of(recording), meetings(recording)
    between = epochs(met, times, started, recording.length)
    messages: Counter[tuple[int, int]] = Counter()
    nbytes: Counter[tuple[int, int]] = Counter()
    for life in lives:
        way = life.way
        messages[way] += 1
        nbytes[way] += life.nbytes
    native = [call for call in recording.calls if call.level == "native"]
    signals = [call for call in recording.calls if call.level == "signal"]
    library = _library(recording)
    for call in (*native, *signals, *library):
        way = (call.peer, call.rank) if call.name == "get" else (call.rank, call.peer)
        messages[way] += 1
        nbytes[way] += call.nbytes
    return Profile(
        conduit=recording.conduit,
        ranks=recording.ranks,
        length=recording.length,
        accounts=told,
        messages=messages,
        nbytes=nbytes,
        sizes=_sizes(recording, lives),
        lines=_lines(recording, lives, [*native, *signals, *library]),
        links=_links(recording, started),
        late=late_polls(recording, lives, met, times, between),
        lives=lives,
        native=native,
        signals=signals,
        lists=[call for call in recording.calls if call.level == LIST],
        library=library,
        times=times,
        epochs=between,
    )


def _library(recording: ReportRecording) -> list[Called]:
    """Return the messages of a library, each part of a collective with the line of the last call of its name."""
    calls = sorted(
        (call for call in recording.calls if call.level in ("collective", MESSAGE)),
        key=lambda call: (call.begin, call.level == MESSAGE),
    )
    places: dict[tuple[int, str], str] = {}
    found = []
    for call in calls:
        if call.level == MESSAGE:
            found.append(call._replace(place=call.place or places.get((call.rank, call.name), "")))
        else:
            places[call.rank, call.name] = call.place
    return found


def _sizes(recording: ReportRecording, lives: Iterable[MessageLife]) -> dict[str, Counter[int]]:
    found: dict[str, Counter[int]] = {name: Counter() for name in LEVELS.values()}
    found["messages"].update(life.nbytes for life in lives)
    for call in recording.calls:
        if call.level in LEVELS:
            found[LEVELS[call.level]][call.nbytes] += 1
    return {name: sizes for name, sizes in found.items() if sizes}


def _lines(recording: ReportRecording, lives: Iterable[MessageLife], calls: Iterable[Called]) -> list[LineUse]:
    found: dict[str, LineUse] = {}
    for waits in recording.waits:
        for wait in waits:
            if wait.place:
                line = found.setdefault(wait.place, LineUse(wait.place))
                line.waits += 1
                line.waited += wait.end - wait.begin
    for life in lives:
        place = recording.lines.get(life.message._replace(reply=False), "")
        if place:
            line = found.setdefault(place, LineUse(place))
            line.requests += not life.message.reply
            line.nbytes += life.nbytes
    for call in calls:
        if call.place:
            line = found.setdefault(call.place, LineUse(call.place))
            line.requests += 1
            line.nbytes += call.nbytes
    return sorted(found.values(), key=lambda line: (-line.waited, -line.nbytes, line.place))


def _links(recording: ReportRecording, since: int) -> list[LinkUse]:
    """Add up what links carried from some time on."""
    found = []
    for name, carried in recording.links.items():
        rows = [(max(begin, since), end, nbytes) for begin, end, nbytes in carried.rows() if end > since]
        busy = sum(end - begin for begin, end, _ in rows)
        if rows:
            found.append(LinkUse(name, busy, sum(nbytes for _, _, nbytes in rows), len(rows)))
    return sorted(found, key=lambda use: (-use.busy, natural(use.name)))
