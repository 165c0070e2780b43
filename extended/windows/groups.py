"""Groups of the ranks of a window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import conduit
from conduit.words import is_a
from extended.as_meant import a_list
from extended.front_ends import integer, shown

if TYPE_CHECKING:
    from collections.abc import Iterator


class WindowGroup:
    """Some ranks of a window, in an order; ``win.Get_group()`` gives that of all.

    Args:
        ranks: the ranks.
        rank: this rank's place among them, None where it is no member.
    """

    def __init__(self, ranks: tuple[int, ...], rank: int | None) -> None:
        self._ranks = ranks
        self._rank = rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self._ranks)

    @property
    def rank(self) -> int | None:
        """This rank's number in the group, None where it is no member."""
        return self._rank

    def Get_size(self) -> int:
        """Return how many ranks there are."""
        return self.size

    def Get_rank(self) -> int | None:
        """Return this rank's number in the group, None where it is no member."""
        return self.rank

    def Incl(self, ranks: Any) -> WindowGroup:
        """Return the group of some of the ranks, in the order in which they are named.

        Args:
            ranks: their numbers in this group.

        Raises:
            conduit.BadRequest: one that is none, or named twice.
        """
        return self._of(self._numbers("Group.Incl", ranks))

    def Excl(self, ranks: Any) -> WindowGroup:
        """Return the group without some of the ranks.

        Args:
            ranks: their numbers in this group.

        Raises:
            conduit.BadRequest: one that is none, or named twice.
        """
        without = set(self._numbers("Group.Excl", ranks))
        return self._of([number for number in range(self.size) if number not in without])

    def _of(self, numbers: list[int]) -> WindowGroup:
        rank = numbers.index(self._rank) if self._rank in numbers else None
        return WindowGroup(tuple(self._ranks[number] for number in numbers), rank)

    def _numbers(self, call: str, ranks: Any) -> list[int]:
        return _distinct(call, "ranks", ranks, self.size, "group")

    def __iter__(self) -> Iterator[int]:
        return iter(self._ranks)

    def __len__(self) -> int:
        return len(self._ranks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WindowGroup) and self._ranks == other._ranks

    def __hash__(self) -> int:
        return hash(self._ranks)

    def __repr__(self) -> str:
        return f"<Group of ranks {', '.join(map(str, self._ranks)) or 'none'}>"


def members(call: str, group: Any, size: int) -> tuple[int, ...]:
    """Return the ranks of a window that a call is given as a group.

    Raises:
        conduit.BadRequest: no group nor iterable of ranks, or a rank that is none or named twice.
    """
    return tuple(_distinct(call, "group", group, size, "window"))


def _distinct(call: str, name: str, ranks: Any, size: int, whose: str) -> list[int]:
    # An array of no dimensions says that it is one, and is not.
    if not isinstance(ranks, Iterable) or isinstance(ranks, str | bytes) or getattr(ranks, "shape", None) == ():
        raise conduit.BadRequest(
            f"{call}: {name}={shown(ranks)} {is_a(ranks)}; give win.Get_group(), what its Incl and Excl "
            "return, or a list of ranks"
        )
    what = f"ranks of the {whose}, 0 to {size - 1}"
    found = [integer(call, name, rank, 0, size - 1, what) for rank in a_list(ranks)]
    if len(set(found)) < len(found):
        raise conduit.BadRequest(f"{call}: {name}={shown(found)} names a rank twice; name each once")
    return found
