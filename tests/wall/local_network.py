"""`local`: a network in real time whose ranks are tasks of one process and whose wires are queues in memory."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs

from conduit.contract import LONG, REQUEST, Category, Core, Limits, Message, Unhandled
from conduit.options import option
from conduit.wall import Posted, WallConduit, WallPort

SLOTS = 4
MAX_MEDIUM = 4096
MAX_LONG = 1 << 20


@attrs.frozen(kw_only=True)
class LocalOptions:
    """Options of `local`."""

    slots: int = option(SLOTS, "outstanding requests of a rank to each other one", validator=attrs.validators.ge(1))
    lag: int = option(0, "polls for which a request's source is still being read", validator=attrs.validators.ge(0))


class Local(WallConduit):
    """Queues in memory."""

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "real time, ranks as tasks of one process"
    Options: ClassVar[type] = LocalOptions

    def __init__(self, options: Any, setup: Any, world: Any) -> None:
        super().__init__(options, setup, world)
        self.meetings: list[dict[int, bytes]] = []

    @classmethod
    def limits(cls, options: LocalOptions) -> Limits:
        """Return the limits."""
        return Limits(16, MAX_MEDIUM, MAX_LONG, MAX_LONG)

    def make_port(self, rank: int, core: Core) -> "LocalPort":
        """Return the port of a rank."""
        return LocalPort(self, rank, core)


class LocalPort(WallPort):
    """One rank's queues: bytes of messages that have arrived, and what is still being read of those sent."""

    network: Local

    def __init__(self, network: Local, rank: int, core: Core) -> None:
        super().__init__(network, rank, core)
        self.arrived: deque[tuple[int, int, bytes, bytes, int, bytes]] = deque()
        self.posted: deque[tuple[LocalPort, int, Message]] = deque()
        self.free: dict[int, int] = {}
        self.met = 0

    def begin_allgather(self, data: bytes) -> Callable[[], Sequence[bytes] | None]:
        """Lay down what this rank gives; all is there when all have come."""
        meetings, ranks = self.network.meetings, self.network.setup.ranks
        if self.met == len(meetings):
            meetings.append({})
        table = meetings[self.met]
        self.met += 1
        table[self.rank] = data
        return lambda: [table[rank] for rank in range(ranks)] if len(table) == ranks else None

    def acquire(self, dest: int) -> int | None:
        """Take one of the slots to `dest`; its reply's place comes with it."""
        left = self.free.setdefault(dest, self.network.options.slots)
        if not left:
            return None
        self.free[dest] = left - 1
        return left

    def send_request(self, dest: int, slot: int, message: Message) -> Posted:
        """Put the bytes of a request into the queue of `dest`, a long-async one's when it is taken."""
        there: LocalPort = self.network.ports[dest]
        if message.category == Category.LONG_ASYNC:
            self.posted.append((there, slot, message))
            return None
        lag = iter(range(self.network.options.lag))
        there.land(self.rank, slot, message)
        return lambda: next(lag, None) is None

    def send_reply(self, request: Message, reply: Message) -> None:
        """Put the bytes of a reply into the queue of who asked."""
        self.network.ports[request.source].land(self.rank, request.slot, reply)

    def land(self, source: int, slot: int, message: Message) -> None:
        """Keep the bytes of a message until a pass takes them."""
        word = message.word.to_bytes(4, "little")
        self.arrived.append((source, slot, word, message.args, message.offset, bytes(message.payload)))

    def take(self) -> Message | None:
        """Return what arrived first; the bytes of a long one go to the segment."""
        while self.posted:
            there, slot, message = self.posted.popleft()
            there.land(self.rank, slot, message)
        if not self.arrived:
            return None
        source, slot, word, args, offset, payload = self.arrived.popleft()
        message = Message(int.from_bytes(word, "little"), args, payload, offset, len(payload), source, slot)
        if message.word & LONG and payload:
            self.segment[offset : offset + len(payload)] = bytearray(payload)
            message.payload = b""
        if not message.word & REQUEST:
            self.free[source] += 1
        return message

    def slots_in_use(self) -> Sequence[str]:
        """Describe the slots in use."""
        slots = self.network.options.slots
        used = {dest: slots - left for dest, left in self.free.items() if left < slots}
        return [f"{count} of {slots} slots to rank {dest} in use" for dest, count in used.items()]

    def undelivered(self) -> int:
        """Return how many messages wait here."""
        return super().undelivered() + len(self.arrived)

    def unhandled(self) -> Sequence[Unhandled]:
        """Return what these are."""
        waiting = [Unhandled(source, int.from_bytes(word, "little")) for source, _, word, *_ in self.arrived]
        return [*super().unhandled(), *waiting]
