"""Large messages between SMPs by RDMA: what a rank sends, part by part, and what it receives.

A sender waits for the system buffer of its SMP, asks the receiver for the right to send, and copies its data into the
buffer, piece by piece; the NIU is told of each, and once the right is granted takes them as they come.  The receiver
grants it at a poll, and is committed from then on: it copies each piece out as it lands, until it has all of the part.
A message that is longer than the buffer goes in parts, each with a right of its own.

Why the data pass through system buffers: RDMA needs pinned memory, and the driver pins two buffers once for each SMP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from conduit.simnet.chain import Done, Steps
from conduits.mpi.engine.device import Matching
from conduits.mpi.engine.transfer import Receive, Send
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.start.rights import RdmaRequest, RightState
from conduits.mpi.libraries.start.smp import SmpMemory
from conduits.startx.driver import HIGH, LOCK_PS, POST_PS, StartXProcess

_CHANNEL = 0  # of an SMP: one transfer leaves at a time
_UNIT = 8


class RdmaMessage:
    """A message that has been matched (rendezvous): its data go by RDMA.

    Attributes:
        send: what sends it.
        receive: number of the receive, at the receiver.
        wanted: bytes that are wanted of it.
        copied: bytes that are in the system buffer, or through it.
    """

    __slots__ = ("copied", "receive", "send", "wanted")

    def __init__(self, send: Send, receive: int, wanted: int) -> None:
        self.send = send
        self.receive = receive
        self.wanted = wanted
        self.copied = 0


class RdmaSending:
    """A rank's large messages to other SMPs.

    Args:
        engine: the rank's.
        smp: what the processes of its host share.
        memory: what copies pass through.
        driver: the rank's use of the NIU.
        ask: steps that ask for the right to send, given the rank, the number of the receive and the bytes.
        right_ps: an entry in the list of rights.

    Attributes:
        queue: those that wait, in order.
        parts: how many parts were sent.
    """

    def __init__(
        self, engine: Matching, smp: SmpMemory, memory: HostMemory, driver: StartXProcess,
        ask: Callable[[int, int, int], Steps], right_ps: int,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._smp = smp
        self._memory = memory
        self._driver = driver
        self._ask = ask
        self._right_ps = right_ps
        self._leaving = False
        self.queue: deque[RdmaMessage] = deque()
        self.parts = 0

    @property
    def due(self) -> bool:
        """Whether a part could be sent now."""
        return bool(self.queue) and not self._smp.rights.sending

    @property
    def quiet(self) -> bool:
        """Whether nothing waits and nothing is leaving."""
        return not (self.queue or self._leaving)

    def slots_in_use(self) -> Sequence[str]:
        """Describe what waits."""
        return [f"{len(self.queue)} large messages wait for the system buffer"] if self.queue else []

    def steps(self) -> Steps:
        """Send the next part of the first message, if no other process was faster."""
        size = yield self._claim
        if not size:
            return
        engine, large = self._engine, self.queue.popleft()
        yield from self._ask(large.send.dest, large.receive, size)
        piece = self._driver.fabric.piece
        start = large.copied
        for at in range(0, size, piece):
            data = large.send.data[start + at : start + min(at + piece, size)]
            yield partial(self._memory.copy, len(data))
            self._smp.leaving.write(data, at)
            engine.cpu.free += POST_PS
            yield self._post
        large.copied += size
        self.parts += 1
        if large.copied == large.wanted:
            engine.sent(large.send)
        else:
            self.queue.append(large)  # behind the others, so that a very long message does not hold them up

    def _claim(self, done: Done) -> None:
        """Take the system buffer for the next part, as an act; its outcome is the size, 0 where it is taken."""
        now, smp = self._engine.kernel.now, self._smp
        if not self.due:
            done(now, 0)
            return
        large = self.queue[0]
        size = min(smp.leaving.nbytes, large.wanted - large.copied)
        smp.rights.ask(self._engine.rank, large.send.dest)
        target = self._engine.hosts[large.send.dest]
        self._driver.arm(_CHANNEL, target, smp.leaving, _whole(size), self._left, posted=True)
        self._leaving = True
        done(now + self._right_ps, size)

    def _post(self, done: Done) -> None:
        self._driver.post(_CHANNEL)
        done(self._engine.kernel.now)

    def _left(self) -> None:
        """The last byte of the part has left: the system buffer is free for the process of the SMP that comes first."""
        self._leaving = False
        self._smp.rights.sent()
        self._smp.tell()
        self._engine.notify()


class RdmaReceiving:
    """What a rank receives by RDMA.

    Args:
        engine: the rank's.
        smp: what the processes of its host share.
        memory: what copies pass through.
        driver: the rank's use of the NIU.
        receives: those that wait for data, by number.
        right_ps: an entry in the list of rights.
        rest_ps: for how long the rank leaves the engine to others that want it.

    Attributes:
        parts: how many parts were received.
        put_off: how many requests of others have waited for a transfer the other way.
    """

    def __init__(
        self, engine: Matching, smp: SmpMemory, memory: HostMemory, driver: StartXProcess, receives: dict[int, Receive],
        right_ps: int, rest_ps: int,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._smp = smp
        self._memory = memory
        self._driver = driver
        self._receives = receives
        self._right_ps = right_ps
        self._rest_ps = rest_ps
        self._landed: deque[tuple[int, int]] = deque()  # pieces that are not copied yet
        self._done: Done | None = None  # while the process waits for one
        self.parts = self.put_off = 0

    @property
    def due(self) -> bool:
        """Whether this rank may grant the right to send to it now."""
        return self._smp.rights.grantable(self._engine.rank)

    def asked(self, source: int, receive: int, nbytes: int) -> Steps:
        """Put a request to send into the list, which all processes of the SMP see."""
        self._engine.cpu.free += self._right_ps
        yield partial(self._request, RdmaRequest(source, self._engine.rank, receive, nbytes))

    def _request(self, request: RdmaRequest, done: Done) -> None:
        self._smp.rights.request(request)
        self.put_off += request.state is RightState.PUT_OFF
        if self.due:
            self._engine.notify()
        done(self._engine.kernel.now)

    def steps(self) -> Steps:
        """Grant the right that is due, and copy what comes until all of it is there."""
        request = yield self._grant
        if request is None:
            return
        yield self._hold
        yield partial(self._store_grant, request)
        receive, left = self._receives[request.receive], request.nbytes
        begin = receive.received
        while left:
            at, size = yield self._next
            size = min(size, request.nbytes - at)  # what comes ends with a whole word
            yield partial(self._memory.copy, size)
            receive.data[begin + at : begin + at + size] = self._smp.coming.read(at, size)
            left -= size
        receive.received += request.nbytes
        self.parts += 1
        yield self._emptied
        if receive.received == receive.room:
            del self._receives[receive.number]
            self._engine.received(receive)

    def _grant(self, done: Done) -> None:
        now, request = self._engine.kernel.now, self._smp.rights.grant(self._engine.rank)
        done(now if request is None else now + self._right_ps, request)

    def _hold(self, done: Done) -> None:
        """The grant is of high priority: stop the engine that sends between two pieces."""
        self._driver.hold(lambda: done(self._engine.kernel.now))

    def _store_grant(self, request: RdmaRequest, done: Done) -> None:
        """Open the engine and store the grant, once there is room for it and the lock is this process's."""
        lock = self._smp.lock
        if not self._driver.room(HIGH):
            self._smp.niu.when_room(HIGH, partial(self._store_grant, request, done))
        elif lock is None:
            done(self._open(request, 0))
        else:
            lock.take(partial(self._store_locked, request, done))

    def _store_locked(self, request: RdmaRequest, done: Done) -> None:
        lock = self._smp.lock
        assert lock is not None
        if not self._driver.room(HIGH):  # somebody else was faster
            lock.leave(self._engine.kernel.now + LOCK_PS)
            self._smp.niu.when_room(HIGH, partial(self._store_grant, request, done))
            return
        when = self._open(request, LOCK_PS)
        lock.leave(when)
        done(when)

    def _open(self, request: RdmaRequest, after: int) -> int:
        """Open the engine and store the grant, beginning `after` picoseconds from now; return when that is over."""
        source = self._engine.hosts[request.source]
        took = self._driver.accept(
            source, _CHANNEL, self._smp.coming, _whole(request.nbytes), self._land, _nothing, after
        )  # fmt: skip
        when = self._engine.kernel.now + after + took
        self._driver.release(when)
        return when

    def _land(self, start: int, size: int) -> None:
        """A piece is in the system buffer; in an event of the engine."""
        if self._done is None:
            self._landed.append((start, size))
        else:
            done, self._done = self._done, None
            done(self._engine.kernel.now, (start, size))

    def _next(self, done: Done) -> None:
        """Wait for the next piece, as an act; its outcome is where it is, and its size."""
        if self._landed:
            done(self._engine.kernel.now, self._landed.popleft())
        else:
            self._done = done

    def _emptied(self, done: Done) -> None:
        """The system buffer is free; where others want it this rank leaves it to them for a while."""
        now, rights = self._engine.kernel.now, self._smp.rights
        if rights.emptied(self._engine.rank):
            self._engine.kernel.at(now + self._rest_ps, self._rested)
        self._smp.tell()
        done(now)

    def _rested(self) -> None:
        if self._smp.rights.rested(self._engine.rank):
            self._smp.tell()


def _whole(nbytes: int) -> int:
    """Return the bytes that RDMA moves for `nbytes`."""
    return nbytes + -nbytes % _UNIT


def _nothing() -> None:
    pass
