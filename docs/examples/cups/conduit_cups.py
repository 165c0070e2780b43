"""cups: `loggp` on a string that loses messages.  A request is sent again until its reply is there."""

from functools import partial

from conduit.contract import LONG, REQUEST
from conduit.sim.link import Link, Route
from conduit.sim.lossy import Lossy
from conduit.sim.timer import Timer
from conduit.sim.units import US
from conduit.simnet import header
from conduit.simnet.tending import TransportWithWork
from conduits.loggp.port import Loggp, LoggpTransport

ROOM, RTO = 8, 100 * US  # messages that an ear can hold; time until a request is sent again


class Cups(Loggp):
    name, summary = "cups", "a string that loses, duplicates and delays"
    make_transport = lambda self, port: CupsTransport(port, self)  # noqa: E731


class CupsTransport(LoggpTransport, TransportWithWork):
    def __init__(self, port, network):
        super().__init__(port, network)
        self.ways, self.again = {}, []
        self.open = {}  # by rank and slot: what was sent and has no reply, and its timer
        self.taken = {}  # by rank and slot: the last request that came in it, and what was answered

    def acquire(self, dest):  # a slot has another number each time, by which old messages are known
        return None if (slot := super().acquire(dest)) is None else slot + self.slots

    def inject(self, dest, slot, message, then):
        head, payload = header.pack(message), bytes(message.payload)
        data = (head, payload, message.offset) if message.word & LONG else (head + payload, b"", 0)
        sent = message.word & REQUEST, slot, *data
        if message.is_request:
            timer = Timer(self.port.kernel, partial(self.send_again, dest, sent), partial(self.helps, dest, slot))
            self.open[dest, slot] = sent, timer
        else:
            self.taken[dest, slot % self.slots] = slot, sent
        self.launch(dest, sent, lambda when: then())

    def launch(self, dest, sent, done):
        kernel, there = self.port.kernel, self.conduit.transports[dest]
        if dest not in self.ways:
            stream = kernel.random(f"cups/{self.port.rank}-{dest}")
            self.ways[dest] = Lossy(Route([(Link(kernel, 10**8), self.latency)]), 0.2, 0.05, 0.05, stream)
        self.ways[dest].send(len(sent[2] + sent[3]), partial(there.come, self.port.rank, *sent))
        if sent[0] and (dest, sent[1]) in self.open:
            self.open[dest, sent[1]][1].start(kernel.now + RTO)
        done(kernel.now)

    def send_again(self, dest, sent):  # the next poll pass does
        self.again.append((dest, sent))
        self.request_work()

    def helps(self, dest, slot):  # not where it is there already, or there is no room: then that rank must poll
        peer = self.conduit.transports[dest]
        last, answer = peer.taken.get((self.port.rank, slot % self.slots), (0, None))
        return bool(self.port.waits() and (answer and not peer.work_due if last == slot else len(peer.arrived) < ROOM))

    def work(self):
        again, self.again, self.work_due = self.again, [], False
        for dest, sent in again:
            self.port.cpu.charge(self.send_ps)
            yield partial(self.launch, dest, sent)

    def come(self, source, *sent):  # an interrupt takes the CPU from whatever it does; then the message is there
        self.port.kernel.at(self.port.interrupt(2 * US), self.land, source, *sent)

    def land(self, source, is_request, slot, *data):
        key = source, slot % self.slots
        last, answer = self.taken.get(key, (0, None))
        if is_request and slot == last and answer:  # the reply was lost
            self.send_again(source, answer)
        if len(self.arrived) >= ROOM or (slot <= last if is_request else (source, slot) not in self.open):
            return
        if is_request:
            self.taken[key] = slot, None
        else:
            self.open.pop((source, slot))[1].stop()
        self.arrive((source, is_request, slot), *data)

    def take(self):
        return self.begin_work() if self.work_due else super().take()
