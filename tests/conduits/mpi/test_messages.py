"""Slots, records and payloads, on an MPI library in memory; a model keeps what must arrive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.contract import AUTO_REPLY, LONG, REQUEST, Category, Message, word_of
from conduits.mpi.messages import Messages

from .memory_mpi import Library, comms

MEDIUM = 64


class World:
    """Some ranks that answer every request with its own bytes turned round."""

    def __init__(self, size, credits, seed, *, shared):
        requests, replies = comms(size, seed), comms(size, seed + 1)
        self.segments = [np.zeros(4096, np.uint8) for _ in range(size)]
        reach = [segment.data if shared else None for segment in self.segments]
        self.ranks = [
            Messages(
                Library(),
                (requests[rank], replies[rank]),
                self.segments[rank].data,
                reach,
                credits=credits,
                medium=MEDIUM,
            )
            for rank in range(size)
        ]
        self.handled = [[] for _ in range(size)]

    def send(self, source, dest, category, payload, offset, args):
        """Send a request, or say that no slot is free."""
        slot = self.ranks[source].acquire(dest)
        if slot is None:
            return False
        word = word_of(7, category, is_request=True)
        message = Message(word, args, payload, offset, len(payload), source)
        self.ranks[source].send_request(dest, slot, message)
        return True

    def poll(self, rank):
        """Take one message and answer it; say whether there was one."""
        message = self.ranks[rank].take()
        if message is None:
            return False
        nbytes, offset = message.nbytes, message.offset
        long = message.word & LONG == LONG
        found = bytes(self.segments[rank][offset : offset + nbytes]) if long else bytes(message.payload)
        self.handled[rank].append((message.source, message.is_request, message.category, message.args, found))
        if message.word & REQUEST:
            word = word_of(9, Category.MEDIUM, is_request=False) if 0 < nbytes <= MEDIUM else AUTO_REPLY
            reply = found[::-1] if word != AUTO_REPLY else b""
            answer = Message(word, message.args if reply else b"", reply, 0, len(reply), rank)
            self.ranks[rank].send_reply(message, answer)
        return True

    def settle(self):
        """Poll everywhere until nothing comes any more."""
        quiet = 0
        while quiet < 8:
            quiet = 0 if any([self.poll(rank) for rank in range(len(self.ranks))]) else quiet + 1


requests = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(1, 2),
        st.sampled_from([Category.SHORT, Category.MEDIUM, Category.LONG, Category.LONG_ASYNC]),
        st.binary(min_size=1, max_size=200),
        st.lists(st.integers(0, 2**32 - 1), max_size=16),
    ),
    max_size=40,
)


@pytest.mark.parametrize("shared", [False, True])
@given(requests, st.integers(1, 3), st.integers(0, 99))
def test_what_is_sent_arrives_once_and_is_answered(shared, program, credits, seed):
    world = World(3, credits, seed, shared=shared)
    sent = [[] for _ in range(3)]
    for number, (source, distance, category, payload, values) in enumerate(program):
        dest = (source + distance) % 3
        if category == Category.SHORT:
            payload = b""
        elif category == Category.MEDIUM:
            payload = payload[:MEDIUM]
        args = np.array(values, "<u4").tobytes()
        offset = number * 100 if len(payload) <= 100 else 0
        while not world.send(source, dest, category, payload, offset, args):
            for rank in range(3):
                world.poll(rank)
        if offset == 0:
            world.settle()  # the next may land in the same place
        sent[dest].append((source, True, category, args, payload))
    world.settle()
    for dest in range(3):
        assert sorted(each for each in world.handled[dest] if each[1]) == sorted(sent[dest])
    answers = [each for handled in world.handled for each in handled if not each[1]]
    assert len(answers) == len(program)
    turned = [(m[3], m[4][::-1]) for mine in sent for m in mine if 0 < len(m[4]) <= MEDIUM]
    assert sorted((args, found) for _, _, _, args, found in answers if found) == sorted(turned)
    assert all(not any(each.slots_in_use().values()) and not each.landing() for each in world.ranks)
    for each in world.ranks:
        each.close()


def test_a_slot_is_free_again_when_its_answer_was_taken_and_not_before():
    world = World(2, 2, 0, shared=False)
    for _ in range(2):
        assert world.send(0, 1, Category.SHORT, b"", 0, b"")
    assert not world.send(0, 1, Category.SHORT, b"", 0, b"")
    while not world.poll(1):
        pass
    assert not world.send(0, 1, Category.SHORT, b"", 0, b"")
    while not world.poll(0):
        pass
    # MPI may have to be asked before it says that the first request's buffer is no longer read.
    assert any(world.send(0, 1, Category.SHORT, b"", 0, b"") for _ in range(4))


def test_more_requests_than_receives_posted_in_advance_wait_in_mpi(monkeypatch):
    monkeypatch.setattr("conduits.mpi.messages.MOST_POSTED", 2)
    world = World(4, 3, 1, shared=False)
    sent = [(source, each) for each in range(3) for source in (1, 2, 3)]
    for source, each in sent:
        payload = bytes([source, each])
        assert world.send(source, 0, Category.MEDIUM, payload, 0, b"")
    world.settle()
    found = [(source, payload[1]) for source, is_request, _, _, payload in world.handled[0] if is_request]
    assert sorted(found) == sorted(sent)
    for source in (1, 2, 3):
        assert [each for rank, each in found if rank == source] == [0, 1, 2]
        assert len(world.handled[source]) == 3
    for each in world.ranks:
        each.close()
