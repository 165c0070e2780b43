"""Storing packets into the NIU, one after the other, as a chain of events on the sender's processor.

For each packet: take the lock of the NIU, store, leave it.  Packets of high priority wait for room in
the transmit queue, which the network always makes, and hold the RDMA engine between two pieces, because
it and they may not be at work at once.  Packets of low priority have room set aside for them.

Other sends are generators (`conduit.simnet.chain`).  This one is written as callbacks because every short message uses
it: a callback continues in the same event if the engine, the room or the lock is free, where a chain takes one more.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from conduit.sim import Cpu, Kernel
from conduit.simnet.transport import Then
from conduits.startx.driver import HIGH, LOCK_PS, StartXProcess
from conduits.startx.hardware import Niu
from conduits.startx.protocol.smp import Smp

Packet: TypeAlias = "tuple[int, bytes]"
"""Tag and payload."""


class SendingTransport(Protocol):
    """The sender's end of the network, as its sends know it; `StartXTransport` says what each is."""

    rank: int
    cpu: Cpu
    kernel: Kernel
    driver: StartXProcess
    niu: Niu
    smp: Smp
    packets_sent: int


class PacketSend:
    """Some packets to one host; one serves all sends of a rank, which is in one at a time.

    Args:
        transport: the sender.

    Attributes:
        rank: its rank, for errors.
    """

    __slots__ = ("_driver", "_packets", "_priority", "_target", "_then", "_transport", "rank")

    _packets: list[Packet]
    _priority: int
    _target: int
    _then: Then

    def __init__(self, transport: SendingTransport) -> None:
        self._transport = transport
        self._driver = transport.driver
        self.rank = transport.rank

    def begin(self, priority: int, target: int, packets: list[Packet], then: Then) -> None:
        """Begin now.

        Args:
            priority: `LOW` or `HIGH`.
            target: the host.
            packets: what to send, at least one; used up.
            then: called in the event of the last store; the processor is busy until `cpu.free`.
        """
        self._priority = priority
        self._target = target
        self._packets = packets
        self._then = then
        if priority:
            self._driver.hold(self._next)
        else:
            self._next()

    def _next(self) -> None:
        transport = self._transport
        if self._priority and not self._driver.room(HIGH):
            transport.niu.when_room(HIGH, self._next)
            return
        lock = transport.smp.lock
        if lock is None:
            self._store(0)
            self._go_on()
        else:
            lock.take(self._locked)

    def _locked(self) -> None:
        lock = self._transport.smp.lock
        assert lock is not None
        if self._priority and not self._driver.room(HIGH):  # somebody else was faster
            lock.leave(self._transport.kernel.now)
            self._transport.niu.when_room(HIGH, self._next)
            return
        self._store(LOCK_PS)
        lock.leave(self._transport.cpu.free)  # before what comes then, which may take long
        self._go_on()

    def _store(self, after: int) -> None:
        transport = self._transport
        tag, payload = self._packets.pop(0)
        transport.cpu.free = transport.kernel.now + after + self.store(tag, payload, after)

    def _go_on(self) -> None:
        """Store the next packet when the processor is free, or end."""
        transport = self._transport
        if self._packets:
            transport.kernel.call(transport.cpu.free, self._next)
            return
        if self._priority:
            self._driver.release(transport.cpu.free)
        then = self._then
        then()

    def store(self, tag: int, payload: bytes, after: int) -> int:
        """Store one packet, beginning `after` picoseconds from now; return how long that takes."""
        transport = self._transport
        transport.packets_sent += 1
        took = self._driver.send(self._priority, self._target, tag, payload, after)
        if not self._priority:
            transport.smp.give_back(1)
        return took
