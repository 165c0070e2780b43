"""mpi-pingpong, mpi-bandwidth and mpi-coll: what they measure, show and refuse."""

import json

import pytest
from rich.console import Console

import conduit
from conduit.benchmarks import execute
from conduits.mpi import MPI
from conduits.mpi.collectives.algorithms import named
from conduits.mpi.commands import bandwidth, coll, pingpong
from conduits.mpi.commands.options import MpiOptions


def measured(tmp_path, module, **options):
    kind = coll.CollOptions if module is coll else MpiOptions
    chosen = kind(**{"iterations": 3, "json": tmp_path / "out.json"} | options)
    console = Console(record=True, width=160, quiet=True)
    assert execute(module.program(chosen), chosen, console) == 0
    return json.loads((tmp_path / "out.json").read_text())


def test_a_message_takes_half_a_round_trip_in_every_mode(tmp_path):
    (run,) = measured(tmp_path, pingpong, min_size=0, max_size=8)
    assert (run["program"], run["conduit"], run["clock"]) == ("mpi-pingpong", "mpi", "virtual")
    found = {(record["section"], record["bytes"]): record["microseconds"] for record in run["records"]}
    assert list(found) == [(letter, nbytes) for letter in "ABCDE" for nbytes in (0, 1, 2, 4, 8)]
    assert all(found["B", nbytes] > found["A", nbytes] for nbytes in (0, 1, 2, 4, 8))  # it hears of the match

    async def main(comm):
        data, ep = bytearray(8), conduit.current()
        times = []
        for _ in range(4):
            times.append(ep.now)
            if comm.rank:
                await comm.Recv(data, 0)
            await comm.Send(data, 1 - comm.rank)
            if not comm.rank:
                await comm.Recv(data, 1)
        return (ep.now - times[1]) / 6 * 1e6

    assert found["A", 8] == pytest.approx(MPI.run(main, ranks=2).values[0], rel=0.25)


def test_pairs_that_share_a_host_or_not_and_one_that_is_left_over(tmp_path):
    (near,) = measured(tmp_path, pingpong, max_size=0, sections="A", ranks=2, ranks_per_host=2)
    (far,) = measured(tmp_path, pingpong, max_size=0, sections="A", ranks=5)
    assert len(near["records"]) == len(far["records"]) == 1
    assert near["records"][0]["microseconds"] < far["records"][0]["microseconds"]


def test_bandwidth_is_the_sum_of_the_pairs(tmp_path):
    (one,) = measured(tmp_path, bandwidth, min_size=4096, max_size=4096, ranks=2)
    (two,) = measured(tmp_path, bandwidth, min_size=4096, max_size=4096, ranks=4)
    for run, pairs in ((one, 1), (two, 2)):
        for record, ways in zip(run["records"], (1, 2), strict=True):
            expected = pairs * ways * 4096 / 2**20 / (record["microseconds"] * 1e-6)
            assert record["mb_per_s"] == pytest.approx(expected)
    assert [record["operation"] for record in one["records"]] == ["one way", "ping and pong"]
    assert two["records"][0]["mb_per_s"] > 1.5 * one["records"][0]["mb_per_s"]


def test_every_algorithm_of_every_collective_has_its_rows(tmp_path):
    (run,) = measured(tmp_path, coll, ranks=4, ranks_per_host=2, iterations=1, max_size=8, algorithms="all")
    expected = {f"{call} {name}" for call in coll.CALLS.values() for name in named(call)}
    assert {record["operation"] for record in run["records"]} == expected
    assert all(record["microseconds"] > 0 for record in run["records"])


def test_usual_algorithms_and_odd_sizes(tmp_path):
    spec = "mpi:collectives=nodes"
    runs = measured(tmp_path, coll, conduit=("mpi", spec), ranks=3, iterations=2, min_size=7, max_size=9, max_step=1)
    assert [run["conduit"] for run in runs] == ["mpi", spec]
    for run in runs:
        names = [record["operation"] for record in run["records"] if record["bytes"] in (0, 7)]
        assert names == list(coll.CALLS.values())


@pytest.mark.parametrize(
    ("module", "options", "match"),
    [
        (pingpong, {"conduit": ("sci",)}, "--conduit sci: mpi-pingpong measures MPI libraries; give mpi:library="),
        (bandwidth, {"local": "in"}, "--local in means nothing to mpi-bandwidth"),
        (bandwidth, {"ranks": 1}, "--ranks 1 is too few for mpi-bandwidth; give at least 2"),
        (coll, {"pairing": "cross"}, "--pairing cross means nothing to mpi-coll"),
        (coll, {"algorithms": "ring,fast"}, "--algorithms 'fast' is not known; give all, or some of binomial,"),
        (
            coll,
            {"sections": "A", "algorithms": "ring"},
            "--algorithms 'ring' is not known; .* dissemination,tree,two-l",
        ),
    ],
)
def test_what_is_refused(tmp_path, module, options, match):
    with pytest.raises(conduit.BadRequest, match=match):
        measured(tmp_path, module, **options)
