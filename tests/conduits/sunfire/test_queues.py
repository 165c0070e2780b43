"""Queues of postboxes against a model: whatever order lines land in, however often, each message is taken once."""

from collections import deque
from types import SimpleNamespace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from conduit.contract import Category, Message, word_of
from conduit.sim import Memory
from conduit.simnet import header
from conduits.sunfire import wire
from conduits.sunfire.protocol.inbox import Inbox, acknowledgements
from conduits.sunfire.protocol.postbox_writer import PostboxWriter
from conduits.sunfire.wire import LINE

BASE = 128
PEER = SimpleNamespace(rank=7)
MEDIUM = word_of(3, Category.MEDIUM, is_request=True)


class Queues(RuleBasedStateMachine):
    """A writer, a reader, and a network that delays, loses and repeats lines, and tells the writer of losses."""

    @initialize(size=st.integers(3, 9), before=st.sampled_from([0, 2**32 - 5]))
    def begin(self, size, before):
        self.size = size
        self.ready = deque()
        self.acks = Memory(size * LINE)
        self.outbox, self.inbox = (
            PostboxWriter(BASE, size, keep=True),
            Inbox(size, PEER, self, is_reply=False),
        )
        # As if so many postboxes had been used: their numbers wrap around 2**32.
        self.outbox.tail = self.inbox.head = self.inbox.landed = self.acknowledged = before
        self.flying, self.lost, self.sent, self.taken, self.old = [], False, [], [], []
        self.returning = []

    def reclaim(self):
        while self.acknowledged < self.outbox.tail:
            place = self.acknowledged % self.size * LINE
            if self.acks.read(place, 1)[0] != wire.ack_byte(self.acknowledged, self.size):
                return
            self.acknowledged += 1

    def launch(self, stores):
        self.flying += [
            (offset + at, lines[at : at + LINE]) for offset, lines in stores for at in range(0, len(lines), LINE)
        ]

    @rule(payload=st.binary(max_size=3 * 56 - 16))
    def send(self, payload):
        self.reclaim()
        head = header.pack(Message(MEDIUM, b"", payload, 0, len(payload))) + payload
        if self.outbox.tail + wire.count(len(head)) - self.acknowledged <= self.size:
            self.launch(self.outbox.place(wire.pack(head, wire.Form.INLINE, self.outbox.tail)))
            self.sent.append(payload)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def land(self, data):
        offset, line = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        self.inbox.land((offset - BASE) // LINE, line)
        self.acknowledge_again()

    def notify(self):
        """A message is there; the rules look whether it is."""

    def came_again(self, inbox, number):
        assert inbox is self.inbox
        self.old.append(number)

    def acknowledge_again(self):
        """Acknowledge what came again once more, behind a barrier, before anything else is taken."""
        for number in self.old:
            if self.inbox.head - number <= self.size:
                self.returning += acknowledgements(number, 1, self.size)
        if self.old:
            self.acknowledgements_land()
        self.old.clear()

    def acknowledgements_land(self):
        for offset, lines in self.returning:
            self.acks.write(offset, lines)
        self.returning = []

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def lose(self, data):
        self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        self.lost = True

    @rule()
    def repair(self):
        """The writer cannot tell what was lost: it writes all again that is not acknowledged; a barrier follows."""
        if self.lost:
            self.reclaim()
            self.launch(self.outbox.again(self.acknowledged))
            self.barrier()
            self.lost = False

    def barrier(self):
        for offset, line in self.flying:
            self.inbox.land((offset - BASE) // LINE, line)
        self.flying = []
        self.acknowledge_again()

    @precondition(lambda self: self.inbox.complete())
    @rule()
    def take(self):
        first = self.inbox.head
        waiting = self.inbox.waiting()
        message, _, _ = self.inbox.take()
        _, begin, count = message.slot
        assert begin == first
        assert self.inbox.waiting() == waiting[1:]
        assert self.inbox.head == first + count
        self.taken.append(bytes(message.payload))
        self.returning += acknowledgements(first, count, self.size)

    @precondition(lambda self: self.returning)
    @rule(data=st.data())
    def acknowledgement_lands(self, data):
        offset, lines = self.returning.pop(data.draw(st.integers(0, len(self.returning) - 1)))
        self.acks.write(offset, lines)

    @invariant()
    def messages_are_taken_once_and_in_order(self):
        if hasattr(self, "taken"):
            assert self.taken == self.sent[: len(self.taken)]

    def teardown(self):
        """In the end, when nothing is lost any more, everything has been taken."""
        if not hasattr(self, "taken"):
            return
        self.launch(self.outbox.again(self.acknowledged) if self.lost else [])
        self.barrier()
        while self.inbox.complete():
            self.take()
        assert self.taken == self.sent
        self.acknowledgements_land()
        self.reclaim()
        assert self.acknowledged == self.outbox.tail


TestQueues = Queues.TestCase
TestQueues.settings = settings(max_examples=60, stateful_step_count=40)
