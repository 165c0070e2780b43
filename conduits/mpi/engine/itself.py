"""Messages of a rank to itself: a copy, without the network.

A short one that comes before its receive is copied and kept, so that a program may send to itself first, as the eager
protocol of most libraries allows.  All that are kept are at most the device's limit; what is more waits for its
receive.
"""

from __future__ import annotations

from conduits.mpi.engine.device import IncomingMessage, Matching
from conduits.mpi.engine.transfer import Receive, Send


class ToItself:
    """What a rank sends to itself.

    Args:
        engine: the rank's.
        limit: bytes of unexpected messages that it keeps at most.

    Attributes:
        limit: bytes that it keeps at most.
        kept: bytes that it keeps now.
    """

    __slots__ = ("engine", "kept", "limit")

    def __init__(self, engine: Matching, limit: int) -> None:
        self.engine = engine
        self.limit = limit
        self.kept = 0

    def send(self, send: Send) -> None:
        """Send to the rank itself."""
        self.engine.arrive(_Own(self, send))


class _Own(IncomingMessage):
    __slots__ = ("_copy", "_itself", "_send")

    def __init__(self, itself: ToItself, send: Send) -> None:
        super().__init__(send.dest, send.context, send.source, send.tag, len(send.data), send.mode)
        self._itself = itself
        self._send = send
        self._copy: bytes | None = None

    def keep(self) -> None:
        engine, nbytes = self._itself.engine, self.nbytes
        if self._itself.kept + nbytes <= self._itself.limit:
            self._itself.kept += nbytes
            engine.charge(engine.host.copy_ticks(nbytes))
            self._copy = bytes(self._send.data)
            engine.sent(self._send)

    def deliver(self, receive: Receive) -> None:
        engine, room = self._itself.engine, receive.room
        engine.charge(engine.host.copy_ticks(room))
        if self._copy is None:
            receive.data[:room] = self._send.data[:room]
            engine.sent(self._send)
        else:
            receive.data[:room] = self._copy[:room]
            self._itself.kept -= self.nbytes
        if self.synchronous:
            engine.matched(self._send)
        engine.received(receive)
