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
