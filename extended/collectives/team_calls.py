"""What one rank keeps for the calls of one team: those under way, what came early, how far ahead it may be.

A rank may not run ahead of the others without bounds, because what it sends early is kept at its receivers.  Calls
count in epochs; when a rank has finished all calls of an epoch it takes part in a fence, and no call begins before the
fence of the epoch before the last is done.  So what is kept belongs to two epochs at most.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from extended.collectives import signature as signatures
from extended.collectives.call import CollectiveCall, UnexpectedMessages
from extended.collectives.signature import CollectiveMismatch
from extended.program_lines import read_line_word
from extended.reporting import RANK, team_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from extended.collectives.signature import Signature, Words
    from extended.program_lines import SourceLine
    from extended.reporting import ReportSink
    from extended.topology import Topology

    Identity = tuple[int, int]

_OF_JOB = " of the job"  # behind which a text that is not sent has the line
EPOCH = 32
"""Calls of an epoch."""


class Broken(NamedTuple):
    """Why a team can be used no more.

    Attributes:
        sequence: the number of the last call that can end.
        text: why, for what later calls say.
    """

    sequence: int
    text: str


class TeamCalls:
    """One team's calls at one rank.

    Attributes:
        identity: the team's.
        members: its ranks in the job; empty before this rank knows that it is one of them.
        topology: its ranks by host.
        rank: this rank in it.
        calls: those under way, by number.
        broken: what broke the team, None while it is whole.
        greeted: the ranks of the job that have not answered a short message which tells of a call, one for each.
        next: the number of the next call.
        waiting: calls that wait for a fence.
        warn: says what users are to know of calls that others make and this rank never will; None while it may.
        rank_word: what errors call a rank.

    Args:
        identity: the team's.
        calls_of: returns those of a rank of the job, None where these are another process's or not known any more.
    """

    rank_word = RANK

    def __init__(self, identity: Identity, calls_of: Callable[[int, Identity], TeamCalls | None]) -> None:
        self.identity = identity
        self._calls_of = calls_of
        self._places: dict[int, SourceLine] = {}
        self._names: dict[int, str] = {}
        self.members: Sequence[int] = ()
        self.topology: Topology | None = None
        self.rank = 0
        self.calls: dict[int, CollectiveCall] = {}
        self.broken: Broken | None = None
        self.told_broken = False  # whether the program knows it here, by an error or because it has done it
        self.greeted: list[int] = []
        self.next = 0
        self.waiting: deque[CollectiveCall] = deque()
        self.warn: Callable[[str], None] | None = None
        self._unexpected: dict[int, UnexpectedMessages] = {}
        self._finished: dict[int, Signature] = {}
        self._in_epoch: dict[int, int] = {}
        self._fenced = 0  # epochs whose fences are done
        self._oldest = 0  # calls before this one are forgotten

    def tell(self, sink: ReportSink) -> None:
        """Tell how many calls this rank has begun, and which of them are under way, by what waits for them say."""
        of_team = team_name(self.members)
        waits: dict[str, int] = {}
        for number, call in sorted(self.calls.items()):
            if number >= 0:
                for text in (call.text + of_team, f"{call.kind}_nb"):
                    waits.setdefault(text, number)
        sink.part(f"collective calls{of_team}, led by {self.identity}", self.members, self.next, waits)
        if missed := self._missed():
            sink.note(missed)

    def _missed(self) -> str:
        """Return the first call that another rank has made and left, and that this one has not made; "" for none.

        Of calls in which another rank waits its own part in the report tells.
        """
        for sequence, unexpected in sorted(self._unexpected.items()):
            for source, words in unexpected.seen.values():
                its = self._calls_of(source, self.identity)
                if sequence >= 0 and its is not None and sequence not in its.calls:
                    word = self.rank_word
                    return f"{word} {source} called {self._told(source, sequence, words)}, and this {word} has not"
        return ""

    # -------------------------------------------------------------------------------------------------------- messages

    def unexpected(self, me: int, source: int, sequence: int, words: Words) -> UnexpectedMessages | None:
        """Return where a message of a call belongs, None where it is no longer wanted.

        Args:
            me: this rank in the job.
            source: the sender.
            sequence: the call's number.
            words: the sender's signature.

        Raises:
            CollectiveMismatch: this rank made another call.
        """
        call = self.calls.get(sequence)
        if call is not None:
            self._compare(me, sequence, call.signature, source, words)
            return call.unexpected
        if sequence in self._finished:
            self._compare(me, sequence, self._finished[sequence], source, words)
            return None
        if 0 <= sequence < self._oldest or (self.broken is not None and sequence > self.broken.sequence):
            return None
        unexpected = self._unexpected.setdefault(sequence, UnexpectedMessages())
        unexpected.seen.setdefault(signatures.key(words), (source, words))
        if self.warn is not None:
            self._warn_never_made(self.warn, sequence, unexpected)
        return unexpected

    def make_no_more(self, warn: Callable[[str], None]) -> None:
        """Let this rank make no further calls, and warn of those that other ranks have made or make later.

        Args:
            warn: says what users are to know; it may be given a text more than once.
        """
        self.warn = warn
        for sequence, unexpected in sorted(self._unexpected.items()):
            self._warn_never_made(warn, sequence, unexpected)

    def _warn_never_made(self, warn: Callable[[str], None], sequence: int, unexpected: UnexpectedMessages) -> None:
        if sequence < 0 or self.broken is not None:  # a fence of this layer; a team of which all are told
            return
        word = self.rank_word
        for source, words in list(unexpected.seen.values())[:1]:
            warn(
                f"{word} {source} called {self._told(source, sequence, words)}, and this {word} has not: all "
                f"{word}s of a team must make the same collective calls in the same order"
            )

    def _compare(self, me: int, sequence: int, mine: Signature, source: int, words: Words) -> None:
        if signatures.key(words) == mine.key:
            return
        calls = sorted([(me, mine.words), (source, words)])
        first, second = (f"{self.rank_word} {rank} called {self._told(rank, sequence, each)}" for rank, each in calls)
        number = "a call that a fence hides" if sequence < 0 else f"collective call {sequence + 1} of their team"
        ranks = f"{self.rank_word}s"
        raise CollectiveMismatch(
            f"{number}: {first}, but {second}; all {ranks} of a team must make the same collective calls in the same "
            f"order, with the same root, algorithm, op, dtype and shape ({ranks} are those of the job)"
        )

    def _told(self, rank: int, sequence: int, words: Words) -> str:
        """Return a rank's call as its user made it, and where, as far as that is known."""
        its = self._calls_of(rank, self.identity)
        place = None if its is None else its.place(sequence)
        text = signatures.named(words, "" if its is None else its.name(sequence))
        if place is not None:
            return text + " at {}:{}".format(*place)
        line = signatures.line_of(words)
        return text + (f" at {read_line_word(line, {file for file, _ in self._places.values()})}" if line else "")

    def named(self, sequence: int, called: str) -> None:
        """Take note of what the user of a front end has called, of which the call of a number is a part."""
        self._names[sequence] = called

    def name(self, sequence: int) -> str:
        """Return that, "" where there is none, or it is too long ago."""
        return self._names.get(sequence, "")

    def place(self, sequence: int) -> SourceLine | None:
        """Return where the program made the call of a number, None where it has not, or too long ago."""
        return self._places.get(sequence)

    # ----------------------------------------------------------------------------------------------------------- calls

    def enter(self, me: int, call: CollectiveCall, place: SourceLine | None = None) -> None:
        """Let a call's messages find it, and give it those that came before.

        Args:
            me: this rank in the job.
            call: the call.
            place: where the program made it; None of what the layer calls by itself.

        Raises:
            CollectiveMismatch: another rank's message was of another call.
        """
        self.calls[call.sequence] = call
        if place is not None:
            self._places[call.sequence] = place
        unexpected = self._unexpected.pop(call.sequence, None)
        if unexpected is not None:
            call.unexpected = unexpected
            for source, words in unexpected.seen.values():
                self._compare(me, call.sequence, call.signature, source, words)
            unexpected.seen.clear()

    def may_begin(self, sequence: int) -> bool:
        """Return whether a call may begin now; False: it waits for the fence of the epoch before the last."""
        return sequence < 0 or sequence // EPOCH <= self._fenced + 1

    def missing(self, call: CollectiveCall | None = None) -> list[int]:
        """Return the ranks of the job that `call` waits for; if it is None or waits for a fence, those of all calls."""
        calls = self.calls.values() if call is None or call in self.waiting else (call,)
        ranks = {rank for each in calls for rank in each.missing()}
        if call is None:
            ranks.update(self.greeted)
        return sorted(ranks)

    def finish(self, call: CollectiveCall) -> int | None:
        """Take a call that is over out; return the epoch whose fence is due, None for none."""
        del self.calls[call.sequence]
        if call.kind == "destroy":
            return None  # no call comes after it, and no rank is there to take part
        if call.sequence < 0:
            epoch = -1 - call.sequence
            self._oldest = epoch * EPOCH
            self._fenced = epoch + 1
            self._finished = {number: each for number, each in self._finished.items() if number >= self._oldest}
            self._places = {number: each for number, each in self._places.items() if number >= self._oldest}
            self._names = {number: each for number, each in self._names.items() if number >= self._oldest}
        else:
            self._finished[call.sequence] = call.signature
            epoch = call.sequence // EPOCH
            self._in_epoch[epoch] = self._in_epoch.get(epoch, 0) + 1
        if self._in_epoch.get(self._fenced, 0) < EPOCH:
            return None
        del self._in_epoch[self._fenced]  # so that the fence is begun once
        return self._fenced

    def is_broken(self) -> bool:
        """Say whether this rank's next call can never end; those before the one that broke the team can."""
        return self.broken is not None and self.next > self.broken.sequence

    def why_broken(self, rank: int, text: str) -> str:
        """Return why a rank says that the team is broken, with its line where that is known, which is not sent."""
        its = self._calls_of(rank, self.identity)
        known = "" if its is None or its.broken is None else its.broken.text
        return known if known.partition(_OF_JOB)[0] == text.partition(_OF_JOB)[0] else text

    def breaks(self, broken: Broken) -> list[CollectiveCall]:
        """Let the team be broken; return the calls that can never end."""
        if self.broken is None or broken.sequence < self.broken.sequence:
            self.broken = broken
        ended = [call for number, call in self.calls.items() if number > self.broken.sequence]
        for call in ended:
            del self.calls[call.sequence]
            self.told_broken = True
        self.waiting = deque(call for call in self.waiting if call.sequence <= self.broken.sequence)
        self._unexpected = {
            number: unexpected for number, unexpected in self._unexpected.items() if number <= self.broken.sequence
        }
        return ended


class TeamTable:
    """The `TeamCalls` of one rank, by team; one is made by the team, or earlier by the first message for it.

    Args:
        job: what all ranks of the job in this process have, and no other job: `ep.hosts`.
        rank: this rank.
    """

    _rank_word = RANK

    def __init__(self, job: object, rank: int) -> None:
        self._job = job
        self._team_table: dict[Identity, TeamCalls] = {}
        _OF_ALL[id(job), rank] = self

    def _calls_of(self, rank: int, identity: Identity) -> TeamCalls | None:
        """Return a rank's calls of a team, None where they are another process' or not known any more."""
        team_table = _OF_ALL.get((id(self._job), rank))
        return None if team_table is None else team_table.known_as(identity)

    def call_ranks(self, word: str) -> None:
        """Let errors call a rank that."""
        self._rank_word = word
        for team_calls in self._team_table.values():
            team_calls.rank_word = word

    def find(self, lead: int, count: int) -> TeamCalls:
        """Return the calls of a team, made now if there are none yet."""
        team_calls = self._team_table.get((lead, count))
        if team_calls is None:
            team_calls = self._team_table[lead, count] = TeamCalls((lead, count), self._calls_of)
            if self._rank_word != RANK:
                team_calls.rank_word = self._rank_word
        return team_calls

    def known_as(self, identity: Identity) -> TeamCalls | None:
        """Return the calls of a team, None if they do not exist yet or any more."""
        return self._team_table.get(identity)

    def known(self) -> list[TeamCalls]:
        """Return those of teams that this rank knows to be in."""
        return [team_calls for team_calls in self._team_table.values() if team_calls.members]

    def drop(self, identity: Identity) -> None:
        """Forget a team."""
        del self._team_table[identity]


_OF_ALL: WeakValueDictionary[tuple[int, int], TeamTable] = WeakValueDictionary()
"""The tables of the ranks of this process, for errors only.  A job leaves nothing here."""
