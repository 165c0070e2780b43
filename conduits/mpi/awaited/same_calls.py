"""That all ranks of a communicator make the same collective calls, where one process runs them all and so can see it.

MPI leaves open what becomes of other programs: messages of one call may be taken for those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import attrs

from conduit.contract import Turn
from conduits.mpi.awaited.peers import ranks_in_words
from conduits.mpi.awaited.process import CallRecord, RequestPlace
from conduits.mpi.errors import ErrorClass, MpiError

OF_SOME = ("Bcast", "Scatter", "Scatterv", "Gather", "Gatherv", "Reduce", "Scan", "Exscan")
"""Calls that may end on a rank before all have come."""


class Elements(NamedTuple):
    """What the elements in a rank's buffer are, as far as it is compared.

    Attributes:
        kind: what has to be the same on all ranks; empty where anything may be.
        name: MPI's name of their datatype.
    """

    kind: str
    name: str

    def differ(self, other: Elements) -> bool:
        """Say whether it is certain that others are none of these."""
        return self.kind != other.kind and bool(self.kind and other.kind)


ANY_ELEMENTS = Elements("", "")


class Given(NamedTuple):
    """What a call is given that is compared.

    Attributes:
        nbytes: what this rank gives or, where it gives nothing, gets.
        root: None where it has none.
        op: the operator in words, empty where it has none: those of programs are other objects on every rank.
        elements: of the buffers.
        algorithm: the name of the one that is taken, empty where there is no choice.
    """

    nbytes: int
    root: int | None = None
    op: str = ""
    elements: Elements = ANY_ELEMENTS
    algorithm: str = ""


class CallDifference(NamedTuple):
    """What two ranks have given a call that has to be the same.

    Attributes:
        error: the class of error that it is.
        mine: the one, in words.
        first: the other, in words.
    """

    error: ErrorClass
    mine: str
    first: str


class CallPart(NamedTuple):
    """One rank's part in the calls of a communicator, of which it is in one; see `conduit.contract.Participation`.

    Attributes:
        name: of these calls, the same on all ranks.
        group: who makes them.
        come: how many this rank has made, as far as some of them are open; all before these are not.
        waits: what the rank waits for in the call, with its number.
        everybody: whether it ends when all have come, and not before.
        turns: the last of them, where one process does not see those of others.
    """

    name: str
    group: Sequence[int]
    come: int
    waits: dict[str, int]
    everybody: bool
    turns: Sequence[Turn] = ()


@attrs.define
class _Open:
    """A call that not all ranks have made.

    Attributes:
        place: the line of the first one.
        given: to that.
        group: who is to make it, ranks in the world.
        came: who has made it, and what each calls the communicator.
        typed: the first one whose elements are known: its rank, its line, what it was given.
    """

    place: RequestPlace
    given: Given
    group: Sequence[int]
    came: dict[int, str]
    typed: tuple[int, RequestPlace, Given] | None = None

    @property
    def name(self) -> str:
        """Of the communicator, as the first one calls it."""
        return next(iter(self.came.values()))


class SameCalls:
    """The calls that some ranks of a communicator have made and others have not.

    A communicator is told apart by a context and its first rank, for parts of one that have no rank in common may have
    the same contexts.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int, int], _Open] = {}

    def called(
        self, context: int, group: Sequence[int], number: int, call: str, given: Given, rank: int, name: str
    ) -> None:
        """Take note of a call.

        Args:
            context: of the communicator.
            group: its ranks in the world.
            number: how many calls this rank has made there before.
            call: the name of this one.
            given: to it.
            rank: this rank in the world.
            name: of the communicator.

        Raises:
            MpiError: another rank has made another call in its place, or given it what differs.
        """
        key = context, group[0], number
        first = self._open.get(key)
        if first is None:
            if len(group) > 1:
                self._open[key] = _Open(RequestPlace.here(call), given, group, {rank: name})
            return
        place, other = first.place, next(iter(first.came))
        if place.call != call:
            raise MpiError(ErrorClass.ERR_OTHER, f"Comm.{call}: {in_its_place(place, other, name)}")
        _refuse_other(call, given, first.given, place, other, name)
        if given.elements.kind and not first.given.elements.kind:
            if first.typed is None:
                first.typed = rank, RequestPlace.here(call), given
            else:
                other, place, known = first.typed
                _refuse_other(call, given, known, place, other, name)
        first.came[rank] = name
        if len(first.came) == len(group):
            del self._open[key]

    def absent(self, context: int, group: Sequence[int], number: int) -> list[int]:
        """Return the ranks that have not made a call, of which some rank has; none where all have."""
        found = self._open.get((context, group[0], number))
        return [] if found is None else sorted(set(group).difference(found.came))

    def parts_of(self, rank: int) -> Iterator[CallPart]:
        """Yield the parts of a rank in the calls that it has made and others have not."""
        come: dict[tuple[int, int], int] = {}
        mine = [(key, self._open[key]) for key in sorted(self._open) if rank in self._open[key].came]
        for (context, first, number), _ in mine:
            come[context, first] = number + 1
        for (context, first, number), each in mine:
            call = each.place.call
            # Of those that only begin something a rank may wait for one that all have begun, in the same words.
            waits = {} if call.startswith("I") else {all_do(call, each.came[rank]): number}
            name = f"calls of MPI on communicator {context} of rank {first}"
            yield CallPart(name, each.group, come[context, first], waits, call not in OF_SOME)

    def open_on(self, context: int, rank: int) -> Iterator[tuple[dict[int, str], str]]:
        """Yield of each open call on a communicator of a rank what each wait says who has made it, and it in words."""
        for (of, _, _), each in self._open.items():
            if of == context and rank in each.group:
                place, came = each.place, sorted(each.came)
                have = "has" if len(came) == 1 else "have"
                who, at = ranks_in_words(came), f"{place.file}:{place.line}"
                called = f"{place.call} on {each.name}, which {who} {have} called at {at}"
                yield {one: all_do(place.call, name) for one, name in each.came.items()}, called

    def unmatched(self) -> Iterator[str]:
        """Yield what to say, when the job is over, of each call that some ranks have not made."""
        for each in self._open.values():
            yield not_by_all(each.place, each.name, sorted(each.came), each.group)


class StillToCome:
    """Whom the request of a collective call waits for, worked out whenever they are asked for.

    Those that have not made the call; all others once everybody has.

    Args:
        calls: of the job.
        context: of the communicator.
        group: its ranks in the world.
        number: of the call there.
        others: all of them but the one that waits.
    """

    def __init__(
        self, calls: CallRecord, context: int, group: Sequence[int], number: int, others: Iterable[int]
    ) -> None:
        self._calls = calls
        self._call = context, group, number
        self._others = others

    def __iter__(self) -> Iterator[int]:
        return iter(self._calls.absent(*self._call) or self._others)


def all_do(call: str, name: str) -> str:
    """Return what a rank waits for in a call, in words.

    Args:
        call: its name.
        name: of the communicator.
    """
    return f"MPI {call} of all on {name}"


def in_its_place(place: RequestPlace, rank: int, name: str) -> str:
    """Return what a call is told in whose place another rank has made another one.

    Args:
        place: of that one.
        rank: whose it is.
        name: of the communicator.
    """
    return (
        f"in its place rank {rank} has called {place.call} at {place.file}:{place.line}; all ranks of {name} make the "
        "same collective calls in the same order"
    )


def difference(mine: Given, first: Given) -> CallDifference | None:
    """Return what is to be the same of two ranks' call and is not; sizes are another matter.

    Args:
        mine: what the one is given.
        first: what the other is given.
    """
    if mine.root != first.root:
        return CallDifference(ErrorClass.ERR_ROOT, f"root={mine.root}", f"root={first.root}")
    if mine.op != first.op:
        return CallDifference(ErrorClass.ERR_OP, f"op={mine.op}", f"op={first.op}")
    if mine.elements.differ(first.elements):
        return CallDifference(ErrorClass.ERR_TYPE, f"elements of {mine.elements.name}", first.elements.name)
    if mine.algorithm != first.algorithm:
        return CallDifference(ErrorClass.ERR_ARG, f"algorithm={mine.algorithm!r}", f"algorithm={first.algorithm!r}")
    return None


def given_otherwise(mine: str, place: RequestPlace, first: str, rank: int, name: str) -> str:
    """Return what a call is told that another rank has given something else.

    Args:
        mine: what it is given.
        place: of the other one.
        first: what that was given.
        rank: whose it is.
        name: of the communicator.
    """
    return (
        f"{mine}, but rank {rank} has called it with {first} at {place.file}:{place.line}; give the same on all ranks "
        f"of {name}"
    )


def _refuse_other(call: str, mine: Given, first: Given, place: RequestPlace, rank: int, name: str) -> None:
    """Raise MpiError where a call is given what differs from what another rank has given."""
    found = difference(mine, first)
    if found is not None:
        raise MpiError(found.error, f"Comm.{call}: {given_otherwise(found.mine, place, found.first, rank, name)}")


def not_by_all(place: RequestPlace, name: str, came: Sequence[int], group: Sequence[int]) -> str:
    """Return what is said, when the job is over, of a call that some ranks have not made.

    Args:
        place: of the call.
        name: of the communicator.
        came: who has made it.
        group: who was to.
    """
    absent = sorted(set(group).difference(came))
    return (
        f"{place.call} on {name}, at {place.file}:{place.line}, was called by {ranks_in_words(came)}, and not by "
        f"{ranks_in_words(absent)}: all ranks make the same collective calls"
    )
