"""Transports with work of their own in a poll pass: retransmissions, acknowledgements that are due.

A network may do this only where its rank polls (rule P1), and it may take several events.  So a path notes that there
is something to do, and asks for a pass; the next `take` does that before it looks for a message, and is called again
when it is done:

    def take(self):
        if self.due:
            return self.begin_tending()
        ...                                                  as in other paths

    def tend(self):
        self.due = False
        ...
        yield self.send_again                                the acts of a chain (`conduit.simnet.chain`)

What tells of work in an event, such as a timer or an alarm of the hardware, calls `attend()`; what finds it within a
pass may set `due`, for `take` is called again in the same pass.
"""

from __future__ import annotations

from abc import abstractmethod

from conduit.contract import Message
from conduit.simnet.chain import Chain, Steps
from conduit.simnet.path import LATER, Path, PathPort


class TendedPath(Path):
    """A path with work of its own.

    Args:
        port: as for `Path`.

    Attributes:
        due: whether there is work for the next pass.
    """

    def __init__(self, port: PathPort) -> None:
        super().__init__(port)
        self.due = False

    def attend(self) -> None:
        """Ask for a poll pass that does the work there is."""
        self.due = True
        self.port.notify()

    @abstractmethod
    def tend(self) -> Steps:
        """Do the work there is, as the steps of a chain; `due` says at their end whether there is more."""

    def begin_tending(self) -> Message:
        """Begin the work, for `take` to return."""
        Chain(self.port.kernel, self.port.cpu, self.tend(), self.port.resume_pass)
        return LATER
