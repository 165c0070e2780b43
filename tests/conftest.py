"""What tests share: a job run twice, with and without inline driving, which must agree; a count of its bytecodes."""

import gc
import math
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

import conduit
from conduit.benchmarks import progress
from tests.forked import forking

# What an example may take must not depend on how busy the machine is.
BUSY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The tests decide whether a change may land: the same examples each time.  `--hypothesis-profile=search` draws others,
# and more of them where a test does not say how many.
settings.register_profile("same", **BUSY, derandomize=True, max_examples=60)
settings.register_profile("search", **BUSY)
settings.load_profile("same")


def pytest_addoption(parser):
    parser.addoption(
        "--fresh", type=int, default=3, help="fresh processes per test of determinism (50 before a release)"
    )


def pytest_collection_modifyitems(config, items):
    """Leave out what runs when it is asked for: `pytest tests/docs -m every`, `pytest tests/processes -m every`.

    What starts processes comes first.  One worker of pytest-xdist at a time runs it, for minutes, while others do the
    rest; at the end there are only short tests, of which all can have as many as they have time for.
    """
    if "every" not in config.option.markexpr:
        left_out = {item for item in items if item.get_closest_marker("every")}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: "alone" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="module", autouse=True)
def kept():
    """Leave what the tests of a file have left out of all later looks at all objects, as for garbage: it stays."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def busy_machine():
    """Let no benchmark say how far it is because this machine is busy."""
    progress.TOLD_S = math.inf


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """Let Ctrl-C interrupt: a shell that starts the tests in its background has it ignored, for them and theirs."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def forked():
    """Run modules and files by Python where conduit and its command have been imported already."""
    with forking(
        "conduit",
        "conduit.launch.jobs.simulated",
        "conduit.commands.cli",
        "conduit.commands.run",
        "conduit.commands.running",
        environment=os.environ,
    ) as found:
        yield found


@pytest.fixture
def ran(forked, tmp_path):
    """Run modules and files so in a folder of the test's own; called with their names and arguments."""

    def run(name, *words):
        return forked.run(name, *words, cwd=tmp_path, env=os.environ)

    return run


@pytest.fixture
def undrawn(monkeypatch):
    """Draw no pictures of reports, which takes a second a page: for tests that look at other things."""
    monkeypatch.setattr("conduit.seeing.report.page.draw_svg", lambda picture: b"<svg></svg>")


class BothWays:
    """Runs jobs with `inline=yes` and with `inline=no`, and compares all that a user can see of the two."""

    def __init__(self, network):
        self.network = network

    def specs(self, options=""):
        name, _, own = self.network.partition(":")
        return [f"{name}:{','.join(filter(None, (own, options, f'inline={inline}')))}" for inline in ("yes", "no")]

    def run(self, main, *args, options="", **settings):
        driven, parked = (conduit.run(main, *args, conduit=spec, **settings) for spec in self.specs(options))
        assert driven.values == parked.values
        assert driven.seconds == parked.seconds
        assert driven.statistics == parked.statistics
        assert driven.digest == parked.digest is not None
        return driven

    def fails(self, kind, main, *args, options="", **settings):
        """Run a job that must fail; return the error of `kind`, the same both ways in text and notes."""
        errors = []
        for spec in self.specs(options):
            with pytest.raises(kind) as caught:
                conduit.run(main, *args, conduit=spec, **settings)
            errors.append(caught.value)
        driven, parked = errors
        assert type(driven) is type(parked)
        assert str(driven) == str(parked)
        assert getattr(driven, "__notes__", []) == getattr(parked, "__notes__", [])
        return driven


@pytest.fixture(params=["loggp", "sci"])
def both_ways(request):
    """Run jobs on each of these networks, with and without inline driving."""
    return BothWays(request.param)


@pytest.fixture
def on_loggp():
    """Run jobs on loggp, with and without inline driving."""
    return BothWays("loggp")


@pytest.fixture
def both_ways_on():
    """Run jobs on a network, with and without inline driving; called with its name and options."""
    return BothWays


def executed_bytecodes(main, *args, **settings):
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    gc.collect()  # what earlier jobs have left would be freed, by code that is counted, at any time
    gc.disable()
    sys.settrace(trace)
    try:
        conduit.run(main, *args, **settings)
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.fixture
def bytecodes():
    """Count the bytecodes that a job takes from its start to its result; called as `conduit.run` is."""
    return executed_bytecodes


@pytest.fixture
def fails_while():
    """Make programs in which rank 1 raises ValueError, and the others do `clean_up(ep)` on their way out of a wait."""

    def make(clean_up):
        async def main(ep):
            if ep.rank == 1:
                await ep.compute(1e-6)  # all have come to their wait by then
                raise ValueError("the reason")
            try:
                await ep.block_until(lambda: False)
            finally:
                await clean_up(ep)

        return main

    return make
