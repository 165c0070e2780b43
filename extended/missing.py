"""Whom a wait is for by now, for the report of a deadlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Missing:
    """The ranks that have still to do their part, worked out whenever they are asked for.

    `block_until` reads `ranks=` of this kind for the report alone: no wait costs more, and none that has come is named.

    Args:
        find: gives them.
    """

    __slots__ = ("_find",)

    def __init__(self, find: Callable[[], Iterable[int]]) -> None:
        self._find = find

    def __iter__(self) -> Iterator[int]:
        return iter(self._find())
