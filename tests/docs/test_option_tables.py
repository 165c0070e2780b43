"""The tables of options in the conduits' READMEs name every option and its default."""

import re
from pathlib import Path

import pytest

import conduit
from conduit.options import describe, parse_options

NAMES = ("loggp", "origin", "sci", "startx", "sunfire", "t3e", "udp")


def stated(readme: str) -> dict[str, str]:
    """Return what a README's table says of the defaults; several options may share a row."""
    table = readme.partition("\n## Options\n")[2].partition("\n## ")[0]
    found = {}
    for first, second in re.findall(r"^\| (`[^|]*?) *\| ([^|]*?) *\|", table, flags=re.M):
        names = re.findall(r"`(\w+)`", first)
        defaults = [each.strip().strip("`") for each in second.split(",")]
        assert len(defaults) in (1, len(names)), first
        found |= dict(zip(names, defaults * (len(names) // len(defaults)), strict=True))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_options_is_that_of_the_code(root: Path, name: str) -> None:
    cls = conduit.available()[name]
    found = stated((root / "conduits" / name / "README.md").read_text(encoding="utf-8"))
    shown = {each.name: each.default for each in describe(cls.Options)}
    assert set(found) == set(shown)
    for option, text in found.items():
        if shown[option].startswith("of the parameter set"):
            assert text == "of the set"
            continue
        value = str(eval(text)) if "**" in text else text.replace(" ns", "ns")  # what Python and specs can read
        if value == "none":
            assert shown[option] == "none"
        else:
            assert parse_options(name, cls.Options, {option: value}) == cls.Options(), f"{option}: {text}"
