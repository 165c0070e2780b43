"""The same program, options and seed give the same digest: in one process, in fresh ones, driven inline or not."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import conduit

SCRIPT = Path(__file__).parent / "programs" / "determined.py"
MODULE = runpy.run_path(str(SCRIPT))
PROGRAMS, digests = MODULE["PROGRAMS"], MODULE["digests"]

programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


@programs
@pytest.mark.parametrize("network", ["loggp", "sci:order=weak"])
def test_fifty_runs_in_one_process_have_one_digest(program, network):
    runs = 50 if network == "loggp" else 10
    results = [conduit.run(program, ranks=3, conduit=network, seed=7) for _ in range(runs)]
    assert len({result.digest for result in results}) == 1
    assert all(result == results[0] for result in results)


@programs
@pytest.mark.parametrize("seed", range(6))
def test_I_inline_driving_changes_no_digest(both_ways, program, seed):
    both_ways.run(program, ranks=3, seed=seed)


@programs
def test_I_inline_driving_changes_no_digest_in_weak_order_with_few_slots_or_on_shared_hosts(both_ways, program):
    both_ways.run(program, ranks=3, seed=3, options="order=weak")
    both_ways.run(program, ranks=3, seed=3, options="slots=1")
    both_ways.run(program, ranks=4, seed=3, ranks_per_host=2)


def test_fresh_processes_have_the_same_digests_whatever_the_hashes_of_strings(request):
    """As many processes as `--fresh` says, each with hashes of its own."""
    expected = digests("sci", 7)
    for number in range(request.config.getoption("--fresh")):
        environment = {**os.environ, "PYTHONHASHSEED": str(number * 1000 + 1)}
        command = [sys.executable, str(SCRIPT), "sci", "7"]
        output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert output.split() == expected


@pytest.mark.parametrize("name", ["sleepers", "random_numbers"])
def test_another_seed_is_another_run_where_something_is_left_to_chance(name):
    program = MODULE[name]
    assert len({conduit.run(program, ranks=3, conduit="loggp", seed=seed).digest for seed in range(6)}) > 1


def test_the_seed_changes_nothing_where_nothing_is_left_to_chance():
    async def main(ep):
        got = []

        def note(token):
            got.append(1)

        await ep.attach(note)
        await ep.request_short((ep.rank + 1) % ep.size, note)
        await ep.block_until(lambda: got)

    assert len({conduit.run(main, ranks=3, conduit="loggp", seed=seed).digest for seed in range(6)}) == 1


@pytest.mark.parametrize("seed", [0, -1, 2**70, -(2**70)])
def test_any_integer_is_a_seed(both_ways, seed):
    both_ways.run(MODULE["sleepers"], ranks=2, seed=seed)
