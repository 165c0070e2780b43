"""testbarrier and testcoll: what they measure, show and notice."""

import json

import numpy as np
import pytest
from rich.console import Console

import conduit
from conduit.benchmarks import BenchmarkOptions, execute
from extended import Extended
from extended.collectives.algorithms import TABLE
from extended.commands import testbarrier, testcoll

SPEC = "loggp:max_medium=512,max_long=1000"


def _measure(tmp_path, program, options):
    console = Console(record=True, width=160, quiet=True)
    assert execute(program, options, console) == 0
    return json.loads((tmp_path / "out.json").read_text())


def _coll(tmp_path, **options):
    settings = {"conduit": (SPEC,), "ranks": 4, "iterations": 2, "json": tmp_path / "out.json"} | options
    chosen = testcoll.CollectiveOptions(**settings)
    (run,) = _measure(tmp_path, testcoll.program(chosen), chosen)
    return run


def test_every_kind_of_barrier(tmp_path):
    options = BenchmarkOptions(conduit=(SPEC,), ranks=5, iterations=3, json=tmp_path / "out.json")
    (run,) = _measure(tmp_path, testbarrier.PROGRAM, options)
    assert (run["program"], run["ranks"], run["clock"]) == ("testbarrier", 5, "virtual")
    assert [record["section"] for record in run["records"]] == list("ABCDEF")
    assert len({record["operation"] for record in run["records"]}) == 6
    for record in run["records"]:
        assert record["iterations"] == 3
        assert record["mb_per_s"] is None
        assert record["microseconds"] > 0


def test_a_barrier_takes_the_time_of_its_steps(tmp_path):
    """Of 8 hosts: three steps, each one message of o_s + L + o_r; polls notice it a little late."""
    spec = "loggp:L=5us,o_s=1us,o_r=1us,g=0,G=0,poll=1ns"
    options = BenchmarkOptions(conduit=(spec,), ranks=8, iterations=10, sections="E", json=tmp_path / "out.json")
    (run,) = _measure(tmp_path, testbarrier.PROGRAM, options)
    # The automatic empty replies cost o_s and o_r too, partly while the rank would have waited.
    assert 21 <= run["records"][0]["microseconds"] < 30


def test_every_collective_has_its_rows(tmp_path):
    run = _coll(tmp_path, min_size=550, max_size=1100, ranks=3)
    found = {}
    for record in run["records"]:
        found.setdefault((record["section"], record["operation"]), []).append(record["bytes"])
        assert record["microseconds"] > 0
        assert record["mb_per_s"] > 0
    names = [(letter, call) for letter, call in zip(testcoll.LETTERS, testcoll.CALLS, strict=True)]
    assert list(found) == [(letter, call + form) for letter, call in names for form in ("", " nb")]
    assert {tuple(sizes) for sizes in found.values()} == {(550, 1100)}


def test_all_algorithms_are_compared(tmp_path):
    run = _coll(tmp_path, algorithms="all", min_size=600, max_size=600, ranks_per_host=2)
    found = {record["operation"] for record in run["records"] if not record["operation"].endswith(" nb")}
    # Of this size nothing is sent at once, with these limits.
    expected = {f"{call} {name}" for call in testcoll.CALLS for name in TABLE[call]} - {"broadcast eager"}
    assert found == expected


def test_the_head_and_json_name_algorithms_and_hosts(tmp_path, capsys):
    chosen = testcoll.CollectiveOptions(
        conduit=(SPEC,), ranks=5, ranks_per_host=2, iterations=1, json=tmp_path / "out.json", sections="A",
        algorithms="flat, tree", max_size=8,
    )  # fmt: skip
    assert execute(testcoll.program(chosen), chosen) == 0
    head = capsys.readouterr().out.partition(" operation ")[0]
    assert " algorithms=flat,tree ranks_per_host=2 segment=0\n" in head
    (run,) = json.loads((tmp_path / "out.json").read_text())
    assert run["parameters"]["algorithms"] == "flat,tree"
    assert run["parameters"]["ranks_per_host"] == 2
    assert run["options"]["max_medium"] == 512
    assert {record["driver_us"] for record in run["records"]} == {None}


def test_unknown_algorithms_and_empty_choices_are_refused():
    with pytest.raises(conduit.BadRequest, match=r"\A--algorithms 'quick' is not known; give all, or some of .*tree"):
        testcoll.program(testcoll.CollectiveOptions(algorithms="tree,quick"))
    with pytest.raises(conduit.BadRequest, match=r"\A--algorithms ring leaves nothing .* AH: broadcast has .*; scan"):
        testcoll.program(testcoll.CollectiveOptions(algorithms="ring", sections="AH"))
    wrong = testcoll.CollectiveOptions(algorithms="ring, tree", sections="Z")
    with pytest.raises(conduit.BadRequest, match=r"\A--sections 'Z' names no section; give letters out of ABCDEFGH"):
        execute(testcoll.program(wrong), wrong)


def test_a_wrong_result_ends_the_run(tmp_path, monkeypatch):
    scan = Extended.scan

    def wrong(self, array, *args, **options):
        return scan(self, np.asarray(array) + 1, *args, **options)

    monkeypatch.setattr(Extended, "scan", wrong)
    with pytest.raises(conduit.ConduitError, match=r"\Ascan of 8 bytes: rank \d got a wrong result"):
        _coll(tmp_path, sections="H", max_size=8)


def test_two_levels_beat_flat_where_hosts_are_shared(tmp_path):
    run = _coll(
        tmp_path, algorithms="flat,two_level", sections="A", ranks=32, ranks_per_host=8, min_size=1000, max_size=1000,
        iterations=1, conduit=("loggp",),
    )  # fmt: skip
    times = {record["operation"]: record["microseconds"] for record in run["records"]}
    assert times["broadcast two_level"] * 2 < times["broadcast flat"]


@pytest.mark.parametrize("name", ["min_size", "max_size", "max_step", "local", "pairing"])
def test_options_without_a_use_are_refused(name):
    value = {"local": "in", "pairing": "cross"}.get(name, 8)
    option = "--" + name.replace("_", "-")
    with pytest.raises(conduit.BadRequest, match=rf"\A{option} {value} means nothing to testbarrier; leave it out"):
        testbarrier.testbarrier(BenchmarkOptions(**{name: value}))
    if name in ("local", "pairing"):
        with pytest.raises(conduit.BadRequest, match=rf"\A{option} {value} means nothing to testcoll; leave it out"):
            testcoll.program(testcoll.CollectiveOptions(**{name: value}))
