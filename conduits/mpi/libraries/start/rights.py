"""Who may send by RDMA to one SMP, and when.  A state machine, no clock, no I/O.

All processes of an SMP share it, in their memory.  The NIU receives one transfer at a time, into the one system buffer
that there is for what comes.  A sender *asks* a process for the right to send; that process *grants* it, at a poll of
its own, and is committed from then on: it copies what comes until all of it is there.

Three tables say what may happen; whatever they do not hold is an error:

- `REQUESTS`, how a request (RTS) of another SMP gets on,
- `TIES`, which of two processes that want each other goes first: the lower rank, if it has asked already,
- `ENGINE`, how the receiving engine changes hands, with the system buffer for what comes.

A rank rests after a transfer where others of its SMP wait for the engine.  Else the rank that polls most often would
take it again each time, since a right is granted at a poll of the rank that it is for.

Why nothing deadlocks: a sender that has asked holds its data in a system buffer of its own SMP, or is filling it, and
needs no other rank for that.  So a granted transfer always completes, and the receiver committed to it continues.
A request is put off only by a transfer of a lower rank, which is not put off by the same pair.

Source: the paper, sections 2 and 4 (exclusive right, commitment, rendezvous, tie-breaking); "the lower rank sends
first" is assumed (sx.gap.tiebreak).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class RightState(Enum):
    """How far a request for the right to send has come."""

    REQUESTED = "requested"  # in the list; its bytes are in the sender's system buffer, or on their way into it
    PUT_OFF = "put off"  # a transfer the other way goes first
    GRANTED = "granted"  # the receiving engine and the system buffer for what comes belong to it
    EMPTIED = "emptied"  # the receiver has copied out all of it


class EngineState(Enum):
    """Who may be granted the receiving engine of an SMP."""

    FREE = "free"  # any rank of the SMP
    TAKEN = "taken"  # none: something is being received
    RESTING = "resting"  # any but the rank that had it last


REQUESTS: Mapping[tuple[RightState, str], RightState] = {
    # state, event: the next state
    (RightState.REQUESTED, "tie"): RightState.PUT_OFF,  # as it comes, by TIES
    (RightState.PUT_OFF, "sent"): RightState.REQUESTED,  # the transfer the other way has left
    (RightState.REQUESTED, "grant"): RightState.GRANTED,
    (RightState.GRANTED, "emptied"): RightState.EMPTIED,
}

TIES: Mapping[tuple[bool, bool], RightState] = {
    # whether the target has asked for the source too, whether the target is the lower rank: the request's first state
    (False, False): RightState.REQUESTED,
    (False, True): RightState.REQUESTED,
    (True, False): RightState.REQUESTED,  # the target's own request is put off, at the source
    (True, True): RightState.PUT_OFF,
}

ENGINE: Mapping[tuple[EngineState, str], EngineState] = {
    # state, event: the next state
    (EngineState.FREE, "grant"): EngineState.TAKEN,
    (EngineState.TAKEN, "emptied"): EngineState.FREE,
    (EngineState.TAKEN, "emptied, others wait"): EngineState.RESTING,
    (EngineState.RESTING, "grant"): EngineState.TAKEN,  # to another rank
    (EngineState.RESTING, "rested"): EngineState.FREE,
}


class RdmaRequest:
    """A rank's request to send (RTS) to a rank of this SMP.

    Attributes:
        source: the rank that sends.
        target: the rank that receives.
        receive: number of the receive, at the receiver.
        nbytes: how much.
        state: how far it has come.
    """

    __slots__ = ("nbytes", "receive", "source", "state", "target")

    def __init__(self, source: int, target: int, receive: int, nbytes: int) -> None:
        self.source = source
        self.target = target
        self.receive = receive
        self.nbytes = nbytes
        self.state = RightState.REQUESTED

    def move(self, event: str) -> None:
        """Go on to the next state; AssertionError where `REQUESTS` has none."""
        found = REQUESTS.get((self.state, event))
        if found is None:
            raise AssertionError(f"{event}: the request of {self.source} to {self.target} is {self.state.value}")
        self.state = found


class RdmaRights:
    """The rights of one SMP; all begins free.

    What holds between any two calls:

    - at most one transfer of the SMP has been asked for and not sent: there is one system buffer for what leaves,
    - at most one request is granted and not emptied, exactly while `engine` is taken,
    - a request is put off only while the transfer the other way, of the lower rank, is that which has been asked for.

    Attributes:
        engine: of what comes.
    """

    __slots__ = ("_asked", "_granted", "_requests", "_resting", "engine")

    def __init__(self) -> None:
        self._requests: list[RdmaRequest] = []  # not granted, in the order in which they came
        self._asked: tuple[int, int] | None = None  # source and target
        self._granted: RdmaRequest | None = None
        self._resting: int | None = None
        self.engine = EngineState.FREE

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
            if request.state is RightState.PUT_OFF:
                request.move("sent")

    # -- what they receive -----------------------------------------------------------------------------

    def request(self, request: RdmaRequest) -> None:
        """A rank of another SMP asks for one of this."""
        wanted = self._asked == (request.target, request.source)
        if TIES[wanted, request.target < request.source] is RightState.PUT_OFF:
            request.move("tie")
        self._requests.append(request)

    def grantable(self, rank: int) -> bool:
        """Return whether `rank` may grant one of the requests for it now."""
        return (self.engine, "grant") in ENGINE and rank != self._resting and self._first(rank) is not None

    def grant(self, rank: int) -> RdmaRequest | None:
        """Take the first request for `rank` that may begin, None where none may; the engine is its own from then on."""
        request = self._first(rank) if self.grantable(rank) else None
        if request is not None:
            request.move("grant")
            self._requests.remove(request)
            self._granted = request
            self._move("grant")
        return request

    def emptied(self, rank: int) -> bool:
        """`rank` has copied out what came; return whether it rests now, because there are requests for others."""
        if self._granted is None:
            raise AssertionError(f"rank {rank} ends what was not granted")
        self._granted.move("emptied")
        self._granted = None
        rests = any(each.target != rank and each.state is RightState.REQUESTED for each in self._requests)
        self._move("emptied, others wait" if rests else "emptied", rank)
        return rests

    def rested(self, rank: int) -> bool:
        """The time for which `rank` leaves the engine to others is over; return whether it still did."""
        if rank != self._resting:
            return False
        self._move("rested")
        return True

    def _first(self, rank: int) -> RdmaRequest | None:
        return next(
            (each for each in self._requests if each.target == rank and each.state is RightState.REQUESTED), None
        )

    def _move(self, event: str, rank: int | None = None) -> None:
        self.engine = ENGINE[self.engine, event]
        self._resting = rank if self.engine is EngineState.RESTING else None
