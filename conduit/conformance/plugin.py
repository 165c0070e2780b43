"""The pytest plugin: options, the marker, and the cases that every check is parametrised with."""

import gc
import os
import sys
from collections.abc import Generator, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from math import ceil
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest

from conduit.conformance.cases import CLOCKS, FIRST, OTHER_RANKS, PLACED, Case, cases
from conduit.conformance.pace import refuse_slow, slow
from conduit.conformance.processes import Jobs, case_of
from conduit.conformance.suites import suite_folders
from conduit.errors import ConduitError
from conduit.launch.registry import parse_spec

MARKERS = (
    "rule(number, ...): the rules of docs/contract.md that this check checks",
    "crowds: run the default options with 1, 2, 3, 5, 8 and 16 ranks",
    "once: checks what no option changes, at some expense: runs on the first case alone",
    "ends: a job of this check is ended before its time, which ends all processes where ranks are processes",
    "simulated: looks at virtual time or at what only a simulation can see",
    "on(spec): the conduit that a check is put to here, as it was named; where conduits take turns",
)
SIMPLE_FIRST = (
    "test_start", "test_messages", "test_limits", "test_replies", "test_payload", "test_flow", "test_leftovers",
)  # fmt: skip
"""Checks of single messages, then of many: where one of these fails, its program is short, and most others fail too."""
_PLACES = {Path(__file__).parent / f"{name}.py": place for place, name in enumerate(SIMPLE_FIRST)}
_DRAWN = pytest.StashKey[int]()
_JOBS = pytest.StashKey[Jobs]()
NOT_IN_REAL_TIME = "which look at virtual time or into a simulation; this network has real time"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options and its setting."""
    group = parser.getgroup("conformance", "conduit conformance suite")
    group.addoption(
        "--conduit",
        action="append",
        default=[],
        metavar="SPEC",
        dest="conduits",
        help="put this conduit to the suite, e.g. 'sci:slots=4'; may be repeated",
    )
    group.addoption(
        "--full", action="store_true", help="all numbers of ranks, all options combined, weak order with five seeds"
    )
    group.addoption(
        "--conformance-seed",
        type=int,
        default=None,
        metavar="N",
        help="where the seeds start, and which cases are drawn; otherwise that of the setting `conformance_seed`, "
        "or a number drawn for this run, which it prints",
    )
    group.addoption(
        "--conformance-ranks",
        type=_rank_counts,
        default=(),
        metavar="N,N",
        help="the numbers of ranks in the place of those of the suite",
    )
    parser.addini("conformance", "specs of conduits to put to the conformance suite", type="args", default=[])
    parser.addini(
        "conformance_cases",
        "on how many cases a check runs at most, those of all conduits together; where these are more than that they "
        "take turns, and each rule is checked on each of them; 0 for all that there are",
        default="0",
    )
    parser.addini(
        "conformance_seed", "where the seeds start; a number, or nothing for one that each run draws", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, check the specs, and collect the suites where the setting asks for them."""
    if (
        sys.flags.dev_mode
    ):  # in which every call of a network is looked at: the workers of pytest-xdist are to be in it too
        os.environ["PYTHONDEVMODE"] = "1"
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    for spec in _specs(config):
        try:
            if not hasattr(config, "workerinput"):  # of pytest-xdist: who has started it has looked
                refuse_slow(spec)
            found = _all_cases(config, spec)
        except ConduitError as error:
            raise pytest.UsageError(str(error)) from error
        if not found:
            counts = ", ".join(map(str, config.getoption("--conformance-ranks")))
            raise pytest.UsageError(f"'{spec}' has no place for {counts} ranks; name fewer with --conformance-ranks")
    config.stash[_JOBS] = Jobs(_seed(config), config.getoption("tbstyle"))
    if config.getini("conformance") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        _check_paths(config)
        config.args.extend(str(folder) for folder in suite_folders().values())


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is put to the suite, and how to repeat the run."""
    specs = _specs(config)
    if not specs:
        return []
    most = _most(config)
    count = sum(len(_all_cases(config, spec)[: None if most is None else ceil(most)]) for spec in specs)
    turns = f", a check on {_together(config)} of them" if _take_turns(config) else ""
    head = f"conformance: {', '.join(specs)}; {count} cases{turns}, repeat with {_again(config)}"
    return [head, *(f"conformance: {text}" for text in map(slow, specs) if text)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring together the checks that run in one job of processes; let what is simple come first."""
    if _take_turns(config):
        _leave_to_others(config, items)
    jobs = config.stash[_JOBS]
    items.sort(key=lambda item: (jobs.place(item), _simplicity(item)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Say how many checks will run, before the first does."""
    _say_count(session.config, len(session.items))
    # Many checks look for garbage, and what pytest has collected is none: thousands of items are looked through once.
    gc.collect()
    gc.freeze()


def _leave_to_others(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave each check to as many conduits as the setting says, and each rule on each of them to one check at least."""
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (chosen if _has_turn(config, item) else others).append(item)
    checked = {pair for item in chosen for pair in _rules(item)}
    left_out = set()
    for item in others:
        if checked.issuperset(_rules(item)):
            left_out.add(item)
        checked.update(_rules(item))
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _has_turn(config: pytest.Config, item: pytest.Item) -> bool:
    """Say whether this is no check, or the turn of its conduit, which the seed draws for each check."""
    marker = item.get_closest_marker("on")
    check = item.nodeid.partition("[")[0]
    turns = Random(f"{_seed(config)}/{check}").sample(_specs(config), _together(config)) if marker else ()
    return marker is None or marker.args[0] in turns


def _rules(item: pytest.Item) -> set[tuple[str, str]]:
    """Return each rule that a check is about, with the conduit that it is put to here."""
    named = [marker.args[0] for marker in item.iter_markers("on")]
    return {(spec, rule) for spec in named for marker in item.iter_markers("rule") for rule in marker.args}


def _simplicity(item: pytest.Item) -> int:
    """Return the place of a check's file among those of the suite; tests of others stay before them."""
    return 0 if case_of(item) is None else _PLACES.get(item.path, len(_PLACES)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Say how many checks will run: the workers of pytest-xdist have collected them."""
    if node.gateway.id == "gw0":  # the others have collected the same
        _say_count(node.config, len(ids))


def _say_count(config: pytest.Config, count: int) -> None:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    # Where no conduit is named on the command line there are other tests beside the suite's.
    if count and reporter is not None and config.getoption("conduits") and not hasattr(config, "workerinput"):
        reporter.ensure_newline()
        reporter.write_line(f"conformance: {count} checks will run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each check that takes ``case`` on every case of every spec."""
    if "case" not in metafunc.fixturenames:
        return
    config = metafunc.config
    markers = {marker.name for marker in metafunc.definition.iter_markers()}
    most = _most(config)
    found: list[Any] = []
    for spec in _specs(config):
        every = _all_cases(config, spec, crowds="crowds" in markers)
        seed = f"{_seed(config)}/{spec}/{metafunc.definition.nodeid}"
        for case in every[:1] if "once" in markers else drawn(every, most, seed):
            marks = [pytest.mark.on(spec)] if _take_turns(config) else []
            if "simulated" in markers and not case.simulated:
                marks.append(pytest.mark.skip(reason=NOT_IN_REAL_TIME))
            found.append(pytest.param(case, id=case.label, marks=marks))
    metafunc.parametrize("case", found)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Run a check on ranks that are processes inside of these."""
    jobs = item.config.stash[_JOBS]
    if not jobs.runs(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in jobs.reports(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes in which checks run."""
    if _JOBS in config.stash:
        config.stash[_JOBS].close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many checks real networks were spared, and how to repeat a run that failed."""
    for reason in (NOT_IN_REAL_TIME, OTHER_RANKS, PLACED, CLOCKS):
        skipped = [each for each in terminalreporter.getreports("skipped") if reason in str(each.longrepr)]
        if skipped:
            terminalreporter.write_line(f"conformance: {len(skipped)} checks skipped, {reason}")
    config = terminalreporter.config
    if _specs(config) and terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"conformance: repeat with {_again(config)}")
        if not sys.flags.dev_mode and any(parse_spec(spec).simulated for spec in _specs(config)):
            terminalreporter.write_line(
                "conformance: `python -X dev -m conduit conform ...` looks at every call of a simulated network, and "
                "often names the method that is at fault"
            )


def _again(config: pytest.Config) -> str:
    """Return the option that repeats a run, as pytest and as `conduit conform` have it."""
    return f"--conformance-seed {_seed(config)} (conduit conform: --seed {_seed(config)})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say of a check that fails how its jobs were run."""
    report = yield
    case = getattr(item, "callspec", None) and item.callspec.params.get("case")  # type: ignore[attr-defined]
    if report.failed and isinstance(case, Case):
        placed = f"ranks={case.ranks}, ranks_per_host={case.ranks_per_host}, seed={case.seed}"
        rules = ", ".join(number for marker in item.iter_markers("rule") for number in marker.args)
        text = f"conduit.run(..., conduit={case.spec!r}, {placed})\nrules: {rules}"
        report.sections.append(("conformance", text))
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the workers of pytest-xdist the seed, so that all collect the same cases."""
    node.workerinput["conformance_seed"] = _seed(node.config)


def _check_paths(config: pytest.Config) -> None:
    """Refuse to leave the suites out, which pytest would do without a word.

    Of two paths, one inside the other, it collects the outer one alone, and passes over environments in it.
    """
    hidden = config.getini("norecursedirs")
    for path in (config.invocation_params.dir / arg for arg in config.args):
        for suite in suite_folders().values():
            inside = [folder for folder in suite.parents if folder.is_relative_to(path) and folder != path]
            for folder in inside:
                if (folder / "pyvenv.cfg").exists() or any(fnmatch(folder.name, pattern) for pattern in hidden):
                    raise pytest.UsageError(
                        f"the conformance suite is in {suite}, but pytest collects {path} and passes over {folder} "
                        'in it; name the folders of your own tests: testpaths = ["tests"] among the settings of pytest'
                    )


def drawn(every: Sequence[Case], most: float | None, seed: str) -> list[Case]:
    """Give the cases of one conduit that a check runs on: the first ones, then others by chance.

    Args:
        every: all cases, those first that come before others (`cases.FIRST` of them).
        most: how many at most, in the mean of all checks: with 1.5 half of them have one and half of them two; None for
            all.  Where there is no room for all that come first, it is one of these by chance.
        seed: of the draw.
    """
    if most is None or most >= len(every):
        return list(every)
    random = Random(seed)
    count = int(most + random.random())
    sure = min(count, FIRST)
    places = random.sample(range(FIRST), sure) + random.sample(range(sure, len(every)), count - sure)
    return [every[place] for place in sorted(places)]


def _most(config: pytest.Config) -> float | None:
    """Return how many cases of each conduit a check runs on, None for all.

    The share of a conduit falls with the number of conduits, so that all together take as long as before; each has one,
    if it is its turn.
    """
    together = _together(config)
    return max(1, together / len(_specs(config))) if together else None


def _together(config: pytest.Config) -> int:
    """Return on how many cases a check runs, those of all conduits together, 0 for all that there are."""
    if config.getoption("full") or config.getoption("conduits"):
        return 0
    return int(config.getini("conformance_cases"))


def _take_turns(config: pytest.Config) -> bool:
    """Say whether a check has fewer cases than there are conduits."""
    return 0 < _together(config) < len(_specs(config))


def _specs(config: pytest.Config) -> list[str]:
    named: list[str] = config.getoption("conduits")
    declared: list[str] = config.getini("conformance")
    return named or declared


def _seed(config: pytest.Config) -> int:
    given: int | None = config.getoption("--conformance-seed")
    if given is None:
        given = getattr(config, "workerinput", {}).get("conformance_seed")
    if given is None and (fixed := config.getini("conformance_seed")):
        given = int(fixed)
    if given is None:
        given = config.stash.setdefault(_DRAWN, SystemRandom().randrange(1_000_000))
    return given


def _rank_counts(text: str) -> tuple[int, ...]:
    """Read numbers of ranks, separated by commas."""
    counts = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    if min(counts) < 1:
        raise ValueError(text)
    return counts


def _all_cases(config: pytest.Config, spec: str, *, crowds: bool = False) -> tuple[Case, ...]:
    ranks = config.getoption("--conformance-ranks")
    return _cases(spec, full=config.getoption("full"), seed=_seed(config), crowds=crowds, ranks=ranks)


@lru_cache(maxsize=64)
def _cases(spec: str, *, full: bool, seed: int, crowds: bool, ranks: tuple[int, ...]) -> tuple[Case, ...]:
    return tuple(cases(spec, full=full, seed=seed, crowds=crowds, ranks=ranks))
