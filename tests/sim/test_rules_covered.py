"""Every rule of docs/virtual_time.md has a test that is called after it, and no test is called after no rule."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "virtual_time.md"
RULES = re.findall(r"^(?:- )?\*\*([A-Z]\d?)\*\*", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def _named():
    for folder in ("sim", "core"):
        for path in sorted((ROOT / "tests" / folder).glob("test_*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    match = re.match(r"test_([A-Z]\d?)_", node.name)
                    if match:
                        yield match[1]


NAMED = set(_named())


def test_the_rules_are_those_of_the_page():
    counts = {"T": 7, "S": 6, "P": 6, "I": 7, "D": 6, "E": 8}
    numbered = [f"{group}{number}" for group, count in counts.items() for number in range(1, count + 1)]
    assert sorted(RULES) == sorted([*numbered, "O", "M"])


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_test_of_its_name(rule):
    assert rule in NAMED


def test_no_test_is_called_after_a_rule_that_there_is_not():
    assert NAMED - set(RULES) <= {"I"}  # inline driving as a whole
