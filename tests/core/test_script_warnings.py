"""What a script shows of warnings: those of this package folded in a terminal, and those of helpers not awaited."""

import os
import subprocess
import sys

import pytest

SAID = "this program warns in words of which there are more than one line has room for"
SCRIPT = f"""
import sys
import warnings

import conduit


async def helper(ep):
    pass


async def main(ep):
    if "warns" in sys.argv:
        ep.warn("{SAID}")
    if "forgets" in sys.argv:
        helper(ep)


conduit.run(main)
"""
RECORDED = (
    SCRIPT.replace("conduit.run(main)", "")
    + """
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    conduit.run(main)
print(*sorted(f"{each.category.__name__}: {each.message}" for each in told), sep="\\n")
"""
)
OWN = (
    SCRIPT.replace("conduit.run(main)", "")
    + """
warnings.showwarning = lambda message, category, *rest: print(f"{category.__name__}: {message}")
conduit.run(main)
"""
)
FORGOTTEN = "helper(ep) at script.py:16 was called but never awaited, so it did nothing; write `await helper(ep)`"


def run(tmp_path, source, *words, options=(), terminal=False):
    """Run a script; return what it shows on standard error, and its output."""
    (tmp_path / "script.py").write_text(source)
    ours, its = os.openpty() if terminal else os.pipe()
    with os.fdopen(ours, "rb") as read:
        done = subprocess.run(
            [sys.executable, *options, "script.py", *words],
            cwd=tmp_path, env={**os.environ, "COLUMNS": "60"}, stdout=subprocess.PIPE, stderr=its, text=True,
            check=True,
        )  # fmt: skip
        if terminal:
            shown = os.read(read.fileno(), 1 << 16)
            os.close(its)
        else:
            os.close(its)
            shown = read.read()
    return shown.decode().replace("\r\n", "\n"), done.stdout


def test_a_warning_is_folded_at_the_width_of_a_terminal(tmp_path):
    shown, _ = run(tmp_path, SCRIPT, "warns", terminal=True)
    *said, code = shown.splitlines()
    assert code == "  conduit.run(main)"
    assert len(said) > 2
    assert max(len(line) for line in said if "script.py" not in line) <= 60
    assert all(line.startswith("  ") for line in said[1:])
    whole = " ".join(line.removeprefix("  ") for line in said)
    assert whole == f"{tmp_path / 'script.py'}:19: ConduitWarning: ranks 0-1: {SAID}"


def test_elsewhere_it_is_as_python_shows_it(tmp_path):
    shown, _ = run(tmp_path, SCRIPT, "warns")
    assert shown == f"{tmp_path / 'script.py'}:19: ConduitWarning: ranks 0-1: {SAID}\n  conduit.run(main)\n"


@pytest.mark.parametrize("options", [[], ["-X", "dev"], ["-W", "default"], ["-W", "once"]])
def test_a_helper_that_is_not_awaited_is_told_as_conduit_run_does(tmp_path, options):
    shown, _ = run(tmp_path, SCRIPT, "forgets", options=options)
    assert shown.replace(str(tmp_path) + os.sep, "") == (
        f"script.py:19: ConduitWarning: ranks 0-1: {FORGOTTEN}\n  conduit.run(main)\n"
    )


def test_what_a_script_wants_to_hear_nothing_of_is_not_told(tmp_path):
    shown, _ = run(tmp_path, SCRIPT, "forgets", options=["-W", "ignore::RuntimeWarning"])
    assert not shown


@pytest.mark.parametrize("source", [RECORDED, OWN])
def test_who_records_warnings_or_shows_them_gets_all_as_they_are(tmp_path, source):
    _, out = run(tmp_path, source, "warns", "forgets")
    assert sorted(set(out.splitlines())) == [
        f"ConduitWarning: ranks 0-1: {SAID}", "RuntimeWarning: coroutine 'helper' was never awaited"
    ]  # fmt: skip


def test_the_filters_of_a_program_stay_as_they_are(tmp_path):
    source = (
        SCRIPT.replace("conduit.run(main)", "")
        + """
conduit.run(main)
before = list(warnings.filters)
conduit.run(main)
print(warnings.filters == before, warnings.showwarning.__module__)
"""
    )
    _, out = run(tmp_path, source, "forgets")
    assert out == "True warnings\n"
