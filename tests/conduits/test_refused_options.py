"""What users are told of a value that an option refuses, for all options of all networks."""

import pytest

from conduit.errors import BadRequest
from conduit.launch.registry import networks, parse_spec
from conduit.options import describe

OPTIONS = [
    (name, each.name)
    for name, cls in networks().items()
    if isinstance(cls, type)
    for each in describe(cls.Options)
]  # fmt: skip
VALUES = ["", "what", "-1", "0", "63", "1e99", "9" * 20, "0.5", "1.5us", "-0.1", "2", "none", "4x2", "a+b"]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_no_value_is_refused_in_words_of_a_validator(name: str, option: str) -> None:
    refused = []
    for value in VALUES:
        try:
            parse_spec(f"{name}{',' if ':' in name else ':'}{option}={value}")
        except BadRequest as exc:
            refused.append(str(exc))
    assert refused
    for text in refused:
        assert "validator" not in text.lower()
        assert not set("<>") & set(text)
        assert "\n" not in text


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("rendezvous", "0", "auto or an integer from 1 to 1073741824"),
        ("rendezvous", "what", "auto or an integer from 1 to 1073741824"),
        ("rendezvous", "99999999999", "auto or an integer from 1 to 1073741824"),
        ("short", "-1", "auto or an integer from 0 to 3911"),
        ("nis", "9", "an integer from 1 to 8"),
        ("piece", "1", "an integer of at least 64"),
    ],
)
def test_the_refusal_of_a_number_says_from_where_to_where_it_may_be(option: str, value: str, allowed: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_spec(f"mpi:library=sunmpi,{option}={value}")
    assert str(caught.value) == (
        f"option '{option}' of conduit 'mpi:library=sunmpi' cannot be '{value}'; allowed: {allowed}"
    )


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ("loggp:latency=1us", "L"),
        ("loggp:Latency=1us", "L"),
        ("loggp:gap=1us", "g or G"),
        ("loggp:gap_per_byte=1ns", "G"),
        ("loggp:o=1us", "o_r or o_s"),
        ("loggp:lates=1", "late"),
        ("loggp:l=1us", "L"),
        ("loggp:slot=3", "slots"),
        ("loggp:max=512", "max_long or max_medium"),
        ("sci:tours=2x2", "torus"),
        ("sci:slot=4", "slots"),  # and not slot_payload
        ("sci:dma=64", "dma_threshold"),
        ("mpi:library=scampi,eager=3", "eager_count or eager_size"),
        ("mpi:library=scampi,lib=3", "library"),
    ],
)
def test_an_option_that_there_is_not_is_refused_with_those_that_its_name_begins_or_explains(
    spec: str, asked: str
) -> None:
    conduit_name, _, option = spec.rpartition("," if "," in spec else ":")
    name = option.partition("=")[0]
    with pytest.raises(BadRequest) as caught:
        parse_spec(spec)
    assert str(caught.value).startswith(
        f"conduit '{conduit_name}' has no option '{name}' (did you mean {asked}?); its options are: "
    )


@pytest.mark.parametrize(
    "spec", ["loggp:bandwidth=1", "loggp:the=1", "loggp:message=1", "loggp:x=1", "sci:and=1", "udp:mtu=1500"]
)
def test_an_option_that_is_like_no_other_is_refused_without_a_question(spec: str) -> None:
    name, option, _ = spec.replace("=", ":").split(":")
    with pytest.raises(BadRequest) as caught:
        parse_spec(spec)
    assert str(caught.value).startswith(f"conduit '{name}' has no option '{option}'; its options are: ")


@pytest.mark.parametrize(
    ("part", "asked"),
    [("latency:1us", "L=1us"), ("latency", "L=VALUE"), ("o:2us", "o_r=2us or o_s=2us"), ("slot:4", "slots=4")],
)
def test_a_part_that_is_no_option_is_refused_with_those_that_were_meant(part: str, asked: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_spec(f"loggp:{part}")
    assert str(caught.value) == (
        f"'{part}' in the spec 'loggp:{part}' is no option (did you mean {asked}?); write option=value, separated by "
        "commas"
    )
