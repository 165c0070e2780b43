"""What docstrings and comments cite is there: pages of the tree, and the numbered rules."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = ("conduit", "conduits", "extended")
PLACES = {"R": "docs/contract.md", "X": "docs/extended.md"}
"""Where the rules of a letter stand; those of all others in docs/virtual_time.md."""


def cited(root: Path, pattern: str) -> Iterator[tuple[Path, str]]:
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield from ((path, found) for found in re.findall(pattern, path.read_text()))


def test_pages_that_the_code_cites_exist(root: Path) -> None:
    found = list(cited(root, r"[A-Za-z0-9_./-]+\.(?:md|toml)\b"))
    assert len(found) > 10
    for path, name in found:
        assert name in ("README.md", "pyproject.toml") or (root / name).is_file(), f"{path} cites {name}"


@pytest.mark.parametrize("pattern", [r"\b[Rr]ules? ([A-Z]\d*)\b", r"[(-]([TSPIDEX]\d+)[,)-]", r'rule\("([RX]\d+)"'])
def test_rules_that_the_code_cites_exist(root: Path, pattern: str) -> None:
    found = list(cited(root, pattern))
    assert found
    for path, rule in found:
        page = (root / PLACES.get(rule[0], "docs/virtual_time.md")).read_text()
        stands = f"**{rule}**" in page or re.search(rf"^## .* \({rule}\)$", page, re.MULTILINE)
        assert stands, f"{path} cites rule {rule}"
