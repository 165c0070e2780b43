"""The page on limits against the code."""

import re
from pathlib import Path

import pytest

from conduit.launch.registry import networks


@pytest.fixture
def page(root: Path) -> str:
    """The page."""
    return (root / "docs" / "limits.md").read_text(encoding="utf-8")


def test_the_table_of_sizes_is_that_of_the_networks(page: str) -> None:
    pytest.importorskip("mpi4py", reason="one of the networks needs mpi4py")
    stated = {}
    for name, *cells in (line.split("|")[1:-1] for line in page.splitlines() if line.startswith("  | `")):
        texts = [cell.strip().strip("`") for cell in cells]
        stated[name.strip().strip("`")] = [eval(text) if text else None for text in texts]
    there = {}
    for name, cls in networks().items():
        assert isinstance(cls, type), cls
        options = cls.Options()
        limits = cls.limits(options)
        assert limits.max_long_request == limits.max_long_reply
        there[name] = [
            cls.max_hosts(options),
            cls.max_ranks_per_host(options),
            limits.max_medium,
            limits.max_long_request,
            cls.max_segment(options),
        ]
    assert stated == there


def test_every_network_is_named_as_what_it_is(page: str) -> None:
    simulated, real = re.findall(r"^- \*\*(?:Networks|Real networks)\*\*: (.*?)(?=^- )", page, flags=re.M | re.S)
    for name, cls in networks().items():
        if isinstance(cls, type):
            _, _, variant = name.rpartition("=")
            assert f"{variant}`" in (simulated if cls.simulated else real), name
            assert f"{variant}`" not in (real if cls.simulated else simulated), name
