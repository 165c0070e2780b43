"""The hooks before a commit run the linters of `.ci/run`, with the same arguments."""

import re
from pathlib import Path


def test_hooks_run_the_linters_of_ci(root: Path) -> None:
    steps = dict(
        re.findall(r"^step (\w+) \.venv/bin/(.+)$", (root / ".ci/run").read_text(encoding="utf-8"), flags=re.M)
    )
    entries = re.findall(r"^ +entry: (.+)$", (root / ".pre-commit-config.yaml").read_text(encoding="utf-8"), flags=re.M)
    # The hooks get the names of changed files, and mend what they can instead of refusing it.
    expected = [
        steps["lint"].removesuffix(" .") + " --fix",
        steps["format"].removesuffix(" --check ."),
        steps["types"],
        steps["imports"],
    ]
    assert entries == expected
