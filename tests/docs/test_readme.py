"""The README's table against testam, called as the README's first command does."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.slow
def test_table_is_what_testam_measures(
    readme: Path, run_in: Callable[[str, Path], str], tmp_path: Path, record: bool
) -> None:
    text = readme.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` +\|.*$", text, flags=re.M)
    assert rows
    (sizes,) = re.findall(r"bin/conduit testam --conduit sci (--sections .*)$", text, flags=re.M)
    specs = " ".join(f"--conduit {spec}" for spec in rows)
    run_in(f"conduit testam {sizes} --json out.json {specs}", tmp_path)
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    lines = [_line(spec, result["records"]) for spec, result in zip(rows, results, strict=True)]
    if record:
        for spec, line in zip(rows, lines, strict=True):
            text = re.sub(rf"^\| `{re.escape(spec)}` +\|.*$", line, text, flags=re.M)
        readme.write_text(text, encoding="utf-8")
    else:
        assert re.findall(r"^\| `[^`]+` +\|.*$", text, flags=re.M) == lines


def _line(spec: str, records: list[dict[str, object]]) -> str:
    """Write a row: round trips of request and reply, short, medium of 1 KB, long of 64 KB."""
    chosen = [("A", None), ("B", 1024), ("G", 65536)]
    found = {(str(each["section"]), each["bytes"]): each for each in reversed(records)}
    times = [found.get((section, size)) or found[section, 0] for section, size in chosen]
    short, medium, long = (f"{time['microseconds']:.1f}" for time in times)
    return f"| {f'`{spec}`':25} | {short:>5} | {medium:>12} | {long:>11} |"
