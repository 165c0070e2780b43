"""One collective call of one rank, as its algorithm sees it and as messages find it.

An algorithm is a generator: it posts receives and sends, which return at once, and yields a receive to wait for it.
Any poll carries it on, so any number of calls may be under way in one rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from extended.collectives import signature as signatures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    import conduit
    from extended.collectives.operands import ResultBuffer
    from extended.collectives.operators import Operator
    from extended.collectives.signature import Signature, Words
    from extended.collectives.staging import Staged, StagingSlots
    from extended.topology import Topology

    Array = npt.NDArray[Any]
    Bytes = npt.NDArray[np.uint8]
    Steps = Iterator["CollectiveWait"]
    MatchKey = tuple[int, int]  # the peer, a rank of the job, and a tag: by these a send and its receive match


class CollectiveWait:
    """What an algorithm waits for by yielding it.

    Attributes:
        done: whether it has come.
    """

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False


class PostedReceive(CollectiveWait):
    """Bytes that one rank is to send to this one.

    Attributes:
        into: where they go.
        missing: how many have not come yet.
        window: the slots that they come through, None where there are none.
    """

    __slots__ = ("into", "missing", "window")

    def __init__(self, into: memoryview) -> None:
        super().__init__()
        self.into = into
        self.missing = len(into)
        self.window: StagingSlots | None = None

    def take(self, payload: memoryview | bytes, start: int) -> None:
        """Store a part of them."""
        self.into[start : start + len(payload)] = payload
        self.arrived(len(payload))

    def arrived(self, nbytes: int) -> None:
        """Count bytes that are in place."""
        self.missing -= nbytes
        self.done = not self.missing


class Head(CollectiveWait):
    """The first message of a broadcast or scatter on a rank that is not its root.

    Attributes:
        words: its signature, with the root's description.
        payload: the data, if that was small enough to come along, or the description, if that is long.
    """

    __slots__ = ("_missing", "_pieces", "payload", "words")

    def __init__(self) -> None:
        super().__init__()
        self.words: Words = ()
        self.payload = b""
        self._pieces = bytearray()  # of a long description
        self._missing = 0  # bytes of it

    def take(self, words: Words, payload: memoryview) -> None:
        """Store the message, or one of those that a long description comes in, in any order."""
        if not signatures.flags_of(words) & signatures.ELSEWHERE:
            self.words, self.payload, self.done = words, bytes(payload), True
            return
        at, nbytes = signatures.piece_of(words)
        if not self.words:
            self.words, self._pieces, self._missing = words, bytearray(nbytes), nbytes
        self._pieces[at : at + len(payload)] = payload
        self._missing -= len(payload)
        if not self._missing:
            self.payload, self.done = bytes(self._pieces), True


class UnexpectedMessages:
    """The unexpected messages of one call of a team, which this rank may not have made yet.

    Attributes:
        arrived: small (eager) data that came before its receive was posted.
        cleared: clears to send that came before the send: by rank and tag, where large data is to land in the rank's
            segment, -1 for nowhere.
        head: the first message of a broadcast or scatter.
        seen: signatures that came before this rank's own, each with a rank that sent it.
    """

    __slots__ = ("arrived", "cleared", "head", "seen")

    def __init__(self) -> None:
        self.arrived: dict[MatchKey, bytes] = {}
        self.cleared: dict[MatchKey, int] = {}
        self.head = Head()
        self.seen: dict[Words, tuple[int, Words]] = {}


class Work:
    """The memory that a call works on.

    Attributes:
        given: this rank's contribution; None where it has none.  Reductions have flat arrays of the dtype, all else
            bytes: flat, or a row for each rank.
        made: the result in the same form; None where this rank gets none, or does not know its size yet.
        operator: of a reduction.
        result: gives what the caller gets.
        accept: given this, makes `result` and `made` by the root's description, on the other ranks of broadcast and
            scatter; it does not hold this, which would be a cycle.
        heads_from: gives the ranks of the team that may send this one the first message of a broadcast or scatter.
        description: the root's.
        number: whether the root gave a number.
        refused: why `out` cannot take the result; this rank takes part all the same, since others depend on it.
    """

    __slots__ = ("accept", "description", "given", "heads_from", "made", "number", "operator", "refused", "result")

    def __init__(
        self,
        given: Array | None = None,
        made: Array | None = None,
        operator: Operator | None = None,
        result: ResultBuffer | None = None,
    ) -> None:
        self.given = given
        self.made = made
        self.operator = operator
        self.result = result
        self.accept: Callable[[Work, bytes, bool], None] | None = None
        self.heads_from: Callable[[], Iterable[int]] = tuple
        self.description = b""
        self.number = False
        self.refused: conduit.BadRequest | None = None


_NO_WORK = Work()


class SendReceive(Protocol):
    """How calls send and receive: `extended.collectives.send_queue.SendQueue`.

    Attributes:
        eager_bytes: the largest data that is sent at once.
    """

    eager_bytes: int

    def send(self, call: CollectiveCall, dest: int, data: memoryview, tag: int) -> None:
        """Post a send of a call."""

    def send_head(self, call: CollectiveCall, dest: int, data: memoryview | None) -> None:
        """Post the first message of a broadcast or scatter."""

    def receive(self, call: CollectiveCall, source: int, into: memoryview, tag: int) -> PostedReceive:
        """Post a receive of a call."""

    def charge(self, flops: int, copied: int) -> None:
        """Add work to what this rank's CPU does."""


class CollectiveCall:
    """One collective call of one rank.

    Attributes:
        team: the team's two arguments in every message.
        members: the team's ranks in the job.
        sequence: its number among the calls of its team.
        signature: what its messages say of it.
        text: the call as a user would write it.
        kind: its name.
        root: the root's rank in the team.
        rank: this rank in the team.
        size: number of ranks of the team.
        topology: which of them share a host.
        work: the memory that it works on.
        is_done: whether it is over for this rank, well or not.
        error: what ended it early.
        failed: whether that came out of this rank's own work, so that other ranks wait in vain.
        waited: whether its caller waits for it, who is to hear of an error before the other ranks do.
        value: what its caller gets.
        in_turn: whether receives posted ahead may be from ranks that wait for this one; `missing` names only the
            awaited one then.
    """

    def __init__(
        self,
        post: SendReceive,
        team: tuple[int, int],
        members: Sequence[int],
        topology: Topology,
        rank: int,
        sequence: int,
        signature: Signature,
        work: Work,
    ) -> None:
        self._post = post
        self.team = team
        self.members = members
        self.sequence = sequence
        self.signature = signature
        self.text = signatures.named(signature.words)
        self.kind = signatures.CALLS[signature.words[0] & 31]
        self.root = signature.words[1]
        self.rank = rank
        self.size = topology.size
        self.topology = topology
        self.work = work
        self.is_done = False
        self.error: BaseException | None = None
        self.failed = False
        self.waited = False
        self.value: Any = None
        self.in_turn = False
        self.steps: Steps | None = None  # the rest of the algorithm
        self.exhausted = False  # whether the algorithm has come to its end
        # Which rank of the team a short message tells of this call, None where the algorithm does it by itself.
        self.greets: int | None = (rank + 1) % topology.size
        self.awaited: CollectiveWait | None = None  # what it waits for
        self.receives: dict[MatchKey, PostedReceive] = {}
        self.held: dict[MatchKey, memoryview] = {}  # sends that wait until their destination is ready
        self.staged: dict[MatchKey, Staged] = {}  # those whose next parts wait for slots
        self.unsent = 0  # sends that have been posted and not made
        self.pieces = 0  # those that have ever been posted
        self.unexpected = UnexpectedMessages()

    def rename(self, called: str) -> None:
        """Let reports name what the user of a front end has called."""
        self.text = signatures.named(self.signature.words, called)

    def done(self) -> bool:
        """Say whether the call is over for this rank."""
        return self.is_done

    def end(self) -> None:
        """Be over for this rank; of all memory only the result is kept, as long as somebody has the handle."""
        self.is_done = True
        self.work, self.steps, self.awaited = _NO_WORK, None, None
        self.receives.clear()
        self.held.clear()
        self.staged.clear()

    def outcome(self) -> Any:
        """Return what the caller gets.

        Raises:
            BaseException: what ended the call early.
        """
        if self.error is not None:
            raise self.error
        return self.value

    def missing(self) -> tuple[int, ...]:
        """Return the ranks of the job that it waits for; of a head those that may send it."""
        if self.is_done:
            return ()
        if isinstance(self.awaited, Head) and not self.awaited.done:
            return tuple(sorted(self.members[rank] for rank in self.work.heads_from()))
        receives = self.receives.items()
        places = [place for place, receive in receives if not self.in_turn or receive is self.awaited]
        return tuple(sorted({rank for rank, _ in (*places, *self.held, *self.staged)}))

    # ------------------------------------------------------------------------------------------------- for algorithms

    def send(self, dest: int, data: Array, tag: int = 0) -> None:
        """Post a send; the data stays in use until the call is over.

        Args:
            dest: rank of the team.
            data: C-contiguous array.
            tag: tells sends between the same two ranks apart.
        """
        self._post.send(self, dest, _memory(data), tag)

    def send_head(self, dest: int, data: Array | None) -> None:
        """Post the first message of a broadcast or scatter.

        Args:
            dest: rank of the team.
            data: what comes along, if it is small.
        """
        self._post.send_head(self, dest, None if data is None else _memory(data))

    def receive(self, source: int, into: Array, tag: int = 0) -> PostedReceive:
        """Post a receive of exactly as many bytes as `into` has, and let large ones come.

        Args:
            source: rank of the team.
            into: C-contiguous array.
            tag: as at the sender.
        """
        return self._post.receive(self, source, _memory(into), tag)

    def piggybacks(self, nbytes: int) -> bool:
        """Say whether data comes along with the first message of a broadcast or scatter."""
        return self.is_eager(nbytes) and not signatures.flags_of(self.signature.words) & signatures.ELSEWHERE

    def is_eager(self, nbytes: int) -> bool:
        """Say whether data is sent at once, without waiting until its destination is ready."""
        return nbytes <= self._post.eager_bytes

    def copy(self, target: Array, source: Array) -> None:
        """Copy memory, charged to the CPU; both are contiguous and of one dtype, whose gaps are copied too."""
        target.reshape(-1).view(np.uint8)[:] = source.reshape(-1).view(np.uint8)
        self.charge(copied=source.nbytes)

    def combine(self, left: Array, right: Array, out: Array) -> None:
        """Set ``out`` to ``left op right``, charged to the CPU as one operation for each element."""
        assert self.work.operator is not None
        self.work.operator.combine(left, right, out)
        self.charge(flops=out.size)

    def charge(self, *, flops: int = 0, copied: int = 0) -> None:
        """Add work to what this rank's CPU does."""
        self._post.charge(flops, copied)


def _memory(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def pieces(count: int, most: int) -> Sequence[tuple[int, int]]:
    """Cut `count` elements into ranges of at most `most`; of none there is one empty range."""
    return [(low, min(low + most, count)) for low in range(0, count, most)] or [(0, 0)]
