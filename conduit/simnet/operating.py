"""What a native one-sided call does between its beginning and its end, as events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from conduit.simnet.polling_call import PollingCall, PollingPort
from conduit.simnet.transport import Then

BeginChain: TypeAlias = Callable[[Then], object]
"""Begins a chain of events, which calls what it is given when it needs the CPU no more."""


class OperatingPort(PollingPort, Protocol):
    """What is seen here of a port, which is a `conduit.simnet.OneSidedPort`."""

    def run_chain(self, chain: BeginChain) -> None:
        """Begin the chain of events of a call, which has polled."""

    def unit_name(self) -> str:
        """Return the name of the class of the unit."""


class OperatingCall(PollingCall):
    """The native call of a rank that has the CPU's turn: it polls and runs its chain of events.

    Args:
        port: the rank's.

    Attributes:
        begun: whether events have begun the chain.  If it is true when the wait is over, the chain is over too.
    """

    __slots__ = ("_chain", "begun")

    _port: OperatingPort
    _chain: BeginChain

    def __init__(self, port: OperatingPort) -> None:
        super().__init__(port)
        self.begun = False

    def begin(self, chain: BeginChain) -> None:
        """Poll and run the chain when the CPU is free: now, or in an event then."""
        self._chain = chain
        self.done = self.shielded = self.begun = False
        kernel, free = self._port.kernel, self._port.cpu.free
        if free > kernel.now:
            kernel.call(free, self._when_free)
        else:
            self._poll()

    def _act(self) -> None:
        self.begun = True
        try:
            self._port.run_chain(self._chain)
        except Exception as error:
            self.begun, self.error = False, error
            if not self.done:
                self.wake()

    def _begun(self) -> str:
        return f"{self._port.unit_name()} called free() a second time; an operation calls it once"
