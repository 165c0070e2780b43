"""Rules of docs/extended.md and the checks of the extended suite belong together."""

import ast
import re
from pathlib import Path

import extended.conformance

SUITE = Path(extended.conformance.__file__).parent
DOCUMENT = Path(__file__).parents[2] / "docs" / "extended.md"
# Checks that need memory or parts that a conduit's own suite cannot reach stand here instead.
HERE = Path(__file__).parent


def _rules():
    return [int(number) for number in re.findall(r"^- \*\*X(\d+)\*\* \S", DOCUMENT.read_text(), re.MULTILINE)]


def _checks(folder):
    cited = {}
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                cited[f"{path.stem}.{node.name}"] = [
                    argument.value
                    for mark in node.decorator_list
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule"
                    for argument in mark.args
                    if isinstance(argument, ast.Constant)
                ]
    return cited


def test_rules_are_numbered_in_order():
    assert _rules() == sorted(set(_rules()))


def test_every_rule_has_a_check_in_the_suite():
    cited = {rule for rules in _checks(SUITE).values() for rule in rules}
    assert {f"X{number}" for number in _rules()} - cited == set()


def test_every_check_cites_rules_that_exist():
    known = {f"X{number}" for number in _rules()}
    for name, rules in _checks(SUITE).items():
        assert rules, f"{name} cites no rule"
        assert set(rules) <= known, f"{name} cites {set(rules) - known}"
