"""The RDMA engines of an NIU: one that sends, one that receives, each one transfer at a time.

A process *arms* a transfer out of pinned memory.  It begins when the receiver's *grant* arrives, and
needs no processor from then on.  It goes in pieces.  While a piece is being packetized no message of
high priority may be stored, because both use the path to the high-priority network: that is the
conflict, and the NIU reports it.  *Hold* stops the engine after its piece.

The receiving engine is opened for one transfer, and takes nothing else until that is complete: so the right to send
to an NIU is exclusive, and software must agree on it first (a rendezvous).

Source: the paper, sections 2 and 4; what the conflict is, and that the NIU takes the grant itself, is
assumed (facts sx.rdma.conflict, sx.rdma.connection, sx.rdma.cpu).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, Protocol

from conduit.sim.kernel import Kernel
from conduit.sim.link import durations
from conduits.startx import constants as c
from conduits.startx.hardware.arctic import Arctic
from conduits.startx.hardware.pinned import PinnedMemory, StartXError

RATE = c.bytes_per_s(c.RDMA_RATE)
LARGEST = c.whole(c.RDMA_MAX)
_HIGH = 1
_HEADER, _DATA = c.whole(c.HEADER), c.whole(c.PAYLOAD_MAX)
_TAKES = durations(RATE)
Tell = Callable[[], object]
Landed = Callable[[int, int], object]


def wire_bytes(nbytes: int) -> int:
    """Return the bytes on a link for `nbytes`: packets of 88 bytes with 8 of header."""
    return nbytes + -(-nbytes // _DATA) * _HEADER


class Armed(NamedTuple):
    """A transfer that waits for its grant.

    Attributes:
        target: host that it goes to.
        address: where it lies in the pinned memory here.
        nbytes: its size.
        ready: when each piece is in pinned memory, picoseconds; empty: all of it is.
        done: called when the last byte has left.
        posted: whether the engine is told of each piece when it is there (`RdmaOut.post`); `ready` is empty then.
    """

    target: int
    address: int
    nbytes: int
    ready: Sequence[int]
    done: Tell
    posted: bool = False


class RdmaStatistics(NamedTuple):
    """What an engine has done: transfers, their bytes, and their pieces."""

    transfers: int
    nbytes: int
    pieces: int


class RdmaNiu(Protocol):
    """The NIU of a host that a transfer goes to.

    Attributes:
        rdma_in: its engine that receives.
    """

    rdma_in: RdmaIn


class RdmaFabric(Protocol):
    """The fabric, as engines know it; `ArcticFabric` says what each is."""

    kernel: Kernel
    network: Arctic
    piece: int
    spread_ps: int

    def memory(self, host: int) -> PinnedMemory:
        """Return the pinned memory of `host`."""

    def niu(self, host: int) -> RdmaNiu:
        """Return the NIU of `host`."""


class RdmaOut:
    """The engine that sends.

    Args:
        fabric: the cluster.
        host: its host.
    """

    OBSERVED: ClassVar[type[RdmaOut]]

    def __init__(self, fabric: RdmaFabric, host: int) -> None:
        self._fabric = fabric
        self._kernel = fabric.kernel
        self._host = host
        self.name = f"RDMA out {host}"
        if self._kernel.observe is not None:
            self._kernel.observe(self)
        self._armed: dict[int, Armed] = {}
        self._posts: dict[int, int] = {}  # pieces of posted transfers that are in pinned memory, by channel
        self._starved = False  # waits for a piece to be posted
        self._granted: deque[tuple[int, Armed, int]] = deque()
        self._now: tuple[int, Armed, int] | None = None
        self._sent = 0
        self._piece_until = 0  # the end of the piece that is being packetized
        self._stopped = False  # with something to send, and nothing scheduled that goes on with it
        self._placed = True
        self._holds = 0
        self._held_until = 0
        self._waiting: list[Tell] = []
        self._message_until = 0  # the end of the last store of high priority
        self._transfers = self._bytes = self._pieces = 0
        self._random = self._kernel.random(f"startx/rdma/{host}") if fabric.spread_ps else None

    def arm(self, channel: int, armed: Armed) -> None:
        """Prepare a transfer.

        Args:
            channel: a number that the grant will name.
            armed: the transfer.

        Raises:
            StartXError: the channel is in use, the memory is not pinned, or it is too large.
        """
        if channel in self._armed:
            raise StartXError(f"host {self._host}: RDMA channel {channel} is armed already; wait for its transfer")
        if armed.nbytes > LARGEST:
            raise StartXError(
                f"host {self._host}: RDMA of {armed.nbytes} bytes is over the {LARGEST} of one transfer; make several"
            )
        self._fabric.memory(self._host).check(armed.address, armed.nbytes)
        self._armed[channel] = armed
        if armed.posted:
            self._posts[channel] = 0

    def post(self, channel: int) -> None:
        """Take note that the next piece of a posted transfer is in pinned memory, from now on.

        Raises:
            StartXError: no such transfer waits for pieces.
        """
        if channel not in self._posts:
            raise StartXError(
                f"host {self._host}: a piece is posted to RDMA channel {channel}, where no transfer waits for any; arm "
                "one first"
            )
        self._posts[channel] += 1
        if self._starved and self._now is not None and self._now[0] == channel:
            self._starved = False
            self._feed()

    def granted(self, channel: int, source: int, nbytes: int, address: int) -> None:
        """Take a grant: the transfer of `channel` may go to `address` of host `source`, as soon as its turn comes.

        Raises:
            StartXError: nothing of the kind is armed.
        """
        armed = self._armed.pop(channel, None)
        if armed is None or (armed.target, armed.nbytes) != (source, nbytes):
            raise StartXError(
                f"host {self._host}: host {source} grants channel {channel} an RDMA of {nbytes} bytes, "
                + (f"but it is armed with {armed.nbytes} for host {armed.target}" if armed else "but it is not armed")
            )
        self._granted.append((channel, armed, address))
        if self._now is None:
            self._next()

    # -- messages of high priority ---------------------------------------------------------------

    def hold(self, then: Tell) -> None:
        """Stop after the current piece, and call `then()`: at once where none is being packetized.

        Each hold ends by a `release`.
        """
        if self._piece_until > self._kernel.now:
            self._waiting.append(then)
        else:
            self._holds += 1
            then()

    def release(self, when: int) -> None:
        """End a hold at `when` picoseconds: the last message has been stored by then."""
        self._held_until = max(self._held_until, when)
        self._holds -= 1
        if not self._holds and self._stopped and self._now is not None:
            self._stopped = False
            self._kernel.call(max(self._held_until, self._kernel.now), self._go_on)

    def check_message(self, last: int) -> None:
        """Note a message of high priority that is being stored until `last`.

        Raises:
            StartXError: a piece is being packetized.
        """
        if self._piece_until > self._kernel.now:
            raise self._conflict()
        self._message_until = max(self._message_until, last)

    def _conflict(self) -> StartXError:
        return StartXError(
            f"host {self._host}: RDMA conflict: a message of high priority was stored while the engine packetized a "
            "piece; hold the engine first"
        )

    # -- pieces ------------------------------------------------------------------------------------

    def _next(self) -> None:
        """Begin the transfer that was granted first."""
        if not self._granted:
            self._now = None
            return
        self._now = self._granted.popleft()
        self._sent = 0
        self._feed()

    def _feed(self) -> None:
        """Packetize the next piece, once it is there and the engine is not held."""
        assert self._now is not None
        now, (channel, armed, address) = self._kernel.now, self._now
        self._stopped = bool(self._holds)
        if self._stopped:
            return
        index = self._sent // self._fabric.piece
        if armed.posted and index >= self._posts[channel]:
            self._starved = True
            return
        ready = max(self._held_until, armed.ready[index] if armed.ready else 0)
        if ready > now:
            self._kernel.call(ready, self._feed)
            return
        if self._message_until > now:
            raise self._conflict()
        at, size = self._sent, min(self._fabric.piece, armed.nbytes - self._sent)
        self._sent += size
        self._pieces += 1
        data = self._fabric.memory(self._host).memory.read(armed.address + at, size)
        self._piece_until = tail = now + _TAKES[size]
        self._placed = False
        way = self._fabric.network.way(self._host, armed.target, _HIGH)
        then = partial(self._on_way, armed.target, channel, address, at, data)
        arrival = way.carry(wire_bytes(size), now, tail, then)
        if arrival:
            then(arrival)
        self._kernel.call(tail, self._go_on)

    def _on_way(self, target: int, channel: int, address: int, at: int, data: bytes, arrival: int) -> None:
        self._placed = True
        if self._random is not None:
            arrival += self._random.randrange(self._fabric.spread_ps)
        engine = self._fabric.niu(target).rdma_in
        self._kernel.at(arrival, engine.land, self._host, channel, address, at, data)
        if self._stopped:
            self._stopped = False
            self._kernel.call(self._kernel.now, self._go_on)

    def _go_on(self) -> None:
        """Let waiting messages of high priority go, then begin the next piece or the next transfer."""
        if not self._placed:  # the network is busy: the engine waits with the piece in its hands
            self._stopped = True
            return
        assert self._now is not None
        waiting, self._waiting = self._waiting, []
        self._holds += len(waiting)
        for then in waiting:
            self._kernel.amid(then)
        armed = self._now[1]
        if self._sent < armed.nbytes:
            self._feed()
            return
        self._transfers += 1
        self._bytes += armed.nbytes
        self._posts.pop(self._now[0], None)
        self._kernel.amid(armed.done)
        self._next()

    def statistics(self) -> RdmaStatistics:
        """Return what it has done so far."""
        return RdmaStatistics(self._transfers, self._bytes, self._pieces)


class _ObservedOut(RdmaOut):
    """An engine that tells of each piece that it packetizes."""

    def _feed(self) -> None:
        before = self._sent
        super()._feed()
        if self._sent > before:
            assert self._kernel.carried is not None
            self._kernel.carried(self.name, self._kernel.now, self._piece_until, self._sent - before)


RdmaOut.OBSERVED = _ObservedOut


class RdmaIn:
    """The engine that receives.

    Args:
        fabric: the cluster.
        host: its host.
    """

    OBSERVED: ClassVar[type[RdmaIn]]

    def __init__(self, fabric: RdmaFabric, host: int) -> None:
        self._fabric = fabric
        self._host = host
        self.name = f"RDMA in {host}"
        if fabric.kernel.observe is not None:
            fabric.kernel.observe(self)
        self._from: tuple[int, int, int, int] | None = None
        self._left = 0
        self._landed: Landed | None = None
        self._whole: Tell | None = None
        self._transfers = self._bytes = self._pieces = 0

    @property
    def open(self) -> bool:
        """Whether it is taken."""
        return self._from is not None

    def accept(self, source: int, channel: int, address: int, nbytes: int, landed: Landed, whole: Tell) -> None:
        """Open the engine for one transfer.

        Args:
            source: host that it comes from.
            channel: the sender's channel.
            address: where it goes in the pinned memory here.
            nbytes: its size.
            landed: called as `landed(start, size)` when a piece is in memory.
            whole: called when all of it is, and the engine is free again.

        Raises:
            StartXError: the engine is taken, or the memory is not pinned.
        """
        if self._from is not None:
            raise StartXError(
                f"host {self._host}: the RDMA engine receives from host {self._from[0]} already; it takes one transfer "
                "at a time"
            )
        self._fabric.memory(self._host).check(address, nbytes)
        self._from = (source, channel, address, nbytes)
        self._left = nbytes
        self._landed, self._whole = landed, whole

    def land(self, source: int, channel: int, address: int, at: int, data: bytes) -> None:
        """Write a piece that has arrived.

        Raises:
            StartXError: it is not of the transfer for which the engine is open.
        """
        if self._from is None or self._from[:3] != (source, channel, address):
            raise StartXError(
                f"host {self._host}: RDMA of host {source}, channel {channel}, arrives for address {address}, but the "
                + ("engine is not open" if self._from is None else f"engine is open for {self._from}")
            )
        assert self._landed is not None
        assert self._whole is not None
        self._fabric.memory(self._host).memory.write(address + at, data)
        self._left -= len(data)
        self._pieces += 1
        self._landed(at, len(data))
        if not self._left:
            whole = self._whole
            self._transfers += 1
            self._bytes += self._from[3]
            self._from = self._landed = self._whole = None
            whole()

    def statistics(self) -> RdmaStatistics:
        """Return what it has done so far."""
        return RdmaStatistics(self._transfers, self._bytes, self._pieces)


class _ObservedIn(RdmaIn):
    """An engine that tells of each transfer for which it is open, from the grant to the last byte."""

    _since: int

    def accept(self, source: int, channel: int, address: int, nbytes: int, landed: Landed, whole: Tell) -> None:
        super().accept(source, channel, address, nbytes, landed, whole)
        self._since = self._fabric.kernel.now

    def land(self, source: int, channel: int, address: int, at: int, data: bytes) -> None:
        since, open_for = self._since, self._from
        last = self._left == len(data)
        super().land(source, channel, address, at, data)
        if last:
            kernel = self._fabric.kernel
            assert kernel.carried is not None
            assert open_for is not None
            kernel.carried(self.name, since, kernel.now, open_for[3])


RdmaIn.OBSERVED = _ObservedIn
