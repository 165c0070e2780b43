"""The conduit on real MPI: ranks are processes, time is real."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from struct import Struct
from typing import ClassVar, TypeVar

import attrs

from conduit.contract import Bytes, Core, JobSetup, Limits, Message, RankKind, World
from conduit.options import option
from conduit.wall import Posted, WallConduit, WallPort
from conduits.mpi import real
from conduits.mpi.gather import all_gather
from conduits.mpi.interface import PlainComm
from conduits.mpi.messages import Messages, SlotRecord
from conduits.mpi.segments import SharedSegments
from conduits.mpi.wire import MAX_ARGS

MAX_LONG = 1 << 30
SPIN_NS = 1_000_000
_COUNTS = Struct("<QQB")
_ATTACH, _END = 0, 1  # what is gathered for
_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class RealOptions:
    """Options of `mpi:library=mpi4py`."""

    # Both are assumed: 8 as on simulated libraries (`mpi.credits`), 65536 about what GASNet's own conduit on MPI has:
    # real copies are cheap beside a message of its own.
    credits: int = option(
        8, "requests under way from one rank to another", validator=attrs.validators.and_(
            attrs.validators.ge(1), attrs.validators.le(1024)
        ), conformance=(8, 1),
    )  # fmt: skip
    medium: int = option(
        65536, "bytes of the largest medium payload; longer long ones travel by themselves",
        validator=attrs.validators.and_(attrs.validators.ge(512), attrs.validators.le(1 << 20)),
        conformance=(65536, 512),
    )  # fmt: skip
    shared: bool = option(True, "ranks of one host write long payloads into each other's segments themselves")


class RealMpi(WallConduit):
    """Active Messages on the MPI that mpi4py was built for."""

    name: ClassVar[str] = "mpi"
    summary: ClassVar[str] = "real MPI through mpi4py: every rank a process, in real time"
    rank_kind: ClassVar[RankKind] = RankKind.PROCESS
    Options: ClassVar[type] = RealOptions

    def __init__(self, options: RealOptions, setup: JobSetup, world: World) -> None:
        super().__init__(options, setup, world)
        self.processes = real.join()
        self.segments = SharedSegments(self.processes, setup.segment) if options.shared else None

    @classmethod
    def limits(cls, options: RealOptions) -> Limits:
        """Return the limits."""
        return Limits(MAX_ARGS, options.medium, MAX_LONG, MAX_LONG)

    @classmethod
    def thresholds(cls, options: RealOptions) -> tuple[int, ...]:
        """Return the size from which a long payload is a message of its own."""
        return (options.medium,)

    @classmethod
    def announced(cls, options: RealOptions) -> int | None:
        """Return how many processes the launcher announces."""
        return real.announced()

    @classmethod
    def start_command(
        cls, options: RealOptions, ranks: int, program: Sequence[str]
    ) -> tuple[list[str], dict[str, str]]:
        """Return the command that starts `ranks` processes."""
        return real.start_command(ranks, program)

    @classmethod
    def tells_end(cls, line: bytes) -> bool:
        """Say whether MPI says in it that a rank has aborted the job, by a program's call or by an error of its own."""
        return real.tells_end(line)

    @classmethod
    def join_stops_threads(cls, options: RealOptions) -> bool:
        """Say whether `join` calls MPI_Init, which mpi4py does without letting Python's other threads run."""
        return not real.is_begun()

    @classmethod
    def join(cls, options: RealOptions) -> real.MpiProcesses:
        """Initialise MPI, once."""
        return real.join()

    def make_port(self, rank: int, core: Core) -> MpiPort:
        """Return this process's port."""
        return MpiPort(self, rank, core)


class MpiPort(WallPort):
    """One process's port."""

    network: RealMpi

    def __init__(self, network: RealMpi, rank: int, core: Core) -> None:
        super().__init__(network, rank, core)
        self.spin_ns = 0 if self.clock.crowded else SPIN_NS
        self._gathers: PlainComm | None = None
        self._comms: tuple[PlainComm, ...] = ()  # of requests and of replies
        self._messages: Messages | None = None
        self._over = False

    async def start(self) -> None:
        """Make the communicators, which all ranks do at the same time."""
        await super().start()
        world = self.network.processes.comm
        self._gathers, *comms = world.Dup(), world.Dup(), world.Dup()
        self._comms = tuple(comms)

    def _post(self) -> None:
        """Post the receives of Active Messages; no rank sends any before all have come to an attach."""
        world, segments = self.network.processes, self.network.segments
        options: RealOptions = self.network.options
        reach: Sequence[memoryview | None] = [None] * world.size
        if segments is not None:
            reach = [None if each is None else each.data for each in segments.others]
        requests, replies = self._comms
        self._messages = made = Messages(
            world, (requests, replies), self.segment.data, reach, credits=options.credits, medium=options.medium
        )
        self.acquire = made.acquire  # type: ignore[method-assign]
        self.shorten(made.take, made.send_request, made.send_reply)

    def close(self) -> None:
        """Give the communicators back, where the job has ended well; else messages may still arrive."""
        world = self.network.processes
        at_end, world.at_end = world.at_end, []
        for call in at_end if self._over else ():
            call()
        if self._over and self._gathers is not None:
            if self._messages is not None:
                self._messages.close()  # its communicators as well
            else:
                for comm in self._comms:
                    comm.Free()
            self._gathers.Free()
        else:
            _LEFT.append(self)

    # -- conduit.wall.WallPort -----------------------------------------------------------------------

    def make_segment(self, nbytes: int) -> Bytes:
        """Return the rank's segment, in the memory of the host or in its own."""
        segments = self.network.segments
        return super().make_segment(nbytes) if segments is None else segments.own

    def segment_of(self, rank: int) -> Bytes | None:
        """Return the segment of a rank of this host."""
        segments = self.network.segments
        return super().segment_of(rank) if segments is None else segments.others[rank]

    def take(self) -> Message | None:
        """Return the next message that has arrived; before the first attach there is none."""
        return None if self._messages is None else self._messages.take()

    def acquire(self, dest: int) -> SlotRecord | None:
        """Take a slot to `dest`."""
        return self._attached().acquire(dest)

    def send_request(self, dest: int, slot: SlotRecord, message: Message) -> Posted:
        """Post a request; what it is sent from is its own, or lent until the reply, which MPI cannot outlast."""
        self._attached().send_request(dest, slot, message)
        return None

    def send_reply(self, request: Message, reply: Message) -> None:
        """Post a reply."""
        self._attached().send_reply(request, reply)

    def _attached(self) -> Messages:
        assert self._messages is not None
        return self._messages

    def begin_allgather(self, data: bytes) -> Callable[[], Sequence[bytes] | None]:
        """Begin to give `data` to all ranks, as each attach does."""
        assert self._gathers is not None
        if self._messages is None:
            self._post()
        return _asked(all_gather(self._gathers, data, _ATTACH))

    def begin_serving(self) -> Callable[[], bool]:
        """Begin to find out, with all ranks that have returned, whether every message was handled."""
        ended = _asked(self._agree())
        return lambda: bool(ended())

    def slot_number(self, slot: SlotRecord) -> int:
        """Return the number that the header has."""
        return slot.slot

    def slots_in_use(self) -> Sequence[str]:
        """Describe the slots in use."""
        if self._messages is None:
            return ()
        most = self.network.options.credits
        used = self._messages.slots_in_use()
        return [f"{count} of {most} slots to rank {dest} in use" for dest, count in used.items() if count]

    def undelivered(self) -> int:
        """Return how many messages wait here, as far as MPI has told."""
        return super().undelivered() + (0 if self._messages is None else self._messages.landing())

    def _agree(self) -> Generator[None, None, bool]:
        """Yield until the totals of all ranks agree twice: all sent is handled, and it is as much as before (E1)."""
        assert self._gathers is not None
        before: tuple[int, int] | None = None
        while True:
            mine = _COUNTS.pack(self.sent, self.handled, self.network.quiet())
            counts = [_COUNTS.unpack(each) for each in (yield from all_gather(self._gathers, mine, _END))]
            totals = sum(sent for sent, _, _ in counts), sum(handled for _, handled, _ in counts)
            if totals[0] == totals[1] and totals == before and all(quiet for _, _, quiet in counts):
                self._over = True
                return True
            before = totals
            yield  # a single rank's gather never does, and what it waits for may be its own next pass


def _asked(steps: Generator[None, None, _T]) -> Callable[[], _T | None]:
    """Return what takes one step each time it is called, and gives the result when that is there."""
    result: list[_T] = []

    def ask() -> _T | None:
        if not result:
            try:
                next(steps)
            except StopIteration as over:
                result.append(over.value)
        return result[0] if result else None

    return ask


_LEFT: list[MpiPort] = []
"""Ports of jobs that have not ended well: MPI may still write into their buffers."""
