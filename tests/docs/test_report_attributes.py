"""The table of a report's attributes names ones that there are."""

import re
from pathlib import Path

import attrs
import pytest

from conduit.launch.reports import records

TABLE = re.compile(r"^\| `(?:report|task|wait|rank)[`.].*$", re.MULTILINE)
ROWS = TABLE.findall((Path(__file__).parents[2] / "docs/deadlocks.md").read_text())
KNOWN = {
    field.name
    for name, each in vars(records).items()
    if name.endswith("Record") or name in {"SourceLine", "Edge", "Cause", "Report"}
    for field in attrs.fields(each)
} | {"report", "task", "wait", "rank"}


@pytest.mark.parametrize("row", ROWS)
def test_every_name_of_the_table_is_an_attribute(row):
    named = [name for word in re.findall(r"`([\w.]+)`", row) for name in word.split(".")]
    assert named
    assert set(named) <= KNOWN


def test_the_table_is_found():
    assert len(ROWS) == 8
