"""What an algorithm of a collective sends and receives through.

An algorithm is a generator: it begins sends and receives, yields those that must be over before it goes on, and returns
its result.  Each call of a collective has a channel of its own.  Its messages match no receive of another call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeAlias

from conduits.mpi.errors import ErrorClass, MpiError
from conduits.mpi.interface import PlainRequest, SharedPiece, SharedTake

Steps: TypeAlias = Generator[Sequence[PlainRequest], None, Any]


TAKEN = -1
"""In the place of a rank: of what was read in shared memory, which knows by itself whether all was as expected."""


class Tally:
    """How many messages of which size a rank has sent, by level.

    Attributes:
        counts: by level and size, bytes.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()

    def add(self, level: str, nbytes: int) -> None:
        """Count one more."""
        self.counts[level, nbytes] += 1


class LocalCosts(Protocol):
    """What an algorithm's own work costs the rank.

    Attributes:
        tally: where messages are counted, None where they are not.
    """

    tally: Tally | None

    def copied(self, nbytes: int) -> None:
        """Take the CPU for a copy of `nbytes` bytes."""

    def worked(self, nbytes: int) -> None:
        """Take the CPU for combining two operands of `nbytes` bytes each."""


_AGREE = (
    "make the same collective calls in the same order on all ranks, with counts, datatypes, root and algorithm= that "
    "agree"
)


class CollectiveChannel:
    """One call's messages in one communicator.

    Args:
        comm: the communicator, of the plain interface.
        hidden: which of its contexts.
        tag: of all messages of this call.
        hosts: the host of each of its ranks.
        costs: what the rank's own work costs.
        members: the ranks of `comm` that take part, in order; None: all.

    Attributes:
        rank: this rank's place among those that take part.
        size: how many do.
        hosts: the host of each.
    """

    __slots__ = ("_comm", "_costs", "_expected", "_hidden", "_members", "_native", "_tag", "hosts", "rank", "size")

    def __init__(
        self,
        comm: Any,
        hidden: int,
        tag: int,
        hosts: Sequence[int],
        costs: LocalCosts,
        members: Sequence[int] | None = None,
    ) -> None:
        self._comm = comm
        self._hidden = hidden
        self._tag = tag
        self._costs = costs
        self._members = range(comm.Get_size()) if members is None else tuple(members)
        self.rank = self._members.index(comm.Get_rank())
        self.size = len(self._members)
        self.hosts = tuple(hosts)
        self._expected: list[tuple[Any, int, int]] = []
        self._native = False

    def part(self, members: Sequence[int]) -> CollectiveChannel:
        """Return the channel of some of those that take part, in this order; this rank is one of them."""
        chosen = [self._members[each] for each in members]
        hosts = [self.hosts[each] for each in members]
        made = CollectiveChannel(self._comm, self._hidden, self._tag, hosts, self._costs, chosen)
        made._expected = self._expected
        return made

    def send(self, dest: int, data: Any) -> PlainRequest:
        """Begin a send of bytes; they must not change until it is over."""
        if self._costs.tally is not None:
            self._costs.tally.add("channel", len(data))
        begun: PlainRequest = self._comm.Isend(data, self._members[dest], self._tag, hidden=self._hidden)
        return begun

    def recv(self, source: int, data: Any) -> PlainRequest:
        """Begin a receive of exactly as many bytes as there is room."""
        begun: PlainRequest = self._comm.Irecv(data, self._members[source], self._tag, hidden=self._hidden)
        self._expected.append((begun, self._members[source], len(data)))
        return begun

    @property
    def exchange(self) -> Any:
        """What the library can do in memory that one rank of a host writes and others read; see `share`."""
        return self._comm.exchange

    def share(self, data: memoryview, pieces: Sequence[SharedPiece], part: int) -> PlainRequest:
        """Begin to write pieces of bytes for ranks of this rank's host; they must not change until it is over.

        Args:
            data: the bytes.
            pieces: of them, in order.
            part: which of what this rank writes in the call.
        """
        if self._costs.tally is not None:
            self._costs.tally.add("channel", len(data))
        of_all = [piece._replace(readers=self._real(piece.readers)) for piece in pieces]
        begun: PlainRequest = self._comm.share_pieces(data, of_all, self._tag, part, hidden=self._hidden)
        return begun

    def take(self, takes: Sequence[SharedTake]) -> PlainRequest:
        """Begin to read what ranks of this rank's host write, piece by piece in this order."""
        of_all = [take._replace(source=self._members[take.source]) for take in takes]
        begun: PlainRequest = self._comm.take_pieces(of_all, self._tag, hidden=self._hidden)
        self._expected.append((begun, TAKEN, 0))
        return begun

    def tell(self, ranks: Sequence[int], part: int) -> PlainRequest:
        """Begin to tell ranks of this rank's host that it has come to this call."""
        if self._costs.tally is not None:
            self._costs.tally.add("channel", 0)
        begun: PlainRequest = self._comm.count_call(self._real(ranks), self._tag, part, hidden=self._hidden)
        return begun

    def hear(self, ranks: Sequence[int], part: int) -> PlainRequest:
        """Begin to wait until ranks of this rank's host have told so."""
        takes = [SharedTake(each, part, 0, 0, 0, 0, bytes) for each in self._real(ranks)]
        begun: PlainRequest = self._comm.take_pieces(takes, self._tag, hidden=self._hidden, counts=True)
        return begun

    def _real(self, ranks: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._members[each] for each in ranks)

    def native(self, call: str, *args: Any) -> PlainRequest:
        """Begin a collective of the library's own, of which real MPI alone has any; all of its ranks take part."""
        self._native = True
        begun: PlainRequest = self._comm.collective(call, *args)
        return begun

    def operator(self, combine: Any) -> Any:
        """Return the library's own operator for what a `Combining` does, None where it has none."""
        return self._comm.operator(combine.op, combine.datatype)

    def elements(self, data: memoryview | None, datatype: str) -> Any:
        """Return a buffer of elements for the library's own collectives; of None: the data are in place."""
        return self._comm.elements(data, datatype)

    def copy(self, source: Any, target: memoryview) -> None:
        """Copy bytes, as many as there is room for exactly."""
        target[:] = source
        self._costs.copied(len(target))

    def copied(self, nbytes: int) -> None:
        """Take the CPU for a copy of `nbytes` bytes."""
        self._costs.copied(nbytes)

    def worked(self, nbytes: int) -> None:
        """Take the CPU for combining two operands of `nbytes` bytes each."""
        self._costs.worked(nbytes)

    def checked(self, steps: Steps, what: str) -> Steps:
        """Take the steps of an algorithm; every message must have the size that its receiver counts on.

        Args:
            steps: the algorithm's.
            what: the call and the communicator, for the error.

        Raises:
            MpiError: the ranks have given different sizes.
        """
        while True:
            try:
                awaited = next(steps)
            except StopIteration as end:
                return end.value
            failed: MpiError | None = None
            try:
                yield awaited
            except MpiError as error:  # of a message that was longer than its receive
                failed = error
            expected, self._expected[:] = self._expected[:], []
            for request, source, room in expected:
                if not request.over:
                    self._expected.append((request, source, room))
                    continue
                nbytes = room
                if source != TAKEN:
                    nbytes = request.nbytes
                elif request.wrong is not None:
                    source, nbytes, room = request.wrong
                    source = self._comm.group.index(source)
                if nbytes != room:
                    raise MpiError(
                        ErrorClass.ERR_TRUNCATE,
                        f"{what}: rank {source} sent {nbytes} bytes where {room} were counted on; {_AGREE}",
                    ) from None
            if failed is not None:
                if not self._native:
                    raise failed
                # Libraries often do not say why, as where counts differ.
                raise MpiError(failed.Get_error_class(), f"{what}: {failed}; {_AGREE}") from None


def all_gather_bytes(channel: CollectiveChannel, data: bytes) -> Steps:
    """Give `data`, of the same size everywhere, to all; returns theirs by rank.

    Bruck's way: in round k every rank passes all that it has on to the rank 2**k before it.
    """
    rank, size, each = channel.rank, channel.size, len(data)
    have = bytearray(data)  # of this rank, the next one and so on
    while len(have) < size * each:
        distance = len(have) // each
        passed = bytes(have[: (size - distance) * each])
        came = bytearray(len(passed))
        there, here = (rank - distance) % size, (rank + distance) % size
        yield [channel.recv(here, came), channel.send(there, passed)]
        have += came
    blocks = [bytes(have[at * each : (at + 1) * each]) for at in range(size)]
    return [blocks[(place - rank) % size] for place in range(size)]
