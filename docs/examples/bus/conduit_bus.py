"""bus: all hosts share one parallel bus, and each has mailboxes and a queue of doorbells.

The CPU stores header and payload over the bus into a mailbox at the receiver, then rings: the
mailbox's number goes into the receiver's queue.  A long payload goes straight into the segment.
"""

from collections import deque

import attrs

from conduit.contract import LONG, Constant, Limits
from conduit.options import SimOptions, option
from conduit.sim import Memory
from conduit.sim.dma import DmaStream
from conduit.sim.link import Link, Route
from conduit.sim.units import NS, US
from conduit.simnet import HostModel, SimulatedConduit, Transport, header

RATE = Constant("bus.rate", 80, "MB/s", "assumed", "32 bits at 20 MHz")
ARBITRATION = Constant("bus.arbitration", 300, "ns", "assumed", "six cycles of the bus")
SEND = Constant("cpu.send", 2, "us", "assumed", "a call that packs a header")
TAKE = Constant("cpu.take", 3, "us", "assumed", "a call that unpacks one and runs the handler")
POLL = Constant("cpu.poll", 100, "ns", "assumed", "a read of the doorbell register")
WEAK = 20 * US  # order=weak delays landings by up to this


@attrs.frozen(kw_only=True)
class BusOptions(SimOptions):
    """Options of `bus`."""

    boxes: int = option(
        3, "mailboxes for each peer and direction", validator=attrs.validators.ge(1), conformance=(1, 3)
    )
    medium: int = option(1024, "bytes of payload that a mailbox holds", validator=attrs.validators.ge(512))


class Bus(SimulatedConduit):
    """One bus for all hosts."""

    name = "bus"
    summary = "one bus that all hosts share, with mailboxes"
    Options = BusOptions
    constants = (RATE, ARBITRATION, SEND, TAKE, POLL)

    def __init__(self, options, setup, world):
        super().__init__(options, setup, world)
        self.route = Route([(Link(self.kernel, RATE.value * 10**6, "bus"), ARBITRATION.value * NS)])

    @classmethod
    def limits(cls, options):
        return Limits(max_args=16, max_medium=options.medium, max_long_request=1 << 20, max_long_reply=1 << 20)

    @classmethod
    def max_hosts(cls, options):
        return 21  # connectors

    def make_host(self):
        return HostModel(
            copy_bytes_per_s=40e6, copy_call_ps=1 * US, flops_per_s=10e6,
            line_ps=500 * NS, poll_ps=100 * NS, message_ps=1 * US,
        )  # fmt: skip

    def make_transport(self, port):
        return BusTransport(port, self)


class BusTransport(Transport):
    """One rank's end of the bus.

    Its mailboxes are numbered (sender, request or reply, slot), so a reply always has its own.
    """

    miss_ps = POLL.value * NS

    def __init__(self, port, conduit):
        super().__init__(port)
        self.conduit = conduit
        options = conduit.options
        self.boxes, self.piece = options.boxes, options.piece
        self.box_bytes = header.MAX_SIZE + options.medium
        self.memory = Memory(2 * conduit.setup.ranks * self.boxes * self.box_bytes, page=self.box_bytes)
        self.bells = deque()
        self.free = {}
        self.random = port.kernel.random(f"bus/{port.rank}") if options.order == "weak" else None

    # Receiving.

    def take(self):
        if not self.bells:
            return None
        self.port.cpu.charge(TAKE.value * US)
        box = self.bells.popleft()
        source, is_reply, slot = box // self.boxes // 2, box // self.boxes % 2, box % self.boxes
        message = header.unpack(self.memory.read(box * self.box_bytes, self.box_bytes), source, slot)
        if message.word & LONG:
            message.payload = b""  # it is in the segment; here are old bytes
        if is_reply:
            self.free[source].append(slot)  # the pair is free again
        return message

    # Sending.

    def acquire(self, dest):
        free = self.free.get(dest)
        if free is None:
            free = self.free[dest] = list(range(self.boxes))
        return free.pop() if free else None

    def send_request(self, dest, slot, message, then):
        self.send(dest, slot, message, then)

    def send_reply(self, request, reply, then):
        self.send(request.source, request.slot, reply, then)

    def send(self, dest, slot, message, then):
        self.port.cpu.charge(SEND.value * US)
        self.port.kernel.at(self.port.cpu.free, self.store, dest, slot, message, then)

    def store(self, dest, slot, message, then):
        """Store everything over the bus, piece by piece; the CPU is busy until the last byte has left."""
        kernel = self.port.kernel
        head = header.pack(message)

        def left(when):
            kernel.at(when, then)

        def arrives(when):
            delay = self.random.randrange(WEAK) if self.random else 0
            kernel.at(when + delay, self.land, dest, slot, head, message)

        rate = RATE.value * 10**6
        nbytes = len(head) + message.nbytes
        DmaStream(kernel, self.conduit.route, nbytes, self.piece, rate, lambda n: n, left, arrives).start(kernel.now)

    def land(self, dest, slot, head, message):
        """Let the bytes be seen at the receiver, the doorbell last."""
        there = self.conduit.transports[dest]
        payload = bytes(message.payload)
        box = (self.port.rank * 2 + (not message.is_request)) * self.boxes + slot
        if message.word & LONG:
            there.port.memory.write(message.offset, payload)
            payload = b""
        there.memory.write(box * self.box_bytes, head + payload)
        there.bells.append(box)
        there.port.notify()

    # For reports.

    def slots_in_use(self):
        return [
            f"{self.boxes - len(free)} of {self.boxes} mailboxes at rank {dest} in use"
            for dest, free in self.free.items()
            if len(free) < self.boxes
        ]

    def undelivered(self):
        return len(self.bells)
