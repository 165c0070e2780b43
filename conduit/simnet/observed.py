"""The port of a rank of which somebody listens to what it does, and its paths: as the plain ones, and tell.

A message has no identity on the wire.  It gets it back from what was sent: the first of the same words and arguments
between the same two ranks, in the same slot where both ends call the slot alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

from conduit.contract import Doors, Identity, Message
from conduit.sim.observed import ObservedCpu, ObservedFlat
from conduit.simnet.path import LATER, Path, Then
from conduit.simnet.port import SimulatedPort
from conduit.simnet.waiting import Blocked


class InFlight:
    """The messages of a job that are on their way."""

    def __init__(self) -> None:
        self._found: defaultdict[tuple[object, ...], list[tuple[Any, Identity]]] = defaultdict(list)

    def put(self, source: int, dest: int, slot: Any, message: Message) -> None:
        """Take note of a message that is sent."""
        self._found[self._key(source, dest, message)].append((slot, message.identity))

    def take(self, dest: int, message: Message) -> Identity:
        """Return the identity of a message that has arrived."""
        key = self._key(message.source, dest, message)
        same = self._found[key]
        index = next((index for index, (slot, _) in enumerate(same) if slot == message.slot), 0)
        _, identity = same.pop(index)
        if not same:
            del self._found[key]
        return identity

    def _key(self, source: int, dest: int, message: Message) -> tuple[object, ...]:
        return source, dest, message.word, bytes(message.args), message.nbytes, message.offset


def observe(port: SimulatedPort, doors: Doors, in_flight: InFlight) -> None:
    """Let a port that has no paths yet tell what it does."""
    port.__class__ = _observed_port(type(port))
    port.doors = doors
    port.in_flight = in_flight
    if doors.spent is not None:
        port.cpu = ObservedCpu(port.kernel, port.rank, port._idle, doors.spent)
    if doors.landed is not None:
        port.memory = ObservedFlat(port.memory.view, port.kernel, port.rank, doors.landed)


@cache
def _observed_port(plain: Any) -> Any:
    bases = (_Telling, plain)
    return type(plain.__name__, bases, {"__slots__": (), "__module__": plain.__module__})


@cache
def _observed_path(plain: Any) -> Any:
    return type(plain.__name__, (_TellingPath, plain), {"__module__": plain.__module__})


class _Telling(SimulatedPort):
    """What a port does where somebody listens."""

    __slots__ = ()

    def add_path(self, path: Path) -> None:
        path.__class__ = _observed_path(type(path))
        super().add_path(path)

    def _for(self, why: str) -> None:
        """What the CPU's time is spent on from now on."""
        if isinstance(self.cpu, ObservedCpu):
            self.cpu.why = why

    # -- CPU time ------------------------------------------------------------------------------

    async def start(self) -> None:
        self.work = "start"
        await super().start()
        self.work = "compute"

    def _work(self, ticks: int) -> None:
        self._for(self.work)
        super()._work(ticks)

    def handler_context(self) -> Callable[..., Any] | None:
        self._for("handler")
        return super().handler_context()

    def charge(self, ticks: int) -> None:
        if not self.cpu.busy:
            self._for("compute")
        super().charge(ticks)

    def interrupt(self, ticks: int) -> int:
        cpu = self.cpu
        before = cpu.why if isinstance(cpu, ObservedCpu) else ""
        self._for("interrupt")
        end = super().interrupt(ticks)
        self._for(before)
        return end

    def _idle(self) -> None:
        super()._idle()
        if self.blocked and isinstance(self.cpu, ObservedCpu):
            self.cpu.poll_from(self._loop_start)

    def _wake(self, blocked: Blocked) -> None:
        self._stop_polling()
        super()._wake(blocked)

    def _leave(self, blocked: Blocked) -> None:
        super()._leave(blocked)
        self._stop_polling()

    def _stop_polling(self) -> None:
        """Where no task is blocked any more nothing polls."""
        if not self.blocked and isinstance(self.cpu, ObservedCpu):
            self.cpu.stop_polling(self.kernel.now)

    # -- waits ---------------------------------------------------------------------------------

    async def _block(self, blocked: Blocked) -> None:
        doors = self.doors
        if doors.blocked is None or doors.resumed is None:
            await super()._block(blocked)
            return
        doors.blocked(self.rank, self.ticks(), blocked.owner, blocked.what, blocked.peers())
        try:
            await super()._block(blocked)
        finally:
            doors.resumed(self.rank, self.ticks(), blocked.owner)


class _TellingPath(Path):
    """What a path does where somebody listens."""

    port: Any

    def take(self) -> Message | None:
        port = self.port
        begin = port.cpu.now()
        port._for("receive")
        message = super().take()  # type: ignore[safe-super]
        if message is not None and message is not LATER and port.doors.messages:
            message.identity = port.in_flight.take(port.rank, message)
            port.doors.noticed(message.identity, begin)
        return message

    def end_pass(self) -> None:
        self.port._for("polling")
        super().end_pass()

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        port = self.port
        port._for("send")
        if port.doors.messages:
            port.in_flight.put(port.rank, dest, slot, message)
        super().send_request(dest, slot, message, then)  # type: ignore[safe-super]

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        port = self.port
        port._for("reply")
        if port.doors.messages:
            port.in_flight.put(port.rank, request.source, request.slot, reply)
        super().send_reply(request, reply, then)  # type: ignore[safe-super]
