"""The longer job: random programs for as long as one likes, `pytest -m long tests/long --minutes 60`."""

import time
from random import Random, SystemRandom

import pytest

from conduit.conformance.cases import cases

NETWORKS = (
    "loggp", "loggp:slots=1", "sci", "sci:slots=1", "sunfire", "startx", "startx:slots=1", "origin", "t3e", "udp",
    "udp:loss=0.05", "mpi:library=scampi", "mpi:library=sunmpi",
)  # fmt: skip


def pytest_addoption(parser):
    parser.addoption("--minutes", type=float, default=1.0, help="for how long each kind of random program runs")
    parser.addoption("--long-seed", type=int, default=None, help="of the first program; otherwise one is drawn")
    parser.addoption("--long-network", action="append", default=[], help="only on this network; may be repeated")


@pytest.fixture
def programs(pytestconfig, request):
    """Call a function with a case, a generator and its seed, one program after the other, until the time is over.

    Cases whose specs name an option of `fixed` are left out: the program sets it.

    A program is made of its seed alone: one that fails is repeated by `--long-seed SEED --minutes 0`.
    """
    limit = 60 * pytestconfig.getoption("--minutes")
    first = pytestconfig.getoption("--long-seed")
    if first is None:
        first = SystemRandom().randrange(10**9)
    named = pytestconfig.getoption("--long-network")

    def run(program, networks=NETWORKS, fixed=frozenset()):
        networks = tuple(named) or networks
        made = {
            spec: [
                case for case in cases(spec, full=False, seed=1) if not any(f"{name}=" in case.spec for name in fixed)
            ]
            for spec in networks
        }
        begun, seed = time.monotonic(), first
        while seed == first or time.monotonic() - begun < limit:
            draw = Random(seed)
            case = draw.choice(made[draw.choice(networks)])
            try:
                program(case, draw, seed)
            except BaseException as error:
                error.add_note(
                    f"program {request.node.name}, --long-seed {seed}: conduit={case.spec!r}, ranks={case.ranks}, "
                    f"ranks_per_host={case.ranks_per_host}; {seed - first} programs before it were right"
                )
                raise
            seed += 1
        print(f"{request.node.name}: {seed - first} programs, from --long-seed {first} on")

    return run
