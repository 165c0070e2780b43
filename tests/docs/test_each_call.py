"""Each call of the extended layer that its page has a rule for is among the page's short examples."""

import re
from pathlib import Path

from extended import Atomic, Extended, Handle, Lock, Team


def test_each_call_has_a_short_example(root: Path) -> None:
    page = (root / "docs/extended.md").read_text(encoding="utf-8")
    _, _, behind = page.partition("\n## Each call in three lines\n")
    examples, _, rules = behind.partition("\n## Attach and polls\n")
    calls = {
        name
        for cls in (Extended, Team, Handle, Lock, Atomic)
        for name in dir(cls)
        if not name.startswith("_") and callable(getattr(cls, name))
    }
    named = calls & set(re.findall(r"\w+\b(?!\.)", " ".join(re.findall(r"`([^`\n]+)`", rules))))
    assert len(named) > 60
    code = set(re.findall(r"\w+", " ".join(re.findall(r"```python\n(.*?)```", examples, flags=re.S))))
    whole = {name for name in named if not name.endswith(("_nb", "_nbi"))}
    assert whole - code == set()
    assert {"put_nb", "put_nbi", "get_nb", "get_nbi", "all_reduce_nb"} <= code  # the forms that all others have as well
