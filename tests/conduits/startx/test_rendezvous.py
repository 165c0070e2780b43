"""The rendezvous protocol under arbitrary interleavings: no double booking, no deadlock, nobody starves.

The machine has three hosts with two ranks each.  Messages between hosts arrive in any order, engines and
processors act whenever chance lets them.  What may be granted is worked out again here, from the history.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from conduits.startx.protocol.rendezvous import Rendezvous, TransferRequest

HOSTS, LOCAL = 3, 2
RANKS = range(HOSTS * LOCAL)


def host_of(rank):
    return rank // LOCAL


class Transfer:
    """One message to be sent, as the test sees it."""

    def __init__(self, source, target, is_reply):
        self.source, self.target = source, target
        self.channel = 2 * (source % LOCAL) + is_reply
        self.state = "new"
        self.blockers = []  # transfers the other way that put it off
        self.overtaken = 0  # grants to what came later while it could have begun


class Machine(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.books = [Rendezvous() for _ in range(HOSTS)]
        self.queues = {(host, channel): [] for host in range(HOSTS) for channel in range(2 * LOCAL)}
        self.network = []  # (kind, transfer): on their way, arriving in any order
        self.engines = [[] for _ in range(HOSTS)]  # granted transfers in the order of their grants
        self.requests = [[] for _ in range(HOSTS)]  # not granted, in the order of their coming
        self.coming = [None] * HOSTS  # what the receiving engine of a host is open for
        self.buffers = {}  # transfer in the receiving buffer of a rank
        self.done = 0
        self.all = []

    # -- what chance may do --------------------------------------------------------------------------

    @rule(source=st.sampled_from(RANKS), dest=st.sampled_from(RANKS), is_reply=st.booleans())
    def send(self, source, dest, is_reply):
        if host_of(source) != host_of(dest):
            transfer = Transfer(source, dest, is_reply)
            self.all.append(transfer)
            queue = self.queues[host_of(source), transfer.channel]
            queue.append(transfer)
            if len(queue) == 1:
                self.ask(transfer)

    @rule(lower=st.sampled_from(RANKS), higher=st.sampled_from(RANKS))
    def both_want_each_other(self, lower, higher):
        self.send(lower, higher, False)
        self.send(higher, lower, False)

    @precondition(lambda self: self.network)
    @rule(data=st.data())
    def deliver(self, data):
        self.arrive(data.draw(st.integers(0, len(self.network) - 1)))

    @rule(host=st.integers(0, HOSTS - 1))
    def poll(self, host):
        possible = self.possible(host)
        assert self.books[host].grantable == bool(possible)
        request = self.books[host].grant()
        if not possible:
            assert request is None
            return
        transfer = request.place
        assert transfer is possible[0], "the first that could begin is granted"
        assert self.coming[host] is None, "the engine was booked"
        assert transfer.target not in self.buffers, "the buffer was booked"
        self.requests[host].remove(transfer)
        self.coming[host] = self.buffers[transfer.target] = transfer
        transfer.state = "granted"
        self.network.append(("grant", transfer))

    @rule(host=st.integers(0, HOSTS - 1))
    def engine_moves(self, host):
        if self.engines[host]:
            transfer = self.engines[host].pop(0)
            self.network.append(("data", transfer))
            self.books[host].sent(transfer.channel)
            transfer.state = "sent"
            queue = self.queues[host, transfer.channel]
            assert queue.pop(0) is transfer
            if queue:
                self.ask(queue[0])

    @rule(rank=st.sampled_from(RANKS))
    def empty(self, rank):
        if rank in self.buffers and self.buffers[rank].state == "arrived":
            self.buffers.pop(rank).state = "done"
            self.books[host_of(rank)].emptied(rank)
            self.done += 1

    # -- how it goes on --------------------------------------------------------------------------------

    def ask(self, transfer):
        self.books[host_of(transfer.source)].asked(transfer.channel, transfer.source, transfer.target)
        transfer.state = "asked"
        self.network.append(("ask", transfer))

    def arrive(self, index):
        kind, transfer = self.network.pop(index)
        host = host_of(transfer.target)
        if kind == "ask":
            if transfer.target < transfer.source:
                transfer.blockers = [
                    other
                    for other in self.all
                    if (other.source, other.target) == (transfer.target, transfer.source)
                    and other.state in ("asked", "granted")
                ]
            self.requests[host].append(transfer)
            self.books[host].request(TransferRequest(transfer.source, transfer.target, transfer.channel, 8, transfer))
        elif kind == "grant":
            self.engines[host_of(transfer.source)].append(transfer)
        else:
            assert self.coming[host] is transfer, "data for which the engine is not open"
            self.coming[host] = None
            transfer.state = "arrived"
            self.books[host].arrived()

    def possible(self, host):
        """The requests that may be granted now by the rules, first come first."""
        if self.coming[host] is not None:
            return []
        return [
            request
            for request in self.requests[host]
            if request.target not in self.buffers
            and all(other.state not in ("asked", "granted") for other in request.blockers)
        ]

    @invariant()
    def what_is_put_off_waits_for_something_that_is_not(self):
        """Chains of waiting have one link."""
        for requests in getattr(self, "requests", ()):
            for request in requests:
                assert not any(blocker.blockers for blocker in request.blockers)

    def teardown(self):
        """Let everybody act in turn: all that was sent is done after a bounded number of rounds."""
        if not hasattr(self, "books"):
            return
        for _ in range(10 * len(self.all) + 5):
            while self.network:
                self.arrive(0)
            for host in range(HOSTS):
                self.poll(host)
                self.engine_moves(host)
            for rank in RANKS:
                self.empty(rank)
        assert self.done == len(self.all), "a deadlock"


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=60)
TestAppointments = Machine.TestCase


def test_a_flood_of_the_lower_rank_does_not_starve_the_higher():
    """Rank 0 asks rank 2 again and again, through both channels; rank 2's request is put off by what it met only."""
    book = Rendezvous()
    book.asked(0, 0, 2)
    book.asked(1, 0, 2)
    book.request(TransferRequest(2, 0, 5, 8))
    assert not book.grantable
    book.sent(0)
    book.asked(0, 0, 2)  # the next one of the first channel, before the second is through
    assert not book.grantable
    book.sent(1)
    assert book.grantable
    assert book.grant().source == 2
    assert book.put_off == 1


def test_the_higher_rank_puts_nobody_off():
    book = Rendezvous()
    book.asked(0, 3, 1)
    book.request(TransferRequest(1, 3, 0, 8))
    assert book.grantable
    assert book.put_off == 0


def test_a_wish_that_cannot_begin_lets_others_pass_and_is_first_when_it_can():
    book = Rendezvous()
    for source, target in ((4, 0), (5, 0), (6, 1)):
        book.request(TransferRequest(source, target, 0, 8))
    assert book.grant().source == 4
    assert book.grant() is None
    book.arrived()
    assert book.grant().source == 6, "the buffer of rank 0 is not empty yet"
    book.request(TransferRequest(7, 1, 0, 8))
    book.arrived()
    book.emptied(1)
    book.emptied(0)
    assert [book.grant().source, book.waiting] == [5, 1]


def test_what_cannot_be_is_noticed():
    book = Rendezvous()
    with pytest.raises(AssertionError, match=r"\Anothing has been granted\Z"):
        book.arrived()
    with pytest.raises(KeyError):
        book.sent(0)
    book.asked(0, 0, 1)
    with pytest.raises(AssertionError, match=r"\Achannel 0 has asked already, for \(0, 1\)\Z"):
        book.asked(0, 0, 2)
