"""The conduit on a simulated MPI library: ranks are tasks, time is virtual.

A rank has one port, as on every simulated network, and its transport is the library.  Where the port polls, the
library makes progress, and gives the Active Messages that have come by it.  Programs of MPI use the same port
without any.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, ClassVar, Literal, NoReturn, TypeVar

import attrs

from conduit import BadRequest
from conduit.contract import LONG, Awaited, Constant, Core, Costs, Limits, Message, Unhandled
from conduit.options import option
from conduit.sim import Kernel
from conduit.simnet import HostModel, SimulatedConduit, SimulatedPort, Transport
from conduit.simnet.observed import spend_on
from conduit.simnet.transport import LATER, Then
from conduit.simnet.waiting import Blocked
from conduit.trio_private import cancelled
from conduit.words import many
from conduits.mpi import constants as c
from conduits.mpi.awaited.open_requests import OpenRequests
from conduits.mpi.awaited.peers import peer_in_words
from conduits.mpi.awaited.process import CURRENT, Both, Process, RequestPlace, Told, TransferComm, Words
from conduits.mpi.awaited.same_calls import SameCalls
from conduits.mpi.awaited.status import Status
from conduits.mpi.crossed_sends import Unasked
from conduits.mpi.engine.contexts import HIDDEN
from conduits.mpi.engine.device import MORE, NOTHING, Device
from conduits.mpi.engine.engine import Engine
from conduits.mpi.engine.plain import EngineLibrary
from conduits.mpi.engine.transfer import PROC_NULL
from conduits.mpi.engine.worker import Worker
from conduits.mpi.libraries.installation import Installation
from conduits.mpi.messages import Messages, SlotRecord
from conduits.mpi.wire import MAX_ARGS, word_of

MAX_LONG = 1 << 30
_WAKE = 3 << 20  # as the core logs it
_SENDS = 256  # of a rank that are known
_LINES = 3  # that one line of a warning names
_TAGS = 8  # of one sender that are told one by one
_BEGINNING = ("Isend", "Issend", "Irsend")  # whose sends may go on when the program is over
_READY = ("Rsend", "Irsend", "Rsend_init")
_STEPS = 10  # of the library in one pass, as messages
_STYLES = Literal["flat", "broadcast", "nodes"]
_STYLES_WITH_EXCHANGE = Literal["flat", "broadcast", "nodes", "exchange"]
_T = TypeVar("_T")


def _common_options(library: type[Installation]) -> dict[str, Any]:
    """Return the options that every simulated library has beside those of its own."""
    return {
        "collectives": option(
            library.collectives, "the usual algorithms of MPI's collectives: flat is blind to who shares a host; with "
            "nodes one rank speaks for those of its host, with broadcast in broadcasts alone"
            + ("; with exchange besides through shared buffers within a host" if library.exchanges else ""),
        ),
        "credits": option(
            c.whole(c.CREDITS), "requests under way from one rank to another", validator=attrs.validators.and_(
                attrs.validators.ge(1), attrs.validators.le(1024)
            ), conformance=(c.whole(c.CREDITS), 1),
        ),
        "medium": option(
            c.whole(c.MEDIUM), "bytes of the largest medium payload; longer long ones travel by themselves",
            validator=attrs.validators.and_(attrs.validators.ge(512), attrs.validators.le(1 << 20)),
            conformance=(c.whole(c.MEDIUM), 512),
        ),
    }  # fmt: skip


class SimulatedMpi(SimulatedConduit):
    """Active Messages on a simulated MPI library; `on` makes the class for one."""

    name: ClassVar[str] = "mpi"
    library: ClassVar[type[Installation]]
    alone = False
    """Whether the program is one of MPI alone."""

    @classmethod
    def limits(cls, options: Any) -> Limits:
        """Return the limits."""
        return Limits(MAX_ARGS, options.medium, MAX_LONG, MAX_LONG)

    @classmethod
    def thresholds(cls, options: Any) -> tuple[int, ...]:
        """Return the size from which a long payload is a message of its own."""
        return (options.medium,)

    @classmethod
    def costs(cls, options: Any) -> Costs:
        """Return what messages cost, as far as the library says."""
        return cls.library.costs(options)

    @classmethod
    def max_ranks_per_host(cls, options: Any) -> int | None:
        """Return how many processes a host holds."""
        return cls.library.max_ranks_per_host(options)

    @classmethod
    def max_hosts(cls, options: Any) -> int | None:
        """Return how many hosts the network can have."""
        return cls.library.max_hosts(options)

    def on_their_way(self) -> int:
        """Return how many messages of MPI have been sent and have not come to their ranks."""
        return sum(port.library.engine.balance() for port in self.ports if isinstance(port, SimulatedMpiPort))

    def make_host(self) -> HostModel:
        """Install the library; return the costs of its hosts."""
        self.installation = self.library(self.kernel, self.setup, self.options)
        self.same_calls = SameCalls()
        return self.installation.host

    def make_port(self, rank: int, core: Core) -> SimulatedMpiPort:
        """Return the port of a rank."""
        return SimulatedMpiPort(self, rank, core)

    def make_transport(self, port: SimulatedPort) -> Transport:
        """Return the library as a rank uses it."""
        assert isinstance(port, SimulatedMpiPort)
        return LibraryTransport(port, self.installation)

    def make_shared_transport(self, port: SimulatedPort, neighbours: Any, size: int) -> None:
        """Return None: the library has ways of its own between the ranks of a host."""

    def allgather_ticks(self) -> int:
        """Return what an all-gather at attach costs."""
        return self.installation.allgather_ticks(self.setup.ranks)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what the hosts' shared parts have done."""
        return self.installation.host_statistics()

    def quiet(self) -> bool:
        """Return whether all messages have been handled, and all that was sent besides is away.

        Of a program of MPI alone it has come, too: to where it is seen that nobody has received it.
        """
        return (
            super().quiet()
            and all(port.library.engine.quiet() for port in self.ports if isinstance(port, SimulatedMpiPort))
            and not (self.alone and self.on_their_way() > 0)
        )


@cache
def on(library: type[Installation]) -> type[SimulatedMpi]:
    """Return the network of Active Messages on a library."""
    fields = _common_options(library)
    fields |= {
        "__annotations__": {
            "collectives": _STYLES_WITH_EXCHANGE if library.exchanges else _STYLES,
            "credits": int,
            "medium": int,
        },
        "__doc__": library.Options.__doc__,
        "__module__": __name__,
    }
    options = attrs.frozen(kw_only=True)(type(f"{library.__name__}Options", (library.Options,), fields))
    constants: tuple[Constant, ...] = (*c.CONSTANTS, *library.constants)
    return type(
        library.__name__,
        (SimulatedMpi,),
        {
            "__doc__": library.__doc__, "__module__": library.__module__, "library": library, "Options": options,
            "summary": library.summary, "constants": constants,
        },
    )  # fmt: skip


_NONE_SENT: deque[tuple[Any, TransferComm, int, int]] = deque(maxlen=0)
"""Of a rank that has not started."""


class _TellsCalls(SimulatedPort):
    """What a port does besides where somebody listens: the library's own work in a call is no polling."""

    __slots__ = ()

    def begin_call_at_once(self) -> bool:
        begun: bool = super().begin_call_at_once()  # type: ignore[misc]
        if begun:
            spend_on(self, "call")
        return begun

    async def begin_call(self) -> None:
        await super().begin_call()  # type: ignore[misc]
        spend_on(self, "call")


class SimulatedMpiPort(SimulatedPort):
    """One rank's port.

    Attributes:
        library: the rank's library.
        worker: that of its engine.
        transport: what the port polls.
        warn: tells the user something, where the program is one of MPI alone.
        last_sends: of the program, the last ones: where each was made, communicator, destination and tag.
    """

    OBSERVED = (_TellsCalls,)
    warn: Callable[[str], None] | None = None
    last_sends: deque[tuple[Any, TransferComm, int, int]] = _NONE_SENT
    _process: SimulatedProcess | None = None  # until the job is over
    conduit: SimulatedMpi
    library: EngineLibrary
    worker: Worker
    transport: LibraryTransport

    def close(self) -> None:
        """The job is over; warn of what was sent to this rank and never received, which MPI forbids.

        Calls are refused from now on: programs may have kept a communicator or a request.
        """
        super().close()
        process, self._process = self._process, None
        if process is not None:
            process.end()
        warn = self.warn
        if warn is not None and self.conduit.over():
            self.warn = None  # it is told once
            for text in _never_received(self):
                warn(text)
            for text in self.conduit.same_calls.unmatched() if self.rank == 0 else ():
                warn(text)
            if self.rank == 0 and (count := self.conduit.on_their_way()) > 0:
                warn(f"{many(count, 'message')} of any ranks still on the way when all had returned, never received")
        if self.rank == len(self.hosts) - 1:  # all have said what they know
            for port in self.conduit.ports:
                if isinstance(port, SimulatedMpiPort):
                    port.last_sends.clear()

    async def start(self) -> None:
        """Take the rank's own task; charge what MPI_Init costs."""
        self._bind()
        self.last_sends = deque(maxlen=_SENDS)
        self._process = SimulatedProcess(self)
        CURRENT.set(self._process)
        await self.compute(self.conduit.installation.start_ticks(self.rank))

    async def allgather(self, data: bytes) -> Sequence[bytes]:
        """Meet all ranks; the first time post what is to receive Active Messages."""
        if self.transport.messages is None:
            await self.call(self.transport.attach)
        return await super().allgather(data)

    async def call(self, function: Callable[..., _T], *args: Any) -> _T:
        """Poll once, then call a plain function of MPI, in a turn of this rank's CPU.

        It lasts until all that the function began to store is stored, also where the function raises.
        """
        if not self.begin_call_at_once():
            await self.begin_call()
        try:
            try:
                result = function(*args)
            except Exception:
                if not (self.worker.idle or self.worker.at_once()):
                    await self.stores_over()  # of what it had begun before; nobody else asks for that
                raise
            if not (self.worker.idle or self.worker.at_once()):
                await self.stores_over()
        finally:
            self.end_call()
        return result

    def begin_call_at_once(self) -> bool:
        """Take a turn of the CPU and poll, where no wait is needed and nothing is to be done besides; else False."""
        cpu, kernel = self.cpu, self.kernel
        if self.blocked or cpu.busy or self._calls <= 1 or kernel.ending or cancelled(kernel.task):
            return False
        cpu.busy = True
        if (cpu.free > kernel.now and not kernel.advance(cpu.free)) or self._attention:
            cpu.busy = False
            return False
        self._calls -= 1
        self._polls += 1
        cpu.free = kernel.now + self._miss_ps
        return True

    async def begin_call(self) -> None:
        """Take a turn of the CPU, and poll."""
        cpu = self.cpu
        if self._interrupted():
            await self._enter()
        await cpu.acquire()
        try:
            self._polls += 1
            if self._attention:
                await self._poll_pass()
                if cpu.free < self.kernel.now:  # layers above have sent something, and given the turn away meanwhile
                    cpu.free = self.kernel.now
            else:
                cpu.free = self.kernel.now + self._miss_ps
        except BaseException:
            self.end_call()
            raise

    async def stores_over(self) -> None:
        """Wait until all that a call has begun to store is stored."""
        idle = self._sent  # shielded, as all its waits are
        idle.done = False
        self.worker.when_idle(idle.wake)
        if not idle.done:
            await self.kernel.park(idle)

    def end_call(self) -> None:
        """Give the CPU's turn back."""
        if self.blocked:
            self._look_later = True  # the call may have ended what others wait for
        if self.cpu.turns or self._look_later:
            self.cpu.release()
        else:
            self.cpu.busy = False

    def miss_changed(self) -> None:
        """Take note that a poll in vain costs another time than before."""
        self.transport.miss_changed()
        super().miss_changed()

    def undelivered(self) -> int:
        """Return how many messages no pass has taken, and how many are unexpected."""
        engine = self.library.engine
        return super().undelivered() + len(engine.device.untaken()) + engine.unexpected()

    def sent_to(self, dest: SimulatedMpiPort, context: int, tag: int) -> list[tuple[Any, TransferComm]]:
        """Return where this rank's last sends to a rank by a context and a tag were made, and their communicators."""
        return [
            (place, comm) for place, comm, to, by in self.last_sends if by == tag and _leads(comm, to, context, dest)
        ]  # fmt: skip

    def ready_sends_at(self, source: int, context: int, tag: int) -> list[str]:
        """Return the lines of a rank's last ready sends to this one by a context and a tag; [] where they are many.

        What a rank sends to itself arrives in the send, which is not known yet: it is the line that runs.
        """
        if source == self.rank:
            return [_line(RequestPlace.here(""))]
        sender = self.conduit.ports[source]
        assert isinstance(sender, SimulatedMpiPort)
        return _few(
            place
            for place, _ in sender.sent_to(self, context, tag)
            if isinstance(place, RequestPlace) and place.call in _READY
        )

    def sends_at(self, source: int, context: int, tag: int) -> list[str]:
        """Return the lines of the last sends to this rank of the one with a number in a communicator, by a tag.

        [] where they are many, and of what a rank sends to itself: that may arrive before its send is known.
        """
        return _few(
            place
            for port in self.conduit.ports
            if isinstance(port, SimulatedMpiPort) and port is not self
            for place, comm in port.sent_to(self, context, tag)
            if comm.plain.Get_rank() == source
        )


def _few(places: Iterable[Any]) -> list[str]:
    """Return the lines of sends, [] where they are many."""
    lines = list(dict.fromkeys(map(_line, places)))
    return lines if len(lines) <= _LINES else []


def _leads(comm: TransferComm, dest: int, context: int, port: SimulatedMpiPort) -> bool:
    """Say whether a send goes to a rank by a context; not where its communicator was freed."""
    plain = comm.plain
    return dest != PROC_NULL and bool(plain.context == context and plain.group[dest] == port.rank)


def _line(place: Any) -> str:
    """Return where a send was made: of `RequestPlace`, or of what `conduit.call_guard` has."""
    if isinstance(place, RequestPlace):
        return f"{place.file}:{place.line}"
    _, _, code, lasti = place
    line = next(islice(code.co_positions(), lasti // 2, None))[0]
    return f"{code.co_filename}:{line}"


def _senders_wait(port: SimulatedMpiPort) -> dict[tuple[int, int], int]:
    """Return by source and tag how many messages no receive asks for, where their sender waits for all of them."""
    found = {}
    for (source, tag), count in port.library.engine.unexpected_by().items():
        waits = [wait.what for wait in port.conduit.ports[source].waits() if port.rank in wait.ranks]
        if sum(re.search(rf" to [^,]+, tag {tag}, on ", what) is not None for what in waits) >= count:
            found[source, tag] = count
    return found


def _of_collectives(port: SimulatedMpiPort) -> tuple[int, list[tuple[int, str]]]:
    """Return of how many messages of collective calls waits tell, and the others by call: how many, and in words."""
    engine, waited, others = port.library.engine, 0, []
    for context, count in engine.unexpected_counts().items():
        calls = list(port.conduit.same_calls.open_on(context - HIDDEN, port.rank))
        if any(
            wait.what == what
            for came, _ in calls
            for each, what in came.items()
            for wait in port.conduit.ports[each].waits()
        ):
            waited += count
        elif len(calls) == 1:
            others.append((count, f"{many(count, 'message')} of {calls[0][1]}"))
    return waited, others


def _unexpected(port: SimulatedMpiPort, but: Container[tuple[int, int]] = ()) -> Iterator[tuple[int, str]]:
    """Yield how many messages are there that no receive asks for, and in words which, those of many tags put together.

    On communicators other than that of the world, whose names the senders know, those alone whose sends are known.

    Args:
        port: of the rank.
        but: senders in the world and tags that are left out.
    """
    world = port.library.world
    kinds: dict[tuple[int, str, str], list[tuple[int, int, list[Any]]]] = {}  # by origin, sender and communicator
    for (context, origin, source, tag), count in port.library.engine.unexpected_messages().items():
        sender = port.conduit.ports[origin]
        sends = sender.sent_to(port, context, tag) if isinstance(sender, SimulatedMpiPort) else []
        if (origin, tag) in but or not (sends or context == world.context):
            continue
        name = world.name if context == world.context else sends[-1][1].plain.name
        kind = origin, peer_in_words(source, origin), name
        kinds.setdefault(kind, []).append((tag, count, [place for place, _ in sends]))
    for (_, who, name), found in kinds.items():
        if len(found) <= _TAGS:
            for tag, count, places in found:
                yield count, f"{many(count, 'message')} from {who}, tag {tag}, on {name}{_sent(places, count)}"
        else:
            total, tags = sum(count for _, count, _ in found), [tag for tag, _, _ in found]
            which = f"{len(tags)} tags from {min(tags)} to {max(tags)}"
            places = [place for _, count, places in found for place in places[-count:]]
            yield total, f"{many(total, 'message')} from {who}, {which}, on {name}{_sent(places, total)}"


def _never_taken(port: SimulatedMpiPort) -> str:
    """Return in words which sends that a rank has begun no receive takes, "" where they are over, or not known."""
    found = []
    unfinished = port.library.engine.unfinished()
    for other in port.conduit.ports if unfinished else ():
        if isinstance(other, SimulatedMpiPort):
            for (context, origin, _, tag), count in other.library.engine.unexpected_messages().items():
                sends = port.sent_to(other, context, tag)[-count:] if origin == port.rank else []
                found += [(place, other.rank) for place, _ in sends if getattr(place, "call", "") in _BEGINNING]
    words = list(dict.fromkeys(f"its {place.call} at {_line(place)} to rank {dest}" for place, dest in found))
    if not words or len(words) > _LINES:
        return ""
    # Short ones may be over, and wait where they have gone.
    some = f"{unfinished} of the messages of " if len(found) > unfinished else ""
    return f"{some}{' and '.join(words)} to be received"


def _sent(sends: Sequence[Any], count: int) -> str:
    """Return in words at which lines as many messages were sent that were not received; "" where not all are known.

    Messages from one rank by one tag are received in the order of their sends: so these are the last ones.
    """
    if len(sends) < count:
        return ""
    lines = _few(sends[len(sends) - count :])
    return f", sent at {' and '.join(lines)}" if lines else ""


def _never_received(port: SimulatedMpiPort) -> Iterator[str]:
    """Yield what to say of messages that have come to a rank whose program is over."""
    library, told = port.library, 0
    for count, messages in _unexpected(port):
        told += count
        yield f"{messages}, never received"
    if count := library.engine.extracted():
        yield _never_given(count)
    if count := library.engine.unexpected() - told:
        yield (
            f"{many(count, 'message')} of other communicators, or of collective calls that have failed or that not all "
            "ranks have made alike, never received"
        )


def _never_given(count: int) -> str:
    """Return what to say of messages that matched probes have taken out."""
    return f"{many(count, 'message')} that Mprobe or Improbe has found, never received: `await` the Recv() of each"


class LibraryTransport(Transport):
    """The library as a rank's port polls it.

    Args:
        port: the rank's port.
        installation: the library.

    Attributes:
        messages: Active Messages, None before the first attach.
    """

    port: SimulatedMpiPort

    def __init__(self, port: SimulatedMpiPort, installation: Installation) -> None:
        super().__init__(port)
        self._engine = Engine(port, installation.software, installation.host, installation.device)
        self._worker = self._engine.worker
        port.library = EngineLibrary(self._engine)
        port.worker = self._worker
        port.transport = self
        self._layer = installation.layer
        world = port.library.world
        self._comms = (world.Dup(), world.Dup())
        self._held: Message | None = None
        self._resume = port.resume_pass
        self._steps = 0  # how many the pass may still make; where it has made all there may be more
        device = self._engine.device
        self._begins = type(device).begin_pass is not Device.begin_pass
        self._ends = type(device).end_pass is not Device.end_pass
        self.messages: Messages | None = None
        self.miss_changed()

    def miss_changed(self) -> None:
        """Take note of what a poll in vain costs by now."""
        tests = 0 if self.messages is None else 2 * self._engine.software.test_ps
        self.miss_ps = max(1_000, self._engine.device.miss_ps + tests)

    def attach(self) -> None:
        """Post what is to receive; a plain call of MPI."""
        port = self.port
        options = port.conduit.options
        self.messages = Messages(
            port.library, self._comms, memoryview(port.memory.view), [None] * len(port.hosts),
            credits=options.credits, medium=options.medium,
        )  # fmt: skip
        port.miss_changed()

    def begin_pass(self) -> None:
        """Begin a pass, which takes at most this many steps."""
        self._steps = _STEPS
        self._worker.passing = True
        if self._begins:
            self._engine.device.begin_pass()

    def take(self) -> Message | None:
        """Let the library make a step; return the next Active Message that has come by now."""
        worker, engine = self._worker, self._engine
        while True:
            if not (worker.idle or (worker.passing and worker.at_once())):
                worker.passing = False  # it goes on inside an act of the hardware, which is not over
                worker.when_idle(self._resume)
                return LATER
            most = steps = self._steps
            if self.messages is not None:
                message = self._held
                if message is None:
                    message = self._held = self.messages.take()
                    if not worker.idle:
                        continue
                if message is not None:
                    self._held = None
                    ticks = self._layer.receive
                    if message.word & LONG and message.nbytes:
                        ticks += self._copy_ps(message.nbytes)  # out of where it was received, into the segment
                        self._show(message)
                    engine.charge(ticks)
                    return message
                most = 1
            if not steps:
                return None
            left = engine.progress() if engine.schedules else engine.device.progress(most)
            if left < MORE and (left == NOTHING or self.messages is None):
                return None
            self._steps = steps - 1

    def _copy_ps(self, nbytes: int) -> int:
        """Return what the layer's own copy of a payload takes, one where it travels behind a header; see `Messages`."""
        return self._engine.host.copy_ticks(nbytes) if nbytes <= self.port.conduit.options.medium else 0

    def _show(self, message: Message) -> None:
        """Let who listens to landings hear of a payload that MPI has put into the segment."""
        memory, end = self.port.memory, message.offset + message.nbytes
        memory.write(message.offset, bytes(memory.view[message.offset : end]))

    def end_pass(self) -> None:
        """Let the next pass go on where there is more."""
        engine = self._engine
        if self._ends:
            engine.device.end_pass()
        if not self._steps and (engine.pending() if engine.schedules else engine.device.pending()):
            self.port.notify()

    def acquire(self, dest: int) -> SlotRecord | None:
        """Take a slot to `dest`."""
        assert self.messages is not None
        return self.messages.acquire(dest)

    def send_request(self, dest: int, slot: SlotRecord, message: Message, then: Then) -> None:
        """Send a request."""
        assert self.messages is not None
        self._engine.charge(self._layer.request + self._copy_ps(message.nbytes))
        self.messages.send_request(dest, slot, message)
        self._end_send(then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send a reply."""
        assert self.messages is not None
        self._engine.charge(self._layer.reply + self._copy_ps(reply.nbytes))
        self.messages.send_reply(request, reply)
        self._end_send(then)

    def _end_send(self, then: Then) -> None:
        """Call `then()` when what the send stores is stored; a message that waits for room takes CPU time alone."""
        if self._worker.idle:
            kernel, cpu = self._engine.kernel, self._engine.cpu
            kernel.call(max(cpu.free, kernel.now), then)
        else:
            self._worker.when_idle(then)

    def unhandled(self) -> list[Unhandled]:
        """Return the Active Messages among what the library has and no poll has taken, as far as they have begun."""
        mine = [comm.context for comm in self._comms]
        return [
            Unhandled(each.origin, word_of(each.begin))
            for each in self._engine.device.untaken()
            if each.context in mine and each.begin
        ]

    def slots_in_use(self) -> list[str]:
        """Describe the slots in use, and what waits in the library."""
        lines = list(self._engine.device.slots_in_use())
        if self.messages is not None:
            most = self.port.conduit.options.credits
            used = self.messages.slots_in_use()
            lines += [f"{count} of {most} slots to rank {dest} in use" for dest, count in used.items() if count]
        return lines

    def statistics(self) -> Mapping[str, int]:
        """Return what the library has done."""
        return self._engine.statistics()


class ForTransfer(Blocked):
    """Waits for the end of a send or a receive; the words are made when somebody asks.

    Args:
        kernel: the job's time.
        request: what is waited for.
        comm, call, peer, tag: what was called, for reports.
    """

    __slots__ = ("_call", "_comm", "_peer", "_request", "_tag")

    def __init__(self, kernel: Kernel, request: Any, comm: Words, call: str, peer: int, tag: int) -> None:
        self.done = self.shielded = False
        self.task = None
        self.kernel = kernel
        self.since = kernel.now
        self.owner = kernel.task
        self.error = None
        self._request = request
        self._comm = comm
        self._call = call
        self._peer = peer
        self._tag = tag

    @property
    def what(self) -> str:  # type: ignore[override]  # made when it is asked for
        """What it waits for."""
        return self._comm.words(self._call, self._peer, self._tag)

    def ready(self) -> bool:
        """Return whether it is over."""
        over: bool = self._request.over
        return over

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that it waits for."""
        return tuple(self._comm.ranks_of(self._peer))


class ForExchange(Blocked):
    """Waits for the end of a send and a receive that one call has begun; names what is left of them when it is asked.

    Args:
        kernel: the job's time.
        exchange: both.
    """

    __slots__ = ("_exchange",)

    def __init__(self, kernel: Kernel, exchange: Both) -> None:
        self.done = self.shielded = False
        self.task = None
        self.kernel = kernel
        self.since = kernel.now
        self.owner = kernel.task
        self.error = None
        self._exchange = exchange

    @property
    def what(self) -> str:  # type: ignore[override]  # made when it is asked for
        """What it waits for."""
        return self._exchange.what()

    def ready(self) -> bool:
        """Return whether both are over."""
        return self._exchange.over()

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that it waits for."""
        return tuple(self._exchange.ranks())


class SimulatedProcess(Process):
    """A simulated rank, as the awaited names use it."""

    def __init__(self, port: SimulatedMpiPort) -> None:
        super().__init__(port.library, port.rank, port.hosts)
        self.collectives = port.conduit.options.collectives
        self.same_calls = port.conduit.same_calls
        self._port = port
        self.call = port.call  # every call of MPI takes this way
        self._note = port.last_sends.append
        self._waiting: dict[object, OpenRequests] = {}

    def end(self) -> None:
        """Refuse every further call, without a test in those of a job that goes on."""
        self.same_calls = None
        self.ended = True
        for name in ("call", "exchanged", "finished", "wait", "wait_for", "poll"):
            setattr(self, name, self._refuse)
        for name in ("_guarded_send", "_guarded_receive"):
            setattr(self, name, self._refuse_guarded)

    async def _refuse(self, *_: Any) -> NoReturn:
        raise BadRequest(
            f"this call of MPI is of rank {self.rank} of a job that is over; make calls while main runs, and return "
            "from it what is wanted afterwards"
        )

    async def _refuse_guarded(self, unused: list[Any], *_: Any) -> NoReturn:
        unused.clear()
        await self._refuse()

    async def finished(self, request: Any, comm: Words, call: str, peer: int, tag: int) -> None:
        """Poll until a send or a receive is over."""
        port = self._port
        await port._block(ForTransfer(port.kernel, request, comm, call, peer, tag))
        digest_log = port.core.digest_log
        if digest_log is not None:
            digest_log.extend((port.ticks(), _WAKE))

    async def exchanged(self, exchange: Both) -> None:
        """Poll until a send and a receive are over, in one wait."""
        port = self._port
        await port._block(ForExchange(port.kernel, exchange))
        digest_log = port.core.digest_log
        if digest_log is not None:
            digest_log.extend((port.ticks(), _WAKE))

    async def wait_for(self, over: Callable[[], object], requests: OpenRequests) -> None:
        """Poll until `over()`; a report names those of the requests that are open when it is made."""
        task = self._port.kernel.task
        self._waiting[task] = requests
        try:
            await self.wait(over, requests.words(), list(requests))
        finally:
            del self._waiting[task]

    async def wait(self, over: Callable[[], object], what: str, ranks: Sequence[int]) -> None:
        """Poll until `over()`."""
        await self._port.block_until(over, what, ranks)
        digest_log = self._port.core.digest_log
        if digest_log is not None:
            digest_log.extend((self._port.ticks(), _WAKE))

    # What programs call most: as `Process` has them, in one coroutine, since a coroutine in a coroutine costs.

    async def _guarded_send(self, unused: list[Any], comm: TransferComm, data: memoryview, dest: int, tag: int) -> None:
        place = unused.pop()
        port = self._port
        if not port.begin_call_at_once():
            await port.begin_call()
        try:
            begun = comm.plain.send_bytes(data, dest, tag)
            self._note((place, comm, dest, tag))
            if not (port.worker.idle or port.worker.at_once()):
                await port.stores_over()
        finally:
            port.end_call()
        if not begun.over:  # no send of the engine has an error
            await self.sent(begun, comm, "Send", dest, tag)

    async def _guarded_receive(
        self, unused: list[Any], comm: TransferComm, data: memoryview, source: int, tag: int, status: Status | None
    ) -> None:
        unused.clear()
        port = self._port
        if not port.begin_call_at_once():
            await port.begin_call()
        try:
            begun = comm.plain.receive_bytes(data, source, tag)
            if not (port.worker.idle or port.worker.at_once()):
                await port.stores_over()
        finally:
            port.end_call()
        if not begun.over:
            try:
                await port._block(ForTransfer(port.kernel, begun, comm, "Recv", source, tag))
            except BaseException as error:
                words = comm.words("Recv", source, tag)
                if await self.taken_back(error, begun, lambda: begun.over, words, comm.ranks_of(source)):
                    raise
            digest_log = port.core.digest_log
            if digest_log is not None:
                digest_log.extend((port.ticks(), _WAKE))
        if status is not None:
            status.fill(begun)
        if begun.error is not None:
            raise begun.error

    def has_sent(self, comm: TransferComm, call: str, dest: int, tag: int) -> None:
        """Take note of a send of the program's that has begun, but for `Send`, which does so by itself."""
        self._note((RequestPlace.here(call), comm, dest, tag))

    async def poll(self) -> None:
        """Poll once."""
        await self._port.poll()

    def go_alone(self, warn: Callable[[str], None]) -> None:
        """The program is one of MPI alone: its sends and receives are what the digest is of."""
        self._port.warn = warn
        self._port.conduit.alone = True
        self._port.library.engine.digest_log = self._port.core.digest_log

    def tell(self, told: Told) -> None:
        """Tell which messages are here that no receive asks for: it may have asked for another tag.

        Of those that their sender waits for in a send its wait tells.  Tell also which collective calls it is in.
        """
        super().tell(told)
        for task, requests in self._waiting.items():
            told.waits_now(task, requests.words(), requests)
        waited_for = _senders_wait(self._port)
        of_collectives, others = _of_collectives(self._port)
        told_elsewhere = sum(waited_for.values()) + of_collectives
        told.told_by_waits(told_elsewhere)
        for count, messages in others:
            told.note(messages, count)
        left = self._port.library.engine.unexpected() - told_elsewhere - sum(count for count, _ in others)
        for count, messages in _unexpected(self._port, waited_for):
            told.note(f"{messages}: no receive asks for {'them' if count > 1 else 'it'}", count)
            left -= count
        if left > 0:
            told.note(f"{many(left, 'message')} of collective calls, or of other communicators", left)
        for wait in self._port.waits():
            if wait.kind is Awaited.RETURN and (sends := _never_taken(self._port)):
                told.waits_now(wait.task, sends)
        if extracted := self._port.library.engine.extracted():
            told.note(_never_given(extracted))
        told.clue(Unasked(frozenset(origin for origin, _ in self._port.library.engine.unexpected_by())))
        for part in self._port.conduit.same_calls.parts_of(self.rank):
            told.part(part.name, part.group, part.come, part.waits, everybody=part.everybody)

    def copied(self, nbytes: int) -> None:
        """Take the CPU for a copy of `nbytes` bytes."""
        self._port.worker.spend(self._port.conduit.host_model.copy_ticks(nbytes))

    def worked(self, nbytes: int) -> None:
        """Take the CPU for combining two operands of `nbytes` bytes each: as long as a copy of one."""
        self.copied(nbytes)
