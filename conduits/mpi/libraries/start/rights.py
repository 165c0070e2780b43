"""Who may send by RDMA to one SMP, and when.  A state machine, no clock, no I/O.

All processes of an SMP share it, in their memory.  The NIU receives one transfer at a time, into the one system buffer
that there is for what comes.  A sender *asks* a process for the right to send; that process *grants* it, at a poll of
its own, and is committed from then on: it copies what comes until all of it is there.

A request of another SMP goes through these states:

    requested  it is in the list, and its bytes are in the sender's system buffer, or on their way into it
    granted    the receiving engine and the system buffer for what comes belong to it (`taken`)
    emptied    the receiver has copied out all of it: engine and buffer are free

A request may be *put off*: where two processes want each other the lower rank goes first, if it has asked, and the
other's request waits until that transfer has left.

Why nothing deadlocks: a sender that has asked holds its data in a system buffer of its own SMP, or is filling it, and
needs no other rank for that.  So a granted transfer always completes, and the receiver committed to it continues.
A request is put off only by a transfer of a lower rank, which is not put off by the same pair.

Source: the paper, sections 2 and 4 (exclusive right, commitment, rendezvous, tie-breaking); "the lower rank sends
first" is assumed (sx.gap.tiebreak).
"""

from __future__ import annotations


class RdmaRequest:
    """A rank's request to send (RTS) to a rank of this SMP.

    Attributes:
        source: the rank that sends.
        target: the rank that receives.
        receive: number of the receive, at the receiver.
        nbytes: how much.
        put_off: whether a transfer the other way goes first.
    """

    __slots__ = ("nbytes", "put_off", "receive", "source", "target")

    def __init__(self, source: int, target: int, receive: int, nbytes: int) -> None:
        self.source = source
        self.target = target
        self.receive = receive
        self.nbytes = nbytes
        self.put_off = False


class RdmaRights:
    """The rights of one SMP; all begins free.

    Attributes:
        taken: whether something is being received.
        resting: the rank that leaves the engine to others for a while, None where none does.
    """

    __slots__ = ("_asked", "_requests", "resting", "taken")

    def __init__(self) -> None:
        self._requests: list[RdmaRequest] = []
        self._asked: tuple[int, int] | None = None
        self.taken = False
        self.resting: int | None = None

    # -- what ranks of this SMP send -----------------------------------------------------------------

    @property
    def sending(self) -> bool:
        """Whether the system buffer for what leaves is in use."""
        return self._asked is not None

    def ask(self, source: int, target: int) -> None:
        """Rank `source` of this SMP asks for rank `target` of another one; the system buffer is its own."""
        if self._asked is not None:
            raise AssertionError(f"rank {self._asked[0]} has asked already, for rank {self._asked[1]}")
        self._asked = source, target

    def sent(self) -> None:
        """The last byte has left: the system buffer is free, and what the transfer put off may begin."""
        self._asked = None
        for request in self._requests:
            request.put_off = False

    # -- what they receive -----------------------------------------------------------------------------

    def request(self, request: RdmaRequest) -> None:
        """A rank of another SMP asks for one of this."""
        request.put_off = request.target < request.source and self._asked == (request.target, request.source)
        self._requests.append(request)

    def grantable(self, rank: int) -> bool:
        """Return whether `rank` may grant one of the requests for it now."""
        return not self.taken and rank != self.resting and self._first(rank) is not None

    def grant(self, rank: int) -> RdmaRequest | None:
        """Take the first request for `rank` that may begin, None where none may; the engine is its own from then on."""
        request = self._first(rank) if self.grantable(rank) else None
        if request is not None:
            self._requests.remove(request)
            self.taken = True
            self.resting = None
        return request

    def emptied(self, rank: int) -> bool:
        """`rank` has copied out what came; return whether it rests now, because there are requests for others."""
        if not self.taken:
            raise AssertionError(f"rank {rank} ends what was not granted")
        self.taken = False
        rests = any(request.target != rank and not request.put_off for request in self._requests)
        self.resting = rank if rests else None
        return rests

    def _first(self, rank: int) -> RdmaRequest | None:
        return next((request for request in self._requests if request.target == rank and not request.put_off), None)
