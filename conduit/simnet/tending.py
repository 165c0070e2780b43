"""Transports with work of their own in a poll pass: retransmissions, acknowledgements that are due, repairs.

On a real machine the rank's processor does this, and only where it is in a call of the library (rule P1).  So no timer
may do it in the background: a transport notes that there is work, and asks for a pass.  The work may take several
events.  The next `take` begins it before it looks for a message, and is called again when it is done:

    def take(self):
        if self.work_due:
            return self.begin_work()
        ...                                                  as in other transports

    def work(self):
        self.work_due = False
        ...
        yield self.send_again                                the acts of a chain (`conduit.simnet.chain`)

An event that finds work, such as a timer or an alarm of the hardware, calls `request_work()`.  What finds work within a
pass may just set `work_due`, for `take` is called again in the same pass.
"""

from __future__ import annotations

from abc import abstractmethod

from conduit.contract import Message
from conduit.simnet.chain import Chain, Steps
from conduit.simnet.transport import LATER, Transport, TransportPort


class TransportWithWork(Transport):
    """A transport with work of its own.

    Args:
        port: as for `Transport`.

    Attributes:
        work_due: whether there is work for the next pass.
    """

    def __init__(self, port: TransportPort) -> None:
        super().__init__(port)
        self.work_due = False

    def request_work(self) -> None:
        """Ask for a poll pass that does the work there is."""
        self.work_due = True
        self.port.notify()

    @abstractmethod
    def work(self) -> Steps:
        """Do the work there is, as the steps of a chain; `work_due` says at their end whether there is more."""

    def begin_work(self) -> Message:
        """Begin the work, for `take` to return."""
        Chain(self.port.kernel, self.port.cpu, self.work(), self.port.resume_pass)
        return LATER
