"""Benchmarks, run on demand: `pytest tests/benchmarks` (docs/benchmarks.md says how to read them).

Each measures a job with n operations and one with fewer, and takes the difference, so that start-up and the end of the
job are not in the figure.  Beside each a bare SimPy ping-pong runs in the same rounds: ratios to it hold on any
machine, microseconds only on the one where they were measured.
"""

import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from statistics import mean, median
from typing import Any

import attrs
import pytest
import simpy

from conduit.contract import JobSetup
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.registry import parse_spec
from conduit.launch.result import Result

SIMPY_TRIPS = 2000
ROUNDS = 15


class Job(SimulatedJob):
    """A job that is run as `conduit.run` does: nobody looks for garbage while its statistics are taken either."""

    def run(self) -> Result:
        """Run it to its end."""
        with self.around():
            return super().run()


def job(
    main: Callable[..., Awaitable[Any]],
    *args: Any,
    ranks: int,
    spec: str,
    segment: int = 0,
    ranks_per_host: int | None = None,
) -> Job:
    """Make what `conduit.run` makes, to look at its kernel afterwards."""
    parsed = parse_spec(spec)
    hosts = parsed.cls.placement(parsed.options, ranks, ranks_per_host)
    setup = JobSetup(ranks=ranks, hosts=hosts, segment=segment, seed=0)
    return Job(main, args, parsed, setup, None)


def simpy_ping_pong(trips: int) -> None:
    """Two processes with a Store each; every message is a process that waits the flight time and puts."""
    env = simpy.Environment()
    stores = simpy.Store(env), simpy.Store(env)

    def flight(store: simpy.Store) -> Iterator[Any]:
        yield env.timeout(5)
        store.put("message")

    def player(me: int) -> Iterator[Any]:
        for _ in range(trips):
            if me == 0:
                env.process(flight(stores[1]))
            yield stores[me].get()
            if me == 1:
                env.process(flight(stores[0]))

    env.process(player(0))
    env.process(player(1))
    env.run()


@attrs.frozen
class Figure:
    """One line of the summary.

    Attributes:
        what: what was measured, with conduit and ranks.
        cpu: microseconds of processor time for one operation; a job is one thread, so this is also the wall time where
            nothing else runs on the processor.
        events: kernel events of one operation, over all ranks.
        ratio: the same in round trips of a bare SimPy ping-pong, or in what SimPy takes for the bare same.
    """

    what: str
    cpu: float
    events: float
    ratio: float


class Bench:
    """Measures jobs against the empty job and SimPy, and keeps the figures for the summary.

    Args:
        benchmark: the fixture of pytest-benchmark.
        figures: where the figures go.
    """

    def __init__(self, benchmark: Any, figures: list[Figure]) -> None:
        self._benchmark = benchmark
        self._timer = time.process_time
        self._figures = figures

    def measure(
        self,
        what: str,
        make: Callable[[int], Job],
        repeat: int,
        *,
        count: int | None = None,
        before: int = 0,
        rounds: int = ROUNDS,
        bare: Callable[[], float] | None = None,
    ) -> Figure:
        """Measure one operation.

        Args:
            what: its name in the summary.
            make: makes a job that does the operation so many times on each rank that begins one.
            repeat: how often it does in the measured job, those of `before` not counted.
            count: measured operations in sum over the ranks; `repeat` if not given.
            before: how often the job does it that is subtracted, so that what it sets up is not measured.
            rounds: samples of each kind; the median counts, also of the ratios to SimPy before and after each.
            bare: returns what SimPy takes for the bare same, seconds of CPU; by default for a trip of its ping-pong.
        """
        simpy_takes = self._simpy_trip if bare is None else bare
        count = repeat if count is None else count
        fewer: list[float] = []
        bare_took: list[float] = []
        jobs: list[Job] = []
        events: list[int] = []

        def run_bare() -> None:
            jobs.clear()  # or Python's collector would look through what a job has left, at SimPy's expense
            gc.collect()
            bare_took.append(simpy_takes())

        def prepare() -> None:
            run_bare()
            jobs.append(make(before))
            fewer.append(self._time(jobs[0].run))
            events[:] = [jobs[0].kernel.events]
            jobs[0] = make(before + repeat)
            gc.collect()

        def measured() -> None:
            jobs[0].run()

        self._benchmark.pedantic(measured, setup=prepare, rounds=rounds)
        events.append(jobs[0].kernel.events)
        run_bare()
        cpu = [(all_ - some) / count for all_, some in zip(self._benchmark.stats.stats.data, fewer, strict=True)]
        ratios = [each / mean(around) for each, around in zip(cpu, pairwise(bare_took), strict=True)]
        figure = Figure(what, median(cpu) * 1e6, (events[1] - events[0]) / count, median(ratios))
        self._benchmark.extra_info.update(attrs.asdict(figure))
        self._figures.append(figure)
        return figure

    def _simpy_trip(self) -> float:
        return self._time(lambda: simpy_ping_pong(SIMPY_TRIPS)) / SIMPY_TRIPS

    def _time(self, action: Callable[[], object]) -> float:
        gc.collect()
        start = self._timer()
        action()
        return self._timer() - start


FIGURES = pytest.StashKey[list[Figure]]()
LINES = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count processor time, which other programs on the machine disturb least."""
    for item in items:
        item.add_marker(pytest.mark.benchmark(timer=time.process_time))


def pytest_configure(config: pytest.Config) -> None:
    """Begin the summary."""
    config.stash[FIGURES] = []
    config.stash[LINES] = []


@pytest.fixture
def bench(benchmark: Any, request: pytest.FixtureRequest) -> Bench:
    """Measure in this run; `--benchmark-timer time.process_time` counts this process alone."""
    return Bench(benchmark, request.config.stash[FIGURES])


@pytest.fixture
def make_job() -> Callable[..., Job]:
    """Make jobs; see `job`."""
    return job


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Add a line of its own to the summary."""
    return request.config.stash[LINES].append


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the figures, one line for each."""
    figures = config.stash[FIGURES]
    if not figures and not config.stash[LINES]:
        return
    terminalreporter.section("simulation speed")
    if figures:
        width = max(len(figure.what) for figure in figures)
        terminalreporter.write_line(f"{'one operation':{width}}  {'CPU us':>9}  {'events':>9}  {'x SimPy':>9}")
    for each in figures:
        terminalreporter.write_line(f"{each.what:{width}}  {each.cpu:9.1f}  {each.events:9.2f}  {each.ratio:9.2f}")
    for line in config.stash[LINES]:
        terminalreporter.write_line(line)
