"""User-level access to the NIU: message queues, pinned memory, RDMA, and the lock of an SMP.

A process *opens* the NIU of its host.  Its calls are made in events, at the time of the act; what a
call takes of the processor's time is returned or given by a function beside it, and the caller spends
it.  Loads and stores are of 8 bytes (`word`: ldd, std) or of 64 (`block`: ldda, stda).

The processes of an SMP share one NIU.  `lock` is theirs: the NIU does not mind, but two processes that
store into one queue at once would mix their words.

Source: the paper, section 2 and Table 1 (costs), section 3 (locks).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from conduit.sim.kernel import Kernel
from conduits.startx import constants as c
from conduits.startx.hardware import GRANT, HIGH, LOW, ArcticFabric, Armed, StartXError
from conduits.startx.hardware.niu import HEADER, PAYLOAD_MAX, PAYLOAD_MIN, grant_payload, head

__all__ = [
    "HIGH", "LOCK_PS", "LOW", "PAYLOAD_MAX", "POLL_PS", "POST_PS", "Access", "Buffer", "SpinLock", "StartXError",
    "StartXProcess", "access_cost",
]  # fmt: skip

Access: TypeAlias = Literal["block", "word"]
Tell: TypeAlias = Callable[[], object]

POLL_PS = c.ps(c.POLL)
POST_PS = c.ps(c.STD)
"""What telling the engine of another piece that is in pinned memory takes: one store."""
LOCK_PS = c.ps(c.LOCK)
"""What taking and leaving a lock takes who need not wait for it."""
GRANT_TAG = 0
_TAG = struct.Struct("<I")
_SEND_START, _RECEIVE_START, _DRAIN = c.ps(c.SEND_START), c.ps(c.RECEIVE_START), c.ps(c.DRAIN)
_STD, _LDD, _STDA, _LDDA = c.ps(c.STD), c.ps(c.LDD), c.ps(c.STDA), c.ps(c.LDDA)
_WORD, _LINE = c.whole(c.WORD), c.whole(c.LINE)
_PASS_PS = c.ps(c.LOCK_PASS)


class Cost(NamedTuple):
    """What loads and stores of one kind take for a message of a certain size.

    Attributes:
        send: processor time of sending it, picoseconds.
        receive: processor time of receiving it.
        first: from the beginning of the send until the first words are in the transmit queue.
        span: from then until all are.
    """

    send: int
    receive: int
    first: int
    span: int


def access_cost(access: Access, nbytes: int) -> Cost:
    """Return the costs of a message of `nbytes`, header included.

    Source: Table 1.
    """
    if access == "word":
        words = -(-nbytes // _WORD)
        send = _SEND_START + words * _STD
        return Cost(send, _RECEIVE_START + words * _LDD, _SEND_START + _STD + _DRAIN, (words - 1) * _STD)
    lines = -(-nbytes // _LINE)
    send = _SEND_START + lines * _STDA
    return Cost(send, _RECEIVE_START + lines * _LDDA, _SEND_START + _STDA, (lines - 1) * _STDA)


@cache
def _costs(access: Access) -> Mapping[int, Cost]:
    """Return the costs of messages that there are, by their size."""
    sizes = range(HEADER + PAYLOAD_MIN, HEADER + PAYLOAD_MAX + 1, 4)
    return {nbytes: access_cost(access, nbytes) for nbytes in sizes}


class LockStatistics(NamedTuple):
    """How often a lock was taken, how often by one who had to wait, and for how long in all (picoseconds)."""

    taken: int
    waited: int
    wait_ps: int


class SpinLock:
    """A spin lock in the shared memory of an SMP; who waits gets it in order of arrival.

    Args:
        kernel: its clock and events.
        name: for reports.
    """

    __slots__ = ("_asked", "_busy", "_kernel", "_since", "_taken", "_wait_ps", "_waited", "_waiting", "name")

    OBSERVED: ClassVar[type[SpinLock]]
    _since: int  # when it was taken; where somebody listens

    def __init__(self, kernel: Kernel, name: str = "lock") -> None:
        self._kernel = kernel
        self.name = name
        if kernel.observe is not None:
            kernel.observe(self)
        self._busy = False
        self._waiting: deque[tuple[int, Tell]] = deque()
        self._taken = self._waited = self._wait_ps = 0

    def take(self, then: Tell) -> None:
        """Call `then()` when the lock is the caller's: at once where it is free; takes `LOCK_PS` then."""
        self._taken += 1
        if self._busy:
            self._waited += 1
            self._waiting.append((self._kernel.now, then))
        else:
            self._busy = True
            then()

    def leave(self, when: int) -> None:
        """Give the lock up at `when` picoseconds."""
        self._kernel.at(when, self._left)

    def _left(self) -> None:
        if self._waiting:
            asked, then = self._waiting.popleft()
            self._wait_ps += self._kernel.now + _PASS_PS - asked
            self._kernel.call(self._kernel.now + _PASS_PS, then)
        else:
            self._busy = False

    def statistics(self) -> LockStatistics:
        """Return what it has seen so far."""
        return LockStatistics(self._taken, self._waited, self._wait_ps)


class _ObservedLock(SpinLock):
    """A lock that tells for how long it is held."""

    __slots__ = ()

    def take(self, then: Tell) -> None:
        if not self._busy:
            self._since = self._kernel.now
        super().take(then)

    def leave(self, when: int) -> None:
        if when > self._since:
            assert self._kernel.carried is not None
            self._kernel.carried(self.name, self._since, when, 0)
        super().leave(when)

    def _left(self) -> None:
        self._since = self._kernel.now + _PASS_PS
        super()._left()


SpinLock.OBSERVED = _ObservedLock


class Buffer:
    """A pinned buffer of a process.

    Args:
        fabric: the cluster.
        host: where it is.
        nbytes: its size.

    Raises:
        StartXError: the pinned region has no room for it.
    """

    __slots__ = ("_memory", "address", "nbytes")

    def __init__(self, fabric: ArcticFabric, host: int, nbytes: int) -> None:
        region = fabric.memory(host)
        self.nbytes = nbytes
        self.address = region.allocate(nbytes)
        self._memory = region.memory

    def write(self, data: bytes | bytearray | memoryview, at: int = 0) -> None:
        """Store `data` at byte `at`; the caller spends the time of the copy."""
        self._memory.write(self.address + at, data)

    def read(self, at: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from byte `at` on."""
        return self._memory.read(self.address + at, nbytes)


class StartXProcess:
    """One process's use of its host's NIU.

    Args:
        fabric: the cluster.
        host: where the process runs.
        access: the kind of its loads and stores.
    """

    __slots__ = ("_costs", "_drain", "access", "fabric", "host", "kernel", "niu")

    def __init__(self, fabric: ArcticFabric, host: int, access: Access = "block") -> None:
        self.fabric = fabric
        self.kernel = fabric.kernel
        self.host = host
        self.access = access
        self.niu = fabric.niu(host)
        self._drain = _DRAIN if access == "word" else 0
        self._costs = _costs(access)

    # -- messages ------------------------------------------------------------------------------

    def send(self, priority: int, target: int, tag: int, payload: bytes, after: int = 0) -> int:
        """Store a message into a transmit queue; return how long that takes the processor.

        Args:
            priority: `LOW` or `HIGH`.
            target: another host.
            tag: the header word that is the software's.
            payload: 2 to 22 words of 4 bytes.
            after: how long from now the processor begins, picoseconds: what the lock took.

        Raises:
            StartXError: no such payload, the queue is full, or the RDMA engine is in the middle of a piece.
        """
        return self._store(head(target, priority, tag, len(payload)) + payload, after)

    def _store(self, message: bytes, after: int) -> int:
        try:
            took, _, first, span = self._costs[len(message)]
        except KeyError:
            raise StartXError(
                f"host {self.host}: a message has {PAYLOAD_MIN} to {PAYLOAD_MAX} bytes of payload in words of 4, "
                f"not {len(message) - HEADER}"
            ) from None
        self.niu.store(message, after + first, span)
        return took

    def poll(self, priority: int) -> bool:
        """Look whether a receive queue holds a message; a look takes `POLL_PS`."""
        return bool(self.niu.high if priority else self.niu.low)

    def receive(self, priority: int, begin: int) -> tuple[bytes, int]:
        """Load the first message of a receive queue, which holds one.

        Args:
            priority: of the queue.
            begin: when the processor begins, picoseconds, not before now.

        Returns:
            The message with its header, and how long loading it takes the processor.
        """
        queue = self.niu.high if priority else self.niu.low
        if not queue:
            raise StartXError(f"host {self.host}: the receive queue is empty; poll before you receive")
        _, cost, _, _ = self._costs[len(queue[0])]
        return self.niu.load(priority, begin + cost), cost

    def room(self, priority: int) -> int:
        """Return how many messages fit a transmit queue now."""
        return self.niu.room(priority)

    # -- RDMA ----------------------------------------------------------------------------------

    def pin(self, nbytes: int) -> Buffer:
        """Allocate pinned memory.

        Raises:
            StartXError: the pinned region has no room for it.
        """
        return Buffer(self.fabric, self.host, nbytes)

    def arm(
        self, channel: int, target: int, buffer: Buffer, nbytes: int, done: Tell, ready: Sequence[int] = (), *,
        posted: bool = False,
    ) -> None:  # fmt: skip
        """Prepare an RDMA of the first `nbytes` of `buffer` to host `target`; it begins with the grant.

        Args:
            channel: a number below 65536 that no armed transfer of this NIU has.
            target: where to.
            buffer: where from.
            nbytes: a multiple of 8, at most 16 MiB.
            done: called in the event in which the last byte has left.
            ready: when the processor will have filled each piece, picoseconds; empty: it has.
            posted: no piece is filled yet, and the engine will be told of each; see `post`.

        Raises:
            StartXError: the channel is armed already, or the size is refused.
        """
        if nbytes > buffer.nbytes:
            raise StartXError(f"host {self.host}: RDMA of {nbytes} bytes out of a buffer of {buffer.nbytes}")
        self.niu.rdma_out.arm(channel, Armed(target, buffer.address, nbytes, ready, done, posted))

    def post(self, channel: int) -> None:
        """Tell the engine that the next piece of a transfer is in its buffer now; takes `POST_PS`.

        Raises:
            StartXError: no transfer of that channel waits for pieces.
        """
        self.niu.rdma_out.post(channel)

    def accept(
        self,
        source: int,
        channel: int,
        buffer: Buffer,
        nbytes: int,
        landed: Callable[[int, int], object],
        whole: Tell,
        after: int = 0,
    ) -> int:
        """Open the receiving engine and grant host `source` its transfer; takes what `send` takes.

        Args:
            source: the host that asked.
            channel: the channel that it named.
            buffer: where the bytes go.
            nbytes: how many, as it said.
            landed: called as `landed(start, size)` when a piece is in the buffer.
            whole: called when all of it is.
            after: as for `send`.

        Returns:
            How long storing the grant takes the processor, picoseconds.

        Raises:
            StartXError: the engine is taken, or the buffer is too small.
        """
        if nbytes > buffer.nbytes:
            raise StartXError(f"host {self.host}: RDMA of {nbytes} bytes into a buffer of {buffer.nbytes}")
        self.niu.rdma_in.accept(source, channel, buffer.address, nbytes, landed, whole)
        payload = grant_payload(channel, self.host, nbytes, buffer.address)
        return self._store(head(source, HIGH, GRANT_TAG, len(payload), GRANT) + payload, after)

    def hold(self, then: Tell) -> None:
        """Stop the sending engine between two pieces, then call `then()`, which may send with high priority."""
        self.niu.rdma_out.hold(then)

    def release(self, when: int) -> None:
        """End a hold when what was stored until `when` picoseconds is in the queue."""
        self.niu.rdma_out.release(when + self._drain)


def tag_of(message: bytes) -> int:
    """Return the header word of a message that is the software's."""
    found: int = _TAG.unpack_from(message, 4)[0]
    return found
