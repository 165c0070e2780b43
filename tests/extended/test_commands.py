"""testsmall and testlarge: what they measure, show and notice."""

import json

import pytest
from rich.console import Console

import conduit
from conduit.benchmarks import BenchmarkOptions, execute
from extended import Extended
from extended.commands import testlarge, testsmall

PROGRAMS = {"testsmall": testsmall.PROGRAM, "testlarge": testlarge.PROGRAM}
SPEC = "loggp:max_medium=512,max_long=1000"


def _measure(tmp_path, name, **options):
    path = tmp_path / "out.json"
    settings = {"conduit": (SPEC,), "iterations": 2, "max_size": 64, "json": path} | options
    console = Console(record=True, width=160, quiet=True)
    assert execute(PROGRAMS[name], BenchmarkOptions(**settings), console) == 0
    return json.loads(path.read_text())


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        (
            "testsmall",
            {
                "A": ["PutBlocking latency", "GetBlocking latency"],
                "B": ["PutBlocking throughput", "GetBlocking throughput"],
                "C": ["PutNBI+NOW latency", "GetNBI latency"],
                "D": ["PutNBI+NOW throughput", "GetNBI throughput"],
                "E": ["PutNB+NOW latency", "GetNB latency"],
                "F": ["PutNB+NOW throughput", "GetNB throughput"],
            },
        ),
        (
            "testlarge",
            {
                "A": ["PutBlocking", "GetBlocking"],
                "B": ["PutNBI+DEFER", "GetNBI"],
                "C": ["PutNB+DEFER", "GetNB"],
            },
        ),
    ],
)
def test_every_section_has_its_rows(tmp_path, name, operations):
    (run,) = _measure(tmp_path, name, max_size=1100, max_step=512)
    assert (run["program"], run["ranks"], run["clock"]) == (name, 2, "virtual")
    found = {}
    for record in run["records"]:
        found.setdefault(record["section"], {}).setdefault(record["operation"], []).append(record["bytes"])
        assert record["microseconds"] > 0
        assert (record["mb_per_s"] is None) == ("latency" in record["operation"])
        assert record["iterations"] == 2
    assert {section: list(rows) for section, rows in found.items()} == operations
    sizes = {tuple(nbytes) for rows in found.values() for nbytes in rows.values()}
    assert len(sizes) == 1
    assert sizes.pop()[-1] == 1100


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("local", ["in", "out"])
@pytest.mark.parametrize("pairing", ["next", "cross"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_contents_arrive_for_any_pairing(tmp_path, name, local, pairing, ranks):
    (run,) = _measure(tmp_path, name, local=local, pairing=pairing, ranks=ranks, max_size=2100, min_size=500)
    assert run["ranks"] == ranks
    assert {record["bytes"] for record in run["records"]} == {500, 1000, 2000, 2100}


def test_figures_of_the_odd_rank_which_is_its_own_partner_do_not_count(tmp_path):
    """It copies in its own memory: no message, nearly no time."""
    (two,), (three,) = (
        _measure(tmp_path, "testsmall", sections="A", ranks=ranks, min_size=8, max_size=8, iterations=20)
        for ranks in (2, 3)
    )
    for pair, odd in zip(two["records"], three["records"], strict=True):
        assert odd["microseconds"] == pytest.approx(pair["microseconds"], rel=0.05)


def test_a_blocking_put_takes_the_time_of_its_two_messages(tmp_path):
    """L, o_s and o_r of a medium request and a short reply: nothing else stands between put and put."""
    spec = "loggp:L=5us,o_s=1us,o_r=1us,g=0,G=0,poll=1ns"
    (run,) = _measure(tmp_path, "testsmall", conduit=(spec,), sections="A", min_size=8, max_size=8, iterations=10)
    put, get = run["records"]
    # Two messages of o_s + L + o_r, and the copy of 8 bytes; polls find things a nanosecond late.
    assert put["microseconds"] == pytest.approx(14.0, abs=0.1)
    assert get["microseconds"] == pytest.approx(14.0, abs=0.1)


def test_wrong_contents_end_the_run(tmp_path, monkeypatch):
    put_nb = Extended.put_nb

    def off_by_one(self, dest, offset, data, bulk=True):
        return put_nb(self, dest, offset, data[1:], bulk)

    monkeypatch.setattr(Extended, "put_nb", off_by_one)
    with pytest.raises(conduit.ConduitError, match=r"\APutNB\+NOW latency of 64 bytes between ranks 1 and 0: "):
        _measure(tmp_path, "testsmall", sections="E", min_size=64, warmup=False)


def test_the_segment_is_what_the_sizes_need(tmp_path):
    with pytest.raises(conduit.BadRequest, match=r"(?s)\A.*segment"):
        _measure(tmp_path, "testlarge", conduit=("sci:patched=no",), max_size=8 << 20, iterations=1)
