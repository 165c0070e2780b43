"""The port of a rank of which somebody listens to what it does, and its transports: as the plain ones, and tell.

A message has no identity on the wire.  It gets it back from what was sent: the first of the same words and arguments
between the same two ranks, in the same slot where both ends call the slot alike.

Bytes that land have no origin in memory either.  What a transport writes while it takes a message is that
message's.  Other bytes belong to the one long message under way to their place.  Where there are several, it is
one from the rank that the network names that carries the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from conduit.contract import LONG, Buffer, Hooks, Identity, Message
from conduit.errors import ConduitError
from conduit.sim.labels import Labelled
from conduit.sim.observed import ObservedCpu, ObservedFlat
from conduit.simnet.checked import source_problem
from conduit.simnet.port import SimulatedPort
from conduit.simnet.transport import LATER, Then, Transport
from conduit.simnet.waiting import Blocked


class InFlight:
    """The messages of a job that are on their way."""

    def __init__(self) -> None:
        self._found: defaultdict[tuple[object, ...], list[tuple[Any, Identity]]] = defaultdict(list)
        self.landings: dict[int, Landings] = {}
        """By rank, where somebody listens to them."""

    def put(self, source: int, dest: int, slot: Any, message: Message) -> None:
        """Take note of a message that is sent."""
        self._found[self._key(source, dest, message)].append((slot, message.identity))
        if self.landings:
            self.landings[dest].sent(source, message)

    def take(self, dest: int, message: Message) -> Identity | None:
        """Return the identity of a message that has arrived; None where no such message is on its way."""
        key = self._key(message.source, dest, message)
        same = self._found.get(key)
        if same is None:
            return None
        index = next((index for index, (slot, _) in enumerate(same) if slot == message.slot), 0)
        _, identity = same.pop(index)
        if not same:
            del self._found[key]
        return identity

    def _key(self, source: int, dest: int, message: Message) -> tuple[object, ...]:
        return source, dest, message.word, bytes(message.args), message.nbytes, message.offset


class _Long(NamedTuple):
    """A long message under way."""

    identity: Identity
    source: int
    offset: int
    payload: bytes

    def could_be(self, address: int, data: Buffer, source: int) -> bool:
        """Return whether these bytes may be of it, by their place and who sent them."""
        begin = address - self.offset
        return begin >= 0 and begin + len(data) <= len(self.payload) and source in (-1, self.source)

    def carries(self, address: int, data: Buffer) -> bool:
        """Return whether it has these bytes there."""
        begin = address - self.offset
        return self.payload[begin : begin + len(data)] == data


class Landings:
    """Tells what lands in the segment of a rank, and of which message it is.

    Args:
        rank: the rank.
        landed: is told.
    """

    def __init__(self, rank: int, landed: Callable[..., object]) -> None:
        self._rank = rank
        self._landed = landed
        self._under_way: dict[Identity, _Long] = {}
        self._held: list[tuple[int, int, Buffer, int]] | None = None

    def sent(self, source: int, message: Message) -> None:
        """Take note of a message to the rank."""
        if message.word & LONG and message.nbytes:
            long = _Long(message.identity, source, message.offset, bytes(message.payload))
            self._under_way[message.identity] = long

    def land(self, when: int, address: int, data: Buffer, source: int) -> None:
        """Tell of bytes that have been written, or keep that until it is known what is taken."""
        if self._held is None:
            self._landed(self._rank, when, address, len(data), self._origin(address, data, source))
        else:
            self._held.append((when, address, data, source))

    def begin_take(self) -> None:
        """A transport takes a message."""
        self._held = []

    def end_take(self, taken: Identity | None) -> None:
        """It has taken this one, all of which has landed, or None."""
        held, self._held = self._held or [], None
        for when, address, data, source in held:
            origin = self._origin(address, data, source) if taken is None else taken
            self._landed(self._rank, when, address, len(data), origin)
        if taken is not None:
            self._under_way.pop(taken, None)

    def _origin(self, address: int, data: Buffer, source: int) -> Identity | int | None:
        found = [long for long in self._under_way.values() if long.could_be(address, data, source)]
        if len(found) > 1:
            found = [long for long in found if long.carries(address, data)] or found
        if len(found) == 1:
            return found[0].identity
        ranks = {long.source for long in found}
        if len(ranks) == 1:
            return ranks.pop()
        return None if source < 0 else source


def observe(port: SimulatedPort, hooks: Hooks, in_flight: InFlight) -> None:
    """Let a port that has no transports yet tell what it does."""
    port.__class__ = _observed_port(type(port))
    port.hooks = hooks
    port.in_flight = in_flight
    if hooks.spent is not None:
        port.cpu = ObservedCpu(port.kernel, port.rank, port._idle, hooks.spent)
    if hooks.landed is not None:
        landings = in_flight.landings[port.rank] = Landings(port.rank, hooks.landed)
        port.memory = ObservedFlat(port.memory.view, port.kernel, landings.land)


@cache
def _observed_port(plain: Any) -> Any:
    bases = (_Telling, *plain.OBSERVED, plain)
    return type(plain.__name__, bases, {"__slots__": (), "__module__": plain.__module__})


@cache
def _observed_transport(plain: Any) -> Any:
    return type(plain.__name__, (_TellingTransport, plain), {"__module__": plain.__module__})


def spend_on(port: SimulatedPort, why: str) -> None:
    """Say what the time of a port's CPU is spent on from now on, to the end of its turn at most."""
    if isinstance(port.cpu, ObservedCpu):
        port.cpu.why = why


class _Telling(SimulatedPort):
    """What a port does where somebody listens."""

    __slots__ = ()

    def add_transport(self, transport: Transport) -> None:
        transport.__class__ = _observed_transport(type(transport))
        super().add_transport(transport)

    def _for(self, why: str) -> None:
        spend_on(self, why)

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

    def charge_library(self, ticks: int) -> None:
        self.charge(Labelled(ticks, ((ticks, "library"),)))

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

    def run_chain(self, chain: Callable[[Then], object]) -> None:
        """Run a one-sided operation, on a port that has them."""
        self._for("move")
        super().run_chain(chain)  # type: ignore[misc]

    # -- waits ---------------------------------------------------------------------------------

    async def _block(self, blocked: Blocked) -> None:
        hooks = self.hooks
        if hooks.blocked is None or hooks.resumed is None:
            await super()._block(blocked)
            return
        hooks.blocked(self.rank, self.ticks(), blocked.owner, blocked.what, blocked.peers())
        try:
            await super()._block(blocked)
        finally:
            hooks.resumed(self.rank, self.ticks(), blocked.owner)


class _TellingTransport(Transport):
    """What a transport does where somebody listens."""

    port: Any

    def take(self) -> Message | None:
        port = self.port
        begin = port.cpu.now()
        port._for("receive")
        landings = port.in_flight.landings.get(port.rank)
        if landings is not None:
            landings.begin_take()
        message = super().take()  # type: ignore[safe-super]
        identity = None
        if message is not None and message is not LATER and port.hooks.messages:
            identity = port.in_flight.take(port.rank, message)
            if identity is None:
                raise self._not_sent(message)
            message.identity = identity
            if port.hooks.noticed is not None:
                port.hooks.noticed(identity, begin)
        if landings is not None:
            landings.end_take(identity)
        return message

    def _not_sent(self, message: Message) -> ConduitError:
        """Return the error for a message that no rank has sent to this one as it is."""
        kind = "request" if message.is_request else "reply"
        wrong = source_problem(self.port, message) or (
            f"a {kind} of rank {message.source}, of whom no such {kind} is on its way: it was taken twice, has changed "
            "on its way, or nobody has sent it"
        )
        return ConduitError(f"rank {self.port.rank}, {type(self).__name__}.take returned {wrong}")

    def end_pass(self) -> None:
        self.port._for("polling")
        super().end_pass()

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        if message.is_request:  # else `send_reply` sends its reply so, and has told of it
            port = self.port
            port._for("send")
            if port.hooks.messages:
                port.in_flight.put(port.rank, dest, slot, message)
        super().send_request(dest, slot, message, then)  # type: ignore[safe-super]

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        port = self.port
        port._for("reply")
        if port.hooks.messages:
            port.in_flight.put(port.rank, request.source, request.slot, reply)
        if port.hooks.sent is not None and not reply.is_auto_reply:
            then = self._telling(reply, then)
        super().send_reply(request, reply, then)  # type: ignore[safe-super]

    def _telling(self, reply: Message, then: Then) -> Then:
        """Return `then` that first tells that the reply has been sent."""
        port = self.port
        what = reply.identity, reply.begun
        size = reply.word >> 9 & 3, reply.nbytes

        def sent() -> None:
            port.hooks.sent(*what, port.cpu.now(), *size)
            then()

        return sent
