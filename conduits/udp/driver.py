"""A process's use of UDP: one socket, on which it sends and receives datagrams of at most 1472 bytes.

Calls are system calls, which the caller's CPU pays for.  What arrives interrupts the rank's CPU, whatever that does;
then it is in the socket's buffer, unless that is full: then it is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conduit.sim import Kernel
from conduit.sim.queues import TailDrop
from conduit.simnet import HostModel
from conduits.udp import constants as c
from conduits.udp.hardware import DATAGRAM, Ethernet

POLL_PS = c.ps(c.POLL)
_SEND_PS = c.ps(c.SEND)
_RECEIVE_PS = c.ps(c.RECEIVE)
_INTERRUPT_PS = c.ps(c.INTERRUPT)


class Socket:
    """One process's socket.

    Args:
        kernel: the job's time.
        network: what carries datagrams.
        host: on which it is.
        model: what copies cost there.
        room: bytes of its receive buffer.

    Attributes:
        buffer: datagrams that have arrived.
        interrupt: given picoseconds, takes the CPU for as long and returns when that is over; set by its opener.
        arrived: is called when the buffer has got a datagram; set by its opener.
        sent, received: datagrams, the latter those that the process has taken.
    """

    def __init__(self, kernel: Kernel, network: Ethernet, host: int, model: HostModel, room: int) -> None:
        self._kernel = kernel
        self._network = network
        self._model = model
        self.host = host
        self.buffer: TailDrop[bytes] = TailDrop(room)
        self.interrupt: Callable[[int], int] = lambda ticks: kernel.now + ticks
        self.arrived: Callable[[], object] = lambda: None
        self.sent = self.received = 0

    def send_ps(self, nbytes: int) -> int:
        """Return what `send` costs the CPU before it acts, picoseconds."""
        return _SEND_PS + self._model.copy_ticks(nbytes)

    def receive_ps(self, nbytes: int) -> int:
        """Return what `receive` of a datagram of `nbytes` costs, picoseconds."""
        return _RECEIVE_PS + self._model.copy_ticks(nbytes)

    def send(self, to: Socket, datagram: bytes) -> None:
        """Give a datagram to the adapter, in an event, once the CPU has spent `send_ps`.

        Raises:
            ValueError: it does not fit one frame.
        """
        if len(datagram) > DATAGRAM:
            raise ValueError(f"a datagram of {len(datagram)} bytes does not fit a frame; send at most {DATAGRAM}")
        self.sent += 1
        self._network.send(self.host, to.host, len(datagram), partial(to._come, datagram))

    def receive(self) -> bytes | None:
        """Take the datagram that has been in the buffer longest; None where it is empty."""
        if not self.buffer:
            return None
        self.received += 1
        return self.buffer.get()

    def _come(self, datagram: bytes) -> None:
        """A frame is in the host's memory."""
        end = self.interrupt(_INTERRUPT_PS)
        self._kernel.at(end, self._store, datagram)

    def _store(self, datagram: bytes) -> None:
        if self.buffer.put(datagram, len(datagram)):
            self.arrived()
