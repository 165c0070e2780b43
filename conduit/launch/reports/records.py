"""A report as a structure: plain records that can be pickled, sent from process to process, and written as JSON."""

from __future__ import annotations

import json

import attrs

from conduit.contract import LayerHold, LayerWant, Participation
from conduit.core import written
from conduit.launch.reports.clues import CarriedClue

OF_TRIO = "a wait of Trio's own"
"""What a task does that waits in no call of this package, and so does not poll: `TaskRecord.call`."""
COMPUTES = "ep.compute"
"""What a task does that computes, which polls nothing either: `TaskRecord.call`."""


_NOT_IN_JSON = ("clues", "members", "short", "turns")
"""Objects of layers, ranks that are all of them, and what texts alone need."""


@attrs.frozen
class SourceLine:
    """A line of a program.

    Attributes:
        file: its path.
        line: its number.
        function: what it is in.
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{written.at(self.file, self.line)} in {self.function}"


@attrs.frozen
class MessageRecord:
    """Messages from one rank for one handler that have arrived and were not handled.

    Attributes:
        source: who sent them.
        handler: its name, for one that is of no program with its package: `extended.put`; "" where none will run.
        place: where it begins, None for one that is of no program.
        request: whether they are requests, not replies.
        count: how many.
    """

    source: int
    handler: str
    place: SourceLine | None
    request: bool
    count: int


@attrs.frozen
class HeldRecord:
    """Requests of a rank that were not handled where they are: what it waits for may be their answer, or their slot.

    Attributes:
        at: where they are.
        handler, place, count: as in `MessageRecord`.
    """

    at: int
    handler: str
    place: SourceLine | None
    count: int


@attrs.frozen
class WaitRecord:
    """What a task waits for.

    Attributes:
        what: in words, "" if unsaid.
        kind: what kind of thing: a value of `conduit.contract.Awaited`.
        since: when the wait began, picoseconds.
        ranks: whom it waits for, sorted, as far as is known.
        over: whether it turned out to be over when it was looked at once more.
        raised: what its predicate raised then, in words, "" for nothing.
        values: of a wait that is not said in words, what the variables have that its predicate reads; "" for none.
        missing: of what ranks do together, all that have not come, sorted.
        everybody: whether these are what the wait is for, rather than `ranks`.
        late: those of them that it is for in the end, through `ranks` that are in the same call themselves.
        held: of a wait for a slot, the requests that hold what it needs, as far as they have got there.
        unanswered: of a wait that names no ranks, requests of the program that lie at ranks which do not poll.
    """

    what: str
    kind: str
    since: int
    ranks: tuple[int, ...]
    over: bool = False
    raised: str = ""
    missing: tuple[int, ...] = ()
    everybody: bool = False
    late: tuple[int, ...] = ()
    held: tuple[HeldRecord, ...] = ()
    values: str = ""
    unanswered: tuple[HeldRecord, ...] = ()

    @property
    def awaited(self) -> tuple[int, ...]:
        """The ranks without which it does not end; of those that it is for only the ones that have not come, if any."""
        if self.everybody:
            return self.missing
        return self.late or self.ranks or tuple(dict.fromkeys(each.at for each in self.unanswered))


@attrs.frozen
class TaskRecord:
    """A task of a rank.

    Attributes:
        name: Trio's name of it.
        place: the innermost line of the program that it is in; None if it is in none.
        started: whether that line has only started it, and it runs no line of the program itself.
        call: what it does if it does not wait in a call: "ep.compute", say, or "a wait of Trio's own".
        wait: what it waits for in a call, polling; None if it does not.
        blamed: whether it is what ended the job.
        ran: whether an interrupt has come out of it, so that it is in no program any more.
        holds: what it holds that others may want, as locks, and what tasks of its rank hold that have ended.
        main: whether it is the rank's own task, which runs main.
        again: what it asks another rank for in a loop that does nothing else, and so does not wait for one answer: a
            call, with what its variables have; "" for no such loop, and where the job is at rest.
        ends: whether it does nothing more when its wait is over, and no other task goes on by that alone.
    """

    name: str
    place: SourceLine | None
    started: bool
    call: str
    wait: WaitRecord | None
    blamed: bool = False
    ran: bool = False
    holds: tuple[LayerHold, ...] = ()
    main: bool = False
    again: str = ""
    ends: bool = False


@attrs.frozen
class RankRecord:
    """One rank.

    Attributes:
        rank: its number.
        stage: how far it has come, in words.
        running: whether it is in its main.
        serving: whether its main has returned.
        tasks: those that are somewhere themselves, not only at the end of a nursery.
        polls: whether a task of it is in a call that polls.
        undelivered: messages that have arrived and were not handled.
        slots_in_use: a line for each kind of resource in use.
        notes: what the layers above tell, in lines.
        parts: its parts in what ranks do together.
        unhandled: what the undelivered messages are, as far as it could be seen without taking them.
        advice: what the layers above say that is to be done.
        noted: of the undelivered messages, how many the notes tell of.
        awaited: how many others waits of their senders tell of.
        wants: what its tasks wait for that others hold.
        clues: what the layers above know that means something beside what they know of others.
        short: what layers call at length, and what that is called once it was said.
        asked: how many requests and native operations it has begun.
    """

    rank: int
    stage: str
    running: bool
    serving: bool
    tasks: tuple[TaskRecord, ...]
    polls: bool
    undelivered: int
    slots_in_use: tuple[str, ...]
    notes: tuple[str, ...]
    parts: tuple[Participation, ...] = ()
    unhandled: tuple[MessageRecord, ...] = ()
    advice: tuple[str, ...] = ()
    noted: int = 0
    awaited: int = 0
    wants: tuple[LayerWant, ...] = ()
    clues: tuple[CarriedClue, ...] = ()
    short: tuple[tuple[str, str], ...] = ()
    asked: int = 0

    @property
    def may_poll(self) -> bool:
        """Whether it polls, or that is not known: what an interrupt has come out of may poll now and then."""
        return self.polls or any(task.ran for task in self.tasks)


@attrs.frozen
class Edge:
    """Who waits for whom.

    Attributes:
        waiting: the ranks that wait, sorted.
        awaited: those that they wait for, sorted.
        what: for what.
    """

    waiting: tuple[int, ...]
    awaited: tuple[int, ...]
    what: str


@attrs.frozen
class Cause:
    """What no other rank's wait explains.

    Attributes:
        ranks: the ranks, sorted; several that stand at the same line for the same kind of thing.
        cycle: ranks each of which waits for the next, first and last the same; () where they do not wait in a cycle.
        direct: the other ranks that wait for them, sorted.
        in_turn: those that wait for these, and so on, sorted.
    """

    ranks: tuple[int, ...]
    cycle: tuple[int, ...]
    direct: tuple[int, ...]
    in_turn: tuple[int, ...]


@attrs.frozen
class Report:
    """Why a job gets no further: who waits where, for what, since when, and for whom.

    Attributes:
        kind: "deadlock", "livelock", "time limit", "interrupted" or "stall".
        time: of the job, picoseconds.
        head: the first line of its text.
        ranks: all ranks.
        edges: who waits for whom.
        causes: what explains the rest, most important first.
        clock: "virtual", or of real processes "wall".
    """

    kind: str
    time: int
    head: str
    ranks: tuple[RankRecord, ...]
    edges: tuple[Edge, ...]
    causes: tuple[Cause, ...]
    clock: str = "virtual"

    def to_json(self) -> str:
        """Return all of it as JSON: objects with the names of the attributes, but those of `_NOT_IN_JSON`."""
        whole = attrs.asdict(self, filter=lambda attribute, _: attribute.name not in _NOT_IN_JSON)
        return json.dumps(whole, separators=(",", ":"))
