"""Options: every spelling read, every wrong text refused at once with a message that helps."""

import re
from typing import Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.errors import BadRequest
from conduit.options import SimOptions, describe, option, parse_options, render
from conduit.words import closest, value_text


@attrs.frozen(kw_only=True)
class Options(SimOptions):
    slots: int = option(2, "request slots per pair", validator=[attrs.validators.ge(1), attrs.validators.le(64)])
    latency: float = option(2e-6, "of a link (s)", validator=attrs.validators.ge(0))
    torus: Literal["auto"] | tuple[int, ...] = option("auto", "shape")
    base: Literal["none", "myrinet2000"] = option("none", "parameter set")
    gap: float | None = option(
        None,
        "seconds per message",
        shown="of the parameter set",
        validator=attrs.validators.optional(attrs.validators.gt(0)),
    )
    parts: tuple[str, ...] = option((), "parts to leave out")
    label: str = option("x", "any text")

    def __attrs_post_init__(self) -> None:
        if self.slots == 7 and self.label == "seven":
            raise ValueError("slots=7 does not go with label=seven")


def read(**texts: str) -> Options:
    return parse_options("sci", Options, texts)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("slots", "4", 4),
        ("slots", "+4", 4),
        ("torus", "4K", (4096,)),
        ("torus", "1Mx2G", (1 << 20, 2 << 30)),
        ("latency", "1.5us", 1.5e-6),
        ("latency", "1.5\u00b5s", 1.5e-6),  # the micro sign
        ("latency", "1.5\u03bcs", 1.5e-6),  # mu
        ("latency", "1.5\u039cS", 1.5e-6),  # what both are in capitals
        ("latency", "70ns", 70e-9),
        ("latency", "250ps", 250e-12),
        ("latency", "3ms", 3e-3),
        ("latency", "2s", 2.0),
        ("latency", "1e3us", 1e-3),
        ("latency", "1.9us", 1.9e-6),  # to the last bit, so that it is shown as it was given
        ("latency", "4.2US", 4.2e-6),
        ("latency", "0.31ns", 0.31e-9),
        ("latency", "1e-6", 1e-6),
        ("latency", "0", 0.0),
        ("torus", "auto", "auto"),
        ("torus", "4x2", (4, 2)),
        ("torus", "4+2+1", (4, 2, 1)),
        ("torus", "8", (8,)),
        ("base", "myrinet2000", "myrinet2000"),
        ("base", "none", "none"),
        ("gap", "none", None),
        ("gap", "2us", 2e-6),
        ("parts", "a+b", ("a", "b")),
        ("label", "any text, nearly", "any text, nearly"),
        ("inline", "no", False),
        ("inline", "yes", True),
        ("order", "weak", "weak"),
        ("piece", "64", 64),
    ],
)
def test_text_is_read_by_the_type_of_its_field(name, text, value):
    assert getattr(read(**{name: text}), name) == value


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("slots", "1K", "an integer from 1 to 64"),
        ("slots", "4k", "an integer from 1 to 64"),
        ("slots", "K", "an integer from 1 to 64"),
        ("slots", "four", "an integer from 1 to 64"),
        ("slots", "0", "an integer from 1 to 64"),
        ("slots", "65", "an integer from 1 to 64"),
        ("slots", "4.0", "an integer from 1 to 64"),
        ("slots", "", "an integer from 1 to 64"),
        ("latency", "1 fortnight", "a number of at least 0; times also as 1.5us"),
        ("latency", "-1us", "a number of at least 0; times also as 1.5us"),
        ("latency", "nan", "a number of at least 0; times also as 1.5us"),
        ("latency", "1e999us", "a number of at least 0; times also as 1.5us"),
        ("latency", "1.2.3us", "a number of at least 0; times also as 1.5us"),
        ("torus", "4x", "auto or integers such as 4x2"),
        ("torus", "big", "auto or integers such as 4x2"),
        ("base", "infiniband", "none|myrinet2000"),
        ("inline", "true", "yes|no"),
        ("order", "none", "strict|weak"),
        ("piece", "63", "an integer of at least 64"),
    ],
)
def test_wrong_text_names_option_value_and_what_is_allowed(name, text, allowed):
    message = rf"^option '{name}' of conduit 'sci' cannot be '{re.escape(text)}'; allowed: {re.escape(allowed)}$"
    with pytest.raises(BadRequest, match=message):
        read(**{name: text})


@pytest.mark.parametrize("between", [":", ";", "/", "+", " ", "; "])
def test_an_option_behind_what_is_no_comma_is_told_how_options_are_joined(between):
    text = f"4{between}torus=2x2"
    with pytest.raises(BadRequest) as refused:
        read(slots=text)
    assert str(refused.value) == (
        f"option 'slots' of conduit 'sci' cannot be '{text}': options are joined by commas; write sci:slots=4,torus=2x2"
    )


def test_a_value_with_no_option_behind_it_is_refused_as_others():
    with pytest.raises(BadRequest, match=r"^option 'slots' of conduit 'sci' cannot be '4:2'; allowed: an integer"):
        read(slots="4:2")


@pytest.mark.parametrize(
    ("name", "text", "meant"),
    [
        ("base", "myrinet", "myrinet2000"),
        ("base", "myri", "myrinet2000"),
        ("base", "Myrinet-2000", "myrinet2000"),
        ("order", "week", "weak"),
        ("torus", "aut", "auto"),
    ],
)
def test_a_value_that_is_none_of_the_choices_is_told_the_closest(name, text, meant):
    with pytest.raises(BadRequest) as refused:
        read(**{name: text})
    assert str(refused.value).startswith(
        f"option '{name}' of conduit 'sci' cannot be '{text}' (did you mean {meant}?); allowed: "
    )


def test_a_refusal_says_more_where_what_is_allowed_does_not_say_it():
    options = attrs.make_class(
        "Options", {"parts": attrs.field(type=tuple[str, ...], validator=attrs.validators.max_len(2))}
    )
    with pytest.raises(BadRequest, match=r"allowed: names such as a\+b \(Length of 'parts' must be <= 2: 3\)$"):
        parse_options("sci", options, {"parts": "a+b+c"})


def test_unknown_option_lists_the_known_ones():
    with pytest.raises(BadRequest, match=r"^conduit 'sci' has no option 'slot' \(did you mean slots\?\); its options "):
        read(slot="4")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("SCI", "sci"),
        ("scii", "sci"),
        ("sic", "sci"),
        ("scu", "sci"),
        ("sc", "sci"),
        ("upd", "udp"),
        ("smp", ""),  # two letters of three are in mpi too
        ("upc", ""),
        ("sim", ""),
        ("sunfir", "sunfire"),
        ("sun-fire", "sunfire"),
        ("s", ""),
        ("gasnet", ""),
    ],
)
def test_the_name_that_is_meant_is_one_that_is_much_like_it(word, meant):
    assert closest(word, ["loggp", "mpi", "origin", "sci", "startx", "sunfire", "t3e", "udp"]) == meant


def test_combination_refused_by_the_class_keeps_its_words():
    with pytest.raises(BadRequest, match=r"^options of conduit 'sci': slots=7 does not go with label=seven$"):
        read(slots="7", label="seven")


def test_hyphen_in_a_name_is_an_underscore():
    @attrs.frozen(kw_only=True)
    class WithUnderscore:
        dma_threshold: int = option(2048)

    assert parse_options("sci", WithUnderscore, {"dma-threshold": "64"}).dma_threshold == 64
    with pytest.raises(BadRequest, match=r"^option 'dma_threshold' of conduit 'sci' is given twice; give it once$"):
        parse_options("sci", WithUnderscore, {"dma-threshold": "64", "dma_threshold": "64"})


def test_describe_explains_every_option():
    docs = {doc.name: doc for doc in describe(Options)}
    assert list(docs)[:3] == ["order", "inline", "piece"]
    assert docs["slots"] == ("slots", "2", "an integer from 1 to 64", "request slots per pair")
    assert docs["gap"].default == "of the parameter set"
    assert docs["gap"].allowed == "a number over 0 or none; times also as 1.5us"
    assert docs["inline"].default == "yes"
    assert docs["torus"].allowed == "auto or integers such as 4x2"
    assert all(doc.help for doc in docs.values())


@pytest.mark.parametrize(
    ("help", "most", "is_time"),
    [
        ("how long it takes, s", None, True),
        ("how long it takes (s)", None, True),
        ("seconds for each byte", None, True),
        ("how long it takes, s, at most a second", 1, True),
        ("how long it takes", 1_000_000, True),
        ("share of the messages", 1, False),
        ("how much slower", None, False),
        ("length of the string, m", None, False),
        ("bytes per second", None, False),
        ("along the string, m/s", None, False),
    ],
)
def test_only_an_option_that_is_a_time_takes_units_of_time(help, most, is_time):
    bounds = [attrs.validators.ge(0)] + ([] if most is None else [attrs.validators.le(most)])

    @attrs.frozen(kw_only=True)
    class Bounded:
        x: float | None = option(0.0, help, validator=attrs.validators.optional(bounds))

    allowed = ("a number of at least 0" if most is None else f"a number from 0 to {most}") + " or none"
    assert describe(Bounded)[0].allowed == allowed + "; times also as 1.5us" * is_time
    assert parse_options("net", Bounded, {"x": "0.5"}).x == 0.5
    if is_time:
        assert parse_options("net", Bounded, {"x": "1.5us"}).x == 1.5e-6
    else:
        with pytest.raises(BadRequest) as caught:
            parse_options("net", Bounded, {"x": "1.5us"})
        assert str(caught.value) == f"option 'x' of conduit 'net' cannot be '1.5us'; allowed: {allowed}"


def test_render_shows_what_differs_from_the_defaults():
    assert render(Options()) == ""
    assert (
        render(Options(slots=4, torus=(4, 2), inline=False, latency=1e-6))
        == "inline=no,slots=4,latency=1e-06,torus=4x2"
    )


@given(
    st.builds(
        Options,
        slots=st.integers(1, 64),
        latency=st.floats(0, 1e3),
        torus=st.just("auto") | st.lists(st.integers(1, 99), min_size=1, max_size=3).map(tuple),
        gap=st.none() | st.floats(1e-12, 1),
        inline=st.booleans(),
        order=st.sampled_from(["strict", "weak"]),
        parts=st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple),
    )
)
def test_rendered_options_read_back_as_themselves(options):
    pairs = dict(pair.split("=") for pair in render(options).split(","))
    assert parse_options("sci", Options, pairs) == options


def test_value_text_of_whole_numbers_has_no_point():
    assert [value_text(value) for value in (2.0, 0.5, 7, True, None, (4, 2))] == ["2", "0.5", "7", "yes", "none", "4x2"]


_V = attrs.validators


@pytest.mark.parametrize(
    ("type_", "validator", "allowed", "text", "more"),
    [
        (int, _V.lt(5), "an integer below 5", "5", ""),
        (int, _V.and_(_V.gt(1), _V.le(9)), "an integer over 1 and of at most 9", "1", ""),
        (int, _V.or_(_V.and_(_V.ge(1), _V.le(4)), _V.ge(64)), "an integer from 1 to 4 or of at least 64", "5", ""),
        (Literal["auto"] | int, _V.or_(_V.in_(("auto",)), _V.ge(1)), "auto or an integer of at least 1", "0", ""),
        (float | None, _V.optional(_V.and_(_V.ge(0.5), _V.le(1e3))), "a number from 0.5 to 1000 or none", "0", ""),
        (str, _V.matches_re("[a-z]+"), "a text", "A", " ('it' must match regex '[a-z]+' ('A' doesn't))"),
    ],
)
def test_what_validators_of_attrs_ask_for_is_said_in_words(type_, validator, allowed, text, more):
    options = attrs.make_class("Options", {"it": attrs.field(default=None, type=type_, validator=validator)})
    assert describe(options)[0].allowed == allowed
    with pytest.raises(BadRequest) as caught:
        parse_options("sci", options, {"it": text})
    assert str(caught.value) == f"option 'it' of conduit 'sci' cannot be '{text}'; allowed: {allowed}{more}"


def test_a_bound_that_the_declared_words_leave_out_is_said_beside_them():
    options = attrs.make_class(
        "Options", {"it": attrs.field(type=int, validator=_V.ge(3), metadata={"allowed": "some integers"})}
    )
    with pytest.raises(BadRequest) as caught:
        parse_options("sci", options, {"it": "2"})
    assert str(caught.value) == (
        "option 'it' of conduit 'sci' cannot be '2'; allowed: some integers (a number of at least 3)"
    )
