"""What a transport must keep, checked at every call; for who writes a network, in Python's development mode alone.

The class of each transport and port becomes one of those below (`python -X dev`), so that checks cost
nothing elsewhere.  What is found ends the job with an error that names the transport and what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from conduit.contract import Bytes, Category, Message
from conduit.errors import ConduitError
from conduit.sim import Kernel
from conduit.sim.memory import Buffer, Flat
from conduit.sim.observed import listen
from conduit.simnet.port import SimulatedPort
from conduit.simnet.transport import LATER, Then, Transport
from conduit.words import plain


class Ledger:
    """What the transports of a job are about.

    Attributes:
        inside: the rank whose transport is being called, and which method; None in events.
        cpus: of which class the CPUs of the ranks become, by the one that they are of.
    """

    def __init__(self) -> None:
        self.inside: tuple[int, str] | None = None
        self.cpus: dict[Any, Any] = {}
        self._sent: dict[tuple[int, int, bool], int] = {}
        self._held: dict[tuple[int, int, int], str] = {}  # slots that are in use, by rank, peer and number

    def touched(self, owner: int, what: str) -> None:
        """Refuse what another rank's transport does at once to `owner`, and belongs into an event."""
        if self.inside is not None and self.inside[0] != owner:
            rank, method = self.inside
            raise ConduitError(
                f"rank {rank}, {method}: {what} of rank {owner} at once, ahead of its own clock; what touches "
                "anything that is not the rank's own happens in an event: port.kernel.at(port.cpu.free, ...)"
            )

    def sent(self, source: int, dest: int, message: Message) -> None:
        """Take note of a message that is sent."""
        key = source, dest, message.is_request
        self._sent[key] = self._sent.get(key, 0) + 1

    def took(self, dest: int, message: Message) -> str:
        """Take note of a message that has arrived; return what is wrong with it, "" for nothing."""
        key = message.source, dest, message.is_request
        left = self._sent.get(key, 0)
        self._sent[key] = left - 1
        kind = "requests" if message.is_request else "replies"
        return "" if left else f"a message of rank {message.source}, of whom no more {kind} are on their way"

    def hand_out(self, rank: int, dest: int, slot: object) -> bool:
        """Take note of a slot, by its number or the `number` that it has; return whether it is in use already."""
        number = getattr(slot, "number", slot)
        if not isinstance(number, int):
            return False
        key = rank, dest, number
        if key in self._held:
            return True
        self._held[key] = ""
        return False

    def give_back(self, rank: int, dest: int, slot: object) -> None:
        """A request in this slot, named as for `hand_out`, has been taken: the slot may be free at any time."""
        number = getattr(slot, "number", slot)
        if isinstance(number, int):
            self._held.pop((rank, dest, number), None)


def source_problem(port: SimulatedPort, message: Message) -> str:
    """Return what is wrong with the rank that a message which a port has taken comes from; "" for nothing."""
    source: Any = message.source
    if isinstance(source, int) and 0 <= source < len(port.hosts) and source != port.rank:
        return ""
    return f"a message of source={source}; set it to the rank that has sent it"


def check(port: SimulatedPort, ledger: Ledger) -> None:
    """Let a port that has no transports yet look at what they do."""
    port.__class__ = _checked_port(type(port))
    port.ledger = ledger
    port.memory = _Memory(port, port.memory)
    kind: Any = type(port.cpu)
    if kind not in ledger.cpus:
        ledger.cpus[kind] = _checked_cpu(kind, ledger)
    port.cpu.__class__ = ledger.cpus[kind]


def check_links(kernel: Kernel, ledger: Ledger, ports: Sequence[SimulatedPort]) -> None:
    """Let no link, engine or lock that is made from now on be taken by a rank whose clock is ahead of the kernel's.

    Args:
        kernel: their clock and events.
        ledger: tells whose transport is being called.
        ports: of the ranks, by rank, when they run.
    """
    told = kernel.carried

    def carried(name: str, begin: int, end: int, nbytes: int) -> None:
        if ledger.inside is not None:
            rank, method = ledger.inside
            free = ports[rank].cpu.free
            if free > kernel.now:
                raise ConduitError(
                    f"rank {rank}, {method}: took {name or 'a link without a name'} at once, at {kernel.now} ps, and "
                    f"the CPU is there at {free} ps; what touches anything that is not the rank's own happens in an "
                    "event: port.kernel.at(port.cpu.free, ...)"
                )
        if told is not None:
            told(name, begin, end, nbytes)

    listen(kernel, carried)


@cache
def _checked_port(plain: Any) -> Any:
    return type(plain.__name__, (_CheckingPort, plain), {"__slots__": (), "__module__": plain.__module__})


@cache
def _checked_transport(plain: Any) -> Any:
    return type(plain.__name__, (_CheckingTransport, plain), {"__module__": plain.__module__})


def _checked_cpu(plain: Any, ledger: Ledger) -> Any:
    """Return the class of a CPU that refuses to go back, and to be taken by others in a call.

    One that is listened to tells what it does as ever.
    """
    told: Any = plain.free

    def set_free(cpu: Any, when: int) -> None:
        ledger.touched(cpu.rank, "took the CPU")
        if when < told.__get__(cpu) and when < cpu.kernel.now:  # what it has not come to may be taken back
            raise ConduitError(
                f"rank {cpu.rank}: cpu.free={when} ps, which is past, now is {cpu.kernel.now} ps; a CPU's time does "
                "not go back: charge what takes time, 0 ps or more"
            )
        told.__set__(cpu, when)

    def charge(cpu: Any, ticks: int) -> None:
        if ticks < 0:
            raise ConduitError(f"rank {cpu.rank}: cpu.charge({ticks}); charge what takes time, 0 ps or more")
        plain.charge(cpu, ticks)

    methods = {"free": property(told.__get__, set_free), "charge": charge}
    return type(plain.__name__, (plain,), {"__slots__": (), "__module__": plain.__module__, **methods})


class _Memory(Flat):
    """A segment that others write to in events alone."""

    __slots__ = ("_memory", "_port")

    def __init__(self, port: Any, memory: Flat) -> None:
        super().__init__(memory.view)
        self._port = port
        self._memory = memory

    def write(self, address: int, data: Buffer, source: int = -1) -> None:
        self._port.touched("wrote to the segment")
        if not 0 <= address <= len(self.view) - len(data):
            raise ConduitError(
                f"port.memory.write of rank {self._port.rank}: {len(data)} bytes at {address} are not inside the "
                f"{len(self.view)} bytes of port.memory; write where the message says, `message.offset`"
            )
        self._memory.view = self.view
        self._memory.write(address, data, source)


class _CheckingPort(SimulatedPort):
    """A port that looks at who touches it."""

    __slots__ = ()

    def add_transport(self, transport: Transport) -> None:
        transport.__class__ = _checked_transport(type(transport))
        super().add_transport(transport)

    def touched(self, what: str) -> None:
        """Refuse what another rank's transport does at once that belongs into an event."""
        self.ledger.touched(self.rank, what)

    @property
    def segment(self) -> Bytes:
        self.touched("took the segment")
        return super().segment

    def notify(self) -> None:
        self.touched("called notify()")
        super().notify()

    def arrived(self) -> None:
        self.touched("called arrived()")
        super().arrived()

    def resume_pass(self) -> None:
        late = [transport for transport in self.transports if getattr(transport, "stopped", False)]
        name = ", ".join(type(transport).__name__ for transport in late or self.transports)
        if not late:
            raise ConduitError(f"rank {self.rank}, {name}: resume_pass() although no take() has returned LATER since")
        if self.ledger.inside is not None:
            raise ConduitError(
                f"rank {self.rank}, {name}: resume_pass() inside {self.ledger.inside[1]}, not in an event"
            )
        if self.kernel.now > self.cpu.free:
            raise ConduitError(
                f"rank {self.rank}, {name}: resume_pass() at {self.kernel.now} ps, after cpu.free={self.cpu.free} ps; "
                "set cpu.free to where the CPU may go on"
            )
        for transport in late:
            transport.stopped = False  # type: ignore[attr-defined]
        super().resume_pass()


class _Once:
    """A send's `then`, which is to be called once and in an event."""

    def __init__(self, transport: Any, what: str, then: Then) -> None:
        self.transport = transport
        self.what = what
        self.then: Then | None = then
        self.rank: int = transport.port.rank

    def __call__(self, *args: object) -> None:
        then, self.then = self.then, None
        ledger = self.transport.port.ledger
        who = f"rank {self.rank}, {type(self.transport).__name__}.{self.what}"
        if args:
            raise ConduitError(
                f"{who} called then({', '.join(map(plain, args))}); write `then()`: it takes no arguments"
            )
        if then is None:
            raise ConduitError(f"{who} called then() a second time; a send ends once")
        if ledger.inside is not None:
            raise ConduitError(
                f"{who} called then() inside {ledger.inside[1]}; a send ends in an event: port.kernel.at"
            )
        then()


class _CheckingTransport(Transport):
    """A transport of which every call is looked at."""

    port: Any
    stopped = False

    def _in(self, name: str) -> Inside:
        return Inside(self.port.ledger, self.port.rank, f"{type(self).__name__}.{name}")

    def take(self) -> Message | None:
        if self.stopped:
            raise ConduitError(f"rank {self.port.rank}, {type(self).__name__}.take: called while a pass is stopped")
        with self._in("take"):
            message = super().take()  # type: ignore[safe-super]
        if message is LATER:
            self.stopped = True
        elif message is not None:
            self._check_taken(message)
        return message

    def _check_taken(self, message: Any) -> None:
        who = f"rank {self.port.rank}, {type(self).__name__}.take returned"
        if not isinstance(message, Message):
            raise ConduitError(f"{who} {message!r}; return a Message, None or LATER")
        if wrong := source_problem(self.port, message):
            raise ConduitError(f"{who} {wrong}")
        if message.category is Category.MEDIUM and len(message.payload) != message.nbytes:
            raise ConduitError(
                f"{who} a medium message with {len(message.payload)} bytes of payload and nbytes={message.nbytes}; "
                "give it the payload that was sent"
            )
        ledger: Ledger = self.port.ledger
        if wrong := ledger.took(self.port.rank, message):
            raise ConduitError(f"{who} {wrong}: it was taken twice, or nobody has sent it")
        if message.is_request:
            ledger.give_back(message.source, self.port.rank, message.slot)

    def acquire(self, dest: int) -> Any | None:
        inside, reply = self.port.ledger.inside, f"{type(self).__name__}.send_reply"
        if inside == (self.port.rank, reply):
            raise ConduitError(
                f"rank {self.port.rank}, {reply} called acquire({dest}); the acquire() of the request has set aside "
                "what its reply needs: send it in that, `request.slot`"
            )
        with self._in("acquire"):
            slot = super().acquire(dest)  # type: ignore[safe-super]
        if slot is False:
            raise ConduitError(
                f"rank {self.port.rank}, {type(self).__name__}.acquire returned False, which is taken for a slot; "
                "return None where none is free"
            )
        if slot is not None and self.port.ledger.hand_out(self.port.rank, dest, slot):
            raise ConduitError(
                f"rank {self.port.rank}, {type(self).__name__}.acquire: slot {slot} to rank {dest} is in use; the "
                "request that was sent in it has not been taken yet"
            )
        return slot

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        self.port.ledger.sent(self.port.rank, dest, message)
        with self._in("send_request"):
            super().send_request(dest, slot, message, _Once(self, "send_request", then))  # type: ignore[safe-super]

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        before = self.port.conduit.under_way
        with self._in("send_reply"):
            super().send_reply(request, reply, _Once(self, "send_reply", then))  # type: ignore[safe-super]
        if self.port.conduit.under_way == before:  # else it is told in another way than by a message
            self.port.ledger.sent(self.port.rank, request.source, reply)


class Inside:
    """While a method of a transport or a unit runs."""

    def __init__(self, ledger: Ledger, rank: int, what: str) -> None:
        self._ledger = ledger
        self._inside = rank, what

    def __enter__(self) -> None:
        self._before, self._ledger.inside = self._ledger.inside, self._inside

    def __exit__(self, *_: object) -> None:
        self._ledger.inside = self._before
