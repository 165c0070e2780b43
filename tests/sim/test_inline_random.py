"""Random programs see the same, whether waiting tasks drive the events or not."""

import runpy
from pathlib import Path

import pytest

import conduit

main = runpy.run_path(str(Path(__file__).parent / "programs" / "random_program.py"))["main"]

NETWORKS = [
    ("loggp:slots=1", 1),
    ("loggp:g=0,o_s=50ns,o_r=50ns,L=200ns", 2),
    ("loggp:order=weak,slots=2", 1),
    ("sci:slots=1", 1),
    ("sci:order=weak", 2),
    ("sci:transactions=1,piece=512", 1),
]


@pytest.mark.parametrize("seed", range(30))
def test_I_random_programs_run_alike_inline_or_not(seed):
    network, per_host = NETWORKS[seed % len(NETWORKS)]
    driven, parked = (
        conduit.run(
            main, seed, ranks=2 + seed % 3, seed=seed, conduit=f"{network},inline={inline}", ranks_per_host=per_host
        )
        for inline in ("yes", "no")
    )
    assert driven.values == parked.values
    assert driven.digest == parked.digest is not None
    assert driven.statistics == parked.statistics


@pytest.mark.parametrize(
    ("seed", "network", "ranks", "per_host"),
    [
        (11, "sci:transactions=1,piece=512", 4, 1),
        (38, "loggp:order=weak,slots=2", 4, 1),
        (167, "sci:slots=2", 4, 2),
        (218, "loggp:order=weak,slots=2", 4, 1),
    ],
)
def test_I_random_programs_that_once_told_the_difference(seed, network, ranks, per_host):
    driven, parked = (
        conduit.run(main, seed, ranks=ranks, seed=seed, conduit=f"{network},inline={inline}", ranks_per_host=per_host)
        for inline in ("yes", "no")
    )
    assert driven.values == parked.values
    assert driven.digest == parked.digest is not None
