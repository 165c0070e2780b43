"""Rules and checks belong together: no rule without a check, no check of a rule that is not there."""

import ast
import re
from pathlib import Path

import conduit.conformance

SUITE = Path(conduit.conformance.__file__).parent
CONTRACT = Path(__file__).parents[2] / "docs" / "contract.md"


def _rules() -> list[int]:
    return [int(number) for number in re.findall(r"^- \*\*R(\d+)\*\* \S", CONTRACT.read_text(), re.MULTILINE)]


def _checks() -> dict[str, list[str]]:
    """Give the rules that each check function cites."""
    cited = {}
    for path in sorted(SUITE.glob("test_*.py")):
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
    assert _rules() == list(range(1, len(_rules()) + 1))


def test_every_rule_has_a_check():
    cited = {rule for rules in _checks().values() for rule in rules}
    assert {f"R{number}" for number in _rules()} - cited == set()


def test_every_check_cites_rules_that_exist():
    known = {f"R{number}" for number in _rules()}
    for name, rules in _checks().items():
        assert rules, f"{name} cites no rule"
        assert set(rules) <= known, f"{name} cites {set(rules) - known}"


def test_there_are_enough_checks():
    assert len(_checks()) >= 80
