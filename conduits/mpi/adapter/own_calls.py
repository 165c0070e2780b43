"""The collective calls of one process, which real MPI does not compare with those of others.

A standstill tells who has come to which.  When the job is over all processes compare what each has kept: calls that
differ may have ended all the same, with wrong results.
"""

from __future__ import annotations

import pickle
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

import attrs

from conduits.mpi.awaited.process import RequestPlace
from conduits.mpi.awaited.same_calls import OF_SOME, CallPart, Given, all_do, in_its_place, not_by_all, other_root

_EQUAL = ("Bcast", "Reduce", "Allreduce", "Scan", "Exscan")
"""Calls of which every rank gives or gets the same number of bytes."""
_MOST = 1 << 20
"""Calls of a communicator that are kept, 4 MB; of later ones it is known alone that they differ."""


class _Call(NamedTuple):
    """A call as a program has it.

    Attributes:
        place: its name and line.
        root: what it is given, None where it has none.
        nbytes: what all ranks are to have alike, None where they need not.
    """

    place: RequestPlace
    root: int | None
    nbytes: int | None

    @property
    def compared(self) -> tuple[str, int | None, int | None]:
        """What is to be the same on all ranks."""
        return self.place.call, self.root, self.nbytes


@attrs.define
class _Made:
    """The calls on one communicator.

    Attributes:
        group: whose it is, ranks in the world.
        name: of the communicator.
        kinds: the calls that differ, each with its number.
        compared: what is compared of each of them, as bytes.
        order: their numbers, in the order of the calls.
        count: how many there are.
        checksum: of what is compared of all of them.
        of_name: how often each was called.
        last: the last one's name.
    """

    group: Sequence[int]
    name: str
    kinds: dict[_Call, int] = attrs.Factory(dict)
    compared: list[bytes] = attrs.Factory(list)
    order: array[int] = attrs.Factory(lambda: array("I"))
    count: int = 0
    checksum: int = 0
    of_name: Counter[str] = attrs.Factory(Counter)
    last: str = ""

    def add(self, call: _Call) -> None:
        """Take note of the next one."""
        number = self.kinds.get(call)
        if number is None:
            number = self.kinds[call] = len(self.kinds)
            self.compared.append(repr(call.compared).encode())
        if self.count < _MOST:
            self.order.append(number)
        self.count += 1
        self.checksum = crc32(self.compared[number], self.checksum)
        self.last = call.place.call
        self.of_name[self.last] += 1

    def calls(self) -> list[_Call]:
        """Return them in order, as far as they are kept."""
        kinds = list(self.kinds)
        return [kinds[number] for number in self.order]


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
            made.add(_Call(RequestPlace.here(call), given.root, given.nbytes if _base(call) in _EQUAL else None))

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

    def differing(self, rank: int, size: int, gather: Callable[[bytes], list[bytes]]) -> Iterator[str]:
        """Yield what this rank is to say of calls that differ between ranks; all ranks take part.

        Args:
            rank: this one.
            size: how many there are.
            gather: gives bytes to all ranks and returns theirs.
        """
        own = {
            key: (made.count, made.checksum, None if len(made.group) == size else tuple(made.group))
            for key, made in self._made.items()
        }
        told = list(map(pickle.loads, gather(pickle.dumps(own))))
        groups = {key: group or tuple(range(size)) for each in told for key, (_, _, group) in each.items()}
        differ = [
            key
            for key, group in sorted(groups.items())
            if len({told[member].get(key, (0, 0, None))[:2] for member in group}) > 1
        ]
        if not differ:
            return
        calls = {key: self._made[key].calls() for key in differ if key in self._made}
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
            other = next((member for member in group if made[member].compared != made[one].compared), None)
            if other is not None:
                if rank == other:
                    yield _differs(made[other], made[one], one, name)
                return


def _differs(mine: _Call, first: _Call, rank: int, name: str) -> str:
    place = mine.place
    if first.place.call != place.call:
        what = in_its_place(first.place, rank, name)
    elif first.root != mine.root:
        what = other_root(mine.root, first.place, first.root, rank, name)
    else:
        what = (
            f"{mine.nbytes} bytes, but rank {rank} has called it with {first.nbytes} at {first.place.file}:"
            f"{first.place.line}; give the same on all ranks of {name}"
        )
    return f"Comm.{place.call} at {place.file}:{place.line}: {what}; MPI says nothing of it, and results may be wrong"


def _base(call: str) -> str:
    """Return the blocking call of one that only begins it: Ibcast is as Bcast."""
    return call[1:].capitalize() if call.startswith("I") else call
