"""The port of a rank on a simulated MPI library: how a call of MPI takes a turn of the rank's CPU, polls, and ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from conduit.simnet import SimulatedPort
from conduit.simnet.observed import spend_on
from conduit.simnet.port import SimulatedNetwork
from conduit.trio_private import cancelled
from conduits.mpi.awaited.process import RequestPlace, TransferComm
from conduits.mpi.awaited.same_calls import SameCalls
from conduits.mpi.engine.plain import EngineLibrary
from conduits.mpi.engine.worker import Worker
from conduits.mpi.libraries.installation import Installation
from conduits.mpi.simulated.last_sends import NONE_SENT, SENDS, MadeSend, few, leads, line_of
from conduits.mpi.simulated.transport import LibraryTransport

_READY = ("Rsend", "Irsend", "Rsend_init")
_T = TypeVar("_T")


class MpiNetwork(SimulatedNetwork, Protocol):
    """What a port, and what stands on it, sees of its job's network: `conduits.mpi.simulated.conduit.SimulatedMpi`.

    Attributes:
        options: its own and those of its library.
        ports: of all ranks.
        installation: the library.
        same_calls: where the collective calls of all ranks are compared.
        alone: whether the program is one of MPI alone.
    """

    options: Any
    ports: list[SimulatedPort]
    installation: Installation
    same_calls: SameCalls
    alone: bool

    def start_process(self, port: SimulatedMpiPort) -> Callable[[], None]:
        """Let the awaited names find the rank whose task runs; return what ends that."""

    def on_their_way(self) -> int:
        """Return how many messages of MPI have been sent and have not come to their ranks."""


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
        last_sends: of the program, the last ones: where each was made, communicator, destination and tag.
    """

    OBSERVED = (_TellsCalls,)
    last_sends: deque[MadeSend] = NONE_SENT
    _end_process: Callable[[], None] | None = None  # from the start to the end of the job
    conduit: MpiNetwork
    library: EngineLibrary
    worker: Worker
    transport: LibraryTransport

    def close(self) -> None:
        """The job is over, and so is what the awaited names have of this rank."""
        super().close()
        end_process, self._end_process = self._end_process, None
        if end_process is not None:
            end_process()
        if self.rank == len(self.hosts) - 1:  # all have said what they know
            for port in self.conduit.ports:
                if isinstance(port, SimulatedMpiPort):
                    port.last_sends.clear()

    async def start(self) -> None:
        """Take the rank's own task; charge what MPI_Init costs."""
        self._bind()
        self.last_sends = deque(maxlen=SENDS)
        self._end_process = self.conduit.start_process(self)
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
            (place, comm)
            for place, comm, to, by in self.last_sends
            if by == tag and leads(comm, to, context, dest.rank)
        ]  # fmt: skip

    def ready_sends_at(self, source: int, context: int, tag: int) -> list[str]:
        """Return the lines of a rank's last ready sends to this one by a context and a tag; [] where they are many.

        What a rank sends to itself arrives in the send, which is not known yet: it is the line that runs.
        """
        if source == self.rank:
            return [line_of(RequestPlace.here(""))]
        sender = self.conduit.ports[source]
        assert isinstance(sender, SimulatedMpiPort)
        return few(
            place
            for place, _ in sender.sent_to(self, context, tag)
            if isinstance(place, RequestPlace) and place.call in _READY
        )

    def sends_at(self, source: int, context: int, tag: int) -> list[str]:
        """Return the lines of the last sends to this rank of the one with a number in a communicator, by a tag.

        [] where they are many, and of what a rank sends to itself: that may arrive before its send is known.
        """
        return few(
            place
            for port in self.conduit.ports
            if isinstance(port, SimulatedMpiPort) and port is not self
            for place, comm in port.sent_to(self, context, tag)
            if comm.plain.Get_rank() == source
        )
