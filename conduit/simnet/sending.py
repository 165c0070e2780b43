"""What a request does between its call and the end of its send, as events: its task goes on once, when all is over.

A request polls, takes a slot and sends, each when the CPU is free.  A step of its task for each would cost far more
than an event.  So events do it as long as nothing is in the way.  Where a layer wants to send first, another task of
the rank may be ready, or no slot is free, the task goes on and does the rest itself.
"""

from __future__ import annotations

from typing import Protocol

from conduit.contract import Message
from conduit.simnet.polling_call import PollingCall, PollingPort
from conduit.simnet.transport import Transport


class RequestingPort(PollingPort, Protocol):
    """What is seen here of a port, which is a `conduit.simnet.SimulatedPort`."""

    _attention: bool

    def transport_to(self, dest: int) -> Transport:
        """Return the transport that messages to `dest` take."""

    def transport_names(self) -> str:
        """Return the classes of the transports."""


class SendingRequest(PollingCall):
    """The request of a rank that has the CPU's turn: it polls, takes a slot and sends.

    Args:
        port: the rank's.
        network: the one transport of the port; None where it has several.

    Attributes:
        sent: whether events have begun the send.  If it is true when the wait is over, the send is over too.
        refused: whether no slot was free; who reads it sets it back.
        began: where `begin` has polled at once, the kernel's time before it.
        network: as given.
    """

    __slots__ = ("_blocked", "_dest", "_message", "began", "network", "refused", "sent")

    _port: RequestingPort
    _dest: int
    _message: Message
    began: int

    def __init__(self, port: RequestingPort, network: Transport | None = None) -> None:
        super().__init__(port)
        self.sent = self.refused = False
        self.network = network
        self._blocked = port.blocked

    def begin(self, dest: int, message: Message) -> None:
        """Poll and send when the CPU is free: now, or in an event then."""
        self._dest = dest
        self._message = message
        self.done = self.shielded = self.sent = False
        port = self._port
        kernel = port.kernel
        free = port.cpu.free
        now = kernel.now
        if free > now and not (port._attention and kernel.advance(free)):
            kernel.call(free, self._when_free)
        else:
            self.began = now
            self._poll()

    def _act(self) -> None:
        """Take a slot and send, now; from the slot on no cancellation (S2)."""
        self.sent = True
        dest = self._dest
        transport = self.network or self._port.transport_to(dest)
        try:
            slot = None if self._blocked and dest in self._blocked.heads else transport.acquire(dest)
            if slot is not None:
                transport.send_request(dest, slot, self._message, self.over)
                return
            self.refused = True
        except Exception as error:
            self.error = error
        self.sent = False
        if not self.done:
            self.wake()

    def _begun(self) -> str:
        return f"{self._port.transport_names()}.send_request called then() a second time; a send ends once"
