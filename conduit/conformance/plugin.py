"""The pytest plugin: options, the marker, and the cases that every check is parametrised with."""

from collections.abc import Generator
from datetime import date
from fnmatch import fnmatch
from functools import lru_cache
from typing import Any
from zlib import crc32

import attrs
import pytest

from conduit.conformance.cases import CLOCKS, OTHER_RANKS, PLACED, Case, cases
from conduit.conformance.processes import Jobs
from conduit.conformance.suites import suite_folders
from conduit.errors import ConduitError

MARKERS = (
    "rule(number, ...): the rules of docs/contract.md that this check checks",
    "crowds: run the default options with 1, 2, 3, 5, 8 and 16 ranks",
    "once: checks what no option changes, at some expense: runs on the first case alone",
    "simulated: looks at virtual time or at what only a simulation can see",
)
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
        help="where the seeds start; otherwise it moves on by itself every day, so that in time all are tried",
    )
    parser.addini("conformance", "specs of conduits to put to the conformance suite", type="args", default=[])
    parser.addini(
        "conformance_share",
        "one in how many rows of the covering array a check of the layers above the core takes; others every day",
        default="1",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, check the specs, and collect the suites where the setting asks for them."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    for spec in _specs(config):
        try:
            _cases(spec, full=False, seed=0, crowds=False)
        except ConduitError as error:
            raise pytest.UsageError(str(error)) from error
    config.stash[_JOBS] = Jobs(_seed(config), config.getoption("tbstyle"))
    if config.getini("conformance") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        _check_paths(config)
        config.args.extend(str(folder) for folder in suite_folders().values())


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is put to the suite, and how to repeat the run."""
    specs = _specs(config)
    if not specs:
        return []
    count = sum(len(_cases(spec, full=config.getoption("full"), seed=_seed(config), crowds=False)) for spec in specs)
    return [f"conformance: {', '.join(specs)}; {count} cases, repeat with --conformance-seed {_seed(config)}"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each check that takes ``case`` on every case of every spec."""
    if "case" not in metafunc.fixturenames:
        return
    config = metafunc.config
    markers = {marker.name for marker in metafunc.definition.iter_markers()}
    share = _share(metafunc)
    found = [
        case
        for spec in _specs(config)
        for case in _cases(spec, full=config.getoption("full"), seed=_seed(config), crowds="crowds" in markers)[
            : 1 if "once" in markers else None
        ]
        if share.takes(case)
    ]
    virtual = pytest.mark.skip(reason=NOT_IN_REAL_TIME)
    marks = [[virtual] if "simulated" in markers and not case.simulated else [] for case in found]
    metafunc.parametrize(
        "case", [pytest.param(case, id=case.label, marks=each) for case, each in zip(found, marks, strict=True)]
    )


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
    """Say how many checks real networks were spared."""
    for reason in (NOT_IN_REAL_TIME, OTHER_RANKS, PLACED, CLOCKS):
        skipped = [each for each in terminalreporter.getreports("skipped") if reason in str(each.longrepr)]
        if skipped:
            terminalreporter.write_line(f"conformance: {len(skipped)} checks skipped, {reason}")


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
    """Give the workers of pytest-xdist the seed, so that all collect the same cases, at midnight too."""
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


@attrs.frozen
class Share:
    """Which rows of the covering array a check takes: one in `of`, counted from `start`."""

    of: int
    start: int

    def takes(self, case: Case) -> bool:
        """Say whether the check is put to `case`."""
        return case.row is None or (case.row + self.start) % self.of == 0


def _share(metafunc: pytest.Metafunc) -> Share:
    config = metafunc.config
    own = metafunc.definition.path.is_relative_to(suite_folders()["core"])
    if own or config.getoption("full") or config.getoption("conduits"):
        return Share(1, 0)
    return Share(int(config.getini("conformance_share")), crc32(metafunc.definition.name.encode()) + _seed(config))


def _specs(config: pytest.Config) -> list[str]:
    named: list[str] = config.getoption("conduits")
    declared: list[str] = config.getini("conformance")
    return named or declared


def _seed(config: pytest.Config) -> int:
    seed: int | None = config.getoption("--conformance-seed")
    if seed is None:
        seed = getattr(config, "workerinput", {}).get("conformance_seed")
    return _today() if seed is None else seed


@lru_cache(maxsize=1)
def _today() -> int:
    return date.today().toordinal()


@lru_cache(maxsize=64)
def _cases(spec: str, *, full: bool, seed: int, crowds: bool) -> tuple[Case, ...]:
    return tuple(cases(spec, full=full, seed=seed, crowds=crowds))
