"""Operations that cancelled tasks have left under way, and whose handles nobody has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from extended import Extended

T = TypeVar("T")


class LeftBehind:
    """What was begun on behalf of a front end, and may go on since its task was cancelled.

    Args:
        x: the extended layer, whose operations they are.

    Attributes:
        some: whether there may be any.
    """

    __slots__ = ("_x", "some")

    def __init__(self, x: Extended) -> None:
        self._x = x
        self.some = False

    async def begun(self, begin: Coroutine[Any, Any, T]) -> T:
        """Begin an operation, or do it, and return what that gives; cancelled, it may go on."""
        try:
            return await begin
        except BaseException:
            self.some = True
            raise

    async def complete(self) -> None:
        """Wait until they are complete."""
        if not self.some:
            return
        self.some = False  # before the wait: another task may be cancelled meanwhile
        try:
            await self._x.sync()
        except BaseException:
            self.some = True
            raise
