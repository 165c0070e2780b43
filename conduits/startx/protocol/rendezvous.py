"""The rendezvous of one NIU: who may send to whom by RDMA, and when.  A state machine, no clock, no I/O.

All NIUs run the same one, kept in the memory that the processes of the SMP share.  A transfer goes
through these states:

    requested  the sender has sent the RTS; its bytes wait in a pinned buffer
    granted    the CTS has been sent: the receiving engine and the receiver's buffer belong to this transfer
    arrived    all bytes are in the buffer: the engine is free, the buffer is not yet
    emptied    the receiver has copied them out: the buffer is free

A requested transfer may be *deferred* (`put_off`): the receiver's rank has itself sent an RTS to the sender's rank, has
the lower number, and goes first.  `_NEXT` has the transitions; any other event is an error.

Grants go to the request that came first among those that could begin: the engine is free, the buffer of
their receiver is free, and they are not put off.

Why nothing deadlocks: a granted transfer needs no processor and waits for nothing but its sender's
engine, which works on granted transfers only.  A request is put off by a transfer of a lower rank alone, and
such a transfer is not put off by the same pair; so chains of waiting have one link.

Why none starves: a request is put off at most once, when it comes, and by a transfer that has been asked
for; and what came later is granted before it only while it cannot begin.

Source: the paper, sections 2 and 4 (exclusive right, rendezvous, tie-breaking); the rule "the lower rank
sends first" is assumed (sx.gap.tiebreak).
"""

from __future__ import annotations

from enum import Enum


class TransferState(Enum):
    """How far a transfer to a rank of this NIU has come."""

    REQUESTED = 0
    GRANTED = 1
    ARRIVED = 2
    EMPTIED = 3


_NEXT = {
    ("grant", TransferState.REQUESTED): TransferState.GRANTED,
    ("arrived", TransferState.GRANTED): TransferState.ARRIVED,
    ("emptied", TransferState.ARRIVED): TransferState.EMPTIED,
}


class TransferRequest:
    """A rank's request to send (RTS) something to a rank of this NIU.

    Attributes:
        source: the rank that sends.
        target: the rank that receives.
        channel: of the sender's NIU.
        nbytes: how much.
        place: for the transport's own use.
        put_off: the channels here with transfers the other way, which go first.
        state: how far the transfer has come.
    """

    __slots__ = ("channel", "nbytes", "place", "put_off", "source", "state", "target")

    def __init__(self, source: int, target: int, channel: int, nbytes: int, place: object = None) -> None:
        self.source = source
        self.target = target
        self.channel = channel
        self.nbytes = nbytes
        self.place = place
        self.put_off: set[int] = set()
        self.state = TransferState.REQUESTED

    def move(self, event: str) -> None:
        """Go on to the next state; AssertionError where `_NEXT` has none."""
        found = _NEXT.get((event, self.state))
        if found is None:
            raise AssertionError(f"{event}: the transfer from {self.source} to {self.target} is {self.state.name}")
        self.state = found


class Rendezvous:
    """The rendezvous of one NIU; all begins free.

    Attributes:
        grantable: whether `grant` would give one now.
        booked: the request that has been granted and has not arrived yet.
        put_off: how many requests have been put off so far.
    """

    __slots__ = ("_asked", "_requests", "_taken", "booked", "grantable", "put_off")

    def __init__(self) -> None:
        self._requests: list[TransferRequest] = []
        self._asked: dict[int, tuple[int, int]] = {}  # source and target, by channel
        self._taken: dict[int, TransferRequest] = {}  # granted and not emptied, by receiver
        self.booked: TransferRequest | None = None
        self.grantable = False
        self.put_off = 0

    # -- what ranks of this NIU send -------------------------------------------------------------

    def asked(self, channel: int, source: int, target: int) -> None:
        """Rank `source` of this NIU has asked for rank `target` of another one, for what it has in `channel`."""
        if channel in self._asked:
            raise AssertionError(f"channel {channel} has asked already, for {self._asked[channel]}")
        self._asked[channel] = (source, target)

    def sent(self, channel: int) -> None:
        """The transfer of `channel` is over: the last byte has left; what it put off may begin."""
        del self._asked[channel]
        for request in self._requests:
            request.put_off.discard(channel)
        self._look()

    # -- what they receive -------------------------------------------------------------------------

    def request(self, request: TransferRequest) -> None:
        """A rank of another NIU asks for one of this."""
        if request.target < request.source:
            other_way = (request.target, request.source)
            request.put_off = {channel for channel, asked in self._asked.items() if asked == other_way}
            self.put_off += bool(request.put_off)
        self._requests.append(request)
        self._look()

    def grant(self) -> TransferRequest | None:
        """Take the request that may begin now, None if there is none; engine and buffer are its own from here on."""
        found = self._first()
        if found is not None:
            found.move("grant")
            self._requests.remove(found)
            self.booked = self._taken[found.target] = found
        self.grantable = False
        return found

    def arrived(self) -> None:
        """All of what was granted is in its buffer: the engine is free."""
        if self.booked is None:
            raise AssertionError("nothing has been granted")
        self.booked.move("arrived")
        self.booked = None
        self._look()

    def emptied(self, rank: int) -> None:
        """`rank` has copied out what arrived for it: its buffer is free."""
        self._taken.pop(rank).move("emptied")
        self._look()

    @property
    def waiting(self) -> int:
        """How many requests have not been granted."""
        return len(self._requests)

    def _first(self) -> TransferRequest | None:
        if self.booked is not None:
            return None
        return next(
            (request for request in self._requests if not request.put_off and request.target not in self._taken), None
        )

    def _look(self) -> None:
        self.grantable = self._first() is not None
