"""A report as people read it: what is the cause first, then the rest, put together by line and kind of wait.

A line begins with the rank that it is about.  What belongs to the same rank, or group of ranks, is indented under it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import attrs

from conduit.contract import Awaited
from conduit.core.written import of_cells
from conduit.launch.printing.phrases import common, counted, named, ranges, shorten, span, wall
from conduit.launch.reports.explain import AT_REST
from conduit.launch.reports.graph import pattern, shape, task_shape
from conduit.launch.reports.held import held_back
from conduit.launch.reports.inboxes import in_use, in_use_together, not_handled
from conduit.launch.reports.records import COMPUTES, Cause, RankRecord, Report, TaskRecord, WaitRecord
from conduit.launch.reports.together import concluded, crossed, differing
from conduit.words import many

_MOST = 25  # lines
_CLAUSE = re.compile(r", (which|until|for its) ")
_ADVICE = 8  # lines of what is to be done, which a report that is cut keeps
_APART = 4  # ranks of one line and kind of wait that are shown one by one
_STEPS = 5  # of a cycle that are shown
_OF_EACH = 3  # lines of each of several causes, so that the first five lines name two of them
_NAMES = "block_until takes what= and ranks= for this report"
_OVER = {
    "deadlock": "which became true without a handler: let a handler or a task of this rank make it true",
    "interrupted": "",
}
_TRUE = "which is true by now"  # what made it true may have been a handler of this very instant
_BEFORE = "before its main"  # of a layer that attaches there
_OUTSIDE = "outside its main"  # of a layer that begins its work there, or ends it
_MORE = "`conduit run --full-report FILE` writes all, and the error's `report` has it"


def brief(report: Report) -> str:
    """Return the report in at most 25 lines for a cause that is simple, whatever the number of ranks."""
    text = _Text(report)
    lines, advice = text.brief(), text.advice()[:_ADVICE]
    room = _MOST - len(advice)
    if len(lines) > room:
        lines[room - 1 :] = [f"... and {many(len(lines) - room + 1, 'line')} more; {_MORE}"]
    lines += advice
    return shorten(of_cells(_once("\n".join(lines), report)), _files(report))


def full(report: Report) -> str:
    """Return the report with every rank by itself."""
    return shorten(of_cells(_once("\n".join(_Text(report).full()), report)), _files(report))


def _once(text: str, report: Report) -> str:
    """Let what layers call at length be called so once."""
    for what, short in {pair for rank in report.ranks for pair in rank.short}:
        first, whole, rest = text.partition(what)
        text = first + whole + rest.replace(what, short)
    return text


def _files(report: Report) -> set[str]:
    places = [task.place for rank in report.ranks for task in rank.tasks]
    places += [message.place for rank in report.ranks for message in rank.unhandled]
    return {place.file for place in places if place is not None}


class _Text:
    """The lines of one report."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._over = _OVER.get(report.kind, _TRUE)
        self._time = wall if report.clock == "wall" else span

    def brief(self) -> list[str]:
        report = self._report
        lines = [report.head]
        most = _OF_EACH if len(report.causes) > 1 else _MOST
        told: set[int] = set()
        for cause in report.causes:
            if told.issuperset(cause.ranks):  # beside those of a cycle that are in the same situation
                continue
            told.update(cause.ranks)
            lines += self._cause(cause, most, told)
        rest = [rank for rank in report.ranks if rank.rank not in told]
        buckets = sorted(_alike(rest, shape), key=lambda bucket: (bucket[0].serving, len(bucket), bucket[0].rank))
        apart = [line for bucket in buckets for line in self._bucket(bucket)]
        if len(lines) + len(apart) > _MOST:
            apart = self._by_line(rest)
        return lines + apart

    def advice(self) -> list[str]:
        """Return what is to be done, each thing once, whatever the number of ranks."""
        said = dict.fromkeys(text for rank in self._report.ranks for text in rank.advice)
        ranks = self._report.ranks
        said.update(dict.fromkeys(concluded(ranks)))
        if self._report.kind in AT_REST:
            said.update(dict.fromkeys(held_back(ranks)))
        else:
            ranks = tuple(rank for rank in ranks if len(rank.tasks) == 1)  # another task may come to the other call
        waiting = crossed(ranks)
        said.update(dict.fromkeys([*waiting, *differing(self._report.ranks, told=bool(waiting))]))
        return list(said)

    def full(self) -> list[str]:
        report = self._report
        lines = [report.head]
        for cause in report.causes:
            what = self._steps(cause, len(cause.cycle)) if cause.cycle else f"cause: {named(cause.ranks)}"
            lines.append(what)
            if cause.direct:
                lines.append(f"    {_waiters(cause, self._of(cause), all_of_them=True)}")
        for rank in report.ranks:
            lines += _indented(f"rank {rank.rank}", self._lines([rank]))
        return lines + self.advice()

    # -- causes --------------------------------------------------------------------------------------

    def _of(self, cause: Cause) -> list[RankRecord]:
        return [self._report.ranks[rank] for rank in cause.ranks]

    def _cause(self, cause: Cause, most: int, told: set[int]) -> list[str]:
        ranks = self._of(cause)
        if cause.cycle:
            return self._cycle(cause, ranks, most, told)
        lines = self._bucket(ranks)
        if len(ranks) > 1 and len(lines) + bool(cause.direct) > most:
            lines = self._merged(ranks)  # so that all of them are named
        if cause.direct:
            apart = sum(not line.startswith(" ") for line in lines) > 1  # the first line does not name all of them
            lines.insert(1, f"    {_waiters(cause, ranks, named(cause.ranks) if apart else '')}")
        if len(lines) > most:
            lines[most - 1 :] = [f"{lines[most - 1]} (and {many(len(lines) - most, 'line')} more)"]
        return lines

    def _cycle(self, cause: Cause, ranks: Sequence[RankRecord], most: int, told: set[int]) -> list[str]:
        lines = [self._steps(cause, _STEPS)]
        joined: set[int] = set()
        if len(ranks) <= _APART:
            further = []
            for rank in ranks:
                alike = self._with_others(rank, cause, told)
                joined.update(each.rank for each in alike)
                first, *more = self._lines(alike, first=lambda task: task.wait is not None and bool(task.wait.awaited))
                owner = _owner([each.rank for each in alike])
                lines.append(f"{owner}: {first}")
                further += [f"    {owner}: {line.strip()}" for line in more]
            lines += further[:most]
        else:
            lines += [line for bucket in _alike(ranks, shape) for line in self._bucket(bucket)]
        if not joined.issuperset((*cause.direct, *cause.in_turn)):
            lines.append(f"    {_waiters(cause, ())}")
        return lines

    def _with_others(self, rank: RankRecord, cause: Cause, told: set[int]) -> list[RankRecord]:
        """Return a rank of a cycle with those outside of it that wait for it, and are in the same situation as it is.

        Args:
            rank: the rank.
            cause: the cycle.
            told: the ranks that the report has told of; those that are returned are among them from now on.
        """
        waiting = [self._report.ranks[other] for other in (*cause.direct, *cause.in_turn) if other not in told]
        situation = self._situation(rank) if waiting else ()
        alike = [rank, *(other for other in waiting if self._situation(other) == situation)]
        told.update(each.rank for each in alike)
        return sorted(alike, key=lambda each: each.rank)

    def _steps(self, cause: Cause, most: int) -> str:
        """Return who waits for whom in a cycle, and whether that is sure: what is on its way may end one."""
        steps = _cycle(cause.cycle, most)
        return steps if self._report.kind in AT_REST else f"perhaps a {steps} (if nothing is on its way)"

    # -- ranks ---------------------------------------------------------------------------------------

    def _bucket(self, ranks: Sequence[RankRecord]) -> list[str]:
        """Return the lines of ranks in one situation: one by one where there are few, else put together."""
        exact = _alike(ranks, self._situation)
        if len(ranks) > _APART and len(exact) > 1:
            apart = _alike(ranks, _missed)
            if 1 < len(apart) <= _APART:
                return [line for group in apart for line in self._bucket(group)]
            return self._merged(ranks)
        lines = []
        for alike in exact:
            lines += _indented(_owner([rank.rank for rank in alike]), self._lines(alike))
        return lines

    def _situation(self, rank: RankRecord) -> tuple[str, ...]:
        """Return what is said of a rank; of real processes without times, which are never those of another one."""
        if self._report.clock == "wall":
            tasks = [task if task.wait is None else _at_the_start(task, task.wait) for task in rank.tasks]
            rank = attrs.evolve(rank, tasks=tuple(tasks))
        return tuple(self._lines([rank]))

    def _merged(self, ranks: Sequence[RankRecord]) -> list[str]:
        """Return the lines of ranks that differ in peers and times alone."""
        lines = [self._merged_task(found) for found in _by_shape(ranks)] or [_stage(ranks)]
        alike = len({tuple(map(pattern, rank.notes)) for rank in ranks}) == 1
        if waiting := not_handled(ranks, noted=alike):
            lines.append(waiting)
        elif ranks[0].tasks and not any(rank.may_poll for rank in ranks):
            lines.append("none of them polls")
        lines += in_use_together(ranks)
        if alike:
            lines += [f"each {common(texts)}" for texts in zip(*(rank.notes for rank in ranks), strict=True)]
        return _indented(counted([rank.rank for rank in ranks]), lines)

    def _by_line(self, ranks: Sequence[RankRecord]) -> list[str]:
        """Return a line for each line of the program and kind of wait, with all the ranks whose tasks are there."""
        lines = []
        for found in sorted(_by_shape(ranks), key=lambda found: (found[0][0].serving, len(found))):
            owners = sorted({rank.rank for rank, _ in found})
            lines.append(f"{counted(owners)}: {self._merged_task(found)}")
        idle = _alike([rank for rank in ranks if not rank.tasks], shape)
        lines += [f"{counted([rank.rank for rank in bucket])}: {_stage(bucket)}" for bucket in idle]
        waiting = [rank for rank in ranks if not_handled([rank])]
        if waiting:
            lines.append(f"    {counted([rank.rank for rank in waiting])}: {not_handled(waiting)}")
        return lines

    def _merged_task(self, found: Sequence[tuple[RankRecord, TaskRecord]]) -> str:
        rank, task = found[0]
        ranks = [rank for rank, _ in found]
        where = _stage(ranks) if task.place is None and rank.serving else _where(rank, task)
        if task.again or task.wait is None:
            asking = next((task for _, task in found if task.wait is not None), task)
            return _doing(where, asking, ranks)
        each = [task.wait for _, task in found if task.wait is not None]
        over = next((f", {text}" for wait in each if (text := self._found(wait))), "")
        owners = {rank.rank for rank, _ in found}
        they = "each waits" if where == _stage(ranks) and len(ranks) > 1 else "waits"
        return (
            f"{where}: {they} for {common(wait.what for wait in each) or _unnamed(each)}{_whom_together(each, owners)} "
            f"since {self._time(wait.since for wait in each)}{over}"
        )

    def _found(self, wait: WaitRecord) -> str:
        """Return what came of it that a wait was looked at once more, "" for nothing."""
        return f"which raises {wait.raised} by now" if wait.raised else self._over if wait.over else ""

    def _lines(self, ranks: Sequence[RankRecord], first: Callable[[TaskRecord], bool] | None = None) -> list[str]:
        """Return the lines of a rank, or of several that differ in times alone.

        These are its tasks, those before others that `first` chooses, and what it has.
        """
        rank = ranks[0]
        if not rank.tasks:
            return [rank.stage]
        order = first or (lambda task: task.blamed or task.wait is None)
        lines = []
        for tasks in zip(*(sorted(each.tasks, key=lambda task: not order(task)) for each in ranks), strict=False):
            task = tasks[0]
            where = _where(rank, task)
            wait = task.wait
            if task.again or wait is None:
                lines.append(_doing(where, task, ranks))
                continue
            # A rank that is in the same call itself may be the next to send; to blame is who has not come to it.
            whom = f", to which {_not_come(wait.missing)}," if wait.missing else _whom(wait.ranks) or _comma(wait.what)
            begun = [each.wait.since for each in tasks if each.wait is not None]
            lines.append(f"{where}: waits for {wait.what or _unnamed([wait])}{whom} since {self._time(begun)}")
            if text := self._found(wait):
                lines.append(f"   {text}")
        if waiting := not_handled([rank], noted=True):
            lines.append(waiting)
        elif not rank.may_poll and not any(task.blamed for task in rank.tasks):
            lines.append("does not poll")
        return [*lines, *in_use(rank), *rank.notes]


def _unnamed(waits: Sequence[WaitRecord]) -> str:
    """Return what waits are for that were not told what: the values that their predicates read, if these are alike."""
    alike = len({pattern(wait.values) for wait in waits}) == 1
    values = common(wait.values for wait in waits) if alike else ""
    return f"a predicate ({values}; {_NAMES})" if values else f"a predicate ({_NAMES})"


def _at_the_start(task: TaskRecord, wait: WaitRecord) -> TaskRecord:
    """Return a task as if its wait had begun with the job."""
    return attrs.evolve(task, wait=attrs.evolve(wait, since=0))


def _alike(ranks: Iterable[RankRecord], key: Callable[[RankRecord], tuple[object, ...]]) -> list[list[RankRecord]]:
    """Return ranks of equal keys together, in the order of their first."""
    groups: dict[tuple[object, ...], list[RankRecord]] = {}
    for rank in ranks:
        groups.setdefault(key(rank), []).append(rank)
    return list(groups.values())


def _missed(rank: RankRecord) -> tuple[tuple[int, ...], ...]:
    """Return who has not come to what the tasks of a rank wait in."""
    return tuple(task.wait.missing for task in rank.tasks if task.wait is not None and task.wait.missing)


def _by_shape(ranks: Iterable[RankRecord]) -> list[list[tuple[RankRecord, TaskRecord]]]:
    """Return the tasks at one line that wait for the same kind of thing together."""
    groups: dict[tuple[object, ...], list[tuple[RankRecord, TaskRecord]]] = {}
    for rank in ranks:
        for task in rank.tasks:
            groups.setdefault(task_shape(task), []).append((rank, task))
    return list(groups.values())


def _owner(ranks: Sequence[int]) -> str:
    return f"{named(ranks)}, each" if len(ranks) > 1 else named(ranks)


def _indented(owner: str, lines: Sequence[str]) -> list[str]:
    return [f"{owner}: {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _stage(ranks: Sequence[RankRecord]) -> str:
    """Return how far several ranks are."""
    return ranks[0].stage if len(ranks) == 1 else ranks[0].stage.replace("its main", "the main of each", 1)


def _where(rank: RankRecord, task: TaskRecord) -> str:
    if task.place is None:
        if rank.serving:
            return rank.stage
        attaches = task.wait is not None and task.wait.kind == Awaited.ATTACH.value
        return "" if task.ran else _BEFORE if attaches else _OUTSIDE
    return f"{task.place} (started there)" if task.started else str(task.place)


def _doing(where: str, task: TaskRecord, ranks: Sequence[RankRecord]) -> str:
    if task.blamed:
        return f"{where}: lets no time pass{f', in {task.call}' if ' ' not in task.call else ''}{_polls(task)}"
    if task.again:
        counts = sorted({rank.asked for rank in ranks})
        count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        asked = f"{count} requests and native operations" if counts[-1] else "nothing sent"
        of = f", of {named(task.wait.ranks)}," if task.wait is not None and task.wait.ranks else ""
        return (
            f"{where}: awaits {task.again}{of} again and again, in a loop that asks for nothing else ({asked} by now)"
        )
    return f"{where}: is in {task.call}" if where else task.call


def _polls(task: TaskRecord) -> str:
    """Say why a call lets no time pass that others wait in."""
    if task.call != "ep.block_until":
        return ""
    return ", which polls nothing where its predicate is true at once, or raises (`await ep.poll()` does)"


def _whom(ranks: Sequence[int]) -> str:
    return f", which {named(ranks)} must bring about," if ranks else ""


def _comma(what: str) -> str:
    """Return what comes before "since" where a text ends in a clause."""
    return "," if _CLAUSE.search(what) else ""


def _not_come(ranks: Sequence[int]) -> str:
    return f"{named(ranks)} {'have' if len(ranks) > 1 else 'has'} not come"


def _whom_together(waits: Sequence[WaitRecord], owners: set[int]) -> str:
    """Return whom several ranks wait for, as far as that helps: not where they wait for one another."""
    missing = sorted({rank for wait in waits for rank in wait.missing})
    if missing:
        several = len({wait.missing for wait in waits}) > 1
        return f", to {'each of which some of' if several else 'which'} {_not_come(missing)},"
    awaited = sorted({rank for wait in waits for rank in wait.ranks})
    return "," if not awaited or owners.intersection(awaited) else _whom(awaited)


def _waiters(cause: Cause, ranks: Sequence[RankRecord], called: str = "", *, all_of_them: bool = False) -> str:
    """Return who waits for a cause, and whether that polls.

    Args:
        cause: the cause.
        ranks: its ranks, none where it is not to be said whether they poll.
        called: what they are called where they have not been named yet.
        all_of_them: whether all who wait are named.
    """
    waiting = sorted([*cause.direct, *cause.in_turn])
    many = len(cause.ranks) > 1
    whom = called or ("it" if not many else "one of these" if cause.cycle else "them")
    if len(waiting) == 1:
        text = f"rank {waiting[0]} waits for {whom}"
    else:
        text = f"{len(waiting)} ranks wait for {whom}"
        if all_of_them:
            text += f" ({ranges(waiting, len(waiting))})"
        if cause.in_turn:
            text += f": {len(cause.direct)} directly, {len(cause.in_turn)} in turn"
    if ranks and all(map(_has_polled, ranks)):
        they = f"{called or 'they'} poll and have" if many else "it polls and has"
        text += f"; {they} handled all that came"
    return text


def _has_polled(rank: RankRecord) -> bool:
    """Say whether a rank has certainly handled all that came; one that computes just now may have polled long ago."""
    return rank.polls and not rank.undelivered and any(task.call != COMPUTES for task in rank.tasks)


def _cycle(cycle: Sequence[int], most: int) -> str:
    if len(cycle) <= most + 1:
        return "cycle: rank " + " waits for rank ".join(map(str, cycle))
    shown = " waits for rank ".join(map(str, cycle[: most - 1]))
    return f"cycle of {many(len(cycle) - 1, 'rank')}: rank {shown} waits for ... waits for rank {cycle[-1]}"
