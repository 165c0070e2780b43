"""One name that stands for several networks, by an option that says which."""

from importlib.metadata import EntryPoint

import attrs
import pytest

from conduit.contract import Conduit, Limits
from conduit.errors import BadRequest, UnknownConduit
from conduit.launch import entry_points, registry
from conduit.options import SimOptions, option


@attrs.frozen(kw_only=True)
class SimulatedOptions(SimOptions):
    stripes: int = option(1, "stripes")


@attrs.frozen(kw_only=True)
class RealOptions:
    credits: int = option(8, "credits")


@attrs.frozen(kw_only=True)
class Doubled:
    library: str = option("x", "declared twice")


class Base(Conduit):
    name = "many"
    port = None

    @classmethod
    def limits(cls, options):
        return Limits(16, 512, 512, 512)


class Simulated(Base):
    simulated = True
    Options = SimulatedOptions


class Real(Base):
    Options = RealOptions


class Twice(Base):
    Options = Doubled


class Many(Conduit):
    name = "many"
    summary = "several"
    chooser = "library"

    @classmethod
    def variants(cls):
        return ("virtual", "real", "absent", "twice", "odd")

    @classmethod
    def variant(cls, value):
        if value == "absent":
            raise ModuleNotFoundError("No module named 'gone'")
        return {"virtual": Simulated, "real": Real, "twice": Twice, "odd": Many}[value]


@pytest.fixture(autouse=True)
def many(monkeypatch):
    entries = [EntryPoint("many", "many:Many", entry_points.CONDUITS)]
    monkeypatch.setattr(entry_points, "entry_points", lambda *, group: [e for e in entries if e.group == group])
    monkeypatch.setattr(EntryPoint, "load", lambda self: Many)
    entry_points.lookup.cache_clear()
    yield
    entry_points.lookup.cache_clear()


@pytest.mark.parametrize(
    ("text", "cls", "simulated", "canonical"),
    [
        ("many", Simulated, True, "many"),
        ("many:library=virtual", Simulated, True, "many"),
        ("many:stripes=2", Simulated, True, "many:stripes=2"),
        ("many:library=real", Real, False, "many:library=real"),
        ("many:credits=2,library=real", Real, False, "many:library=real,credits=2"),
    ],
)
def test_an_option_says_which_network_is_meant(text, cls, simulated, canonical):
    spec = registry.parse_spec(text)
    assert (spec.cls, spec.simulated, spec.text) == (cls, simulated, canonical)
    assert registry.parse_spec(canonical) == spec


def test_one_of_them_is_listed_alone_or_all_of_them(capsys):
    from conduit.commands.list import list_conduits

    for names, listed in ((("many:library=real",), ["real"]), (("many",), list(Many.variants()))):
        assert list_conduits(*names) == 0
        heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("many:")]
        assert [head.split()[0] for head in heads] == [f"many:library={value}" for value in listed]
    with pytest.raises(
        BadRequest, match=r"^'many:stripes=2' has options; conduit show many:stripes=2 shows what they "
    ):
        list_conduits("many:stripes=2")


def test_other_options_keep_the_network():
    spec = registry.parse_spec("many:library=real").with_options(credits=3)
    assert (spec.text, spec.cls) == ("many:library=real,credits=3", Real)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "many:library=reel",
            BadRequest,
            r"'library' .* cannot be 'reel' \(did you mean real\?\); there are: virt",
        ),
        (
            "many:library=real,stripes=2",
            BadRequest,
            r"'many:library=real' has no option 'stripes'; its .* are: cred",
        ),
        (
            "many:library=absent",
            UnknownConduit,
            r"'many:library=absent' cannot be imported: ModuleNotFoundError: No",
        ),
        (
            "real",
            UnknownConduit,
            r"^there is no conduit 'real' \(did you mean many:library=real\?\); installed are: many$",
        ),
        (
            "virtaul",
            UnknownConduit,
            r"^there is no conduit 'virtaul' \(did you mean many:library=virtual\?\); installed",
        ),
        (
            "many,real",
            UnknownConduit,
            r"^there is no conduit 'many,real' \(did you mean many:library=real\?\); installed",
        ),
        (
            "many:real",
            BadRequest,
            r"^'real' in the spec 'many:real' is no option \(did you mean library=real\?\); write option=value, sep",
        ),
        (
            "many:library",
            BadRequest,
            r"^option 'library' in the spec 'many:library' has no value; write library=VALUE, allowed: virtual\|real",
        ),
        ("many:library=twice", UnknownConduit, r"class Doubled, declare 'library' too, which chooses it"),
        ("many:library=odd", UnknownConduit, r"the class Many has variants itself"),
    ],
)
def test_what_is_wrong_is_said(text, error, message):
    with pytest.raises(error, match=message):
        registry.parse_spec(text)


def test_all_networks_are_listed_those_that_cannot_be_used_with_the_reason():
    found = registry.networks()
    assert list(found) == [f"many:library={value}" for value in Many.variants()]
    assert (found["many:library=virtual"], found["many:library=real"]) == (Simulated, Real)
    assert "No module named 'gone'" in str(found["many:library=absent"])


def test_commands_show_them(capsys):
    from conduit.commands.list import list_conduits
    from conduit.commands.show import show

    assert list_conduits() == show("many:library=real") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "many:library=absent cannot be used (Many.variant): ModuleNotFoundError: No module named 'gone'" in out
    assert "one of several networks, by library=virtual|real|absent|twice|odd" in out
    assert "(real, wall-clock time)" in out
