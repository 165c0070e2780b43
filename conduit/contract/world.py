"""The time and the end of a job, as launch and networks have them in virtual and in real time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

Body: TypeAlias = Callable[[], Awaitable[object]]
"""What one rank does, from its start to its end."""
Told: TypeAlias = tuple[int, int, BaseException]
"""When, picoseconds; whose, -1 for no rank's; what was raised."""


class End(Protocol):
    """What has ended a job, and what happened on the way out."""

    @property
    def errors(self) -> Sequence[Told]:
        """What ended it: whatever was raised before its tasks were let out."""

    @property
    def late_errors(self) -> Sequence[Told]:
        """What tasks raised on their way out."""

    @property
    def abandoned(self) -> Sequence[str]:
        """What only force has ended, and where."""

    def forget(self) -> None:
        """Hold the errors no longer: they have been told."""


class World(Protocol):
    """Time, virtual or real, in which the tasks of one job run."""

    @property
    def now(self) -> int:
        """Picoseconds since the start of the job; never goes back."""

    @property
    def ending(self) -> bool:
        """Whether the job is ending: every wait is let out then, and every call raises (D6)."""

    @property
    def end(self) -> End:
        """What has ended it."""

    def fail(self, error: BaseException, rank: int = -1) -> None:
        """End the job because of `error`, which belongs to `rank` (-1: to none); from anywhere, at once."""

    def stop(self) -> None:
        """Let every task of the job out of its wait."""

    def give_way(self) -> None:
        """Let Trio's loop have its turn soon, for what another thread has given it; from any thread."""
