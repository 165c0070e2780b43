"""Programs with a planted cause: its rank and its line stand in the first five lines of the report.

`pytest tests/hangs -m thousand` runs them on 1,024 ranks, or as many as a network takes.
"""

import gc
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import pytest
import trio

import conduit

NETWORKS = ["loggp", "sci", "sunfire", "startx", "udp"]
# What explains a hang is the same on these: fewer ranks do.
MORE = ["origin", "t3e", "mpi:library=scampi", "mpi:library=start", "mpi:library=sunmpi"]
FILE = "programs.py"
# As many ranks as fit, where a thousand do not.
MOST = {"sunfire": 192, "origin": 256, "t3e": 512, "mpi:library=sunmpi": 192}


def _hangs():
    spec = importlib.util.spec_from_file_location("hangs_programs", Path(__file__).with_name(FILE))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.HANGS


HANGS = _hangs()


def ranks_of(text):
    """Return the ranks that stand before the colon of a line: `rank 3`, `ranks 0, 2-5, each`, `3 ranks (0, 4-5)`."""
    found = re.match(r" *(?:ranks? ([\d, -]+?)(?:, each)?|\d+ ranks \(([\d, .-]+)\)): ", text)
    if not found:
        return set()
    named = set()
    for part in (found[1] or found[2]).split(", "):
        if part != "...":
            first, _, last = part.partition("-")
            named.update(range(int(first), int(last or first) + 1))
    return named


async def _nothing(ep, odd):
    await ep.attach()


@cache
def _started(network, ranks):
    return conduit.run(_nothing, 0, ranks=ranks, conduit=network).seconds


def report(name, network, ranks):
    """Run a program that hangs; return its error."""
    hang = HANGS[name]
    limit = None if hang.limit is None else _started(network, ranks) + hang.limit
    with pytest.raises(hang.error) as caught:
        conduit.run(hang.main, ranks // 2, ranks=ranks, conduit=network, segment=1 << 16, time_limit=limit)
    return caught.value


def check(name, network, ranks):
    error = report(name, network, ranks)
    hang = HANGS[name]
    lines = str(error).splitlines()
    named = set().union(*map(ranks_of, lines[:5]))
    assert len(lines) <= 25, error
    assert "a mistake of the network" not in lines[0]
    for rank in hang.causes(ranks // 2, ranks):
        assert rank in named, f"rank {rank} is not in the first five lines\n{error}"
    for number in hang.lines:
        assert any(f"{FILE}:{number}" in line for line in lines[:5]), f"line {number} is not there\n{error}"


@pytest.mark.parametrize("network", [*NETWORKS, *MORE])
@pytest.mark.parametrize("name", HANGS)
def test_the_rank_and_line_of_the_cause_stand_in_the_first_five_lines(name, network):
    check(name, network, 3)


@pytest.mark.parametrize(
    ("name", "network"),
    [
        pytest.param(name, network, marks=[] if (row + column) % 3 == 0 else [pytest.mark.every])
        for row, name in enumerate(HANGS)
        for column, network in enumerate(NETWORKS)
    ],
)
def test_the_same_of_64_ranks(name, network):
    check(name, network, 64)


@pytest.mark.thousand
@pytest.mark.parametrize("network", [*NETWORKS, *MORE])
@pytest.mark.parametrize("name", HANGS)
def test_the_same_of_a_thousand_ranks(name, network):
    check(name, network, MOST.get(network, 1024))
    gc.collect()  # a job of a thousand ranks is 100 MB


def test_tasks_of_one_name_stand_in_the_order_of_their_lines():
    async def one(ep, number):
        if number % 2:
            await ep.block_until(lambda: False, what="an odd one")
        else:
            await ep.block_until(lambda: False, what="an even one")

    async def main(ep):
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(one, ep, number)

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=1)
    told = re.findall("an (odd|even) one", str(caught.value))
    assert told == sorted(told, reverse=True), told
    assert set(told) == {"odd", "even"}
