"""Both ends of a stream against a model of reliable delivery: whatever a network does, each datagram arrives once."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from conduits.udp.protocol.windows import ReceiveWindow, SendWindow, has
from conduits.udp.wire import MAX_WINDOW, Acknowledgement

RTO = 100


class Reliable(RuleBasedStateMachine):
    """A sender, a receiver, and a network that loses, doubles and reorders what both send.

    The model is two lists: what was handed to the sender, and what the receiver gave out for the first time.
    """

    @initialize(window=st.integers(1, MAX_WINDOW))
    def begin(self, window):
        self.window = window
        self.sender = SendWindow(window, RTO)
        self.receiver = ReceiveWindow()
        self.now = 0
        self.given = []
        self.got = []
        self.data = []  # under way; what is never taken out is lost
        self.told = []
        self.sent_at = {}

    @rule()
    def send(self):
        if self.sender.is_open():
            number = self.sender.send(f"datagram {len(self.given)}", self.now)
            assert number == len(self.given)
            self.given.append(f"datagram {number}")
            self.data.append(number)
            self.sent_at[number] = [self.now]

    @rule(ticks=st.integers(0, 5 * RTO))
    def time_passes(self, ticks):
        self.now += ticks

    @rule()
    def timer(self):
        """What the deadline says is what is due, and each try waits twice as long as the one before."""
        deadline = self.sender.deadline()
        due = self.sender.due(self.now)
        assert bool(due) == (deadline is not None and deadline <= self.now)
        for number in due:
            tries = self.sent_at[number]
            assert self.now - tries[-1] >= RTO << (len(tries) - 1)
            flying = self.sender.again(number, self.now)
            assert flying.what == self.given[number]
            tries.append(self.now)
            assert flying.tries == len(tries)
            self.data.append(number)

    @rule(pick=st.randoms(use_true_random=False), twice=st.booleans())
    def datagram_arrives(self, pick, twice):
        if not self.data:
            return
        number = self.data[pick.randrange(len(self.data))]
        if not twice:
            self.data.remove(number)
        first = number not in self.got
        assert self.receiver.has(number) is not first
        assert self.receiver.accept(number) is first
        if first:
            self.got.append(number)

    @rule()
    def receiver_tells(self):
        self.told.append(self.receiver.told())

    @rule(pick=st.randoms(use_true_random=False))
    def acknowledgement_arrives(self, pick):
        """An old one, too, and more than once."""
        if self.told:
            told = pick.choice(self.told)
            new = {number for number in self.sender.outstanding if has(told, number)}
            assert self.sender.acknowledge(told) is bool(new)
            assert not new & set(self.sender.outstanding)

    @rule()
    def everything_gets_through_in_the_end(self):
        """As soon as the network loses nothing any more."""
        for number in sorted(self.sender.outstanding):
            if self.receiver.accept(number):
                self.got.append(number)
        self.sender.acknowledge(self.receiver.told())
        assert not self.sender.outstanding
        assert self.sender.deadline() is None
        assert self.sender.is_open()
        assert sorted(self.got) == list(range(len(self.given)))

    @invariant()
    def nothing_is_given_out_twice_or_forgotten(self):
        assert len(self.got) == len(set(self.got))
        assert set(self.got) | set(self.sender.outstanding) == set(range(len(self.given)))
        told = self.receiver.told()
        assert {number for number in range(len(self.given)) if has(told, number)} == set(self.got)
        assert told.later < 1 << self.window
        assert not told.later & 1

    @invariant()
    def the_window_is_kept(self):
        assert self.sender.next - self.sender.first <= self.window
        assert self.sender.is_open() is (self.sender.next - self.sender.first < self.window)


TestReliable = Reliable.TestCase
TestReliable.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("window", [0, MAX_WINDOW + 1])
def test_a_window_that_no_acknowledgement_can_tell_of(window):
    with pytest.raises(ValueError, match=rf"^window={window}; an acknowledgement can tell of 1 to 32 datagrams$"):
        SendWindow(window, RTO)


def test_an_acknowledgement_covers_what_came_early():
    receiver = ReceiveWindow()
    for number in (2, 0, 4):
        receiver.accept(number)
    assert receiver.told() == Acknowledgement(1, 0b1010)
    assert [has(receiver.told(), number) for number in range(6)] == [True, False, True, False, True, False]
