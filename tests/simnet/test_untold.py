"""A network that does not tell a polling rank what has come hangs it: the report says that this is the network's."""

import re

import pytest
import trio

import conduit
from conduits.loggp import Loggp
from conduits.loggp.port import LoggpTransport

OF_NETWORK = ": a mistake of the network, not of the program)"


async def ring(ep, count):
    got = []

    def ask(token, number):
        token.reply_short(take, number)

    def take(token, number):
        got.append(number)

    await ep.attach(ask, take)
    for number in range(count):
        await ep.request_short((ep.rank + 1) % ep.size, ask, number)
    await ep.block_until(lambda: len(got) == count, what="the answers", ranks=[(ep.rank + 1) % ep.size])


def note(token):
    """Do nothing."""


async def to_one_that_does_not_poll(ep, count):
    await ep.attach(note)
    if ep.rank:
        await trio.sleep_forever()
    for _ in range(count):
        await ep.request_short(1, note)


class Deaf:
    """A port that is told of nothing."""

    def __init__(self, port):
        self._port = port
        self.memory = port.memory

    def arrived(self):
        """Do nothing."""

    notify = arrived


class Tincan(LoggpTransport):
    """As loggp's; each test breaks something of it."""


def arrive_untold(self, *args):
    told, self.port = self.port, Deaf(self.port)
    LoggpTransport.arrive(self, *args)
    self.port = told


class Unfreed(dict):
    """By rank, its slots, of which none comes back."""

    def __setitem__(self, dest, slots):
        super().__setitem__(dest, Once(slots[:-1]))  # the last one goes to who asks first


class Once(list):
    """Slots that are given out once."""

    def append(self, slot):
        """Lose one."""


def broken(monkeypatch, change, program, *args, ranks=3, per_host=1, conduit_="loggp"):
    def make(network, port):
        transport = Tincan(port, network)
        change(transport)
        return transport

    monkeypatch.setattr(Loggp, "make_transport", make)
    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(program, *args, conduit=conduit_, ranks=ranks, ranks_per_host=per_host)
    return caught.value.report.head.partition("every rank waits")[2]


def nothing(transport):
    """Change nothing."""


def unfreed(transport):
    transport.free = Unfreed()


@pytest.mark.parametrize(("count", "per_host", "deaf"), [(3, 1, "0-3"), (3, 2, "0, 2"), (20, 1, "0-3"), (20, 2, "0-3")])
def test_messages_of_which_the_port_was_not_told(monkeypatch, count, per_host, deaf):
    monkeypatch.setattr(Tincan, "arrive", arrive_untold, raising=False)
    assert broken(monkeypatch, nothing, ring, count, ranks=4, per_host=per_host) == (
        f" (Tincan on ranks {deaf} has messages and called neither port.arrived() nor port.notify() after they had come"
        f"{OF_NETWORK}"
    )


def test_messages_for_a_rank_that_does_not_poll_are_no_mistake_of_the_network(monkeypatch):
    assert broken(monkeypatch, nothing, to_one_that_does_not_poll, 20, ranks=2) == ""


def test_messages_beside_a_rank_that_does_not_poll_are_not_certain(monkeypatch):
    async def main(ep):
        await ep.attach(note)
        if ep.rank == 2:
            await ep.request_short(0, note)
        if ep.rank == 1:
            await trio.sleep_forever()

    monkeypatch.setattr(Tincan, "arrive", arrive_untold, raising=False)
    assert broken(monkeypatch, nothing, main, ranks=3, per_host=2) == ""
    assert broken(monkeypatch, nothing, main, ranks=3, per_host=1).startswith(" (Tincan on rank 0 has messages and")


def test_slots_that_are_never_freed(monkeypatch):
    assert broken(monkeypatch, unfreed, ring, 20) == (
        " (Tincan on ranks 0-2 has no request slot to give, although all messages of the job have been handled: "
        "acquire() returned None"
        f"{OF_NETWORK}"
    )


def test_slots_that_are_freed_in_an_event_without_a_word(monkeypatch):
    async def main(ep):
        await ep.attach(note)
        if ep.rank == 0:
            for _ in range(2):
                await ep.request_short(1, note)

    class Late(dict):
        def __init__(self, kernel):
            super().__init__()
            self.kernel = kernel

        def __setitem__(self, dest, slots):
            super().__setitem__(dest, LateSlots(self.kernel, slots[:-1]))

    class LateSlots(list):
        def __init__(self, kernel, slots):
            super().__init__(slots)
            self.kernel = kernel

        def append(self, slot):
            self.kernel.call(self.kernel.now + 10**9, lambda: list.append(self, slot))

    def late(transport):
        transport.free = Late(transport.kernel)

    assert broken(monkeypatch, late, main, ranks=2, conduit_="loggp:slots=1") == (
        f" (Tincan on rank 0 has freed a request slot outside of a pass and not called port.notify() then{OF_NETWORK}"
    )


def test_a_slot_to_a_rank_that_does_not_poll_is_no_mistake_of_the_network(monkeypatch):
    assert broken(monkeypatch, unfreed, to_one_that_does_not_poll, 2, ranks=2, conduit_="loggp:slots=1") == ""


def lose(method):
    """Return a method that does its work but for the third message of the job, which is gone."""
    seen = []

    def losing(self, *args):
        seen.append(self)
        if len(seen) != 3:
            return getattr(LoggpTransport, method)(self, *args)
        return None

    return losing


@pytest.mark.parametrize("per_host", [1, 2])
def test_a_message_that_is_lost(monkeypatch, per_host):
    monkeypatch.setattr(Tincan, "arrive", lose("arrive"), raising=False)
    assert broken(monkeypatch, nothing, ring, 3, ranks=4, per_host=per_host) == (
        " (1 message was sent and never handled, and no transport tells of it: a mistake of the network 'loggp', not "
        "of the program)"
    )


def test_a_message_that_is_lost_beside_a_rank_that_does_not_poll_is_not_certain(monkeypatch):
    async def main(ep):
        await ep.attach(note)
        if ep.rank == 2:
            await trio.sleep_forever()
        if ep.rank == 1:
            for _ in range(3):
                await ep.request_short(0, note)

    monkeypatch.setattr(Tincan, "arrive", lose("arrive"), raising=False)
    assert broken(monkeypatch, nothing, main) == ""


def test_messages_that_are_sent_once_and_handled_twice(monkeypatch):
    def arrive(self, *args):
        LoggpTransport.arrive(self, *args)
        LoggpTransport.arrive(self, *args)

    async def main(ep):
        await ep.attach(note)
        if ep.rank:
            await ep.block_until(lambda: False)
        await ep.request_short(1, note)

    monkeypatch.setattr(Tincan, "arrive", arrive, raising=False)
    assert re.fullmatch(
        r" \(\d messages? more (was|were) handled than sent: a mistake of the network 'loggp', not of the program, as "
        r"of one that takes a message twice; `python -X dev -m conduit \.\.\.` names its line\)",
        broken(monkeypatch, nothing, main),
    )


def test_messages_that_take_has_dropped(monkeypatch):
    def take(self):
        LoggpTransport.take(self)

    monkeypatch.setattr(Tincan, "take", take, raising=False)
    assert broken(monkeypatch, nothing, ring, 1, ranks=2) == (
        " (2 messages were sent and never handled, and no transport tells of them: a mistake of the network 'loggp', "
        "not of the program)"
    )
