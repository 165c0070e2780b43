"""testbarrier and testcoll: what they measure, show and notice."""

import json

import numpy as np
import pytest
import trio
from rich.console import Console

import conduit
from conduit.benchmarks import BenchmarkOptions, execute
from extended import Extended
from extended.collectives.algorithms import TABLE
from extended.commands import testbarrier, testcoll
from extended.commands.together import begin_together

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


def test_the_head_and_json_name_algorithms_and_hosts(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # its lines are folded at the width of a terminal
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


@pytest.mark.parametrize(
    ("network", "ranks"),
    [
        # Where a look for messages takes least, more ranks look longest.
        pytest.param(
            network, ranks, marks=[pytest.mark.every] if ranks == 8 and network in ("loggp", "sunfire") else []
        )
        for network in ("loggp", "sci", "sunfire", "startx", "udp", "t3e", "origin")
        for ranks in (1, 3, 8)
    ],
)
def test_all_ranks_begin_at_one_time(network, ranks):
    async def main(ep):
        x = await Extended.attach(ep)
        begun = []
        for apart in (0, 3e-5):
            await ep.compute(apart * (ep.rank * 7 % 5))  # they come together, then at times of their own
            begun.append(await begin_together(x, 12))
            await x.reduce(ep.rank)
        return begun

    for at_once in zip(*conduit.run(main, ranks=ranks, conduit=network).values, strict=True):
        assert not any(began.late for began in at_once)
        times = [began.at for began in at_once]
        assert max(times) - min(times) <= 1e-9, "a clock may count nanoseconds"


def test_where_a_rank_is_late_it_is_measured_again(monkeypatch):
    asked = []

    async def main(ep):
        x = await Extended.attach(ep)
        block = testcoll.CollectiveBlock(section="G", call="all_reduce", algorithm=None, nbytes=8)

        async def begin(x, ahead):
            began = await begin_together(x, ahead)
            asked.append((x.rank, ahead))
            return began._replace(late=ahead < 48 and x.rank == 2)

        monkeypatch.setattr(testcoll, "begin_together", begin)
        return await testcoll._timed(x, block, 2, nb=False)

    values = conduit.run(main, ranks=3, conduit="loggp").values
    assert len({seconds for seconds, _ in values}) == 1
    assert sorted(asked) == [(rank, ahead) for rank in range(3) for ahead in (3, 12, 48)]


def test_who_comes_after_the_time_says_so():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        return await begin_together(x, 0)

    assert all(began.late for began in conduit.run(main, ranks=4, conduit="loggp").values)


@pytest.mark.parametrize("network", ["sci", "startx"])
def test_what_was_measured_before_changes_no_figure(tmp_path, network):
    def figures(sections):
        run = _coll(tmp_path, conduit=(network,), ranks=8, iterations=20, max_size=8, sections=sections)
        return [record["microseconds"] for record in run["records"] if record["section"] == "G"]

    alone = figures("G")
    for before in ("A", "D", "BE"):
        assert figures(before + "G") == pytest.approx(alone, rel=0.1)


def test_processes_begin_as_a_barrier_lets_them_go():
    class Real:
        simulated, now = False, 5.0

    class Layer:
        ep, met = Real(), 0

        async def barrier(self):
            self.met += 1

    async def main():
        layer = Layer()
        return await begin_together(layer), layer.met

    assert trio.run(main) == ((5.0, False), 1)
