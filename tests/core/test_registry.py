"""Spec strings, and conduits found by entry point, broken ones among them."""

import importlib.metadata
import linecache
import re
import sys
from importlib.metadata import EntryPoint

import attrs
import pytest

from conduit.contract import Conduit, Constant, Limits
from conduit.errors import BadRequest, ConduitError, UnknownConduit
from conduit.launch import entry_points, registry
from conduit.options import SimOptions, option
from conduits.loggp import Loggp


@attrs.frozen(kw_only=True)
class ToyOptions(SimOptions):
    torus: tuple[int, ...] = option((2,), "shape")
    slots: int = option(2, "slots")


class Toy(Conduit):
    """Never made: only its class is looked at."""

    name = "toy"
    Options = ToyOptions
    port = None

    @classmethod
    def limits(cls, options):
        return Limits(16, 512, 512, 512)


def explode() -> None:
    raise AssertionError


@pytest.fixture
def plugins(monkeypatch):
    """Install these entry points, and none but these, for one test."""
    table: dict[str, dict[str, str]] = {}

    def looked_up(*, group: str):
        return [EntryPoint(name, value, group) for name, value in table.get(group, {}).items()]

    monkeypatch.setattr(entry_points, "entry_points", looked_up)
    entry_points.lookup.cache_clear()
    yield table
    entry_points.lookup.cache_clear()


LOAD = EntryPoint.load


@pytest.fixture
def toys(plugins, monkeypatch):
    monkeypatch.setattr(EntryPoint, "load", lambda self: {"toy:Toy": Toy, "toy:f": explode}.get(self.value) or broken())
    plugins[entry_points.CONDUITS] = {"toy": "toy:Toy", "broken": "gone:Gone", "wrong": "toy:f"}


def broken():
    raise ModuleNotFoundError("No module named 'gone'")


def test_spec_with_options(toys):
    spec = registry.parse_spec("toy: torus=4x2 , slots=4")
    assert (spec.name, spec.cls, spec.options) == ("toy", Toy, ToyOptions(torus=(4, 2), slots=4))
    assert spec.text == "toy:torus=4x2,slots=4"


@pytest.mark.parametrize("text", ["toy", "toy:", "toy:slots=2", "toy:torus=2,inline=yes"])
def test_text_of_a_spec_leaves_out_defaults(toys, text):
    assert registry.parse_spec(text).text == "toy"


def test_text_of_a_spec_reads_back(toys):
    spec = registry.parse_spec("toy:slots=7,torus=3+1,order=weak")
    assert spec.text == "toy:order=weak,torus=3x1,slots=7"
    assert registry.parse_spec(spec.text) == spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "^the spec '' names no conduit; write it as NAME or NAME:option=value,option=value$"),
        (":slots=2", "^the spec ':slots=2' names no conduit; "),
        (
            "toy:slots",
            "^option 'slots' in the spec 'toy:slots' has no value; write slots=VALUE, allowed: an integer$",
        ),
        (
            "toy:slots=2,torus=",
            "^option 'torus' in the spec 'toy:slots=2,torus=' has no value; write torus=VALUE, allowed: integers such ",
        ),
        ("toy:=2", "^'=2' in the spec 'toy:=2' is no option; write option=value, separated by commas$"),
        ("toy:wide", "^'wide' in the spec 'toy:wide' is no option; write option=value, separated by commas$"),
        ("toy:slots:4", r"^'slots:4' in the spec 'toy:slots:4' is no option \(did you mean slots=4\?\); write option="),
        ("toy:slot", r"^'slot' in the spec 'toy:slot' is no option \(did you mean slots=VALUE\?\); write option="),
        ("toy:weak", r"^'weak' in the spec 'toy:weak' is no option \(did you mean order=weak\?\); write option="),
        (
            "toy:slots=2,wrong",
            "^'toy:slots=2,wrong' names several conduits, and a spec is of one; where several may be given write "
            "--conduit toy:slots=2 --conduit wrong$",
        ),
        (
            "toy:wrong",
            "^'toy:wrong' names several conduits, and a spec is of one; where several may be given write "
            "--conduit toy --conduit wrong$",
        ),
        (
            "toy:slots=2,wrong,wrong",
            "^'toy:slots=2,wrong,wrong' names several conduits, and a spec is of one; where several may be given write "
            "--conduit toy:slots=2 --conduit wrong$",
        ),
        ("toy:slots=2,slots=3", "^option 'slots' is given twice in the spec 'toy:slots=2,slots=3'; give it once$"),
        (
            "toy:Slot=2",
            r"^conduit 'toy' has no option 'Slot' \(did you mean slots\?\); its options are: inline, order, piece, "
            "slots, torus$",
        ),
        ("toy:wide=2", "^conduit 'toy' has no option 'wide'; its options are: inline, order, piece, slots, torus$"),
        ("toy:slots=x", "^option 'slots' of conduit 'toy' cannot be 'x'; allowed: an integer$"),
        (None, "^conduit must be a spec string such as 'sci' or 'sci:torus=4x2', not None$"),
        (3, "^conduit must be a spec string such as 'sci' or 'sci:torus=4x2', not 3$"),
    ],
)
def test_wrong_spec(toys, spec, message):
    with pytest.raises(BadRequest, match=message):
        registry.parse_spec(spec)


def test_unknown_conduit_lists_the_known_ones(toys):
    with pytest.raises(UnknownConduit, match=r"^there is no conduit 'xyz'; installed are: broken, toy, wrong$"):
        registry.parse_spec("xyz:slots=2")
    with pytest.raises(
        UnknownConduit, match=r"^there is no conduit 'tot' \(did you mean toy\?\); installed are: broken"
    ):
        registry.find("tot")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "toy,wrong",
            "'toy,wrong' names several conduits, and a spec is of one; where several may be given write --conduit toy "
            "--conduit wrong",
        ),
        ("toy,slots=4", "'toy,slots=4' is no spec: options follow a colon; write toy:slots=4"),
        ("toy slots=4", "'toy slots=4' is no spec: options follow a colon; write toy:slots=4"),
        ("toy=4", "'toy=4' is no spec: options follow a colon; write toy:option=value"),
        ("toy,", "there is no conduit 'toy,' (did you mean toy?); installed are: broken, toy, wrong"),
        ("yot", "there is no conduit 'yot'; installed are: broken, toy, wrong"),
        ("tyo", "there is no conduit 'tyo' (did you mean toy?); installed are: broken, toy, wrong"),
        (
            "tot4me",
            "there is no conduit 'tot4me': it is a library for programs (`api = \"tot4me\"` at their top), which run "
            "on any conduit; installed are: broken, toy, wrong",
        ),
    ],
)
def test_text_that_is_no_spec_says_what_may_be_meant(toys, plugins, spec, message):
    plugins[entry_points.FRONT_ENDS] = {"tot4me": "toy:f"}
    with pytest.raises(UnknownConduit) as refused:
        registry.parse_spec(spec)
    assert str(refused.value) == message


def test_no_conduit_at_all(plugins):
    with pytest.raises(UnknownConduit, match=r"^there is no conduit 'toy'; installed are: none$"):
        registry.find("toy")


def test_broken_conduit_is_listed_and_breaks_no_other(toys):
    found = registry.available()
    assert list(found) == ["broken", "toy", "wrong"]
    assert found["toy"] is Toy
    assert str(found["broken"]) == "ModuleNotFoundError: No module named 'gone'"
    assert re.fullmatch(r"TypeError: <function explode at .*> is no subclass of conduit\.Conduit", str(found["wrong"]))


def test_broken_conduit_asked_for_says_why(toys):
    message = r"^conduit 'broken' \(gone:Gone\) cannot be used: ModuleNotFoundError: No module named 'gone'$"
    with pytest.raises(UnknownConduit, match=message) as caught:
        registry.find("broken")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_plugin_that_cannot_import_something_is_told_with_its_own_line(toys, plugins, tmp_path, monkeypatch):
    folder = tmp_path / "conduit_torn"
    folder.mkdir()
    (folder / "__init__.py").write_text("from conduit_torn.port import Torn\n")
    (folder / "port.py").write_text("import conduit\nimport attrrs\n")
    monkeypatch.setattr(EntryPoint, "load", LOAD)  # what `toys` has put another in the place of
    monkeypatch.syspath_prepend(tmp_path)
    plugins[entry_points.CONDUITS]["torn"] = "conduit_torn:Torn"
    with pytest.raises(UnknownConduit) as caught:
        registry.find("torn")
    assert str(caught.value) == (
        "conduit 'torn' (conduit_torn:Torn) cannot be used: ModuleNotFoundError: No module named 'attrrs' "
        f"({folder / 'port.py'}:2)"
    )


def test_find_imports_no_other_conduit(toys, monkeypatch):
    loaded = []
    monkeypatch.setattr(EntryPoint, "load", lambda self: loaded.append(self.name) or Toy)
    registry.find("toy")
    assert loaded == ["toy"]


def test_conduit_installed_after_the_first_look_is_found(toys, plugins, monkeypatch):
    assert "late" not in registry.available()
    plugins[entry_points.CONDUITS]["late"] = "late:Late"
    late = type("Late", (Toy,), {"name": "late"})
    monkeypatch.setattr(EntryPoint, "load", lambda self: late)
    assert registry.find("late") is late


def test_name_of_the_class_must_be_the_registered_one(toys, plugins):
    plugins[entry_points.CONDUITS]["other"] = "toy:Toy"
    message = r"^conduit 'other' \(toy:Toy\) cannot be used: TypeError: the class is named 'toy'; set name = 'oth"
    with pytest.raises(UnknownConduit, match=message):
        registry.find("other")


def test_a_class_without_a_name_is_told_to_have_one(toys, plugins, monkeypatch):
    plugins[entry_points.CONDUITS]["other"] = "toy:Toy"
    nameless = type("Nameless", (Toy,), {})
    monkeypatch.delattr(Toy, "name")
    monkeypatch.setattr(EntryPoint, "load", lambda self: nameless)
    with pytest.raises(UnknownConduit, match=r": TypeError: the class has no name; set name = 'other' in it"):
        registry.find("other")


def test_commands_are_named_without_being_imported(plugins):
    plugins[entry_points.COMMANDS] = {"testam": "no.such.module:testam", "list": "also.none:f"}
    assert entry_points.commands() == {"list": "also.none:f", "testam": "no.such.module:testam"}


def test_the_distribution_registers_its_conduits_and_commands():
    ours = importlib.metadata.distribution("conduit-am").entry_points
    assert {entry.name for entry in ours if entry.group == entry_points.CONDUITS} >= {"loggp", "sci"}
    assert {entry.name for entry in ours if entry.group == entry_points.COMMANDS} >= set(
        ["list", "show", "run", "raw", "conform", "new", "testam", "testsmall", "testlarge", "testlogp"]
    )


def test_unknown_conduit_is_no_bad_request():
    assert issubclass(UnknownConduit, ConduitError)
    assert not issubclass(UnknownConduit, ValueError)


class Unfinished(Conduit):
    name = "toy"
    Options = ToyOptions


class Plain(Toy):
    Options = dict


class Small(Toy):
    @classmethod
    def limits(cls, options):
        return Limits(8, 512, 512, 512)


RATE = Constant("ring.rate", 16, "MB/s", "assumed", "a ring of 128 Mbit/s")


class Repeating(Toy):
    constants = (RATE, RATE, attrs.evolve(RATE, value=32))


class Lax(Toy):
    constants = (RATE, 5)


class CommaForgotten(Toy):
    constants = RATE


class Nothing(Toy):
    constants = None


class InWords(Toy):
    auxiliary = "1M"


class Unaligned(Toy):
    alignment = 0


class Talkative(Toy):
    summary = 7


class Wordy(Toy):
    summary = "one\ntwo"


class Owing(Toy):
    auxiliary = -1


class Truthful(Toy):
    alignment = True


class Alone(Toy):
    def __init__(self):
        super().__init__()


class OneWay(Toy):
    @classmethod
    def raw_time(cls, options, category, nbytes):
        return 1e-6


class ByPlace(Toy):
    @classmethod
    def raw_time(cls, options, category, nbytes, round_trip=False):
        return 1e-6


class Placing(Toy):
    def placement(self, options, ranks, ranks_per_host):
        return ()


class Static(Toy):
    @staticmethod
    def max_hosts():
        return 4


class Portless(Loggp):
    name = "toy"

    def make_transport(self):
        return None


class Forgetful(Toy):
    @classmethod
    def limits(cls, options):
        pass


@pytest.mark.parametrize(
    ("cls", "why"),
    [
        (Forgetful, "Forgetful.limits returned None; return conduit.contract.Limits(...)"),
        (
            Small,
            "with its options as they are by default, limits raised BadRequest: Limits: max_args=8 is not allowed; "
            "pass an int of at least 16",
        ),
        (
            Repeating,
            "its constants have two that differ under the name 'ring.rate'; give each a name of its own",
        ),
        (Lax, "its constants have 5, which is no conduit.contract.Constant"),
        (CommaForgotten, f"its constants are {RATE!r}; write a tuple, of one Constant `(Constant(...),)`"),
        (Nothing, "its constants are None; write a tuple, of one Constant `(Constant(...),)`"),
        (Talkative, "its summary = 7 is an int; write a str of one line"),
        (InWords, "its auxiliary = '1M' is a str; write an int of at least 0, bytes"),
        (Wordy, "its summary = 'one\\ntwo' is not allowed; write a str of one line"),
        (Owing, "its auxiliary = -1 is not allowed; write an int of at least 0, bytes"),
        (Truthful, "its alignment = True is a bool; write an int of at least 1, bytes"),
        (Unaligned, "its alignment = 0 is not allowed; write an int of at least 1, bytes"),
        (
            Alone,
            "its __init__ takes (); take (self, options, setup, world), and begin with "
            "`super().__init__(options, setup, world)`",
        ),
        (
            OneWay,
            "its raw_time takes (cls, options, category, nbytes); take (cls, options, category, nbytes, *, round_trip)",
        ),
        (Placing, "its placement is no class method; write @classmethod above it"),
        (Static, "its max_hosts takes (); take (cls, options)"),
        (Portless, "its make_transport takes (self); take (self, port)"),
        (Unfinished, "the class lacks limits, port; define what a conduit must have"),
        (Plain, "its Options are <class 'dict'>; write a class decorated with attrs.frozen(kw_only=True)"),
    ],
)
def test_a_class_that_is_not_finished_is_refused_with_what_it_lacks(plugins, monkeypatch, cls, why):
    monkeypatch.setattr(EntryPoint, "load", lambda self: cls)
    plugins[entry_points.CONDUITS] = {"toy": "toy:Toy"}
    with pytest.raises(UnknownConduit, match=re.escape(f"conduit 'toy' (toy:Toy) cannot be used: TypeError: {why}")):
        registry.parse_spec("toy")


def test_a_method_that_takes_more_than_it_is_given_is_used(plugins, monkeypatch):
    monkeypatch.setattr(EntryPoint, "load", lambda self: ByPlace)
    plugins[entry_points.CONDUITS] = {"toy": "toy:Toy"}
    assert registry.parse_spec("toy").cls is ByPlace


def test_costs_that_a_network_forgets_to_return_are_named():
    class Silent(Toy):
        @classmethod
        def costs(cls, options):
            pass

    spec = registry.Spec("toy", Silent, ToyOptions())
    with pytest.raises(ConduitError, match=r"^Silent\.costs returned None; return conduit\.contract\.Costs\(\.\.\.\)$"):
        _ = spec.costs


TORN = """\
from __future__ import annotations
import attrs
from conduit.options import SimOptions, option
from conduits.loggp import Loggp

@attrs.frozen(kw_only=True)
class Options(SimOptions):
    sound: int | None = option(None, "...", validator=attrs.validators.optional(attrs.validators.ge(1)))
    {line}

class Torn(Loggp):
    name = "torn"
    Options = Options

    @classmethod
    def limits(cls, options):
        return {limits}
"""
SOUND = "Loggp.limits(Loggp.Options())"
GE = "validator=attrs.validators.ge(512)"
LINE = "({file}:9)"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            f'mtu: int = option("2048", "bytes", {GE})',
            f"TypeError: option 'mtu': its default '2048' is not allowed; allowed: an integer of at least 512 {LINE}",
        ),
        (
            f'mtu: int = option(2, "bytes", {GE})',
            f"TypeError: option 'mtu': its default 2 is not allowed; allowed: an integer of at least 512 {LINE}",
        ),
        (
            'early: bool = option(0, "whether")',
            f"TypeError: option 'early': its default 0 is not allowed; allowed: yes|no {LINE}",
        ),
        (
            f'mtu: int = option(2048, "bytes", {GE}, conformance=(100, 2048))',
            "TypeError: option 'mtu': 100, of its conformance=..., which the suite tries, is not allowed; allowed: an "
            f"integer of at least 512 {LINE}",
        ),
        (
            'mtu: list = option(2048, "bytes")',
            "TypeError: option 'mtu' cannot be of type list; it must be int, float, bool, str, Literal[...], "
            f"tuple[int, ...] or tuple[str, ...], of these also with `| None` {LINE}",
        ),
        (
            'mtu: Bytes = option(2048, "bytes")',
            f"TypeError: option 'mtu' has the type 'Bytes', which cannot be found: name 'Bytes' is not defined {LINE}",
        ),
        (
            'early = option(False, "whether")',
            f"TypeError: option 'early' has no type; write `early: int = option(...)`, or of what type it is {LINE}",
        ),
        (
            'mtu: int = option(2048, "bytes", validator=512)',
            "BadRequest: option: validator=512 cannot be called; pass one of attrs.validators, such as ge(512) " + LINE,
        ),
        (
            'def __attrs_post_init__(self): raise ValueError("early or late")',
            "TypeError: with its options as they are by default, Options() raised ValueError: early or late " + LINE,
        ),
    ],
)
def test_an_option_that_is_declared_wrongly(toys, plugins, tmp_path, monkeypatch, line, why):
    file = tmp_path / "conduit_torn_option.py"
    file.write_text(TORN.format(line=line, limits=SOUND))
    monkeypatch.setattr(EntryPoint, "load", LOAD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "conduit_torn_option", raising=False)
    linecache.clearcache()
    plugins[entry_points.CONDUITS]["torn"] = "conduit_torn_option:Torn"
    with pytest.raises(UnknownConduit) as caught:
        registry.find("torn")
    assert str(caught.value) == (f"conduit 'torn' (conduit_torn_option:Torn) cannot be used: {why.format(file=file)}")


@pytest.mark.parametrize("value", ["conduit_tring Tring", ""])
def test_an_entry_point_that_is_none_breaks_nothing_else(toys, plugins, monkeypatch, value):
    monkeypatch.setattr(EntryPoint, "load", LOAD)
    plugins[entry_points.CONDUITS]["torn"] = value
    plugins[entry_points.LAYERS] = {"torn": value, "sound": "sound.part"}
    with pytest.raises(UnknownConduit) as caught:
        registry.find("torn")
    assert str(caught.value) == (
        f"conduit 'torn' ({value}) cannot be used: its entry point is {value!r}; write torn = package.module:Class"
    )
    assert entry_points.layers() == ["sound.part"]
    assert "torn" in registry.available()


def test_a_plugin_that_exits_when_it_is_imported(toys, plugins, monkeypatch, tmp_path):
    file = tmp_path / "conduit_going.py"
    file.write_text("raise SystemExit('go away')")
    monkeypatch.setattr(EntryPoint, "load", LOAD)
    monkeypatch.syspath_prepend(tmp_path)
    plugins[entry_points.CONDUITS]["going"] = "conduit_going:Going"
    assert str(registry.available()["going"]) == f"SystemExit: go away ({file}:1)"


def test_a_name_that_two_packages_register_is_neither_s(plugins, monkeypatch):
    class Package:
        def __init__(self, name):
            self.name = name

    def entry(package, value):
        made = EntryPoint("toy", value, entry_points.CONDUITS)
        vars(made)["dist"] = Package(package)
        return made

    def registered(*entries):
        monkeypatch.setattr(entry_points, "entry_points", lambda *, group: entries)
        entry_points.lookup.cache_clear()

    monkeypatch.setattr(EntryPoint, "load", lambda self: Toy)
    registered(entry("ours", "toy:Toy"), entry("theirs", "their_toy:Toy"))
    with pytest.raises(UnknownConduit) as caught:
        registry.find("toy")
    why = (
        "several packages have registered the name: ours (toy:Toy) and theirs (their_toy:Toy); uninstall all but one "
        "of them"
    )
    assert str(caught.value) == f"conduit 'toy' (toy:Toy) cannot be used: {why}"
    assert str(registry.available()["toy"]) == why
    registered(entry("ours", "toy:Toy"), entry("ours-as-a-fork", "toy:Toy"))
    assert registry.find("toy") is Toy
