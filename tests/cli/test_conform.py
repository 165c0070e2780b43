"""`conduit conform`: what it asks of pytest, and what pytest's outcomes come to."""

import re

import pytest

pytest.importorskip("conduit.conformance.suites")


@pytest.fixture
def suite(monkeypatch):
    """Record the words given to pytest, and let it come out as told."""
    calls = []
    outcome = [pytest.ExitCode.OK]

    def main(words):
        calls.append(words)
        return outcome[0]

    monkeypatch.setattr(pytest, "main", main)
    return calls, outcome


def test_every_suite_is_run_on_the_conduit(command, suite):
    calls, _ = suite
    assert command("conform", "loggp:slots=1").status == 0
    [words] = calls
    assert words[words.index("--conduit") + 1] == "loggp:slots=1"
    assert "--full" not in words
    assert any(re.search(r"conduit.conformance$", word) for word in words)


def test_simulated_jobs_are_spread_over_the_processors(command, suite, monkeypatch):
    command("conform", "loggp")
    monkeypatch.setattr("conduit.commands.conform.find_spec", lambda name: None)
    command("conform", "loggp")
    spread, alone = suite[0]
    assert [word for word in spread if word not in alone] == ["-n", "auto"]


def test_full(command, suite):
    calls, _ = suite
    assert command("conform", "loggp", "--full").status == 0
    assert "--full" in calls[0]


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (pytest.ExitCode.TESTS_FAILED, 1),
        (pytest.ExitCode.NO_TESTS_COLLECTED, 1),
        (pytest.ExitCode.INTERNAL_ERROR, 1),
        (pytest.ExitCode.USAGE_ERROR, 2),
        (pytest.ExitCode.INTERRUPTED, 130),
    ],
)
def test_status(command, suite, outcome, status):
    suite[1][0] = outcome
    assert command("conform", "loggp").status == status


def test_wrong_spec_is_refused_before_pytest_runs(command, suite):
    status, _, err = command("conform", "loggp:slot=1")
    assert status == 2
    assert err.startswith("conduit conform: conduit 'loggp' has no option 'slot'; its options are: ")
    assert suite[0] == []
