"""Transports: how one rank's messages travel to some of its peers, over a network or the host's memory.

A transport is for the port what an interface of UCT is for UCP: it moves messages, and knows neither handlers nor
waits.

Simulated networks differ in their transport alone.  Waiting, polling and cancellation, as programs see
them, are done by the port (`conduit.simnet.port`), so that they are the same on every network.

A rank accesses anything shared in an event at the simulated time of the access; the rank's own time may
be ahead, in `port.cpu`.  A send is a chain of such events.  Its last event calls `then()`, where
the network uses `kernel.soon` as its last act; after that the CPU may still be busy until `cpu.free`, but the send does
nothing more.

While a transport's methods run the CPU is taken, and they spend its time by `cpu.charge(ticks)`.  Where
`cpu.free` is not before the kernel's time, `cpu.free += ticks` is the same without a call.  That is so
in a transport whose chains leave `cpu.free` no earlier than the event in which they call `then()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from typing import Any, Protocol, TypeAlias

from conduit.contract import Message, Unhandled, Wait
from conduit.contract.returned import COUNTS, look_at_returned
from conduit.sim import Cpu, Flat, Kernel

Then: TypeAlias = Callable[[], object]


class _Later(Message):
    __slots__ = ()

    def __bool__(self) -> bool:
        return False


LATER = _Later(0)
"""Returned by `take` if it continues in events, until `port.resume_pass()`.  A sentinel, no message.  It is a `Message`
so that `take` has one type, and false so that a pass tells messages from None and from this by one test."""


class MessageCounter(Protocol):
    """What a transport sees of its job's network.

    Attributes:
        under_way: how many messages have been sent and not handled.  A transport that drops a message on purpose
            subtracts it: the job ends when there are none.
    """

    under_way: int


class TransportPort(Protocol):
    """What a transport sees of its rank's port, which is a `conduit.simnet.SimulatedPort`.

    Attributes:
        rank: the rank.
        host: the index of its host.
        hosts: the host of every rank.
        transports: all ways for messages of this rank.
        kernel: the job's time.
        cpu: the rank's CPU.
        memory: the rank's segment, into which long payloads are written.
    """

    rank: int
    host: int
    hosts: tuple[int, ...]
    transports: list[Transport]
    kernel: Kernel
    cpu: Cpu
    memory: Flat

    @property
    def conduit(self) -> MessageCounter:
        """The job's network."""

    def waits(self) -> Sequence[Wait]:
        """Return what the rank's tasks wait for."""

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""

    def notify(self) -> None:
        """A message has become visible to a poll."""

    def arrived(self) -> None:
        """The same, as the last act of an event: what is polled for may go on in it."""

    def interrupt(self, ticks: int) -> int:
        """Take the rank's CPU for an interrupt of `ticks` picoseconds, in an event; return when it is over."""

    def miss_changed(self) -> None:
        """Tell the port that `miss_ps` has changed."""

    def resume_pass(self) -> None:
        """Go on with a pass that a transport stopped by LATER."""


_SEVERAL = ("slots_in_use", "slot_holders", "unhandled", "statistics")
"""What these return is looked at, and a generator is told as that."""


def refuse_not_plain(cls: type, base: type, what: str) -> None:
    """Refuse a class that defines methods of another one as async, or with a `yield`: calling them would do nothing.

    Args:
        cls: the class.
        base: which has these methods.
        what: its objects are.

    Raises:
        TypeError: it has one.
    """
    for name, method in vars(cls).items():
        if not hasattr(base, name):
            continue
        if iscoroutinefunction(method) or isasyncgenfunction(method):
            kind, remedy = "is async", "what they begin goes on in events (port.kernel.at)"
        elif isgeneratorfunction(method) and name not in _SEVERAL:
            last = next((last for last in ("then", "free") if last in signature(getattr(base, name)).parameters), "")
            kind, remedy = "has a `yield` in it", "what they begin goes on in events (port.kernel.at)"
            if last:
                remedy = (
                    "put the acts into a method of another name, and in this one write Chain(self.port.kernel, "
                    f"self.port.cpu, self.steps(...), {last})"
                )
        else:
            continue
        raise TypeError(f"{cls.__name__}.{name} {kind}; a {what}'s methods are plain; {remedy}")


class Transport(ABC):
    """One rank's end of a way for messages.

    Args:
        port: the rank's port; `port.notify()` is to be called when a message has become visible to a poll, or
            `port.arrived()` where that is the last act of its event.

    Attributes:
        miss_ps: what it costs to find out that nothing has arrived, picoseconds.  A transport that changes it calls
            `port.miss_changed()`, with the CPU taken: the port reckons with it when a polling rank notices an arrival.
    """

    miss_ps: int

    def __init_subclass__(cls) -> None:
        """Refuse async methods and generators: a coroutine would be taken for what they return."""
        refuse_not_plain(cls, Transport, "transport")
        super().__init_subclass__()
        look_at_returned(cls, {"statistics": COUNTS})

    def __init__(self, port: TransportPort) -> None:
        self.port = port

    def begin_pass(self) -> None:  # noqa: B027  many transports have nothing to do here
        """Begin a pass.  Where something has arrived by this transport, charge the scan and clear flags."""

    @abstractmethod
    def take(self) -> Message | None:
        """Return the next arrived message, None if there is none.

        Charges the CPU for decoding it.  `source` is set, `slot` as `send_reply` needs it, and a
        long payload is complete in the segment.  Where taking it touches something shared, or the CPU has
        other work first, it may return LATER.  The transport then calls `port.resume_pass()` once, in an event
        not after `cpu.free`, and `take` is called again.
        """

    def end_pass(self) -> None:  # noqa: B027
        """End a pass: `take` has returned None, or the pass is full; the next one begins anew."""

    @abstractmethod
    def acquire(self, dest: int) -> Any | None:
        """Set aside what a request to `dest` and its reply need; None where that is not free now.

        Neither is known yet, so there must be room for the largest of each.  Once a task waits, each pass asks again.
        Where a slot becomes free without an arrival, call `port.notify()`: else no pass is made.

        Raises:
            NetworkError: it can never be sent.
        """

    @abstractmethod
    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Send a request in `slot`, as a chain of events from `cpu.now()` on."""

    @abstractmethod
    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send the reply to an arrived `request`, never waiting for a slot."""

    def close(self) -> None:  # noqa: B027
        """The job is over, all messages have been handled: stop timers."""

    def slots_in_use(self) -> list[str]:
        """Return one line for every slot in use, for the report of a deadlock."""
        return []

    def waits_for(self) -> str:
        """Return what a send that goes on waits for on purpose, where that may last for ever, for a deadlock's report.

        "" for nothing: then a send that has not ended where nothing can happen any more is told as a mistake.
        """
        return ""

    def slot_holders(self, dest: int) -> tuple[int, ...]:
        """Return the ranks that must poll before a slot to `dest` becomes free, for reports."""
        return (dest,)

    def undelivered(self) -> int:
        """Return how many messages have arrived and were not handled: a pass takes them, if no rank must poll first."""
        return 0

    def unhandled(self) -> list[Unhandled]:
        """Return what these are, as far as it can be seen without taking them."""
        return []

    def statistics(self) -> Mapping[str, int]:
        """Return counts of this transport's own."""
        return {}
