"""loggp: a network without hardware, described by L, o_s, o_r, g and G.

This is the conduit to copy.  It shows all that a simulated network has to say, and no more:

1. its options (`LoggpOptions`), each with a default, a check and a line of help;
2. its limits and costs (`Loggp`);
3. its transport (`LoggpTransport`): how one rank's messages travel.

Everything else - the rank's CPU and its turns, polling, passes, cancellation, the memory that ranks
of one host share - comes from `conduit.simnet`.

The model (Alexandrov, Ionescu, Schauser, Scheiman: LogGP, SPAA 1995).  A message of k bytes costs
the sender o_s of CPU time, then enters the network, which takes G for each byte after the first and
accepts the next message of this rank g after the last one.  It reaches its receiver L later, and comes
in as it went out: the next one, of any sender, g later at the earliest.  The receiver's polling
notices it, and taking it costs o_r of CPU time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, ClassVar, Literal

import attrs

from conduit.contract import LONG, REQUEST, Constant, Costs, Limits, Message, MessageCosts, Unhandled
from conduit.options import MOST_OPTION_SECONDS, SimOptions, kept_in, option
from conduit.sim.units import ps
from conduit.simnet import HostModel, SimulatedConduit, SimulatedPort, Transport, header, host
from conduit.simnet.constants import named
from conduit.simnet.transport import Then

# -- 1. options ----------------------------------------------------------------------------------

#: Named sets of the five parameters, in seconds, for networks that papers compare with.
PARAMETER_SETS: Mapping[str, Mapping[str, float]] = {
    "default": {"L": 5e-6, "o_s": 1e-6, "o_r": 1e-6, "g": 2.5e-6, "G": 4e-9},
    "myrinet2000": {"L": 6e-6, "o_s": 0.8e-6, "o_r": 1.0e-6, "g": 5e-6, "G": 4.1e-9},
    "ethernet100": {"L": 40e-6, "o_s": 15e-6, "o_r": 20e-6, "g": 25e-6, "G": 90e-9},
}

_at_most_long = attrs.validators.le(MOST_OPTION_SECONDS)
_picoseconds = kept_in("picoseconds", 12)
_femtoseconds = kept_in("femtoseconds per byte", 15)
_share = [attrs.validators.ge(0), attrs.validators.le(1)]
_at_least_1 = attrs.validators.ge(1)
_at_least_512 = attrs.validators.ge(512)


def _parameter(text: str, kept: Callable[..., None] = _picoseconds) -> Any:
    """Declare an option that the parameter set gives where the user does not."""
    check = attrs.validators.optional([attrs.validators.ge(0), _at_most_long, kept])
    return option(None, text, validator=check, shown="of the parameter set")


@attrs.frozen(kw_only=True)
class LoggpOptions(SimOptions):
    """Options of `loggp`; all times in seconds."""

    set: Literal["default", "myrinet2000", "ethernet100"] = option("default", "named set of the five parameters")
    L: float | None = _parameter("latency of the network: from the last byte sent to arrival, s")
    o_s: float | None = _parameter("CPU time to send a message, s")
    o_r: float | None = _parameter("CPU time to take an arrived message, s")
    g: float | None = _parameter("gap: least time between two messages that a rank sends, and that it receives, s")
    G: float | None = _parameter("gap per byte: time of each further byte of a message, s", _femtoseconds)
    poll: float = option(
        1e-8, "CPU time of a poll that finds nothing, s", validator=[attrs.validators.ge(1e-9), _at_most_long]
    )
    slots: int = option(
        16, "outstanding requests of a rank to each other rank", validator=_at_least_1, conformance=(1, 16)
    )
    max_medium: int = option(
        65_000, "largest medium payload, bytes", validator=_at_least_512, conformance=(512, 65_000)
    )
    max_long: int = option(
        2**31 - 1, "largest long payload, bytes", validator=_at_least_512, conformance=(1000, 2**31 - 1)
    )

    late: float = option(
        0.0, "share of the messages that come late, by late_by", validator=_share, conformance=(0.0, 0.05)
    )
    late_by: float = option(
        1e-4, "by how much these come late, s", validator=[attrs.validators.ge(0), _at_most_long, _picoseconds]
    )
    overtake: float = option(
        0.0, "share of the replies that what is sent after them overtakes", validator=_share, conformance=(0.0, 0.3)
    )

    def time(self, name: str) -> int:
        """Return a parameter but G in picoseconds: the user's, else that of the set."""
        return named(ps(self._seconds(name)), name)

    def byte_time(self) -> int:
        """Return G in femtoseconds: fast networks take some tens of picoseconds for a byte."""
        return round(self._seconds("G") * 1e15)

    def in_effect(self) -> Mapping[str, object]:
        """Return what the five parameters come to, in seconds; benchmarks print them before their results."""
        times = {name: self.time(name) / 1e12 for name in PARAMETER_SETS[self.set] if name != "G"}
        return {**times, "G": self.byte_time() / 1e15}

    def _seconds(self, name: str) -> float:
        given: float | None = getattr(self, name)
        return PARAMETER_SETS[self.set][name] if given is None else given


HOST = HostModel()


# -- 2. the conduit ------------------------------------------------------------------------------


class Loggp(SimulatedConduit):
    """A network that is nothing but L, o_s, o_r, g and G."""

    name: ClassVar[str] = "loggp"
    summary: ClassVar[str] = "no hardware: the parameters L, o_s, o_r, g and G as options"
    Options: ClassVar[type] = LoggpOptions
    constants: ClassVar[tuple[Constant, ...]] = (
        *(
            Constant(
                f"{set_}.{name}", value * 1e6, "us/byte" if name == "G" else "us", "assumed",
                "a round figure of the order that such a network has; set the option to what you measured",
            )
            for set_, values in PARAMETER_SETS.items()
            for name, value in values.items()
        ),
        *host.ASSUMED,
    )  # fmt: skip

    @classmethod
    def limits(cls, options: LoggpOptions) -> Limits:
        """Return the limits, which are options here."""
        return Limits(16, options.max_medium, options.max_long, options.max_long)

    @classmethod
    def costs(cls, options: LoggpOptions) -> Costs:
        """Return what the five parameters come to, with the polls of a round trip."""
        send, receive = options.time("o_s") / 1e12, options.time("o_r") / 1e12
        per_byte = options.byte_time() / 1e15
        latency = options.time("L") / 1e12 * (1.5 if options.order == "weak" else 1)
        start = send + latency + receive + 2 * options.poll
        off_host = MessageCosts(
            start=start,
            send=send,
            receive=receive,
            medium_byte=per_byte,
            long_start=start,
            long_byte=per_byte,
            poll=options.poll,
        )
        on_host = HOST.message_costs(ps(options.poll))
        return Costs(off_host=off_host, on_host=on_host, copy_byte=1 / HOST.copy_bytes_per_s)

    def make_transport(self, port: SimulatedPort) -> LoggpTransport:
        """Return the network as `port.rank` sees it."""
        return LoggpTransport(port, self)

    def allgather_ticks(self) -> int:
        """Return the cost of an all-gather: one message time for each of log2(N) rounds."""
        rounds = (self.setup.ranks - 1).bit_length()
        options: LoggpOptions = self.options
        return rounds * (options.time("o_s") + options.time("L") + options.time("o_r"))


class Jitter:
    """By how much messages of a rank come later than L says, drawn for each.

    Args:
        options: the network's.
        random: what draws.
    """

    def __init__(self, options: LoggpOptions, random: Random) -> None:
        self.random = random
        self.jitter = options.time("L") if options.order == "weak" else 0
        self.late, self.late_by = options.late, ps(options.late_by)
        self.overtake = options.overtake
        self.overtaken_by = options.time("L") + 4 * max(options.time(name) for name in ("o_s", "o_r", "g"))

    def draw(self, message: Message) -> int:
        """Return a message's delay, picoseconds."""
        delay = self.random.randrange(self.jitter + 1) if self.jitter else 0
        if self.late and self.random.random() < self.late:
            delay += self.late_by
        if self.overtake and not message.is_request and self.random.random() < self.overtake:
            delay += self.overtaken_by  # what the same rank sends next is on its way by then
        return delay


# -- 3. the transport ---------------------------------------------------------------------------------


class LoggpTransport(Transport):
    """One rank's end of the network.

    The receiver's memory for a message is a slot: a request slot that the sender took, or the reply
    slot that the requester set aside with it.  A slot is named by (sender, reply or not, number), so
    a reply always has its place: that is what makes the network free of deadlock.
    """

    __slots__ = (
        "arrived",
        "conduit",
        "cpu",
        "delays",
        "free",
        "gap",
        "gap_per_byte",
        "gap_waits",
        "kernel",
        "latency",
        "network_free",
        "rank",
        "receive_free",
        "receive_ps",
        "receive_waits",
        "send_ps",
        "slots",
    )

    def __init__(self, port: SimulatedPort, conduit: Loggp) -> None:
        super().__init__(port)
        options: LoggpOptions = conduit.options
        self.conduit = conduit
        self.rank = port.rank
        self.kernel = port.kernel
        self.cpu = port.cpu
        self.miss_ps = named(ps(options.poll), "poll")
        # The five parameters, in picoseconds; that of a byte in femtoseconds.
        self.latency, self.send_ps, self.receive_ps, self.gap = (
            options.time(name) for name in ("L", "o_s", "o_r", "g")
        )
        self.gap_per_byte = options.byte_time()
        self.slots = options.slots
        self.free: dict[int, list[int]] = {}  # by peer: this rank's unused request slots there
        # The full slots here, in order of arrival: (sender, request or not, number) with what is in it.
        self.arrived: deque[tuple[tuple[int, int, int], bytes]] = deque()
        self.network_free = 0  # when the network accepts this rank's next message
        self.gap_waits = 0  # messages that waited for it
        self.receive_free = 0  # when the network can bring this rank its next message
        self.receive_waits = 0  # messages that waited for it
        # Two messages are never ordered (rule O).  These draw an extra delay for some or all, so that
        # programs which count on an order are found out.
        drawn = options.order == "weak" or options.late or options.overtake
        self.delays = Jitter(options, self.kernel.random(f"loggp/{port.rank}")) if drawn else None

    # Receiving.  A poll that finds nothing costs `miss_ps`; the port charges it.

    def take(self) -> Message | None:
        """Decode the message that arrived first; taking it costs o_r."""
        if not self.arrived:
            return None
        (source, is_request, slot), data = self.arrived.popleft()
        self.cpu.free += self.receive_ps
        if not is_request:
            self.free[source].append(slot)  # request and reply are over: the pair is free again
        return header.unpack(data, source, slot)  # a long one: its header alone

    def undelivered(self) -> int:
        """Return how many messages wait here."""
        return len(self.arrived)

    def unhandled(self) -> list[Unhandled]:
        """Return what these messages are."""
        return [Unhandled(name[0], header.word_of(data)) for name, data in self.arrived]

    # Sending.  `acquire` sets aside all that a request and its reply need.

    def acquire(self, dest: int) -> int | None:
        """Take a pair of slots: the request's at `dest`, the reply's here."""
        free = self.free.get(dest)
        if free is None:  # nothing is set up for a peer before the first message to it (rule M)
            free = self.free[dest] = list(range(self.slots - 1, -1, -1))
        return free.pop() if free else None

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send a reply in the slot paired with the request's; it is free, so nothing is waited for."""
        self.send(request.source, request.slot, reply, then)

    def send(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Spend o_s, then inject.

        The network is this rank's own as far as g is concerned, but an injection is an act on
        something shared, and so happens in an event at its own time (rule T2).
        """
        cpu = self.cpu
        cpu.free += self.send_ps
        self.kernel.soon(cpu.free, partial(self.inject, dest, slot, message, then))

    send_request = send  # in the slot that `acquire` gave

    def inject(self, dest: int, slot: int, message: Message, then: Then) -> None:
        """Put the message into the network as soon as the gap allows; the CPU waits for that."""
        now = self.kernel.now
        if self.network_free > now:
            self.gap_waits += 1
            self.cpu.free = self.network_free
            self.kernel.at(self.network_free, self.inject, dest, slot, message, then)
            return
        # What travels is bytes.  A payload that may still be lent is read here.
        data = header.pack(message)
        payload = b""
        train = 0
        busy = self.gap
        if message.nbytes:
            train = named(-((1 - message.nbytes) * self.gap_per_byte // 1000), "G")  # rounded up
            busy = max(busy, train)
            if message.word & LONG:
                payload = bytes(message.payload)
            else:
                data += message.payload
        self.network_free = now + busy
        there: Any = self.conduit.transports[dest]
        arrive = partial(there.arrive, (self.rank, message.word & REQUEST, slot), data, payload, message.offset)
        reach = now + self.latency
        if self.delays is None:
            there.come_in(reach, train, busy, arrive)  # L is the same for all: who is sent first is there first
        else:
            reach += self.delays.draw(message)
            self.kernel.at(reach, there.come_in, reach, train, busy, arrive)
        then()

    def come_in(self, reach: int, train: int, busy: int, arrive: Callable[[], None]) -> None:
        """Bring a message in whose first byte reaches this rank at `reach`, as soon as the gap allows."""
        if self.receive_free > reach:
            reach = self.receive_free
            self.receive_waits += 1
        self.receive_free = reach + busy
        self.kernel.call(reach + train, arrive)

    def arrive(self, name: tuple[int, int, int], slot: bytes, payload: bytes, offset: int) -> None:
        """Store a message in its slot, a long payload in the segment, and let polls see it."""
        if payload:
            self.port.memory.write(offset, payload, name[0])
        self.arrived.append((name, slot))
        self.port.arrived()

    # For `result.statistics`, and the report of a deadlock.

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the transport."""
        return {"loggp_gap_waits": self.gap_waits, "loggp_receive_gap_waits": self.receive_waits}

    def slots_in_use(self) -> list[str]:
        """Describe the slots in use."""
        return [
            f"{self.slots - len(free)} of {self.slots} request slots to rank {dest} in use"
            for dest, free in self.free.items()
            if len(free) < self.slots
        ]
