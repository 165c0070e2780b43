"""What messages between two hosts take while none is lost: the sums of docs/models/udp.md."""

from __future__ import annotations

from typing import Protocol

from conduit.contract import MessageCosts
from conduit.sim.units import ps, seconds
from conduit.simnet import header
from conduits.udp import constants as c
from conduits.udp.hardware import DATAGRAM, on_the_wire
from conduits.udp.machine import host_model
from conduits.udp.protocol.parts import PART
from conduits.udp.wire import SIZE

_POLL, _BOOK = c.ps(c.POLL), c.ps(c.BOOK)


class CostOptions(Protocol):
    """What costs depend on; see `conduits.udp.port.UdpOptions`."""

    @property
    def rate(self) -> float:
        """Of each link, bytes per second."""

    @property
    def window(self) -> int:
        """Datagrams without acknowledgement."""

    @property
    def slots(self) -> int:
        """Outstanding requests to one rank."""

    @property
    def rto(self) -> float:
        """Seconds until a datagram is sent again."""


class _Datagram:
    """What a datagram of some size takes, picoseconds.

    Attributes:
        send: of the sender's CPU.
        link: of each link.
        way: from the one CPU to the other.
        receive: of the receiver's CPU, besides the poll that finds it and the interrupt.
    """

    def __init__(self, nbytes: int, rate: float) -> None:
        copy = host_model().copy_ticks(nbytes)
        self.send = _BOOK + c.ps(c.SEND) + copy
        self.link = ps(on_the_wire(nbytes) / rate)
        self.way = 2 * (c.ps(c.ADAPTER) + self.link + c.ps(c.CABLE)) + c.ps(c.SWITCH) + c.ps(c.INTERRUPT)
        self.receive = _BOOK + c.ps(c.RECEIVE) + copy

    @property
    def whole(self) -> int:
        """From a sender that is ready to a receiver that polls."""
        return self.send + self.way + _POLL + self.receive


def off_host(options: CostOptions) -> MessageCosts | None:
    """Return what messages between two hosts cost.

    None where a window of full datagrams takes longer than `rto`: these are sent again although none is lost.  None
    also of a single slot, where what a request takes depends on how long ago the one before was.
    """
    least, full = (_Datagram(nbytes, options.rate) for nbytes in (SIZE + header.SIZE, DATAGRAM))
    bare = _Datagram(SIZE, options.rate)  # an acknowledgement alone
    together = -(-options.window // 2)  # datagrams that are acknowledged by one
    pace = max(full.link, c.ps(c.INTERRUPT) + full.receive + bare.send // together)
    window = full.whole + bare.whole + (together - 1) * pace  # until all of one are acknowledged
    if options.slots == 1 or options.window * pace + full.whole + bare.whole > ps(options.rto):
        return None
    own = bare.send if together == 1 else 0  # each datagram is acknowledged at once, before its message is handled
    start = c.ps(c.BUILD) + least.whole + c.ps(c.DISPATCH) + own // 2 + _POLL // 2
    limited = window > options.window * pace
    # The last part follows the acknowledgement of half a window.
    last = full.whole - least.whole - (full.link - least.link) + bare.send
    host = host_model()
    return MessageCosts(
        start=seconds(start),
        send=seconds(c.ps(c.BUILD) + least.send),
        receive=seconds(least.receive + c.ps(c.DISPATCH) + own),
        medium_byte=2 / options.rate + 2 / host.copy_bytes_per_s,
        long_start=seconds(start if limited else start + last),
        long_byte=(seconds(window) / options.window if limited else seconds(pace)) / PART,
        flight_bytes=options.window * PART,
        # What waits for others before it, and for its acknowledgement, longer than `rto` is sent again.
        crowd_bytes=(ps(options.rto) - full.whole - bare.whole) // pace * PART,
        poll=seconds(_POLL),
        interrupt=seconds(c.ps(c.INTERRUPT)),
        medium_send_byte=1 / host.copy_bytes_per_s,
        medium_receive_byte=1 / host.copy_bytes_per_s,
    )
