"""What a rank keeps of another: two streams that it sends, two that it receives, and what is arriving."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from conduit.sim.timer import Timer
from conduits.udp.driver import Socket
from conduits.udp.protocol.parts import Fragmentation, Reassembly
from conduits.udp.protocol.windows import ReceiveWindow, SendWindow
from conduits.udp.wire import DATA, REPLY


class DatagramStream:
    """What a rank sends to another of one kind: requests, or replies.

    Args:
        peer: the other.
        flags: DATA, with REPLY or without.
        window: of it.
        timer: goes off when something must be sent again; is given the stream.

    Attributes:
        backlog: messages of which not every part has left, in order.
    """

    __slots__ = ("backlog", "flags", "peer", "timer", "window")

    def __init__(self, peer: UdpPeer, flags: int, window: SendWindow, timer: Callable[[DatagramStream], Timer]) -> None:
        self.peer = peer
        self.flags = flags
        self.window = window
        self.backlog: deque[Fragmentation] = deque()
        self.timer = timer(self)

    def restart_timer(self) -> None:
        """Start the timer for the next retransmission that is due; stop it if there is none."""
        deadline = self.window.deadline()
        if deadline is None:
            self.timer.stop()
        else:
            self.timer.start(deadline)

    def may_send(self) -> bool:
        """Return whether there is a part that may leave."""
        return bool(self.backlog) and self.window.is_open()


class UdpPeer:
    """What a rank keeps of another, from the first datagram on.

    Args:
        rank: the other.
        socket: the other's.
        slots: outstanding requests to it.
        window: datagrams of a stream without acknowledgement.
        rto: picoseconds until one is sent again.
        timer: makes the timer of a stream.
        acknowledge: makes the timer of an acknowledgement that nothing carries.

    Attributes:
        free: unused slots.
        requests, replies: what is sent there.
        received: the receive windows of its requests and of its replies.
        arriving: messages of which not every part has, by (reply or not, slot).
        unacknowledged: datagrams that have arrived since the last acknowledgement.
    """

    __slots__ = (
        "acknowledge",
        "arriving",
        "free",
        "rank",
        "received",
        "replies",
        "requests",
        "slots",
        "socket",
        "unacknowledged",
    )

    def __init__(
        self,
        rank: int,
        socket: Socket,
        slots: int,
        window: int,
        rto: int,
        timer: Callable[[DatagramStream], Timer],
        acknowledge: Callable[[UdpPeer], Timer],
    ) -> None:
        self.rank = rank
        self.socket = socket
        self.slots = slots
        self.free = list(range(slots - 1, -1, -1))
        self.requests = DatagramStream(self, DATA, SendWindow(window, rto), timer)
        self.replies = DatagramStream(self, DATA | REPLY, SendWindow(window, rto), timer)
        self.received = (ReceiveWindow(), ReceiveWindow())
        self.arriving: dict[tuple[int, int], Reassembly] = {}
        self.unacknowledged = 0
        self.acknowledge = acknowledge(self)

    @property
    def streams(self) -> tuple[DatagramStream, DatagramStream]:
        """Both streams that are sent."""
        return self.requests, self.replies

    def close(self) -> None:
        """Stop all timers."""
        for timer in (self.requests.timer, self.replies.timer, self.acknowledge):
            timer.stop()
