"""A transport that fails to tell what a report asks for costs the report no more than that."""

import pytest

import conduit
from conduits.loggp.port import LoggpTransport


async def stuck(ep):
    await ep.attach()
    await ep.block_until(lambda: False, what="nothing")


def raising(self, *args):
    raise LookupError("no such thing")


def deadlock():
    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(stuck, conduit="loggp", ranks_per_host=1)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("name", ["undelivered", "unhandled", "slots_in_use", "waits_for"])
def test_a_method_that_raises(monkeypatch, name):
    sound = deadlock()
    monkeypatch.setattr(LoggpTransport, name, raising)
    line = raising.__code__.co_firstlineno + 1
    assert deadlock() == [
        *sound,
        f"LoggpTransport.{name} raised LookupError (no such thing) at test_asked.py:{line}, so that this report lacks "
        "what it tells",
    ]


@pytest.mark.parametrize(
    ("name", "found", "kind"),
    [
        ("undelivered", None, "an int"),
        ("unhandled", [5], "a list of conduit.contract.Unhandled"),
        ("slots_in_use", 5, "a list of texts"),
        ("slots_in_use", "5 slots", "a list of texts"),
        ("waits_for", None, "a text"),
    ],
)
def test_a_method_that_returns_what_is_none(monkeypatch, name, found, kind):
    sound = deadlock()
    monkeypatch.setattr(LoggpTransport, name, lambda self: found)
    assert deadlock() == [
        *sound,
        f"LoggpTransport.{name} returned {found!r}, not {kind}, so that this report lacks what it tells",
    ]


def test_what_can_only_be_raised_is_no_error_of_trio_s(monkeypatch):
    monkeypatch.setattr("conduit.simnet.port.SimulatedPort.undelivered", raising)
    with pytest.raises(LookupError, match=r"^no such thing") as caught:
        conduit.run(stuck, conduit="loggp")
    assert (
        caught.value.__notes__[0] == "raised while it was found out why the job gets no further: deadlock at 7.001 us"
    )
