"""What a blocked task of a rank waits for while the clock polls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import trio

from conduit.contract import Awaited
from conduit.wall.clock import WallClock


class WallWait:
    """One wait of one task, over when `ready()` gives something true.

    Args:
        clock: the job's time.
        ready: evaluated at every poll, in the context of its task.
        what: what is waited for, in words.
        ranks: for whom, for reports.
        kind: what kind of thing that is, for reports.
        dest: of a wait for a slot, which `ready` takes: to which rank.
        shielded: whether a cancellation is put off until the wait is over.
        since: when the wait began, picoseconds; by default now.

    Attributes:
        owner: the task.
        since: when the wait began.
        result: what `ready` has given, in a tuple; None while the wait goes on.
        error: what it has raised; ends the wait too.
        begun: whether the task was parked already.
    """

    __slots__ = (
        "_abandoned",
        "_clock",
        "_ranks",
        "_ready",
        "_task",
        "begun",
        "dest",
        "error",
        "kind",
        "owner",
        "result",
        "shielded",
        "since",
        "what",
    )

    def __init__(
        self,
        clock: WallClock,
        ready: Callable[[], object],
        what: str,
        ranks: Iterable[int] = (),
        *,
        kind: Awaited = Awaited.PREDICATE,
        dest: int = -1,
        shielded: bool = False,
        since: int | None = None,
    ) -> None:
        self._clock = clock
        self._ready = ready
        self._ranks = ranks
        self._task: trio.lowlevel.Task | None = None
        self.owner = trio.lowlevel.current_task()
        self.what = what
        self.kind = kind
        self.since = clock.now if since is None else since
        self.dest = dest
        self.shielded = shielded
        self.begun = False
        self._abandoned = False
        self.result: tuple[Any] | None = None
        self.error: BaseException | None = None

    @property
    def predicate(self) -> Callable[[], object] | None:
        """The predicate that it is for, None where it is for something else."""
        return self._ready if self.kind is Awaited.PREDICATE else None

    def look(self) -> bool:
        """Return whether the wait is over; once it is, or its task was cancelled, nothing is evaluated any more."""
        if self.error is not None or self.result is not None:
            return True
        if self._abandoned:  # the task goes on only later, and must not be given a slot until then
            return False
        try:
            own = self.owner is self._clock.task
            result = self._ready() if own else self.owner.context.run(self._ready)
            over = result is not None if self.dest >= 0 else bool(result)  # an array has no truth value, and raises
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.error = error
            return True
        if over:
            self.result = (result,)
        return over

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that it waits for."""
        return tuple(self._ranks)

    @trio.lowlevel.enable_ki_protection  # or a poll would wake a task that has gone
    async def park(self) -> None:
        """Let the task wait until it is woken, or until it is cancelled and not shielded."""
        self._task = self.owner

        def abort(_: object) -> trio.lowlevel.Abort:
            if self.shielded and not self._clock.ending:
                return trio.lowlevel.Abort.FAILED
            self._task = None
            self._abandoned = True
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    @trio.lowlevel.enable_ki_protection  # or a task that nothing will wake any more
    def wake(self) -> None:
        """Let the task go on; again: no effect."""
        task, self._task = self._task, None
        if task is not None:
            trio.lowlevel.reschedule(task)
