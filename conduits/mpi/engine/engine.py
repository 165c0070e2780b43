"""Matching: which message a receive gets, once for all libraries.

There are two lists for each context: posted receives, and unexpected messages.  A receive gets the first unexpected
message with its source and tag, each of which it names or leaves open.  A message that arrives goes to the first posted
receive that it matches.  Both lists are searched from the front, as the libraries of the time did, and each comparison
has its cost.

So messages of one sender never overtake one another, as MPI demands: devices bring the envelopes of each sender in the
order of its calls, and both lists are in order.  The data may come later, and in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol
from zlib import crc32

from conduit.contract import DigestSink, Wait
from conduit.errors import NetworkError
from conduit.sim import Cpu, Kernel
from conduit.simnet import HostModel
from conduits.mpi.engine.device import MORE, Device, IncomingMessage
from conduits.mpi.engine.itself import ToItself
from conduits.mpi.engine.schedule import Schedule, Steps
from conduits.mpi.engine.sharing import Share, SharedReading
from conduits.mpi.engine.software import Software
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG, Mode, Receive, Send, Transfer
from conduits.mpi.engine.worker import Worker
from conduits.mpi.errors import ErrorClass, MpiError
from conduits.mpi.interface import SharedPiece, SharedTake

# Numbers of native operations (conduit.core.digest), which MPI jobs never log.
_SENT, _RECEIVED, _SHARED = 4 << 20, 5 << 20, 6 << 20
_SYNCHRONOUS = Mode.SYNCHRONOUS
_NOTHING: list[Receive] = []
_FLUSH = 300  # integers in the digest log from which on they are hashed


class EnginePort(Protocol):
    """What an engine sees of its rank's port, which is a `conduit.simnet.SimulatedPort`.

    Attributes:
        rank: the rank.
        hosts: the host of every rank.
        kernel: the job's time.
        cpu: the rank's CPU.
    """

    rank: int
    hosts: tuple[int, ...]
    kernel: Kernel
    cpu: Cpu

    def notify(self) -> None:
        """There is something for a poll to find."""

    def arrived(self) -> None:
        """As `notify`, as the last act of an event."""

    def miss_changed(self) -> None:
        """Finding nothing costs another time than before."""

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""

    def waits(self) -> Sequence[Wait]:
        """Return what the tasks of the rank wait for."""

    def ready_sends_at(self, source: int, context: int, tag: int) -> Sequence[str]:
        """Return the lines of a rank's last ready sends to this one by a context and a tag, as far as they are known.

        Args:
            source: the rank, by its number in the world.
            context: of the communicator.
            tag: of the messages.
        """

    def sends_at(self, source: int, context: int, tag: int) -> Sequence[str]:
        """Return the lines of a rank's last sends to this one by a context and a tag, as far as they are known.

        Args:
            source: the rank, by its number in the communicator.
            context: of the communicator.
            tag: of the messages.
        """


class Engine:
    """Matching for one rank: its posted-receive queue and its unexpected-message queue.

    Its methods are called with the CPU's turn taken, but for those that only look.  Those that begin something, and
    those for the device, are called where `cpu.free` is not before the kernel's time, as a poll and an act leave it.
    What holds between any two calls:

    - no posted receive matches any unexpected message: one that did would have been taken out when the other came,
    - a send is counted in `_unfinished` until it is over, and an ended transfer is in neither list,
    - `_ended` is set where a schedule may be able to go on: `pending` then finds something for the next poll.

    Args:
        home: the rank's port.
        software: what the library's calls take.
        host: what copies cost.
        device: makes the device.

    Attributes:
        rank: the rank.
        size: ranks of the job.
        hosts: the host of every rank.
        cpu: the rank's CPU.
        worker: what it still has to do.
        device: how messages travel.
        sends_at_once: whether it may make sends at once.
        schedules: calls under way that consist of many.
        notify: lets polls find something; from any event.
        arrived: the same, as the last act of an event.
        digest_log: where sends and receives are logged for the digest, None where they are not.
    """

    def __init__(
        self, home: EnginePort, software: Software, host: HostModel, device: Callable[[Engine], Device]
    ) -> None:
        self.home = home
        self.notify, self.arrived = home.notify, home.arrived
        self.software = software
        self.host = host
        self.rank = home.rank
        self.hosts = home.hosts
        self.size = len(home.hosts)
        self.kernel = home.kernel
        self.cpu = home.cpu
        self.worker = Worker(home.kernel, home.cpu)
        self.digest_log: DigestSink | None = None
        self._posted: dict[int, list[Receive]] = {}
        self._unexpected: dict[int, list[IncomingMessage]] = {}
        self._sends = self._receives = self._cancelled = 0
        self._extracted = 0  # messages, by matched probes, and not received yet
        self._unfinished = 0  # sends
        self.schedules: list[Schedule] = []
        self._ended = False  # whether a transfer has ended since schedules were looked at
        self._most_unexpected = 0
        self.device = device(self)
        self.sends_at_once = type(self.device).send_now is not Device.send_now
        self._over = Send(self, 0, 0, memoryview(b""), self.rank, 0, Mode.STANDARD, 0)
        self._over.over = True
        self._itself = ToItself(self, self.device.eager_limit)

    # -- for the plain interface ---------------------------------------------------------------------

    def charge(self, ticks: int) -> None:
        """Take the CPU for another `ticks` picoseconds, behind what the turn's calls have given to the worker."""
        self.worker.spend(ticks)

    def charge_test(self) -> None:
        """Take the CPU for the question whether something is over."""
        self.cpu.charge(self.software.test_ps)

    def begin_send(
        self, dest: int, context: int, source: int, tag: int, data: memoryview, mode: Mode, at_once: bool = False
    ) -> Send:
        """Begin a send.

        Args:
            dest: a rank of the world.
            context: of the communicator.
            source: this rank's number in it.
            tag: any number of 32 bits that is not negative.
            data: the bytes; must not change until it is over.
            mode: see `Mode`.
            at_once: whether it is a standard send and the turn's only call, so that the device may make it at once.

        Raises:
            NetworkError: nothing gets there any more.
        """
        if at_once or self.worker.idle:
            self.cpu.free += self.software.call_ps
        else:
            self.worker.spend(self.software.call_ps)
        self._sends = number = self._sends + 1
        digest_log = self.digest_log
        if digest_log is not None:
            digest_log.extend((self.cpu.free, _SENT, dest, context << 32 | tag, len(data), crc32(data)))
            if len(digest_log) > _FLUSH:
                digest_log.flush()
        stored = at_once and self.device.send_now(dest, context, source, tag, data, number)
        if stored and self.worker.idle:  # nearly always, where messages are short: no object is made of them
            self.cpu.free += self.software.complete_ps
            self._ended = True
            if self.schedules:
                self.notify()
            return self._over
        self._unfinished += 1
        send = Send(self, context, tag, data, dest, source, mode, number)
        if stored:
            self.worker.when_stored(self.sent, send)
        elif dest == self.rank:
            self._itself.send(send)
        else:
            try:
                self.device.send(send)
            except NetworkError:  # no path is left: nothing has begun, and a program may go on without
                self._unfinished -= 1
                self._sends -= 1
                raise
        return send

    def begin_receive(self, context: int, source: int, tag: int, data: memoryview) -> Receive:
        """Begin a receive from `source` of the communicator, or ANY_SOURCE, of `tag`, or ANY_TAG."""
        if self.worker.idle:
            self.cpu.free += self.software.call_ps
        else:
            self.worker.spend(self.software.call_ps)
        self._receives += 1
        receive = Receive(self, context, tag, data, source, self._receives)
        arrival = self.find(context, source, tag, take=True) if self._unexpected.get(context) else None
        if arrival is None:
            posted = self._posted.get(context)
            if posted is None:
                posted = self._posted[context] = []
            posted.append(receive)
        else:
            receive.match(arrival.source, arrival.tag, arrival.nbytes)
            arrival.deliver(receive)
        return receive

    def begin_share(
        self, context: int, tag: int, part: int, data: memoryview, pieces: Sequence[SharedPiece], counts: bool
    ) -> Share:
        """Begin to write what others of the host read; see `Share`."""
        exchange = self.device.exchange
        assert exchange is not None
        self.charge(self.software.call_ps)
        self._log(_SHARED, self.rank, context << 32 | tag, data)
        self._unfinished += 1
        share = Share(self, context, tag, data, part, pieces, counts)
        exchange.share(share)
        return share

    def begin_reading(self, context: int, tag: int, takes: Sequence[SharedTake], counts: bool) -> SharedReading:
        """Begin to read what others of the host write; see `SharedReading`."""
        exchange = self.device.exchange
        assert exchange is not None
        self.charge(self.software.call_ps)
        reading = SharedReading(self, context, tag, takes, counts)
        exchange.read(reading)
        return reading

    def receive_found(self, arrival: IncomingMessage, data: memoryview) -> Receive:
        """Begin a receive of a message that `find` has taken out."""
        self.charge(self.software.call_ps)
        self._receives += 1
        self._extracted -= 1
        receive = Receive(self, arrival.context, arrival.tag, data, arrival.source, self._receives)
        receive.match(arrival.source, arrival.tag, arrival.nbytes)
        arrival.deliver(receive)
        return receive

    def find(self, context: int, source: int, tag: int, *, take: bool) -> IncomingMessage | None:
        """Return the first unexpected message that matches; `take`: remove it from the queue (matched probe)."""
        waiting = self._unexpected.get(context)
        if not waiting:
            return None
        for place, arrival in enumerate(waiting):
            if source in (arrival.source, ANY_SOURCE) and tag in (arrival.tag, ANY_TAG):
                self.charge((place + 1) * self.software.match_ps)
                if take:
                    del waiting[place]
                return arrival
        self.charge(len(waiting) * self.software.match_ps)
        return None

    def extract(self, context: int, source: int, tag: int) -> IncomingMessage | None:
        """Take out the first unexpected message that matches, for `receive_found`."""
        found = self.find(context, source, tag, take=True)
        self._extracted += found is not None
        return found

    def has(self, context: int, source: int, tag: int) -> bool:
        """Return whether `find` would find anything; charges nothing: it is the predicate of a waiting probe."""
        return any(
            source in (arrival.source, ANY_SOURCE) and tag in (arrival.tag, ANY_TAG)
            for arrival in self._unexpected.get(context, ())
        )

    def cancel(self, receive: Receive) -> None:
        """End a receive without a message, unless it has one."""
        posted = self._posted.get(receive.context, [])
        if receive in posted:
            posted.remove(receive)
            receive.cancelled = True
            self._cancelled += 1
            self.cpu.charge(0)  # outside of a turn: the CPU may have been free for a while
            self._end(receive)

    def schedule(self, steps: Steps, what: str) -> Schedule:
        """Begin a call that consists of many sends and receives; see `Schedule`."""
        made = Schedule(self.charge_test, steps, what)
        made.go_on()
        if not made.over:
            self.schedules.append(made)
        return made

    # -- for polls -----------------------------------------------------------------------------------

    def pending(self) -> bool:
        """Return whether `progress` would find anything to do; free of cost."""
        return self.device.pending() or (self._ended and bool(self.schedules))

    def progress(self) -> int:
        """Do one thing that there is to do; return what `Device.progress` does."""
        if self.schedules and self._ended:
            self._ended = False
            self.schedules = [each for each in self.schedules if not (each.ready() and each.go_on())]
            return MORE
        return self.device.progress()

    def quiet(self) -> bool:
        """Return whether all sends of this rank are over; free of cost."""
        return not self._unfinished and self.device.quiet()

    def unfinished(self) -> int:
        """Return how many sends of this rank are not over; free of cost."""
        return self._unfinished

    # -- for the device ------------------------------------------------------------------------------

    def arrive(self, arrival: IncomingMessage) -> None:
        """Take a message, the next of its sender."""
        receive = self.take_posted(arrival.context, arrival.source, arrival.tag, arrival.nbytes)
        if receive is None:
            self.keep(arrival)
        else:
            arrival.deliver(receive)

    def take_posted(self, context: int, source: int, tag: int, nbytes: int) -> Receive | None:
        """Match a message, the next of its sender: take out the first posted receive that gets it.

        None where no receive does; then `keep` must follow.
        """
        posted = self._posted.get(context, _NOTHING)
        for place, receive in enumerate(posted):
            if receive.source in (source, ANY_SOURCE) and receive.tag in (tag, ANY_TAG):
                self.cpu.free += (place + 1) * self.software.match_ps
                del posted[place]
                receive.match(source, tag, nbytes)
                return receive
        self.cpu.charge(len(posted) * self.software.match_ps)
        return None

    def keep(self, arrival: IncomingMessage) -> None:
        """Take a message that no posted receive gets."""
        if arrival.mode == Mode.READY:
            sent = _sent_at(self.home.ready_sends_at(arrival.origin, arrival.context, arrival.tag))
            self.fail(
                MpiError(
                    ErrorClass.ERR_OTHER,
                    f"a ready send of rank {arrival.origin} to rank {self.rank} with tag {arrival.tag}{sent} has found "
                    "no receive there; begin the receive first and let the sender know, or use a standard send",
                )
            )
            return
        waiting = self._unexpected.setdefault(arrival.context, [])
        waiting.append(arrival)
        self._most_unexpected = max(self._most_unexpected, len(waiting))
        arrival.keep()

    def sent(self, send: Send) -> None:
        """Take note that the buffer of a send may be used again."""
        send.sent = True
        if send.mode is _SYNCHRONOUS:
            self._end_if_complete(send)
            return
        self._unfinished -= 1
        self.cpu.free += self.software.complete_ps
        send.over = self._ended = True
        if self.schedules:
            self.notify()

    def matched(self, send: Send) -> None:
        """Take note that the receive of a send was found."""
        send.matched = True
        self._end_if_complete(send)

    def received(self, receive: Receive) -> None:
        """Take note that all that was wanted of a message is in its receive's buffer."""
        if receive.nbytes > receive.room:
            sent = _sent_at(self.home.sends_at(receive.source, receive.context, receive.tag)) or ","
            receive.error = MpiError(
                ErrorClass.ERR_TRUNCATE,
                f"the message of {receive.nbytes} bytes from rank {receive.source}, tag {receive.tag}{sent} is longer "
                f"than the buffer of its receive, which has {len(receive.data)}; the rest of it is lost",
            )
        digest_log = self.digest_log
        if digest_log is not None:
            room, message = receive.room, receive.context << 32 | receive.tag
            digest_log.extend((self.cpu.free, _RECEIVED, receive.source, message, room, crc32(receive.data[:room])))
            if len(digest_log) > _FLUSH:
                digest_log.flush()
        self.cpu.free += self.software.complete_ps
        receive.over = self._ended = True
        if self.schedules:
            self.notify()

    def ended(self, transfer: Transfer) -> None:
        """Take note that a `Share` or a `SharedReading` is over."""
        if isinstance(transfer, Share):
            self._unfinished -= 1
        self._end(transfer)

    def miss_changed(self) -> None:
        """Take note that a poll that finds nothing costs another time than before."""
        self.home.miss_changed()

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""
        self.home.fail(error)

    def named(self) -> frozenset[int]:
        """Return the ranks that calls of this rank wait for by name."""
        return frozenset(rank for wait in self.home.waits() for rank in wait.ranks)

    # -- for reports ---------------------------------------------------------------------------------

    def unexpected(self) -> int:
        """Return how many messages are unexpected: no receive has matched them."""
        return sum(map(len, self._unexpected.values()))

    def extracted(self) -> int:
        """Return how many messages matched probes have taken out that were not received."""
        return self._extracted

    def unexpected_messages(self) -> Counter[tuple[int, int, int, int]]:
        """Return how many of them there are of each context, sender in the world, sender in the context, and tag."""
        return Counter(
            (context, each.origin, each.source, each.tag)
            for context, found in self._unexpected.items()
            for each in found
        )

    def unexpected_counts(self) -> dict[int, int]:
        """Return how many of them there are in each context that has some."""
        return {context: len(found) for context, found in self._unexpected.items() if found}

    def unexpected_by(self) -> Counter[tuple[int, int]]:
        """Return how many of them have come from each rank of the world, by each tag, whatever their context."""
        return Counter((each.origin, each.tag) for found in self._unexpected.values() for each in found)

    def balance(self) -> int:
        """Return how many messages this rank has sent more than have come to it; over all ranks those on their way."""
        matched = self._receives - self._cancelled - sum(map(len, self._posted.values()))
        return self._sends - matched - self.unexpected() - self._extracted

    def statistics(self) -> dict[str, int]:
        """Return what this rank has begun."""
        return {
            "mpi_sends": self._sends,
            "mpi_receives": self._receives,
            "mpi_most_unexpected": self._most_unexpected,
            **self.device.statistics(),
        }

    # -- inside --------------------------------------------------------------------------------------

    def _end_if_complete(self, send: Send) -> None:
        # A standard or ready send is over when `sent`; a synchronous one when `sent` and `matched`, in either order.
        if send.sent and send.matched and not send.over:
            self._unfinished -= 1
            self._end(send)

    def _log(self, kind: int, rank: int, message: int, data: memoryview) -> None:
        digest_log = self.digest_log
        if digest_log is not None:
            digest_log.extend((self.cpu.free, kind, rank, message, len(data), crc32(data)))
            if len(digest_log) > _FLUSH:
                digest_log.flush()

    def _end(self, transfer: Transfer) -> None:
        self.cpu.free += self.software.complete_ps
        transfer.over = self._ended = True
        if self.schedules:
            self.notify()


def _sent_at(lines: Sequence[str]) -> str:
    """Return the lines that a message may have been sent at, in words."""
    return f", sent at {' or '.join(lines)}," if lines else ""
