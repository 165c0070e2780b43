"""A recording: all that a job told of CPUs, links, messages and waits.

A million spans take some 24 MB; numpy sees a column by `numpy.frombuffer(spans.column(0), dtype=numpy.int64)`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import attrs

from conduit.contract import Identity
from conduit.core.observer import CpuListener, Failure, LinkListener, MessageListener, WaitListener
from conduit.words import many

NEVER = -1


def nowhere(task: object) -> str:
    """Return that it is not known which line of the program a task is at."""
    return ""


class CpuSpan(NamedTuple):
    """A stretch of a CPU's time, picoseconds, and what it was spent on (`conduit.core.observer.CpuListener`)."""

    begin: int
    end: int
    why: str


class _Rows:
    """Rows of three numbers, in one array: each is added in one step, so that Ctrl-C comes before it or behind it."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("q")

    def __len__(self) -> int:
        return len(self._numbers) // 3

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {many(len(self), 'row')}>"

    def column(self, number: int) -> array[int]:
        """Return one of the three columns, a copy."""
        return self._numbers[number::3]

    def added(self) -> Iterator[tuple[int, int, int]]:
        """Return the rows, in the order in which they were added."""
        return zip(self.column(0), self.column(1), self.column(2), strict=True)


class Spans(_Rows):
    """Spans of one CPU: in order, without overlap; between them it had nothing to do.

    Its columns are begin and end, picoseconds, and what each is spent on, as an index of `names`.

    Attributes:
        names: what time is spent on; shared by all ranks.
    """

    __slots__ = ("names",)

    def __init__(self, names: dict[str, int]) -> None:
        super().__init__()
        self.names = names

    def add(self, begin: int, end: int, why: str) -> None:
        """Add a span."""
        names = self.names
        self._numbers.extend((int(begin), int(end), names[why] if why in names else names.setdefault(why, len(names))))

    @property
    def last(self) -> int:
        """When the last of them ends, 0 where there is none."""
        return self._numbers[-2] if self._numbers else 0

    def __iter__(self) -> Iterator[CpuSpan]:
        names = list(self.names)
        for begin, end, why in self.added():
            yield CpuSpan(begin, end, names[why])


class Carried(_Rows):
    """What one link or engine has carried, as it was told: in order of the decision, not of the begin.

    Its columns are begin and end, picoseconds, and bytes.  A loop over it gives them row by row, in order of the begin.
    """

    __slots__ = ()

    def add(self, begin: int, end: int, nbytes: int) -> None:
        """Add a transfer."""
        self._numbers.extend((int(begin), int(end), nbytes))

    def rows(self) -> list[tuple[int, int, int]]:
        """Return begin, end and bytes of each, in order of the begin."""
        return sorted(self.added())

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return iter(self.rows())


class SentMessage(NamedTuple):
    """A message that was sent; times in picoseconds, `category` a `conduit.contract.Category`."""

    message: Identity
    begin: int
    end: int
    category: int
    nbytes: int


class MessageLife(NamedTuple):
    """One message from its sending to its handler.

    Attributes:
        message: which.
        begin: when the call began, or the handler ended that replied, picoseconds.
        end: when it was sent.
        category: a `conduit.contract.Category`.
        nbytes: bytes of payload.
        noticed: when the receiver began to decode it, NEVER if it did not.
        handled: when its handler began, NEVER if it did not.
        done: when that ended.
        handler: its name.
    """

    message: Identity
    begin: int
    end: int
    category: int
    nbytes: int
    noticed: int
    handled: int
    done: int
    handler: str

    @property
    def way(self) -> tuple[int, int]:
        """Who sent it, and to whom."""
        message = self.message
        return (message.dest, message.source) if message.reply else (message.source, message.dest)


@attrs.define
class RecordedWait:
    """A wait of a task.

    Attributes:
        task: which of the rank's tasks that ever waited, from 0.
        begin: picoseconds.
        end: picoseconds; NEVER while it lasts, and of a job that failed the job's length.
        what: what it waits for, in words, "" where the program does not say.
        ranks: for whom, as far as is known.
        place: the line of the program, "file:line in function", "" where there is none.
    """

    task: int
    begin: int
    end: int
    what: str
    ranks: tuple[int, ...]
    place: str


class Recording(CpuListener, LinkListener, MessageListener, WaitListener):
    """All that one job told.

    Times are recorded as whole picoseconds, also of a network that has others by mistake: the job fails with what it
    fails with when nobody listens.

    Args:
        conduit: the conduit's spec.
        hosts: host of every rank.
        place: says which line of the program a task is at that begins to wait now.

    Attributes:
        conduit: the conduit's spec.
        hosts: host of every rank.
        ranks: how many there are.
        length: the job's, picoseconds; 0 until it has ended.
        failed: whether it did not end well.
        failure: what it ended with then, as far as that is known.
        cpu: by rank, how its CPU's time was spent.
        links: by name, what links, engines, locks and CPUs of hosts have carried.
        messages: what was sent, in the order in which the sending ended.
        noticed_at: when each message was found by a poll, picoseconds; bare answers of handlers that do not reply too.
        handled_at: when the handler of each message began and ended, picoseconds, and its name.
        waits: by rank, the waits of its tasks in the order in which they began.
        over: whether it has ended.
        clock_errors: in real time, by rank, by how many picoseconds what it tells may be wrong against what rank 0
            tells, since each has a clock of its own; in virtual time empty.
        missing: ranks of which nothing is known, because their processes have ended without a word.
    """

    def __init__(self, conduit: str, hosts: Sequence[int], place: Callable[[object], str] = nowhere) -> None:
        self.conduit = conduit
        self.hosts = tuple(hosts)
        self.ranks = len(self.hosts)
        self.length = 0
        self.failed = self.over = False
        self.failure: Failure | None = None
        self.clock_errors: tuple[int, ...] = ()
        self.missing: tuple[int, ...] = ()
        names: dict[str, int] = {}
        self.cpu = [Spans(names) for _ in self.hosts]
        self.links: dict[str, Carried] = {}
        self.messages: list[SentMessage] = []
        self.noticed_at: dict[Identity, int] = {}
        self.handled_at: dict[Identity, tuple[int, int, str]] = {}
        self.waits: list[list[RecordedWait]] = [[] for _ in self.hosts]
        self._place = place
        self._tasks: list[dict[object, int]] = [{} for _ in self.hosts]
        self._open: defaultdict[tuple[int, object], list[RecordedWait]] = defaultdict(list)

    # -- what observers hear -----------------------------------------------------------------------

    def spent(self, rank: int, begin: int, end: int, why: str) -> None:
        """Record a span of a rank's CPU."""
        self.cpu[rank].add(begin, end, why)

    def carried(self, name: str, begin: int, end: int, nbytes: int) -> None:
        """Record that a link or an engine is taken."""
        column = self.links.get(name)
        if column is None:
            column = self.links[name] = Carried()
        column.add(begin, end, nbytes)

    def sent(self, message: Identity, begin: int, end: int, category: int, nbytes: int) -> None:
        """Record a message."""
        self.messages.append(SentMessage(message, int(begin), int(end), category, nbytes))

    def noticed(self, message: Identity, when: int) -> None:
        """Record when it was found."""
        self.noticed_at[message] = int(when)

    def handled(self, message: Identity, begin: int, end: int, handler: str) -> None:
        """Record its handler's run."""
        self.handled_at[message] = (int(begin), int(end), handler)

    def blocked(self, rank: int, when: int, task: object, what: str, ranks: Sequence[int]) -> None:
        """Record that a wait begins."""
        tasks = self._tasks[rank]
        number = tasks.setdefault(task, len(tasks))
        wait = RecordedWait(number, int(when), NEVER, what, tuple(ranks), self._place(task))
        self._open[rank, task].append(wait)  # perhaps in another: who waits may be chosen to make progress
        self.waits[rank].append(wait)

    def resumed(self, rank: int, when: int, task: object) -> None:
        """Record that it ends."""
        self._open[rank, task].pop().end = int(when)

    def failed_with(self, failure: Failure) -> None:
        """Take note of what ends the job, before `ended`."""
        self.failure = failure

    def ended(self, ticks: Sequence[int], *, failed: bool) -> None:
        """Take note that the job is over.

        Who still waits then, as in a deadlock, has polled to the end.

        Args:
            ticks: the time of every rank, picoseconds.
            failed: whether the job did.
        """
        self.length = length = int(max(ticks))
        self.failed = failed
        self.over = True
        waiting: dict[int, int] = {}
        for rank, wait in [(rank, wait) for (rank, _), waits in self._open.items() for wait in waits]:
            wait.end = max(length, wait.begin)
            waiting[rank] = min(wait.begin, waiting.get(rank, length))
        for rank, since in waiting.items():
            spans = self.cpu[rank]
            begin = max(since, spans.last)
            if begin < length:
                spans.add(begin, length, "waiting")
        self._open.clear()
        self._tasks = [{} for _ in self.hosts]  # which hold the tasks, and so the program

    # -- what readers ask ----------------------------------------------------------------------------

    @property
    def in_real_time(self) -> bool:
        """Whether its ranks were processes, each with a clock of its own, whose hardware tells nothing."""
        return bool(self.clock_errors)

    def lives(self) -> Iterator[MessageLife]:
        """Return each message with what became of it."""
        noticed, handled = self.noticed_at, self.handled_at
        nothing = (NEVER, NEVER, "")
        for sent in self.messages:
            yield MessageLife(*sent, noticed.get(sent.message, NEVER), *handled.get(sent.message, nothing))
