"""Every block of the documentation runs and prints what is shown; every link leads somewhere."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_page_does_what_it_shows(page: Any, record: bool) -> None:
    page.run()
    if record:
        page.store()
    else:
        assert not page.problems, "\n\n".join(page.problems)


def test_links_lead_somewhere(page: Any) -> None:
    text = re.sub(r"^```.*?^```$", "", page.text, flags=re.M | re.S)
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    missing = [target for target in targets if not _leads(page.path, target)]
    assert not missing


def test_no_power_makes_text_bold(page: Any) -> None:
    """What stands for a power in Python is the beginning or the end of bold text in Markdown, unless it is code."""
    text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.text, flags=re.M | re.S)
    assert not re.findall(r".*[\w)]\*\*[\w(].*", text)


def _leads(page: Path, target: str) -> bool:
    name, _, heading = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.exists():
        return False
    return not heading or heading in _anchors(path.read_text(encoding="utf-8"))


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as web sites that show Markdown make them."""
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.slow
def test_example_prints_what_is_stored(example: Path, run_command: Callable[[str], str], record: bool) -> None:
    stored = example.with_suffix(".out")
    command = stored.read_text(encoding="utf-8").splitlines()[0] if stored.exists() else f"$ conduit run {example.name}"
    actual = f"{command}\n{run_command(command.removeprefix('$ '))}"
    if record:
        stored.write_text(actual, encoding="utf-8")
    else:
        assert actual == stored.read_text(encoding="utf-8")


def test_every_page_is_reached_from_the_index(pages: list[Path], root: Path) -> None:
    reached = {root / "README.md"}
    waiting = [root / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#]+\.md)", page.read_text(encoding="utf-8"))
        waiting += [each for link in links if (each := (page.parent / link).resolve()) not in reached and each.exists()]
    assert not [str(page.relative_to(root)) for page in pages if page not in reached]
