"""`conduit conform`: what it asks of pytest, and what pytest's outcomes come to."""

import re
import sys
from types import SimpleNamespace

import pytest

import conduit
from conduit.conformance import pace

pytest.importorskip("conduit.conformance.suites")


SELECTED = [1000]


@pytest.fixture
def suite(monkeypatch):
    """Record the words given to pytest, and let it come out as told; it selects as many checks as is said."""
    calls = []
    outcome = [pytest.ExitCode.OK]

    def main(words, plugins):
        calls.append(words)
        pressed, *selected = plugins
        for each in selected:
            each.pytest_collection_finish(SimpleNamespace(items=range(SELECTED[0])))
        for error in outcome[1:]:
            pressed.pytest_keyboard_interrupt(SimpleNamespace(type=type(error), value=error))
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


def test_what_it_hands_on(command, suite):
    given = ("-k", "test_replies and 3ranks", "-x", "--ranks", "2, 5", "--seed", "7")
    assert command("conform", "loggp", *given).status == 0
    for words in suite[0]:
        assert {"-k=test_replies and 3ranks", "-x", "--conformance-ranks=2,5", "--conformance-seed=7"} <= set(words)
    command("conform", "loggp")
    assert not [word for word in suite[0][-1] if word.startswith(("-k", "-x", "--conformance"))]


@pytest.mark.parametrize(
    ("count", "words", "workers"),
    [(1, [], False), (40, [], False), (41, [], True), (1, ["--ranks", "1000"], True)],
)
def test_few_checks_of_a_keyword_are_run_without_workers(command, suite, monkeypatch, count, words, workers):
    """Each worker collected all checks."""
    monkeypatch.setattr("conduit.commands.conform.find_spec", lambda name: name)
    monkeypatch.setattr(sys.modules[__name__], "SELECTED", [count])
    assert command("conform", "loggp", "-k", "test_replies", *words).status == 0
    counted, ran = suite[0]
    assert ("--collect-only" in counted, "-n" in counted) == (True, False)
    assert ("--collect-only" in ran, "-n" in ran) == (False, workers)
    seeds = [[word for word in words if word.startswith("--conformance-seed=")] for words in (counted, ran)]
    assert seeds[0] == seeds[1] != []


def test_a_keyword_that_matches_nothing_is_told_without_workers(command, suite, monkeypatch):
    monkeypatch.setattr("conduit.commands.conform.find_spec", lambda name: name)
    suite[1][0] = pytest.ExitCode.NO_TESTS_COLLECTED
    assert command("conform", "loggp", "-k", "nothing_such").status == 2
    [words] = suite[0]
    assert "--collect-only" in words


@pytest.mark.parametrize("ranks", ["0", "2,", "two", "2,-3", "1.5"])
def test_wrong_numbers_of_ranks(command, suite, ranks):
    status, _, err = command("conform", "loggp", f"--ranks={ranks}")
    assert status == 2
    assert err == (
        f"conduit conform: --ranks {ranks} is not allowed; give numbers from 1 on, separated by commas, as 2,3\n"
    )
    assert suite[0] == []


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (pytest.ExitCode.TESTS_FAILED, 1),
        (pytest.ExitCode.NO_TESTS_COLLECTED, 1),
        (pytest.ExitCode.INTERNAL_ERROR, 1),
        (pytest.ExitCode.USAGE_ERROR, 2),
    ],
)
def test_status(command, suite, outcome, status):
    suite[1][0] = outcome
    assert command("conform", "loggp").status == status


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("(test_replies", "expected right parenthesis; got end of input"),
        ("test_replies and", "expected not OR left parenthesis OR identifier; got end of input"),
    ],
)
def test_a_keyword_that_pytest_cannot_read_is_refused_before_it_runs(command, words, why):
    """Pytest ended with tracebacks of its workers."""
    status, out, err = command("conform", "loggp", "-k", words)
    assert (status, out) == (2, "")
    assert err == (
        f"conduit conform: -k '{words}' is no expression ({why}); give parts of names or cases, joined by and, or, not "
        "and parentheses, as 'test_replies and 3ranks'\n"
    )


def test_a_keyword_that_matches_nothing_is_named(command, suite):
    """It ended with pytest's words alone, that no tests ran."""
    suite[1][0] = pytest.ExitCode.NO_TESTS_COLLECTED
    assert command("conform", "loggp", "-k", "nothing_such") == (
        2,
        "",
        "conduit conform: -k nothing_such matches none of the suite's checks on 'loggp'; give a part of a name or "
        "case, as test_replies\n",
    )


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (pytest.Session.Interrupted("gw0 received keyboard-interrupt"), 130, "interrupted\n"),
        (pytest.Session.Interrupted("stopping after 1 failures"), 1, ""),
        (pytest.Session.Interrupted("1 error during collection"), 1, ""),
    ],
)
def test_an_end_at_the_first_failure_is_no_ctrl_c(command, suite, error, status, said):
    suite[1][:] = [pytest.ExitCode.INTERRUPTED, error]
    assert command("conform", "loggp", "-x") == (status, "", said)


def test_wrong_spec_is_refused_before_pytest_runs(command, suite):
    status, _, err = command("conform", "loggp:slot=1")
    assert status == 2
    assert err.startswith(
        "conduit conform: conduit 'loggp' has no option 'slot' (did you mean slots?); its options are: "
    )
    assert suite[0] == []


def test_a_network_on_which_the_suite_would_not_come_to_its_end_is_refused(command, suite):
    """A user has written 1 for a microsecond."""
    assert command("conform", "loggp:L=1") == (
        2,
        "",
        "conduit conform: a round trip on 'loggp:L=1' takes 2 s of simulated time, and the suite's programs can wait "
        "for at most 0.1 s; give other options: a time without a unit is in seconds, write 1us for a microsecond\n",
    )
    assert not suite[0]
    assert command("conform", "loggp:L=1us").status == 0


def test_a_network_that_is_slow_in_truth_is_told_and_goes_on(command, suite):
    assert command("conform", "loggp:L=600us").status == 0
    said = "a round trip on 'loggp:L=600us' takes 1.20403 ms of virtual time: checks that poll take long"
    assert pace.slow("loggp:L=600us") == said
    assert pace.slow("loggp:L=0.0006") == said.replace("600us", "0.0006") + (
        ": a time without a unit is in seconds, write 1us for a microsecond"
    )
    assert pace.slow("loggp") == ""
    with pytest.raises(conduit.BadRequest, match=r"takes 2\.7 s .* for at most 0\.1 s; give other options\Z"):
        pace.refuse_slow("udp:rate=1000")
    with pytest.raises(conduit.BadRequest, match=r"\Aa round trip with 64 bytes on 'loggp:G=5ms' takes 0\.315\d* s "):
        pace.refuse_slow("loggp:G=5ms")
