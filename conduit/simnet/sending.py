"""What a request does between its call and the end of its send, as events: its task goes on once, when all is over.

A request polls, takes a slot and sends, each when the CPU is free.  A step of its task for each would cost far more
than an event.  So events do it as long as nothing is in the way.  Where a layer wants to send first, another task of
the rank may be ready, or no slot is free, the task goes on and does the rest itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from conduit.contract import Core, Message
from conduit.sim import Cpu, Kernel, Waiter
from conduit.simnet.blocked import BlockedQueue
from conduit.simnet.transport import Transport


class RequestingPort(Protocol):
    """What is seen here of a port, which is a `conduit.simnet.SimulatedPort`."""

    rank: int
    kernel: Kernel
    cpu: Cpu
    core: Core
    blocked: BlockedQueue

    def begin_poll(self, after: Callable[[], object]) -> bool:
        """Poll: begin a pass, which ends with `after()`, or return False where there is nothing."""

    def transport_to(self, dest: int) -> Transport:
        """Return the transport that messages to `dest` take."""


class SendingRequest(Waiter):
    """The request of a rank that has the CPU's turn; one serves all, since there is one at a time.

    Args:
        port: the rank's.
        network: the one transport of the port; None where it has several.

    Attributes:
        rank: the rank, for errors of events.
        sent: whether events have begun the send.  If it is true when the wait is over, the send is over too.
        refused: whether no slot was free.
        error: what kept the message from being sent.
        network: as given.
        over: called when the send is over: `wake`.
    """

    __slots__ = (
        "_begin", "_dest", "_go_on", "_message", "_port", "error", "network", "over", "rank", "refused", "sent",
    )  # fmt: skip

    _dest: int
    _message: Message

    def __init__(self, port: RequestingPort, network: Transport | None = None) -> None:
        super().__init__()
        self.shielded = True  # `begin` lifts it until the poll: so long a request can be cancelled (S2)
        self._port = port
        self.rank = port.rank
        self.sent = self.refused = False
        self.error: Exception | None = None
        self.network = network
        # Made once, since every message needs them.
        self._begin, self._go_on, self.over = self._poll, self._polled, self.wake

    def abandon(self) -> None:
        """The wait was cancelled before the poll: the event that was to make it does nothing."""
        super().abandon()
        self.done = True

    def begin(self, dest: int, message: Message) -> None:
        """Poll and send when the CPU is free: now, or in an event then."""
        self._dest = dest
        self._message = message
        self.done = self.shielded = self.sent = self.refused = False
        port = self._port
        free = port.cpu.free
        if free > port.kernel.now:
            port.kernel.call(free, self._begin)
        else:
            self._poll()

    def _poll(self) -> None:
        """Poll when the CPU is free, and then send."""
        port = self._port
        kernel, free = port.kernel, port.cpu.free
        if self.done:
            return
        if free > kernel.now:  # it was interrupted
            kernel.call(free, self._begin)
        elif kernel.ending:
            self.wake()
        else:
            self.shielded = True
            if not port.begin_poll(self._go_on):
                self._send()

    def _polled(self) -> None:
        """The pass is over: send, unless something comes before."""
        port = self._port
        if port.blocked or port.core.progress_due or port.kernel.ending:
            self.wake()
        else:
            self._send()

    def _send(self) -> None:
        """Take a slot and send, now; from the slot on no cancellation (S2)."""
        self.sent = True
        dest, blocked = self._dest, self._port.blocked
        transport = self.network or self._port.transport_to(dest)
        try:
            slot = None if blocked and dest in blocked.heads else transport.acquire(dest)
            if slot is not None:
                transport.send_request(dest, slot, self._message, self.over)
                return
            self.refused = True
        except Exception as error:
            self.error = error
        self.sent = False
        self.wake()
