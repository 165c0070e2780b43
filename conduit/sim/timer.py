"""A timer that can be stopped, and that keeps a job alive only while it may bring something about (rule D3).

Who waits for an answer that may have been lost sends again after a time, and for ever where the other never listens.
Were each try an event like others, no deadlock would be found any more.  So timers go off in the background, as long
as other things happen or somebody sleeps.  Where nothing else is left the kernel asks the timers that run whether what
they do can still change anything, of which the simulation knows more than the hardware does.  If one says so, time
goes on to that one; if none does, the job stands still.
"""

from __future__ import annotations

from collections.abc import Callable

from conduit.sim.actions import rank_of
from conduit.sim.kernel import Kernel


class Timer:
    """Calls a function at a time, unless it is stopped or put off before.

    Args:
        kernel: its clock and events.
        act: is called when it goes off, in an event; by then it does not run any more, and may be started again.
        helps: returns whether `act` can still bring anything about, where nothing else happens any more: False where
            all that it would do is done already, or would change nothing.  It must not change anything.

    Attributes:
        when: when it goes off, picoseconds; None while it does not run.
        rank: of `act`, for errors.
    """

    __slots__ = ("_act", "_entry", "_kernel", "helps", "rank", "when")

    def __init__(self, kernel: Kernel, act: Callable[[], object], helps: Callable[[], bool]) -> None:
        self._kernel = kernel
        self._act = act
        self._entry: int | None = None  # when the kernel looks at it next
        self.helps = helps
        self.rank = rank_of(act)
        self.when: int | None = None

    def start(self, when: int) -> None:
        """Let it go off at `when` picoseconds, and not at the time for which it was started before.

        Where that is past it goes off now: what its owner computes from may have become due meanwhile.
        """
        when = max(when, self._kernel.now)
        self.when = when
        self._kernel.timers[self] = None
        if self._entry is None or when < self._entry:
            self._enter(when)

    def stop(self) -> None:
        """Stop it; again, or one that has gone off: no effect."""
        self.when = None
        self._kernel.timers.pop(self, None)

    def _enter(self, when: int) -> None:
        # One entry serves many starts: nearly all timers are put off or stopped before they go off.
        self._entry = when
        self._kernel.background(when, self._look)

    def _look(self) -> None:
        now = self._kernel.now
        if self._entry != now:
            return  # it has been brought forward since
        self._entry = None
        if self.when is None:
            return
        if self.when > now:
            self._enter(self.when)
            return
        self.stop()
        self._act()
