"""The collective calls of one process, which real MPI does not compare with those of others.

A standstill tells who has come to which, and which of the last ones differ.  When the job is over all processes compare
what each has kept: calls that differ may have ended all the same, with wrong results.
"""

from __future__ import annotations

import pickle
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

import attrs

from conduits.mpi.awaited.process import RequestPlace
from conduits.mpi.awaited.same_calls import (
    OF_SOME,
    CallPart,
    Given,
    all_do,
    difference,
    given_otherwise,
    in_its_place,
    not_by_all,
)

_EQUAL = ("Bcast", "Reduce", "Allreduce", "Scan", "Exscan")
"""Calls of which every rank gives or gets the same number of bytes."""
_MOST = 1 << 20
"""Calls of a communicator that are kept, 4 MB; of later ones it is known alone that they differ."""
_TOLD = 100
"""Calls of a communicator that a report of a standstill compares."""
_FEW = 10_000
"""Calls that are looked at where only the elements of moved data differ, which may be right: bytes on one rank."""


class _Call(NamedTuple):
    """A call as a program has it.

    Attributes:
        place: its name and line.
        given: to it, without the bytes where they need not be the same.
        name: of the communicator.
    """

    place: RequestPlace
    given: Given
    name: str

    @property
    def compared(self) -> tuple[object, ...]:
        """What is to be the same on all ranks; not the elements of data that are only moved, which may be any."""
        nbytes, root, op, elements, algorithm = self.given
        return self.place.call, nbytes, root, op, algorithm, elements.kind if op else ""

    def differs(self, rank: int, first: _Call, of: int) -> str:
        """Return what a report is to say where the calls of two ranks differ; see `conduit.contract.Turn`."""
        if self.compared == first.compared:
            return ""
        place = self.place
        what = _otherwise(self, first, of)
        return f"Comm.{place.call} of rank {rank} at {place.file}:{place.line}: {what}"


@attrs.define
class _Made:
    """The calls on one communicator.

    Attributes:
        group: whose it is, ranks in the world.
        name: of the communicator.
        kinds: the calls that differ, each with its number.
        compared: what is compared of each of them, as bytes, and what their elements are.
        order: their numbers, in the order of the calls.
        count: how many there are.
        checksum: of what is compared of all of them.
        elements: a checksum of what their elements are.
        of_name: how often each was called.
        last: the last one's name.
    """

    group: Sequence[int]
    name: str
    kinds: dict[_Call, int] = attrs.Factory(dict)
    compared: list[tuple[bytes, bytes]] = attrs.Factory(list)
    order: array[int] = attrs.Factory(lambda: array("I"))
    count: int = 0
    checksum: int = 0
    elements: int = 0
    of_name: Counter[str] = attrs.Factory(Counter)
    last: str = ""

    def add(self, call: _Call) -> None:
        """Take note of the next one."""
        number = self.kinds.get(call)
        if number is None:
            number = self.kinds[call] = len(self.kinds)
            self.compared.append((repr(call.compared).encode(), f"{call.given.elements.kind};".encode()))
        if self.count < _MOST:
            self.order.append(number)
        self.count += 1
        compared, elements = self.compared[number]
        self.checksum = crc32(compared, self.checksum)
        self.elements = crc32(elements, self.elements)
        self.last = call.place.call
        self.of_name[self.last] += 1

    def last_calls(self) -> list[_Call]:
        """Return the last ones in order, none where they are not kept."""
        return self._in_order(slice(-_TOLD, None)) if self.count <= _MOST else []

    def calls(self, most: int) -> list[_Call]:
        """Return them in order, as far as they are kept, the first `most` of them."""
        return self._in_order(slice(most))

    def _in_order(self, part: slice) -> list[_Call]:
        kinds = list(self.kinds)
        return [kinds[number] for number in self.order[part]]


class OwnCalls:
    """The calls of this process by communicator: by its number and first rank, as parts may have the same numbers."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], _Made] = {}

    def called(
        self, context: int, group: Sequence[int], number: int, call: str, given: Given, rank: int, name: str
    ) -> None:
        """Take note of a call; see `conduits.mpi.awaited.same_calls.SameCalls.called`."""
        if len(group) > 1:
            made = self._made.get((context, group[0]))
            if made is None:
                made = self._made[context, group[0]] = _Made(group, name)
            compared = given if _base(call) in _EQUAL else given._replace(nbytes=0)
            made.add(_Call(RequestPlace.here(call), compared, name))

    def absent(self, context: int, group: Sequence[int], number: int) -> Sequence[int]:
        """Return nobody: a process knows of its own calls alone."""
        return ()

    def parts(self) -> Iterator[CallPart]:
        """Yield this rank's parts in the calls, those of each name by themselves: others may have made other calls."""
        # Communicators may have the same name: it is not known then in which of them a wait is.
        waited = Counter(all_do(made.last, made.name) for made in self._made.values())
        for (context, first), made in self._made.items():
            for call, count in made.of_name.items():
                what = all_do(call, made.name)
                waits = {what: count - 1} if call == made.last and call[0] != "I" and waited[what] == 1 else {}
                name = f"{call} of MPI on communicator {context} of rank {first}"
                yield CallPart(name, made.group, count, waits, call not in OF_SOME)
            name = f"calls of MPI on communicator {context} of rank {first}"
            yield CallPart(name, made.group, made.count, {}, False, made.last_calls())

    def differing(self, rank: int, size: int, gather: Callable[[bytes], list[bytes]]) -> Iterator[str]:
        """Yield what this rank is to say of calls that differ between ranks; all ranks take part.

        Args:
            rank: this one.
            size: how many there are.
            gather: gives bytes to all ranks and returns theirs.
        """
        own = {
            key: (made.count, made.checksum, made.elements, None if len(made.group) == size else tuple(made.group))
            for key, made in self._made.items()
        }
        told = list(map(pickle.loads, gather(pickle.dumps(own))))
        groups = {key: group or tuple(range(size)) for each in told for key, (*_, group) in each.items()}
        differ = {}  # how many of the calls to look at
        for key, group in sorted(groups.items()):
            sums = {told[member].get(key, (0, 0, 0, None))[:3] for member in group}
            if len(sums) > 1:
                differ[key] = _FEW if len({each[:2] for each in sums}) == 1 else _MOST
        if not differ:
            return
        calls = {key: self._made[key].calls(most) for key, most in differ.items() if key in self._made}
        of_all = list(map(pickle.loads, gather(pickle.dumps(calls))))
        for key in differ:
            if key in self._made:
                group = groups[key]
                yield from self._first(rank, group, [of_all[member].get(key, []) for member in group], key)

    def _first(
        self, rank: int, group: Sequence[int], calls: Sequence[Sequence[_Call]], key: tuple[int, int]
    ) -> Iterator[str]:
        """Yield what this rank is to say of the first call on a communicator that differs."""
        name = self._made[key].name
        for number in range(max(map(len, calls))):
            made = {member: each[number] for member, each in zip(group, calls, strict=True) if number < len(each)}
            one = next(iter(made))
            if len(made) < len(group):
                if rank == one:
                    yield not_by_all(made[one].place, name, list(made), group)
                return
            pair = _pair(made)
            if pair is not None:
                one, other = pair
                if rank == other:
                    yield _differs(made[other], made[one], one)
                return


def _pair(made: Mapping[int, _Call]) -> tuple[int, int] | None:
    """Return the first two ranks whose calls differ; what elements are is compared with the first that says it."""
    first = next(iter(made))
    typed = next((member for member, call in made.items() if call.given.elements.kind), first)
    for member, call in made.items():
        if call.compared != made[first].compared:
            return first, member
        if call.given.elements.differ(made[typed].given.elements):
            return typed, member
    return None


def _differs(mine: _Call, first: _Call, rank: int) -> str:
    what = _otherwise(mine, first, rank)
    place = f"Comm.{mine.place.call} at {mine.place.file}:{mine.place.line}"
    return f"{place}: {what}; MPI says nothing of it, and results may be wrong"


def _otherwise(mine: _Call, first: _Call, rank: int) -> str:
    if first.place.call != mine.place.call:
        return in_its_place(first.place, rank, mine.name)
    found = difference(mine.given, first.given)
    if found is not None:
        return given_otherwise(found.mine, first.place, found.first, rank, mine.name)
    return given_otherwise(f"{mine.given.nbytes} bytes", first.place, str(first.given.nbytes), rank, mine.name)


def _base(call: str) -> str:
    """Return the blocking call of one that only begins it: Ibcast is as Bcast."""
    return call[1:].capitalize() if call.startswith("I") else call
