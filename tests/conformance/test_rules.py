"""Rules and checks belong together: no rule without a check, no check of a rule that is not there.

Each suite has a page of its own with the rules that it checks, numbered behind its letter; its checks may cite the
rules of the layers below as well.
"""

import ast
import re
import tomllib
from pathlib import Path

import attrs
import pytest

from conduit.conformance.suites import suite_folders

DOCS = Path(__file__).parents[2] / "docs"


@attrs.frozen
class Suite:
    """A suite and the page with its rules.

    Attributes:
        name: of its entry point.
        letter: what its rules' numbers stand behind.
        page: in docs.
        least: how many checks it has at least.
    """

    name: str
    letter: str
    page: str
    least: int

    def rules(self) -> list[int]:
        pattern = rf"^- \*\*{self.letter}(\d+)\*\* \S"
        return [int(number) for number in re.findall(pattern, (DOCS / self.page).read_text("utf-8"), re.MULTILINE)]

    def checks(self) -> dict[str, list[str]]:
        """Give the rules that each check function cites."""
        cited = {}
        for path in sorted(suite_folders()[self.name].glob("test_*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    cited[f"{path.stem}.{node.name}"] = [
                        argument.value
                        for mark in node.decorator_list
                        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule"
                        for argument in mark.args
                        if isinstance(argument, ast.Constant)
                    ]
        return cited


SUITES = (
    Suite("core", "R", "contract.md", 80),
    Suite("extended", "X", "extended.md", 200),
    Suite("shmem", "S", "shmem.md", 25),
    Suite("upc", "U", "upc.md", 30),
    Suite("windows", "W", "windows.md", 12),
)
every_suite = pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)


def test_every_suite_of_this_package_has_its_page():
    declared = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    assert {suite.name for suite in SUITES} == set(declared["conduit.conformance"])


@every_suite
def test_rules_are_numbered_in_order(suite):
    rules = suite.rules()
    assert rules
    assert rules == sorted(set(rules))


@every_suite
def test_every_rule_has_a_check_in_its_own_suite(suite):
    cited = {rule for rules in suite.checks().values() for rule in rules}
    assert {f"{suite.letter}{number}" for number in suite.rules()} - cited == set()


@every_suite
def test_every_check_cites_rules_that_exist(suite):
    known = {f"{one.letter}{number}" for one in SUITES for number in one.rules()}
    for name, rules in suite.checks().items():
        assert rules, f"{name} cites no rule"
        assert set(rules) <= known, f"{name} cites {set(rules) - known}"


@every_suite
def test_there_are_enough_checks(suite):
    assert len(suite.checks()) >= suite.least
