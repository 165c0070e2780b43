"""A network that never says that a send is over hangs its ranks: the report says which method of it that is."""

import pytest

import conduit
from conduit.simnet import transport
from conduit.simnet.tending import TransportWithWork
from conduits.loggp import Loggp
from conduits.loggp.port import LoggpTransport


async def main(ep, *asking):
    got = []

    def ask(token, number):
        token.reply_short(answer, number)

    def answer(token, number):
        got.append(number)

    await ep.attach(ask, answer)
    if ep.rank in asking:
        for number in range(3):
            await ep.request_short(1 - ep.rank, ask, number)
        await ep.block_until(lambda: len(got) == 3, what="the answers", ranks=[1 - ep.rank])


async def polling(ep):
    def note(token):
        pass

    await ep.attach(note)
    if ep.rank == 0:
        await ep.request_short(1, note)
    else:
        while True:
            await ep.poll()


class Tincan(LoggpTransport):
    """As loggp's; each test breaks one method."""


class Mending(LoggpTransport, TransportWithWork):
    """One that takes may go on in events."""

    def work(self):
        yield from ()


def head(monkeypatch, made, *asking, program=main):
    monkeypatch.setattr(Loggp, "make_transport", lambda network, port: made(port, network))
    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(program, *asking, conduit="loggp", ranks_per_host=1)
    return caught.value.report.head.partition("every rank waits ")[2]


def never(name):
    """Return a method that does all but call `then`."""

    def method(self, first, second, *more):
        sent = getattr(LoggpTransport, name)
        sent(self, first, second, *more[:-1], lambda: None)

    return method


def nothing(self, *args):
    """Do nothing at all."""


@pytest.mark.parametrize("broken", [never("send_reply"), nothing])
def test_a_reply_whose_end_is_never_told(monkeypatch, broken):
    monkeypatch.setattr(Tincan, "send_reply", broken, raising=False)
    assert head(monkeypatch, Tincan, 0) == (
        "(Tincan.send_reply on rank 1 has taken a reply and never called then(): a mistake of the network, not of the "
        "program)"
    )
    assert head(monkeypatch, Tincan, 0, 1) == (
        "(Tincan.send_reply on ranks 0-1 has taken a reply and never called then(): a mistake of the network, not of "
        "the program)"
    )


def test_a_reply_whose_end_is_never_told_in_a_poll_of_the_program(monkeypatch):
    monkeypatch.setattr(Tincan, "send_reply", nothing, raising=False)
    assert head(monkeypatch, Tincan, program=polling).startswith("(Tincan.send_reply on rank 1 has taken a reply")


@pytest.mark.parametrize("broken", [never("send_request"), nothing])
def test_a_request_whose_end_is_never_told(monkeypatch, broken):
    monkeypatch.setattr(Tincan, "send_request", broken, raising=False)
    assert head(monkeypatch, Tincan, 0) == (
        "(Tincan.send_request on rank 0 has taken a request and never called then(): a mistake of the network, not of "
        "the program)"
    )


def test_a_message_that_is_never_taken_to_its_end(monkeypatch):
    monkeypatch.setattr(Mending, "take", lambda self: transport.LATER, raising=False)
    assert head(monkeypatch, Mending, 0) == (
        "(Mending.send_reply on rank 1 has taken a reply and never called then(), or Mending.take has returned LATER "
        "and never called port.resume_pass(): a mistake of the network, not of the program)"
    )


def test_a_take_of_a_class_whose_module_does_not_have_the_word(monkeypatch):
    monkeypatch.setattr(Tincan, "take", lambda self: transport.LATER, raising=False)
    assert "never called then(), or Tincan.take has returned LATER and never called" in head(monkeypatch, Tincan, 0)


def test_a_deadlock_of_the_program_is_none_of_the_network():
    async def waiting(ep):
        await ep.attach()
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(waiting, conduit="loggp")
    assert caught.value.report.head.endswith("every rank waits")
