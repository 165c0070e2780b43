"""A call that has the CPU's turn, polls and then acts, as events: its task goes on once, when all is over.

A step of the task for each would cost far more than an event.  So events do it as long as nothing is in the way.  Where
a layer wants to send first, or another task of the rank may be ready, the task goes on and does the rest itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

from conduit.contract import Core
from conduit.errors import ConduitError
from conduit.sim import Cpu, Kernel, Waiter
from conduit.simnet.blocked import BlockedQueue


class PollingPort(Protocol):
    """What is seen here of a port, which is a `conduit.simnet.SimulatedPort`."""

    rank: int
    kernel: Kernel
    cpu: Cpu
    core: Core
    blocked: BlockedQueue

    def begin_poll(self, after: Callable[[], object]) -> bool:
        """Poll: begin a pass, which ends with `after()`, or return False where there is nothing."""


class PollingCall(Waiter):
    """A call of a rank that polls and then acts; one serves all of its kind, since there is one at a time.

    Who begins it sets `done` and `shielded` to False and then calls `_poll`, now or, by `_when_free`, when the CPU is
    free.

    Args:
        port: the rank's.

    Attributes:
        rank: the rank, for errors of events.
        error: what kept it from acting.
        over: called when it is over: `wake`.
    """

    __slots__ = ("_abandoned", "_go_on", "_port", "_when_free", "error", "over", "rank")

    def __init__(self, port: PollingPort) -> None:
        super().__init__()
        self.shielded = True  # lifted until the poll: so long a call can be cancelled (S2)
        self._port = port
        self.rank = port.rank
        self.error: Exception | None = None
        self._abandoned = False
        # Made once, since every call needs them.
        self._when_free, self._go_on, self.over = self._poll, self._polled, self.wake

    def abandon(self) -> None:
        """The wait was cancelled before the poll, or by another run that has the task: no call has this one again.

        The event that was to make the poll does nothing, and a send that has begun ends unheard.
        """
        super().abandon()
        self.done = self._abandoned = True

    def again(self) -> None:
        """What it has begun says a second time that it is over: the next call would end too early by that."""
        if not (self._abandoned or self._port.kernel.ending):  # all waits have been ended then
            raise ConduitError(f"rank {self.rank}, {self._begun()}")

    @abstractmethod
    def _begun(self) -> str:
        """Return what has said so, and what it has called."""

    def _poll(self) -> None:
        """Poll when the CPU is free, and then act."""
        port = self._port
        kernel = port.kernel
        free = port.cpu.free
        if self.done:
            return
        if free > kernel.now:  # it was interrupted
            kernel.call(free, self._when_free)
        elif kernel.ending:
            self.wake()
        else:
            self.shielded = True
            if not port.begin_poll(self._go_on):
                self._act()

    def _polled(self) -> None:
        """The pass is over: act, unless something comes before."""
        port = self._port
        if port.blocked or port.core.progress_due or port.kernel.ending:
            self.wake()
        else:
            self._act()

    @abstractmethod
    def _act(self) -> None:
        """Begin what the call is for, now; no cancellation from here on."""
