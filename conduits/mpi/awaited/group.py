"""Groups: ordered sets of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, ClassVar

from conduit import BadRequest
from conduits.mpi.awaited import not_here
from conduits.mpi.awaited.buffers import whole
from conduits.mpi.awaited.process import CURRENT
from conduits.mpi.awaited.status import UNDEFINED
from conduits.mpi.engine.transfer import PROC_NULL
from conduits.mpi.errors import ErrorClass, MpiError

IDENT, CONGRUENT, SIMILAR, UNEQUAL = range(4)


class Group:
    """An ordered set of processes.

    Args:
        group: one to be the same as; None: the null handle.
    """

    _instead: ClassVar = not_here.OF_GROUPS

    __slots__ = ("_members",)

    def __init__(self, group: Group | None = None) -> None:
        self._members: tuple[int, ...] | None = None if group is None else group._members

    @classmethod
    def of(cls, members: Sequence[int]) -> Group:
        """Return the group of these ranks of the world."""
        made = cls()
        made._members = tuple(members)
        return made

    @property
    def members(self) -> tuple[int, ...]:
        """Its ranks, each by its number in the world.

        Raises:
            MpiError: it is null, or was freed.
        """
        if self._members is None:
            raise MpiError(ErrorClass.ERR_GROUP, "Group: this group is null, or was freed")
        return self._members

    def Get_size(self) -> int:
        """Return how many processes it has."""
        return len(self.members)

    def Get_rank(self) -> int:
        """Return this process's rank in it, UNDEFINED where it is no member."""
        process = CURRENT.get()
        mine = None if process is None else process.rank
        return self.members.index(mine) if mine in self.members else UNDEFINED

    size = property(Get_size)
    rank = property(Get_rank)

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Group | None = None) -> list[int]:
        """Return the ranks in `group`, by default the world's, of ranks of this one; UNDEFINED where there is none."""
        chosen = range(self.Get_size()) if ranks is None else ranks
        members = [each if each == PROC_NULL else self._member(each, "Translate_ranks") for each in chosen]
        if group is None:
            return members
        there = {member: rank for rank, member in enumerate(group.members)}
        return [PROC_NULL if each == PROC_NULL else there.get(each, UNDEFINED) for each in members]

    def Compare(self, group: Group) -> int:
        """Return IDENT for the same order, SIMILAR for the same processes, else UNEQUAL."""
        one, other = self.members, group.members
        if one == other:
            return IDENT
        return SIMILAR if set(one) == set(other) else UNEQUAL

    def Dup(self) -> Group:
        """Return the same group."""
        return Group.of(self.members)

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """Return the first, then what only the second has."""
        return cls.of(dict.fromkeys((*group1.members, *group2.members)))  # type: ignore[arg-type]

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """Return what both have, in the order of the first."""
        return cls.of([each for each in group1.members if each in group2.members])

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """Return what only the first has."""
        return cls.of([each for each in group1.members if each not in group2.members])

    def Incl(self, ranks: Sequence[int]) -> Group:
        """Return these ranks of it, in this order."""
        return Group.of([self.members[each] for each in self._distinct(ranks, "Incl")])

    def Excl(self, ranks: Sequence[int]) -> Group:
        """Return all but these ranks of it."""
        without = set(self._distinct(ranks, "Excl"))
        return Group.of([member for rank, member in enumerate(self.members) if rank not in without])

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Return the ranks of triples (first, last, stride)."""
        return self.Incl(_ranged(ranks, "Range_incl"))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """Return all but the ranks of triples (first, last, stride)."""
        return self.Excl(_ranged(ranks, "Range_excl"))

    def Free(self) -> None:
        """Turn the handle null, but GROUP_EMPTY, which is MPI's own."""
        self.members  # noqa: B018  refuses a null one
        if self is not GROUP_EMPTY:
            self._members = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and self._members == other._members

    def __hash__(self) -> int:
        return hash(self._members)

    def __bool__(self) -> bool:
        return self._members is not None

    def __repr__(self) -> str:
        return "<Group null>" if self._members is None else f"<Group of {len(self._members)}: {self._members}>"

    def _member(self, rank: Any, call: str) -> int:
        number = whole(rank, f"Group.{call}: rank", error=ErrorClass.ERR_RANK)
        if number >= self.Get_size():
            raise MpiError(
                ErrorClass.ERR_RANK, f"Group.{call}: rank {number} is not in a group of {self.Get_size()} processes"
            )
        return self.members[number]

    def _distinct(self, ranks: Sequence[int], call: str) -> list[int]:
        for each in ranks:
            self._member(each, call)
        chosen = [int(each) for each in ranks]
        if len(set(chosen)) != len(chosen):
            raise MpiError(ErrorClass.ERR_RANK, f"Group.{call}: ranks={chosen} name one twice")
        return chosen


def _ranged(triples: Sequence[tuple[int, int, int]], call: str) -> list[int]:
    ranks: list[int] = []
    for triple in triples:
        try:
            first, last, stride = map(index, triple)
        except (TypeError, ValueError):
            raise BadRequest(f"Group.{call}: {triple!r} is no triple of integers (first, last, stride)") from None
        if not stride:
            raise MpiError(ErrorClass.ERR_ARG, f"Group.{call}: the stride of {triple!r} is 0")
        if (last - first) * stride < 0:
            raise MpiError(ErrorClass.ERR_ARG, f"Group.{call}: the stride of {triple!r} leads away from its last rank")
        ranks += range(first, last + (1 if stride > 0 else -1), stride)
    return ranks


GROUP_NULL = Group()
GROUP_EMPTY = Group.of(())
