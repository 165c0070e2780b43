"""The tables of states on the pages are those that the code goes by."""

import re
from enum import Enum
from pathlib import Path

import pytest

from conduits.mpi.libraries.start import rights
from conduits.startx.protocol import rendezvous
from extended import locks


def rows(page: str, *heads: str) -> list[tuple[str, ...]]:
    """Return the rows of the one table whose first columns have these heads, those columns of them."""
    pattern = r"^\| *" + r" *\| *".join(map(re.escape, heads)) + r" *\|.*\n\|[-|]+\n((?:\|.*\n)+)"
    (table,) = re.findall(pattern, page, flags=re.M)
    cells = [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in table.splitlines()]
    found = [tuple(row[: len(heads)]) for row in cells]
    assert len(set(found)) == len(found)
    return found


def name(state: Enum) -> str:
    return state.name.lower().replace("_", " ")


def read(root: Path, page: str) -> str:
    return (root / page).read_text(encoding="utf-8")


def test_rights_of_start(root: Path) -> None:
    page = read(root, "docs/models/start.md")
    assert rows(page, "request", "event", "becomes") == [
        (name(state), event, name(after)) for (state, event), after in rights.REQUESTS.items()
    ]
    assert rows(page, "engine", "event", "becomes") == [
        (name(state), event, name(after)) for (state, event), after in rights.ENGINE.items()
    ]
    says = {True: "yes", False: "no"}
    assert rows(page, "the target has asked for the source", "the target is the lower rank", "the request is") == [
        (says[asked], says[lower], name(state)) for (asked, lower), state in rights.TIES.items()
    ]


def test_rendezvous_of_startx(root: Path) -> None:
    assert rows(read(root, "conduits/startx/README.md"), "transfer", "event", "becomes") == [
        (name(state), event, name(after)) for (event, state), after in rendezvous._NEXT.items()
    ]


def test_requests_for_locks(root: Path) -> None:
    says = {True: "yes", False: "no"}
    found = rows(read(root, "docs/extended_inside.md"), "request", "event", "becomes", "the home is told")
    assert found == [
        (name(state), event, name(after), says[told]) for (state, event), (after, told) in locks._NEXT.items()
    ]


@pytest.mark.parametrize(
    "page", ["| request | event |\n|---|---|\n| a | b |\n| a | b |\n", "no table", "| request | event |\n\ntext\n"]
)
def test_a_table_that_is_wrong_is_not_overlooked(page: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        rows(page, "request", "event")
