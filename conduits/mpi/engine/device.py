"""What an MPI library supplies beside its name: how one rank's messages travel.

The engine (`conduits.mpi.engine.engine`) matches; a device moves.  Both belong to one rank and run with its CPU's turn
taken.  A device charges the CPU (`engine.cpu`) for what it does, and gives what touches anything that is not the rank's
own to `engine.worker`, as steps.

Two rules:

- Envelopes are never blocked; only payload bytes are flow-controlled.  Once a matching send and receive have begun one
  of them must complete, whatever else is under way (MPI's progress rule).  So a message without room for its payload
  is sent as an envelope alone (rendezvous), and its payload follows when it is matched.  Envelopes and answers have
  room of their own, or every poll takes them out of the shared queue.
- Between ranks everything is bytes in simulated memory.  No object of one rank is seen by another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from conduit.sim import Cpu, Kernel
from conduit.simnet import HostModel
from conduits.mpi.engine.sharing import HostExchange
from conduits.mpi.engine.software import Software
from conduits.mpi.engine.transfer import Mode, Receive, Send, Transfer
from conduits.mpi.engine.worker import Worker

BEGIN = 8
"""How many bytes of a message that no poll has taken are looked at, for reports."""
NOTHING, LAST, MORE = range(3)
"""What `Device.progress` says: nothing was pending; something was, but nothing is left; there may be more."""


class Matching(Protocol):
    """What a device sees of its rank's engine (`conduits.mpi.engine.engine.Engine`).

    Attributes:
        rank: the rank.
        size: ranks of the job.
        hosts: the host of every rank.
        kernel: the job's time.
        cpu: the rank's CPU.
        worker: what it still has to do on the hardware.
        host: what copies cost.
        software: what the library's calls take.
    """

    rank: int
    size: int
    hosts: tuple[int, ...]
    kernel: Kernel
    cpu: Cpu
    worker: Worker
    host: HostModel
    software: Software

    def charge(self, ticks: int) -> None:
        """Take the CPU for another `ticks` picoseconds, behind what the turn's calls have given to the worker."""

    def cancel(self, receive: Receive) -> None:
        """End a receive without a message, unless it has one."""

    def arrive(self, arrival: IncomingMessage) -> None:
        """Take a message, the next of its sender."""

    def take_posted(self, context: int, source: int, tag: int, nbytes: int) -> Receive | None:
        """As `arrive` of a message that need not be made: take out the posted receive that gets it.

        None where no receive does; then `keep` must follow.
        """

    def keep(self, arrival: IncomingMessage) -> None:
        """Take a message that no posted receive gets."""

    def sent(self, send: Send) -> None:
        """Take note that the buffer of a send may be used again."""

    def matched(self, send: Send) -> None:
        """Take note that the receive of a send was found."""

    def received(self, receive: Receive) -> None:
        """Take note that all that was wanted of a message is in its receive's buffer."""

    def ended(self, transfer: Transfer) -> None:
        """Take note that what is no message is over, a `Share` or a `SharedReading`."""

    def notify(self) -> None:
        """Let polls find something; from any event."""

    def arrived(self) -> None:
        """As `notify`, as the last act of an event."""

    def miss_changed(self) -> None:
        """Take note that a poll that finds nothing costs another time than before."""

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""

    def named(self) -> AbstractSet[int]:
        """Return the ranks that calls of this rank wait for by name."""


class UntakenMessage(NamedTuple):
    """A message that has come to a rank and that no poll has taken, for reports.

    Attributes:
        origin: its sender, a rank of the world.
        context: of the communicator.
        begin: its first bytes, up to `BEGIN` of them; none where its envelope alone has come.
    """

    origin: int
    context: int
    begin: bytes


class IncomingMessage(ABC):
    """A message of which a rank knows by now, with its bytes or without; made by the device.

    Attributes:
        origin: its sender, a rank of the world.
        context: of the communicator.
        source: its number there.
        tag: of the message.
        nbytes: its size.
        mode: of its send.
    """

    __slots__ = ("context", "mode", "nbytes", "origin", "source", "tag")

    def __init__(self, origin: int, context: int, source: int, tag: int, nbytes: int, mode: int) -> None:
        self.origin = origin
        self.context = context
        self.source = source
        self.tag = tag
        self.nbytes = nbytes
        self.mode = mode

    @property
    def synchronous(self) -> bool:
        """Whether its sender waits to be told of the match."""
        return self.mode == Mode.SYNCHRONOUS

    @abstractmethod
    def keep(self) -> None:
        """It is unexpected (no receive posted): leave it where it is, or copy it out of a buffer that is reused."""

    @abstractmethod
    def deliver(self, receive: Receive) -> None:
        """It is matched: bring its first `receive.room` bytes into `receive.data`, then call `engine.received`.

        Where it is synchronous its sender's device must be told, and call `engine.matched(send)` there.
        """


class Device(ABC):
    """How the messages of one rank travel.

    Args:
        engine: the rank's.

    Attributes:
        miss_ps: what a poll takes that finds nothing; a device that changes it calls `engine.miss_changed()`.
        eager_limit: bytes of a message to the rank itself that is kept where its receive is not there.
        exchange: what it does in memory that one rank of a host writes and others read; None where it has none.
    """

    __slots__ = ("eager_limit", "engine", "exchange", "miss_ps")

    miss_ps: int
    eager_limit: int
    exchange: HostExchange | None

    def __init__(self, engine: Matching) -> None:
        self.engine = engine
        self.exchange = None

    def begin_pass(self) -> None:  # noqa: B027  most have nothing to do here
        """Begin a poll; `miss_ps` of it are on the CPU's time already."""

    def end_pass(self) -> None:  # noqa: B027
        """End a poll: nothing is pending, or it has done enough."""

    @abstractmethod
    def send(self, send: Send) -> None:
        """Begin a send to another rank, behind those to the same one; what must wait is kept here.

        `engine.sent(send)` follows when its buffer may be used again.
        """

    def send_now(self, dest: int, context: int, source: int, tag: int, data: memoryview, number: int) -> bool:
        """Store a standard send's message, if nothing is in its way; the turn's only call, so the worker is idle.

        Args:
            dest: as `Send` has it, of which no object is made.
            context: likewise.
            source: likewise.
            tag: likewise.
            data: likewise.
            number: likewise.

        Returns:
            Whether its store has begun, which is over when the worker is idle.  False: nothing was done, and no time
            has passed; `send` must follow.
        """
        return False

    @abstractmethod
    def pending(self) -> bool:
        """Return whether `progress` would find anything to do; free of cost."""

    @abstractmethod
    def progress(self, most: int = 1) -> int:
        """Do one thing that there is to do: take one packet (`engine.arrive`), carry one transfer on by a piece.

        Args:
            most: how many it may do; behind the first only looks that find nothing and take no time.

        Returns:
            NOTHING, LAST or MORE; LAST only where it has left nothing to the worker either.
        """

    @abstractmethod
    def quiet(self) -> bool:
        """Return whether nothing is unfinished that this rank has begun; free of cost."""

    def untaken(self) -> Sequence[UntakenMessage]:
        """Return the messages that have arrived and that no poll has taken; free of cost, for reports."""
        return ()

    def slots_in_use(self) -> Sequence[str]:
        """Return one line for each kind of resource in use, for the report of a deadlock."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return counts of its own for `result.statistics`."""
        return {}
