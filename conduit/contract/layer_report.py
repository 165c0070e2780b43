"""What layers tell of their rank when a report is made of a job that gets no further."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from conduit.errors import BadRequest
from conduit.words import plain


class Turn(Protocol):
    """One of the things that ranks do together, as one rank has done it.  It travels from process to process."""

    def differs(self, rank: int, first: Any, of: int) -> str:
        """Return what is to be said where two ranks have done it otherwise, which may not be; "" where they may.

        Args:
            rank: whose this one is.
            first: the other one.
            of: whose that is.
        """
        ...


@attrs.frozen
class Participation:
    """One rank's part in something that ranks do together, again and again: barriers, collective calls.

    Attributes:
        name: of what they do; the same on all of them, and of nothing else.
        members: the ranks that do it.
        come: how often this one has begun it.
        waits: by the `what` of a wait of this rank, the number of the turn that it waits for, from 0.
        everybody: whether that wait ends when all members have come, and not before.
        called: what its turns are, as a program has them, for a report that tells that ranks have come unequally often;
            "" where it is not to.
        last: the last of them that this rank has made, with its line; "" where that is not known.
        turns: the last of them that this rank has made, as far as they are to be compared with those of others.
    """

    name: str
    members: Sequence[int]
    come: int
    waits: Mapping[str, int]
    everybody: bool
    called: str = ""
    last: str = ""
    turns: tuple[Turn, ...] = ()


class ClueWait(Protocol):
    """What a rank waits for, as clues see it."""

    @property
    def what(self) -> str:
        """In words, of the class that the wait was given."""
        ...

    @property
    def ranks(self) -> Sequence[int]:
        """Who must bring it about."""
        ...


class Clue(Protocol):
    """What a layer knows of one rank that means something beside what it knows of others alone.

    It travels from process to process, by pickle: its class is of a module that all of them can import, not of the
    program's own file.  One that cannot come along is not among the others.  A rank has one of its class at most.
    """

    def advice(self, rank: int, waits: Callable[[int], Sequence[ClueWait]], others: Mapping[int, Any]) -> str:
        """Return what to do about it, "" for nothing; each text is said once, however many ranks say it.

        Args:
            rank: whose this one is.
            waits: returns what a rank waits for; where it is not known, nothing.
            others: by rank the clues of this class, this one among them; not of ranks that could not say.
        """
        ...


@attrs.frozen
class LayerHold:
    """Something that a task of this rank holds, and others may want.

    Attributes:
        what: it is called, the same on all ranks, and nothing else is.
        place: file and line that took it.
    """

    what: str
    place: str


@attrs.frozen
class WaitNow:
    """What a task waits for as it stands when the report is made.

    Attributes:
        what: in words.
        ranks: whom it waits for, sorted; None: those that its wait names.
    """

    what: str
    ranks: tuple[int, ...] | None


@attrs.frozen
class LayerWant:
    """Something that a task of this rank waits for and another holds.

    Attributes:
        what: it is called, as in `LayerHold`.
        wait: the `what` of the wait, "" where it is not said which one it is.
        held: what the wait is for, in words, where a rank that it names holds that; "" for no other words.
    """

    what: str
    wait: str = ""
    held: str = ""


@attrs.define
class LayerReport:
    """What the layers of one rank have told.

    Attributes:
        notes: lines of text.
        parts: its parts in what ranks do together.
        advice: what to do, said once however many ranks say it.
        noted: of the messages that are not handled, how many the notes tell of.
        awaited: how many others waits of their senders tell of.
        waiting: by task what it waits for by now, in the place of what its wait said when it began.
        held: by task what it holds.
        wanted: what tasks of this rank wait for that others hold.
        clues: what means something beside those of other ranks.
        short: by what texts call something at length, what it is called once that was said.
    """

    notes: list[str] = attrs.field(factory=list)
    parts: list[Participation] = attrs.field(factory=list)
    advice: list[str] = attrs.field(factory=list)
    noted: int = 0
    awaited: int = 0
    waiting: dict[object, WaitNow] = attrs.field(factory=dict)
    held: dict[object, list[LayerHold]] = attrs.field(factory=dict)
    wanted: list[LayerWant] = attrs.field(factory=list)
    clues: list[Clue] = attrs.field(factory=list)
    short: dict[str, str] = attrs.field(factory=dict)

    def note(self, text: str, messages: int = 0) -> None:
        """Add a line about this rank, and about so many messages that it has not handled."""
        self.notes.append(text)
        self.noted += messages

    def told_by_waits(self, messages: int) -> None:
        """Say that waits of their senders tell of so many messages that this rank has not handled."""
        self.awaited += messages

    def waits_now(self, task: object, text: str, ranks: Iterable[int] | None = None) -> None:
        """Say what a task of Trio waits for as it stands now, in the place of the `what` of its wait.

        Args:
            task: the task.
            text: what it waits for, in words.
            ranks: whom it waits for by now; None: those that its wait names.
        """
        self.waiting[task] = WaitNow(text, None if ranks is None else tuple(sorted(set(ranks))))

    def holds(self, task: object, what: str, place: str) -> None:
        """Say what a task of Trio holds, as a lock, and the line that took it; `what` means that on all ranks."""
        self.held.setdefault(task, []).append(LayerHold(what, place))

    def wants(self, what: str, wait: str = "", held: str = "") -> None:
        """Say that this rank waits for something that another holds; see `LayerWant`."""
        self.wanted.append(LayerWant(what, wait, held))

    def says_once(self, what: str, short: str) -> None:
        """Let the report call something `what` where it comes first, and `short` behind that."""
        self.short[what] = short

    def advise(self, text: str) -> None:
        """Say what to do about that, at the end of the report."""
        self.advice.append(text)

    def clue(self, clue: Clue) -> None:
        """Add what means something beside what other ranks tell; see `Clue`.

        Raises:
            BadRequest: it has no method `advice`.
        """
        if not callable(getattr(clue, "advice", None)):
            raise BadRequest(
                f"told.clue: clue={plain(clue)} has no method advice(rank, waits, others); give an object of a class "
                "that has it"
            )
        self.clues.append(clue)

    def part(
        self,
        name: str,
        members: Iterable[int],
        come: int,
        waits: Mapping[str, int],
        *,
        everybody: bool = False,
        called: str = "",
        last: str = "",
        turns: Sequence[Turn] = (),
    ) -> None:
        """Add this rank's part in something that ranks do together; see `Participation`."""
        ranks = members if isinstance(members, range) else tuple(members)
        self.parts.append(Participation(name, ranks, come, dict(waits), everybody, called, last, tuple(turns)))
