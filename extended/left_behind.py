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

    """

    __slots__ = ("_times", "_x")

    def __init__(self, x: Extended) -> None:
        self._x = x
        self._times = 0  # how often some were left that no wait has ended

    @property
    def some(self) -> bool:
        """Whether there may be any."""
        return self._times > 0

    def add(self) -> None:
        """Take note that there may be some more."""
        self._times += 1

    async def begun(self, begin: Coroutine[Any, Any, T]) -> T:
        """Begin an operation, or do it, and return what that gives; cancelled, it may go on."""
        try:
            return await begin
        except BaseException:
            self.add()
            raise

    async def complete(self) -> None:
        """Wait until they are complete."""
        times = self._times
        if times:  # also while another task waits for them
            await self._x.sync()
            if self._times == times:  # no other task was cancelled meanwhile
                self._times = 0
