"""Mistakes of who writes a unit are told with its class and method, in development mode also those of its calls."""

import re
import sys

import pytest

import conduit
from conduit.contract import AtomicOp, StridedSection
from conduit.simnet import Unit
from conduit.simnet.looking import looking
from extended import Extended

pytestmark = pytest.mark.usefixtures("late")


@pytest.fixture
def network(late):
    """Give the module of the network."""
    conduit.run(nothing, ranks=1, conduit=late)
    return sys.modules["late_network"]


async def nothing(ep):
    """Do nothing."""


async def main(ep):
    x = await Extended.attach(ep)
    await x.put(1 - ep.rank, 0, b"12345678")
    await x.get(1 - ep.rank, 0, 8)
    await x.barrier()


def failed(monkeypatch, network, make):
    monkeypatch.setattr(network.Late, "make_unit", make)
    with pytest.raises(conduit.ConduitError) as caught:
        conduit.run(main, conduit="late", segment=64)
    return str(caught.value)


def test_no_unit(monkeypatch, network):
    wrong = failed(monkeypatch, network, lambda self, port: None)
    assert wrong == "Late.make_unit returned None; return a conduit.simnet.Unit"


def test_a_unit_that_has_not_called_init(monkeypatch, network):
    class Uncalled(network.LateUnit):
        def __init__(self, port, network):
            pass

    wrong = failed(monkeypatch, network, lambda self, port: Uncalled(port, self))
    assert wrong == "Uncalled.__init__ has not called super().__init__(port)"


def test_a_unit_that_lacks_a_method(monkeypatch, network):
    class Lacking(Unit):
        put = get = atomic = quiet = network.LateUnit.put

    wrong = failed(monkeypatch, network, lambda self, port: Lacking(port))
    assert wrong.startswith("Late.make_unit: Can't instantiate abstract class Lacking with abstract method")
    assert wrong.endswith("; define what it lacks")


def test_a_unit_that_does_not_derive_from_one(monkeypatch, network):
    class Alone:
        put = get = quiet = None

    wrong = failed(monkeypatch, network, lambda self, port: Alone(port))
    assert wrong == (
        "Late.make_unit: Alone() takes no arguments; Alone does not derive from Unit: write `class Alone(Unit)`, with "
        "`from conduit.simnet import Unit`"
    )


def test_an_async_method(network):
    with pytest.raises(
        TypeError, match=r"^Slow\.put is async; a unit's methods are plain; what they begin goes on in e"
    ):

        class Slow(network.LateUnit):
            async def put(self, dest, places, data, free, done):
                """Wait for nothing."""


def failed_looked_at(monkeypatch, network, kind):
    """Give the error of a job with units of a class, at whose calls is looked as in development mode."""
    with looking():
        return failed(monkeypatch, network, lambda self, port: kind(port, self))


def twice(call):
    def both(*args):
        call(*args)
        call(*args)

    return both


CALLS = {
    "put free": lambda plain: {"put": lambda s, d, p, data, free, done: plain.put(s, d, p, data, twice(free), done)},
    "put done": lambda plain: {"put": lambda s, d, p, data, free, done: plain.put(s, d, p, data, free, twice(done))},
    "get done": lambda plain: {"get": lambda s, d, p, free, done: plain.get(s, d, p, free, twice(done))},
}


@pytest.mark.parametrize("which", CALLS)
def test_what_is_called_twice(monkeypatch, network, which):
    method, call = which.split()
    kind = type("Twice", (network.LateUnit,), CALLS[which](network.LateUnit))
    wrong = failed_looked_at(monkeypatch, network, kind)
    assert wrong.removeprefix("rank 0, ").removeprefix("rank 1, ") == (
        f"Twice.{method} called {call}() a second time; an operation calls it once"
    )


@pytest.mark.parametrize(("data", "said"), [([1, 2], "[1, 2]"), (b"123", "3 bytes")])
def test_what_a_get_gives(monkeypatch, network, data, said):
    class Short(network.LateUnit):
        def get(self, dest, places, free, done):
            super().get(dest, places, free, lambda _: done(data))

    wrong = failed_looked_at(monkeypatch, network, Short)
    assert wrong.removeprefix("rank 0, ").removeprefix("rank 1, ") == (
        f"Short.get called done({said}); give the 8 bytes that it is to read"
    )


SPANS = "; give pairs of offset and size"
SEEN = {
    "land places": (lambda port: port.land(StridedSection(0, 8), b"12345678", 0), "land",
        f"spans=StridedSection(offset=0, run=8, counts=(), strides=()){SPANS}, as `pieces` makes them of places"),
    "land one span": (lambda port: port.land((0, 8), b"12345678", 0), "land",
        f"spans with 0{SPANS} inside the 1048640 bytes of port.memory"),
    "land outside": (lambda port: port.land([(0, 4), (1048636, 8)], b"123456789012", 0), "land",
        f"spans with (1048636, 8){SPANS} inside the 1048640 bytes of port.memory"),
    "land before": (lambda port: port.land([(-8, 8)], b"12345678", 0), "land",
        f"spans with (-8, 8){SPANS} inside the 1048640 bytes of port.memory"),
    "land too few": (lambda port: port.land([(0, 8)], b"123", 0), "land",
        "3 bytes of data for spans of 8; give as many as these have"),
    "land a list": (lambda port: port.land([(0, 8)], [1] * 8, 0), "land", "data=[1, 1, 1, 1, 1, 1, 1, 1]; give bytes"),
    "land of nobody": (lambda port: port.land([(0, 1)], b"1", 2), "land",
        "source=2; give the rank whose operation it is, self.port.rank"),
    "read outside": (lambda port: port.read([(1048640, 1)]), "read",
        f"spans with (1048640, 1){SPANS} inside the 1048640 bytes of port.memory"),
    "apply a name": (lambda port: port.apply("swap", 0, (1,), 0), "apply",
        "op='swap'; give the op that `atomic` has got, an AtomicOp"),
    "apply amid": (lambda port: port.apply(AtomicOp.SWAP, 4, (1,), 0), "apply",
        "offset=4; give the offset of an integer, a multiple of 8 up to 1048632"),
    "apply too few": (lambda port: port.apply(AtomicOp.COMPARE_SWAP, 8, (1,), 0), "apply",
        "operands=(1,); COMPARE_SWAP has 2: give those of `atomic`"),
    "apply of nobody": (lambda port: port.apply(AtomicOp.SWAP, 8, (1,), None), "apply",
        "source=None; give the rank whose operation it is, self.port.rank"),
}  # fmt: skip
"""What a unit does wrong to the segment of a rank, with what is auxiliary behind it, and what is said of it."""


@pytest.mark.parametrize("which", SEEN)
def test_what_a_unit_does_to_a_segment(monkeypatch, network, which):
    act, method, said = SEEN[which]

    class Wrong(network.LateUnit):
        def put(self, dest, places, data, free, done):
            act(self.network.ports[dest])

    wrong = failed_looked_at(monkeypatch, network, Wrong)
    assert re.sub("rank [01]", "rank #", wrong.splitlines()[0]) == f"port.{method} of rank # got {said}"


AHEAD = {
    "landed bytes in": lambda port: port.land([(0, 8)], b"12345678", 0),
    "read": lambda port: port.read([(0, 8)]),
    "changed an integer of": lambda port: port.apply(AtomicOp.SWAP, 8, (1,), 0),
}


@pytest.mark.parametrize("what", AHEAD)
def test_what_is_done_to_another_segment_ahead_of_its_time(monkeypatch, network, what):
    class Ahead(network.LateUnit):
        def put(self, dest, places, data, free, done):
            AHEAD[what](self.network.ports[dest])
            super().put(dest, places, data, free, done)

    wrong = failed_looked_at(monkeypatch, network, Ahead)
    assert re.fullmatch(
        rf"rank [01], Ahead\.put: {what} the segment of rank [01] at once, ahead of its own clock; what touches "
        r"anything that is not the rank's own happens in an event: port\.kernel\.at\(port\.cpu\.free, \.\.\.\)",
        wrong.splitlines()[0],
    )


@pytest.mark.parametrize("name", ["origin", "t3e"])
def test_sound_units_do_the_same_as_without(name):
    plain = conduit.run(main, conduit=name, segment=64)
    with looking():
        assert conduit.run(main, conduit=name, segment=64).digest == plain.digest


def test_a_get_of_other_than_its_bytes_is_told_outside_of_development_mode_too(monkeypatch, network):
    class Short(network.LateUnit):
        def get(self, dest, places, free, done):
            super().get(dest, places, free, lambda data: done(data[:-1]))

    wrong = failed(monkeypatch, network, lambda self, port: Short(port, self))
    assert wrong == "rank 0, Short.get called done(7 bytes); give the 8 bytes that it is to read"
