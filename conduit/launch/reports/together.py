"""What only all ranks together know of waits: who has not come to one, who is in others, which requests hold a slot.

Of an attach on real processes no rank knows who else has come; on simulated ones each does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from conduit.contract import Awaited, Participation
from conduit.core import written
from conduit.launch.printing.phrases import common, named
from conduit.launch.reports.clues import CarriedClue
from conduit.launch.reports.graph import pattern
from conduit.launch.reports.records import HeldRecord, RankRecord, SourceLine, TaskRecord, WaitRecord

_MOST = 4  # calls that are named


def complete(ranks: Sequence[RankRecord]) -> tuple[RankRecord, ...]:
    """Return the ranks, their waits with what the records of the others tell of them."""
    attached, missing, held, wanted = _Attached(ranks), _Missing(ranks), _Held(ranks), _Wanted(ranks)
    unanswered = _Unanswered(ranks)
    told = [_evolve(_evolve(rank, True, attached), rank.parts, missing) for rank in ranks]
    late = _Late(told)
    told = [_evolve(_evolve(rank, rank.parts, late), rank.wants, wanted) for rank in told]
    return tuple(_evolve(_evolve(rank, True, held), True, unanswered) for rank in told)


@attrs.define
class _Call:
    """A call that ranks make together, at one line.

    Attributes:
        place: the line.
        what: what those wait for who are in it, of each.
        ranks: who.
        missing: who has not come to it.
        among: what it is one of for each, as a layer above tells; "" for others.
    """

    place: SourceLine | None
    what: list[str]
    ranks: list[int]
    missing: tuple[int, ...]
    among: set[str]


def crossed(ranks: Sequence[RankRecord]) -> list[str]:
    """Return who is in which call that ranks make together, where they wait in different ones for one another.

    Args:
        ranks: complete; where something may be on its way, those that have one task: no message takes such a rank
            from its call to that of another, which has not come to its own.

    Returns:
        a line, and more where all are in calls of one name and what they have called before differs; none where there
        are no such ranks.
    """
    calls: dict[tuple[SourceLine | None, str, tuple[int, ...]], _Call] = {}
    for rank in ranks:
        for task in rank.tasks:
            if (wait := task.wait) is not None and wait.missing:
                key = task.place, pattern(wait.what), wait.missing
                call = calls.setdefault(key, _Call(task.place, [], [], wait.missing, set()))
                call.among.add(_among(rank, wait))
                call.what.append(wait.what)
                call.ranks.append(rank.rank)
    found: dict[tuple[SourceLine | None, str], _Call] = {}
    for key, call in calls.items():
        missed = {rank for other in calls.values() if _cross(call, other) for rank in other.missing}
        if own := [each for each in zip(call.ranks, call.what, strict=True) if each[0] in missed]:
            of = found.setdefault(key[:2], _Call(call.place, [], [], (), set()))
            of.among |= call.among
            of.ranks += [rank for rank, _ in own]
            of.what += [what for _, what in own]
    if not found:
        return []
    alike = len({kind for _, kind in found}) == 1
    among = [call.among for call in found.values()]
    apart = alike and "" not in set().union(*among) and not set.intersection(*among)
    shown = [each for call in found.values() for each in _by_words(call)]
    if len(shown) > _MOST:
        shown = list(found.values())
    texts = [_in_call(call, apart) for call in shown[:_MOST]]
    if len(shown) > _MOST:
        texts.append("others are elsewhere")
    lines = [f"{('; ' if apart else ', ').join(texts)}: all of them must make the same calls in the same order"]
    return lines + _unequal(ranks) if alike and not apart else lines


def _by_words(call: _Call) -> list[_Call]:
    """Return a call once for each way in which those who are in it call it, as of several teams."""
    words: dict[str, _Call] = {}
    for rank, what in zip(call.ranks, call.what, strict=True):
        one = words.setdefault(what, _Call(call.place, [], [], call.missing, call.among))
        one.ranks.append(rank)
        one.what.append(what)
    return list(words.values())


def _among(rank: RankRecord, wait: WaitRecord) -> str:
    """Return what the call that a rank waits in is one of, "" where no layer tells."""
    return next((part.called for part in rank.parts if wait.what in part.waits), "")


def _in_call(call: _Call, apart: bool) -> str:
    """Return who is in a call, and what that is one of where it has the same name as others of other kinds."""
    who, at = sorted(set(call.ranks)), f" at {written.at(call.place.file, call.place.line)}" if call.place else ""
    more = f", one of {' and '.join(sorted(call.among))}" if apart else ""
    return f"{named(who)} {'is' if len(who) == 1 else 'are'} in {common(call.what)}{at}{more}"


def _unequal(ranks: Sequence[RankRecord]) -> list[str]:
    """Return how often ranks have come to what all of them do, a line for each thing of which that differs.

    Who has made one call fewer may be in the same one as the others by its name and line, and not by its number.
    """
    found: dict[tuple[str, str], dict[tuple[int, str], list[int]]] = {}
    for rank in ranks:
        for part in rank.parts:
            if part.called:
                counts = found.setdefault((part.name, part.called), {})
                counts.setdefault((part.come, part.last), []).append(rank.rank)
    lines = []
    for (_, called), counts in found.items():
        if len({come for come, _ in counts}) > 1:
            texts = [
                f"{named(who)} {'has' if len(who) == 1 else 'have'} made {come}{f', {last}' if last else ''}"
                for (come, last), who in counts.items()
            ]
            lines.append(f"of {called} {'; '.join(texts)}")
    return lines


def concluded(ranks: Sequence[RankRecord]) -> list[str]:
    """Return what is to be done about what the clues of ranks mean beside one another."""
    waits = {rank.rank: [task.wait for task in rank.tasks if task.wait is not None] for rank in ranks}
    clues: dict[str, dict[int, CarriedClue]] = {}
    for rank in ranks:
        for clue in rank.clues:
            clues.setdefault(clue.kind, {})[rank.rank] = clue
    texts = []
    for alike in clues.values():
        others = {rank: carried.clue for rank, carried in alike.items() if carried.clue is not None}
        texts += [carried.advice(rank, lambda each: waits.get(each, []), others) for rank, carried in alike.items()]
    return [text for text in texts if text]


def differing(ranks: Sequence[RankRecord], *, told: bool) -> list[str]:
    """Return the first turn, of each thing that ranks do together, that two of them have done otherwise.

    Args:
        ranks: complete.
        told: whether it has been told which calls they are in, and that these are to be the same.
    """
    found: dict[str, list[tuple[int, Participation]]] = {}
    for rank in ranks:
        for part in rank.parts:
            if part.turns:
                found.setdefault(part.name, []).append((rank.rank, part))
    lines = (_first_that_differs(parts, told) for parts in found.values())
    return [line for line in lines if line]


def _first_that_differs(parts: Sequence[tuple[int, Participation]], told: bool) -> str:
    for number in range(min(_first_turn(part) for _, part in parts), max(part.come for _, part in parts)):
        made = [each for each in parts if _first_turn(each[1]) <= number < each[1].come]
        for rank, part in made[1:]:
            of, first = made[0]
            line = part.turns[number - part.come].differs(rank, first.turns[number - first.come], of)
            if line:
                return "" if told and number + 1 == part.come == first.come else line
    return ""


def _first_turn(part: Participation) -> int:
    return part.come - len(part.turns)


def _cross(one: _Call, other: _Call) -> bool:
    """Say whether ranks in two calls wait for one another; to a call that both were in both would have come."""
    return not (set(one.missing).isdisjoint(other.ranks) or set(other.missing).isdisjoint(one.ranks))


def _evolve(rank: RankRecord, any_of_it: object, told: Callable[[RankRecord, WaitRecord], WaitRecord]) -> RankRecord:
    """Return a rank with its waits as `told` has them."""
    if not any_of_it:
        return rank
    tasks = [task if task.wait is None else attrs.evolve(task, wait=told(rank, task.wait)) for task in rank.tasks]
    return attrs.evolve(rank, tasks=tuple(tasks))


class _Attached:
    """Names those that have not come to attach, where the wait itself cannot; of one that is over there are none."""

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._absent = tuple(rank.rank for rank in ranks if not any(map(_in_attach, rank.tasks)))

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        if wait.kind != Awaited.ATTACH.value or wait.ranks or wait.over:
            return wait
        return attrs.evolve(wait, ranks=self._absent)


def _in_attach(task: TaskRecord) -> bool:
    return task.wait is not None and task.wait.kind == Awaited.ATTACH.value


class _Missing:
    """Names those that have not come to what ranks do together.  Each says how often it has come itself."""

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._come: dict[str, dict[int, int]] = {}
        for rank in ranks:
            for part in rank.parts:
                self._come.setdefault(part.name, {})[rank.rank] = part.come
        self._found: dict[tuple[str, int], tuple[int, ...]] = {}

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        for part in rank.parts:
            turn = part.waits.get(wait.what)
            if turn is not None:
                absent = self._absent(part, turn)
                return attrs.evolve(wait, missing=absent, everybody=part.everybody and bool(absent))
        return wait

    def _absent(self, part: Participation, turn: int) -> tuple[int, ...]:
        key = part.name, turn
        if key not in self._found:
            counts = self._come[part.name]
            self._found[key] = tuple(sorted(member for member in part.members if counts.get(member, 0) <= turn))
        return self._found[key]


class _Late:
    """Names, of those that have not come to what ranks do together, whom a wait is for: often through others in it.

    Args:
        ranks: with those that have not come.
    """

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._next: dict[tuple[str, int], dict[int, set[int]]] = {}  # whom those wait for who are in a turn, by rank
        for rank in ranks:
            for task in rank.tasks:
                if task.wait is not None and (turn := _turn(rank, task.wait)) is not None:
                    self._next.setdefault(turn, {}).setdefault(rank.rank, set()).update(task.wait.ranks)

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        turn = _turn(rank, wait)
        if turn is None or not wait.missing or wait.everybody:
            return wait
        further, seen = self._next[turn], {*wait.ranks}
        pending = list(wait.ranks)
        while pending:
            others = further.get(pending.pop(), set()) - seen
            seen |= others
            pending += others
        return attrs.evolve(wait, late=tuple(each for each in wait.missing if each in seen))


def _turn(rank: RankRecord, wait: WaitRecord) -> tuple[str, int] | None:
    """Return which turn of what ranks do together a wait is for, None where it is for no such turn."""
    return next(((part.name, part.waits[wait.what]) for part in rank.parts if wait.what in part.waits), None)


class _Wanted:
    """Names those that hold what a task waits for, where the wait itself cannot, and says of others that they do."""

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._holders: dict[str, list[int]] = {}
        for rank in ranks:
            for task in rank.tasks:
                for hold in task.holds:
                    self._holders.setdefault(hold.what, []).append(rank.rank)

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        for want in rank.wants:
            holders = self._holders.get(want.what, ())
            if holders and want.wait and want.wait == wait.what:
                if not wait.ranks:
                    return attrs.evolve(wait, ranks=tuple(sorted(set(holders))))
                if want.held and set(wait.ranks) <= set(holders):
                    return attrs.evolve(wait, what=want.held)
        return wait


class _Held:
    """Names the requests that hold what a rank needs for another one: its own that were not handled where they are."""

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._of: dict[int, list[HeldRecord]] = {}
        for rank in ranks:
            for each in rank.unhandled:
                if each.request:
                    record = HeldRecord(rank.rank, each.handler, each.place, each.count)
                    self._of.setdefault(each.source, []).append(record)

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        if wait.kind != Awaited.SLOT.value or rank.rank not in self._of:
            return wait
        return attrs.evolve(wait, held=tuple(each for each in self._of[rank.rank] if each.at in wait.ranks))


class _Unanswered:
    """Names, of a wait that names nobody, the requests of its rank that lie at ranks which do not poll.

    None of them is answered before that rank polls.  Those of layers say nothing of what the program waits for.
    """

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._of: dict[int, list[HeldRecord]] = {}
        for rank in ranks:
            for each in rank.unhandled if rank.running and not rank.may_poll else ():
                if each.request and each.place is not None:
                    record = HeldRecord(rank.rank, each.handler, each.place, each.count)
                    self._of.setdefault(each.source, []).append(record)

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        if wait.kind != Awaited.PREDICATE.value or wait.awaited or wait.missing or wait.over or wait.raised:
            return wait
        return attrs.evolve(wait, unanswered=tuple(self._of.get(rank.rank, ())))
