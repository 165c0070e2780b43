"""The parts of benchmark commands: sizes, pairs, figures, tables."""

import csv
import io
import itertools
import json
import re
import signal

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import conduit
from conduit import BadRequest
from conduit.benchmarks import BenchmarkOptions, Parameters, Progress, Record, idle, pair, sizes
from conduit.benchmarks.options import parameters_for
from conduit.benchmarks.record import merge, middle
from conduit.benchmarks.report import ConduitResults, print_runs, runs_as_json, table
from conduit.launch.printing import output
from conduits.loggp.port import Loggp, LoggpTransport


@pytest.mark.parametrize(
    ("low", "high", "max_step", "expected"),
    [
        (0, 8, None, [0, 1, 2, 4, 8]),
        (0, 10, None, [0, 1, 2, 4, 8, 10]),
        (1, 1, None, [1]),
        (0, 0, None, [0]),
        (3, 20, None, [3, 6, 12, 20]),
        (0, 20, 5, [0, 1, 2, 4, 8, 13, 18, 20]),
        (16, 15, None, []),
    ],
)
def test_sizes(low, high, max_step, expected):
    assert list(sizes(low, high, max_step)) == expected


@given(st.integers(0, 5000), st.integers(0, 5000), st.none() | st.integers(1, 900))
def test_sizes_ascend_from_low_to_high(low, high, max_step):
    found = list(sizes(low, high, max_step))
    assert found == sorted(set(found))
    assert (not found) == (low > high)
    if found:
        assert (found[0], found[-1]) == (low, high)
    if max_step is not None:
        assert all(b - a <= max_step for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("pairing", ["next", "cross"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8])
def test_pairs_are_mutual_and_have_one_active_side(size, pairing):
    pairs = [pair(rank, size, pairing) for rank in range(size)]
    assert sum(one.measures for one in pairs) == max(size // 2, 1)
    for rank, one in enumerate(pairs):
        assert pairs[one.peer].peer == rank
        if one.peer == rank:
            assert (rank, one.sends, one.receives) == (size - 1, True, True)
            assert size % 2
        else:
            assert one.sends == pairs[one.peer].receives != pairs[one.peer].sends


def test_pairs_of_four():
    assert [pair(rank, 4, "next").peer for rank in range(4)] == [1, 0, 3, 2]
    assert [pair(rank, 4, "cross").peer for rank in range(4)] == [2, 3, 0, 1]
    assert [pair(rank, 4, "cross").sends for rank in range(4)] == [True, True, False, False]


def record(**given) -> Record:
    values = {"section": "B", "operation": "round trip", "nbytes": 1024, "iterations": 10, "seconds": 1e-3}
    return Record(**(values | given))


class Away:
    """An endpoint that can do nothing but compute and look at the clock, which goes on by 1 at every look."""

    def __init__(self, simulated):
        self.simulated, self.looks, self.computed = simulated, 0, []

    @property
    def now(self):
        self.looks += 1
        return self.looks + sum(self.computed) * self.simulated

    async def compute(self, seconds):
        self.computed.append(seconds)


@pytest.mark.parametrize(("simulated", "looks"), [(True, 1), (False, 11)])
def test_who_is_idle_calls_nothing_and_spins_where_time_is_real(simulated, looks):
    ep = Away(simulated)
    trio.run(idle, ep, 10.0)
    assert (ep.computed, ep.looks) == ([10.0], looks)


def test_figures_of_a_record():
    # 10 iterations in 1 ms: 100 us each; 10 x 1 KiB in 1 ms are 10 MiB/1.024 in a second.
    assert record().microseconds == pytest.approx(100)
    assert record().mb_per_s == pytest.approx(10_000 / 1024)
    assert record(payloads=2).mb_per_s == pytest.approx(20_000 / 1024)
    assert record(nbytes=0).mb_per_s is None
    assert record(nbytes=None, payloads=0).mb_per_s is None


def test_files_have_no_digits_behind_those_of_a_clock():
    """A time is the difference of two floats: 14.04 us were written as 14.039999999999988."""
    written = record(
        seconds=(1.0000142 - 1.0) * 9, iterations=9, raw=0.1 + 0.2, least=14.1 + 1e-11, most=14.3
    ).as_json()
    assert written["microseconds"] == 14.2
    assert (written["driver_us"], written["least_us"], written["most_us"]) == (0.3, 14.1, 14.3)
    assert written["mb_per_s"] == round(written["mb_per_s"], 6)


def test_of_several_runs_those_count_that_can_tell_a_figure():
    lost = record(seconds=0.0, unknown="longer bursts took no longer")
    runs = [[lost, lost, record()], [record(seconds=2e-3), lost, record(at_most="others wait")], [record(), lost, lost]]
    some, none, bound = middle(runs)
    assert (some.unknown, some.seconds, some.least, some.most) == ("", 1.5e-3, pytest.approx(100), pytest.approx(200))
    assert none.unknown == lost.unknown
    assert (bound.unknown, bound.at_most, bound.seconds) == ("", "others wait", 1e-3)


def test_merged_records_hold_the_mean():
    merged = merge([[record(seconds=1.0), record(seconds=2.0)], [record(seconds=3.0), record(seconds=2.0)]])
    assert [each.seconds for each in merged] == [2.0, 2.0]


def shown(runs, rate="MB/s") -> list[list[str]]:
    out = io.StringIO()
    Console(file=out, width=200).print(table(runs, rate))
    return [line.split() for line in out.getvalue().splitlines() if line.strip()]


def run_of(conduit: str, records: list[Record], **more) -> ConduitResults:
    given = {"parameters": {"iterations": 10}, "options": {"torus": (4, 2)}} | more
    return ConduitResults(program="testx", conduit=conduit, ranks=2, clock="virtual", records=records, **given)


def test_table_of_one_conduit():
    rows = shown([run_of("sci", [record(raw=90.0), record(nbytes=1500, at_limit=True)])])
    assert rows[0] == ["operation", "bytes", "total", "s", "average", "us", "MB/s", "driver", "us", "difference"]
    assert rows[2] == ["B", "round", "trip", "1024", "0.001000", "100.000", "9.766", "90.000", "+10.000"]
    assert rows[3] == ["B", "max:", "1500", "0.001000", "100.000", "14.305"]


def test_table_without_totals():
    rows = shown([run_of("sci", [record()], totals=False)])
    assert rows[0] == ["operation", "bytes", "average", "us", "MB/s"]
    assert rows[2] == ["B", "round", "trip", "1024", "100.000", "9.766"]


def test_digits_are_those_of_the_record_whatever_its_value():
    """The same figure measured twice would else have other digits where it is close to a power of ten."""
    for microseconds, text in ((0.00999, "0.010"), (0.01, "0.010"), (0.0101, "0.010"), (12.0, "12.000")):
        assert shown([run_of("sci", [record(seconds=microseconds * 1e-5)])])[2][-2] == text
    assert shown([run_of("sci", [record(seconds=0.000310 * 1e-5, digits=6)])])[2][-2] == "0.000310"


def test_table_side_by_side_aligns_sizes():
    rows = shown([run_of("sci", [record(), record(nbytes=2048)]), run_of("loggp", [record(nbytes=512), record()])])
    assert rows[0] == ["sci", "loggp"]
    assert rows[3] == ["B", "round", "trip", "512", "-", "-", "100.000", "4.883"]
    assert rows[4] == ["B", "1024", "100.000", "9.766", "100.000", "9.766"]
    assert rows[5] == ["B", "2048", "100.000", "19.531", "-", "-"]


def test_table_in_kilobytes():
    assert shown([run_of("sci", [record()])], "KB/s")[2][-1] == "10000.000"


def printed(runs, width) -> str:
    out = io.StringIO()
    print_runs(Console(file=out, width=width), runs)
    return out.getvalue()


def numbers(text: str) -> list[str]:
    return re.findall(r"(?<!\S)\d+\.\d{3}(?!\S)", text)


def test_a_table_that_fits_names_conduits_above_their_columns():
    runs = [run_of("sci", [record(raw=90.0)]), run_of("loggp:slots=4", [record()])]
    assert printed(runs, 160).count("loggp:slots=4") == 1
    assert "(1)" not in printed(runs, 160)


@pytest.mark.parametrize(
    ("width", "tables", "driver"), [(50, 4, False), (80, 2, False), (140, 1, False), (400, 1, True)]
)
def test_conduits_stand_side_by_side_as_far_as_there_is_room(width, tables, driver):
    """What the driver takes gives way to that.  A number is never folded nor cut."""
    specs = ["sci", "loggp:slots=4,L=3e-06", "sunfire:fault=link0.0.0@1us", "startx"]
    records = [record(raw=90.0), record(nbytes=123456, seconds=12.0, raw=1234567.0)]
    runs = [run_of(spec, records) for spec in specs]
    text = printed(runs, width)
    for number, spec in enumerate(specs, 1):
        assert (f"({number}) {spec}\n" in text) == (tables > 1)
        assert text.count(f"({number})") == 2 * (tables > 1)
    assert text.count("operation") == tables
    without = [run_of(spec, [attrs.evolve(each, raw=None) for each in records]) for spec in specs]
    assert sorted(numbers(text)) == sorted(numbers(printed(runs if driver else without, 1000)))


def test_four_networks_fit_a_terminal_of_140(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    specs = ["sci", "startx", "sunfire", "loggp:set=myrinet2000"]
    words = [word for spec in specs for word in ("--conduit", spec)]
    status, out, _ = command("testam", "--sections", "AC", "--iterations", "1", *words)
    assert status == 0
    assert len([line for line in out.splitlines() if line.split()[:1] != ["A"] and "bytes" in line.split()]) == 1
    assert max(map(len, out.splitlines())) <= 140


def test_output_that_is_piped_fits_100_columns(command, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    for words in (
        ["testam", "--sections", "AC", "--iterations", "1"],
        ["testam", "--sections", "A", "--iterations", "1", "--conduit", "sci", "--conduit", "sunfire"],
        ["list"],
        ["show", "sci"],
        ["show", "sunfire"],
        ["raw", "sci"],
        ["raw", "sunfire"],
        ["raw", "startx"],
    ):
        status, out, _ = command(*words)
        assert status == 0
        assert [line for line in out.splitlines() if len(line.rstrip()) > 100] == []


def test_columns_are_those_asked_for():
    runs = [run_of("sci", [record(raw=90.0)]), run_of("loggp", [record()])]
    out = io.StringIO()
    print_runs(Console(file=out, width=160), runs, columns=("average us", "difference"))
    rows = [line.split() for line in out.getvalue().splitlines() if line.strip()]
    assert rows[1] == ["operation", "bytes", "average", "us", "difference", "average", "us"]
    assert rows[3] == ["B", "round", "trip", "1024", "100.000", "+10.000", "100.000"]


def test_no_figure_is_less_than_nothing_by_digits_that_are_not_shown():
    drawn = record(seconds=-1e-9, raw=2e-4, least=-1e-4, most=-1e-4)
    for records in ([drawn], [attrs.evolve(drawn, at_most="so")], [attrs.evolve(drawn, least=None)]):
        out = io.StringIO()
        print_runs(Console(file=out, width=160), [run_of("sci", records)])
        figures = [word for word in out.getvalue().split() if word.lstrip("+-").startswith("0.0")]
        assert len(figures) >= 4
        assert [word for word in figures if word.startswith("-")] == []


@pytest.mark.parametrize("words", ["average,mb/s", "Average us,MB/s"])
def test_columns_are_named_with_or_without_their_units(command, words):
    status, out, _ = command("testam", "--sections", "B", "--max-size", "1", "--iterations", "1", "--columns", words)
    assert status == 0
    (head,) = [line.split() for line in out.splitlines() if "operation" in line]
    assert head == ["operation", "bytes", "average", "us", "MB/s"]


def test_columns_of_which_there_are_no_figures_are_told():
    for titles, said in ((("MB/s", "difference"), "MB/s, difference"), (("average us", "MB/s"), "MB/s"), ((), "")):
        out = io.StringIO()
        print_runs(Console(file=out, width=160), [run_of("sci", [record(nbytes=0)])], columns=titles)
        last = out.getvalue().rstrip().splitlines()[-1]
        assert last.startswith("no figures here") == bool(said)
        assert not said or last == f"no figures here of {said}; there are total s, average us"


def test_a_column_that_is_not_there_is_refused(command):
    assert command("testam", "--columns", "averge,MB/s") == (
        2,
        "",
        "conduit testam: --columns has 'averge' in it, which is no column (did you mean average?); there are: total, "
        "average, median, least, most, MB/s, KB/s, offered, driver, difference\n",
    )


def test_csv_has_a_line_for_each_row(command, tmp_path):
    path = tmp_path / "out.csv"
    words = ["--sections", "B", "--max-size", "2", "--iterations", "1", "--seed", "3"]
    assert command("testam", "--conduit", "loggp", "--conduit", "sci", *words, "--csv", str(path)).status == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [(row["conduit"], row["seed"], row["version"], row["bytes"]) for row in rows] == [
        (spec, "3", conduit.__version__, size) for spec in ("loggp", "sci") for size in "012"
    ]
    assert all(float(row["microseconds"]) > 0 for row in rows)


def test_json_and_csv_are_not_both_printed(command):
    assert command("testam", "--json", "-", "--csv", "-") == (
        2,
        "",
        "conduit testam: --json - and --csv - would both be printed; name a file for one of them\n",
    )


@pytest.mark.parametrize(("first", "second"), [("json", "csv"), ("json", "trace"), ("csv", "trace")])
def test_two_results_in_one_file_are_refused(command, tmp_path, first, second):
    path = tmp_path / "same"
    words = "testam", "--sections", "A", "--conduit", "loggp", f"--{second}", str(path), f"--{first}", str(path)
    assert command(*words) == (
        2,
        "",
        f"conduit testam: --{first} {path} and --{second} {path} would be written to one file; name another for one "
        "of them\n",
    )
    assert not path.exists()


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize(("number", "ended"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_prints_the_rows_so_far(command, tmp_path, monkeypatch, number, ended, repeat):
    """Those that every rank has measured; of several runs the ones that are whole."""
    begun = 0

    def advance(self, doing=""):
        nonlocal begun
        begun += 1
        if begun == 3 + 4 * (repeat - 1):
            signal.raise_signal(number)

    monkeypatch.setattr(Progress, "advance", advance)
    path = tmp_path / "out.json"
    words = ["--sections", "A", "--iterations", "1", "--repeat", str(repeat), "--json", str(path)]
    status, out, err = command("testam", "--conduit", "loggp", *words, "--conduit", "sci")
    assert status == ended
    assert err == f"wrote {path}\ninterrupted\n"
    assert out.count("AMShort") == (2 if repeat == 1 else 4)
    (found,) = json.loads(path.read_text())
    assert found["interrupted"] is True
    assert len(found["records"]) == out.count("AMShort")


def test_ctrl_c_before_the_first_row_prints_none(command, monkeypatch):
    monkeypatch.setattr(Progress, "advance", lambda self, doing="": signal.raise_signal(signal.SIGINT))
    status, out, err = command("testam", "--conduit", "loggp", "--sections", "A", "--iterations", "1")
    assert (status, err) == (130, "interrupted\n")
    assert "AMShort" not in out


@pytest.mark.parametrize("conduits", [["loggp"], ["loggp", "sci"]])
def test_ctrl_c_before_the_first_row_is_told_once_with_how_far_that_is(command, monkeypatch, conduits):
    begun = 0
    advance = Progress.advance

    def interrupted(self, doing=""):
        nonlocal begun
        advance(self, doing)
        begun += 1
        if begun == 4 * len(conduits) - 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "advance", interrupted)
    words = [word for each in conduits for word in ("--conduit", each)]
    status, out, err = command("testam", *words, "--sections", "A", "--iterations", "1")
    where = "step 1 of 4, AMShort ping-pong roundtrip ReqRep"
    assert (status, err) == (130, f"interrupted before the first row was complete, in {where}\n")
    assert out.count("AMShort") == 4 * (len(conduits) - 1)


LONG = "AMMedium ping-pong roundtrip ReqRep"


def lines_of(width: int, count: int = 1) -> list[str]:
    records = [record(operation=LONG, raw=90.0), record(operation=LONG, nbytes=2048, seconds=12.0, raw=1234567.0)]
    text = printed([run_of(f"sci:slots={number}", records) for number in range(count)], width)
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (110, []),
        (109, ["total s"]),
        (98, ["total s"]),
        (97, ["total s", "difference"]),
        (85, ["total s", "difference"]),
        (84, ["total s", "difference", "driver us"]),
        (71, ["total s", "difference", "driver us"]),
    ],
)
def test_columns_are_left_out_before_operations_are_squeezed(width, left_out):
    lines = lines_of(width)
    values = {
        "average us": "1200000.000",
        "total s": "12.000000",
        "driver us": "1234567.000",
        "difference": "-34567.000",
    }
    text = "\n".join(lines)
    assert all(len(line) <= width for line in lines)
    for title, value in values.items():
        assert (title in lines[1], value in text) == ((title not in left_out),) * 2
    assert text.count(LONG) == 1
    assert [line for line in lines if line.startswith("columns left out")] == [
        f"columns left out (width {width}): " + ", ".join(left_out) for _ in left_out[:1]
    ]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("width", [36, 39, 40, 46, 60, 70])
def test_operations_get_lines_of_their_own_before_anything_is_broken(width, count):
    lines = lines_of(width, count)
    assert all(len(line) <= width for line in lines)
    assert sum(line.strip() == f"B   {LONG}" for line in lines) == (count if width >= 40 else 0)
    folded = " ".join(" ".join(lines).split())
    assert folded.count(f"B {LONG} B 1024 100.000 9.766") == count
    assert folded.count("B 2048 1200000.000 0.002") == count


@pytest.mark.parametrize("width", [1, 10, 20, 30])
def test_what_fits_nowhere_is_wider_than_the_terminal_but_whole(width):
    text = " ".join(" ".join(lines_of(width)).split())
    assert f"B {LONG} B 1024 100.000 9.766 B 2048 1200000.000 0.002" in text


def test_one_conduit_needs_no_number():
    text = printed([run_of("sci", [record(raw=90.0)])], 60)
    assert "(1)" not in text
    assert numbers(text) == ["100.000", "9.766", "90.000"]


def test_json():
    text = runs_as_json([run_of("sci", [record(), record(raw=90.0)])])
    one = {
        "section": "B",
        "operation": "round trip",
        "bytes": 1024,
        "iterations": 10,
        "microseconds": pytest.approx(100),
        "mb_per_s": pytest.approx(10_000 / 1024),
        "driver_us": None,
    }
    assert json.loads(text) == [
        {
            "program": "testx",
            "version": conduit.__version__,
            "conduit": "sci",
            "ranks": 2,
            "clock": "virtual",
            "seed": 0,
            "parameters": {"iterations": 10},
            "options": {"torus": [4, 2]},
            "views": [],
            "marks": [],
            "records": [one, one | {"driver_us": 90.0}],
        }
    ]


def test_defaults_of_parameters():
    assert parameters_for(BenchmarkOptions(), True, "ABC", (1, 2048)) == Parameters(
        iterations=20,
        warmup=1,
        min_size=1,
        max_size=2048,
        max_step=None,
        sections="ABC",
        local="out",
        pairing="next",
    )
    real = parameters_for(BenchmarkOptions(), False, "ABC", (1, 2048))
    assert (real.iterations, real.warmup) == (1000, 1000)
    assert parameters_for(BenchmarkOptions(iterations=50_000), False, "A", (1, 1)).warmup == 10_000
    assert parameters_for(BenchmarkOptions(warmup=False), True, "A", (1, 1)).warmup == 0


def test_sections_in_any_case_and_order():
    for asked in ("cA", "AC", "a,c", "C,A,", "A,C,a"):
        assert parameters_for(BenchmarkOptions(sections=asked), True, "ABC", (0, 1)).sections == "AC"


def test_sizes_that_are_given():
    low = parameters_for(BenchmarkOptions(max_size=8), True, "A", (16, 64))
    assert (low.min_size, low.max_size) == (8, 8)
    high = parameters_for(BenchmarkOptions(min_size=100), True, "A", (16, 64))
    assert (high.min_size, high.max_size) == (100, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (BenchmarkOptions(iterations=0), "^--iterations 0 is too small; it must be at least 1$"),
        (BenchmarkOptions(min_size=-1), "^--min-size -1 is too small; it must be at least 0$"),
        (
            BenchmarkOptions(max_size=-5),
            "^--max-size -5 is below the smallest size of 0 bytes; raise it to at least that$",
        ),
        (
            BenchmarkOptions(min_size=9, max_size=8),
            "^--max-size 8 is below the smallest size of 9 bytes; raise it to at least",
        ),
        (BenchmarkOptions(max_size=2**31), "^--max-size 2147483648 is too large; it must be at most 2147483647$"),
        (
            BenchmarkOptions(min_size=10**15),
            "^--min-size 1000000000000000 is too large; it must be at most 2147483647$",
        ),
        (BenchmarkOptions(ranks=0), "^--ranks 0 is too small; it must be at least 1$"),
        (BenchmarkOptions(ranks_per_host=-2), "^--ranks-per-host -2 is too small; it must be at least 1$"),
        (BenchmarkOptions(max_step=0), "^--max-step 0 is too small; it must be at least 1$"),
        (
            BenchmarkOptions(sections="AZ"),
            "^--sections 'AZ' has 'Z' in it, which is no section; give letters out of ABC$",
        ),
        (BenchmarkOptions(sections="Z"), "^--sections 'Z' names no section; give letters out of ABC$"),
        (
            BenchmarkOptions(sections="A;B"),
            "^--sections 'A;B' has ';' in it, which is no section; give letters out of ABC$",
        ),
        (
            BenchmarkOptions(sections="A, B"),
            "^--sections 'A, B' has ' ' in it, which is no section; give letters out of ABC$",
        ),
        (BenchmarkOptions(sections=","), "^--sections ',' names no section; give letters out of ABC$"),
        (BenchmarkOptions(sections=""), "^--sections '' names no section; give letters out of ABC$"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(BadRequest, match=message):
        parameters_for(options, True, "ABC", (0, 64))


def test_no_bar_where_the_output_is_no_terminal():
    out = io.StringIO()
    with Progress(Console(file=out)) as progress:
        progress.begin(3)
        progress.advance("one")
    assert out.getvalue() == ""


@pytest.fixture
def told_at_once(monkeypatch):
    monkeypatch.setattr("conduit.benchmarks.progress.TOLD_S", 0.0)


def test_how_far_a_long_run_is_that_shows_no_bar_is_told_once(command, told_at_once):
    words = ("--sections", "A", "--iterations", "1", "--max-size", "2")
    status, out, err = command("testam", *words, "--conduit", "sci", "--conduit", "loggp")
    assert status == 0
    assert "it takes" not in out
    less = "; it takes less time with fewer `--iterations` or a smaller `--max-size`"
    assert err.splitlines() == [f"0 s: step 1 of 4, AMShort ping-pong roundtrip ReqRep{less}"] * 2
    assert command("testbarrier", "--iterations", "1").err == (
        "0 s: step 1 of 6, A Barrier named notify-wait; it takes less time with fewer `--iterations`\n"
    )
    words = ("--test", "naive", "--sizes", "8", "--trials", "2", "--ranks", "2")
    _, _, err = command("shmem-tests", "--conduit", "t3e", *words)
    assert err.endswith("; it takes less time with fewer `--trials` or `--ranks`\n")


def test_steps_of_a_run_that_is_repeated_are_counted_on():
    progress = Progress()
    for _ in range(2):
        progress.begin(1)
        progress.advance("one")
    assert progress.where() == "step 2 of 2, one"


def test_a_rank_that_another_process_has_started_leaves_that_to_it(monkeypatch, capsys, told_at_once):
    monkeypatch.setattr(output, "is_framed", lambda: True)
    progress = Progress(Console(file=io.StringIO()), "`--iterations`")
    progress.begin(1)
    progress.advance("one")
    assert capsys.readouterr().err == ""


def test_who_sees_a_bar_is_not_told_besides(capsys, told_at_once):
    with Progress(Console(file=io.StringIO(), force_terminal=True), "`--iterations`") as progress:
        progress.begin(1)
        progress.advance("one")
    assert capsys.readouterr().err == ""


def test_bar_on_a_terminal_once_a_run_is_long(monkeypatch):
    monkeypatch.setattr("conduit.benchmarks.progress.PATIENCE", 0.0)
    out = io.StringIO()
    with Progress(Console(file=out, force_terminal=True, width=80)) as progress:
        progress.begin(3)
        progress.advance("first block")
        progress.advance("second block")
    assert "second block" in out.getvalue()
    assert "1/3" in out.getvalue()


def test_which_simulated_library_is_meant_is_told_where_the_spec_leaves_it_open(command, tmp_path):
    path = tmp_path / "out.json"
    words = ("testam", "--sections", "A", "--iterations", "1", "--conduit", "mpi", "--json", str(path))
    _, out, _ = command(*words)
    assert "\n  library=scampi order=strict " in out
    (found,) = json.loads(path.read_text())
    assert (found["conduit"], found["options"]["library"]) == ("mpi", "scampi")
    program = tmp_path / "program.py"
    program.write_text("async def main(ep): pass")
    assert command("run", str(program), "--conduit", "mpi:library=start", "--json", str(path)).status == 0
    (found,) = json.loads(path.read_text())
    assert found["options"]["library"] == "start"


def test_a_size_that_needs_too_large_a_segment_is_refused_by_its_option(command):
    status, _, err = command("testsmall", "--conduit", "sci", "--sections", "A", "--max-size", "4M")
    assert status == 2
    assert err == (
        "conduit testsmall: --max-size 4M needs segment=4M: the SCI driver gives at most 2M of contiguous memory; ask "
        "for at most 2M, or use sci:patched=yes\n"
    )


def test_an_error_after_the_last_rank_s_main_loses_no_row(command, tmp_path, monkeypatch):
    words = ("testam", "--conduit", "loggp", "--sections", "A", "--iterations", "2")
    _, right, _ = command(*words)

    def fails(network):
        raise conduit.ConduitError("the counts are gone")

    monkeypatch.setattr(Loggp, "host_statistics", fails)
    file = tmp_path / "results.json"
    status, out, err = command(*words, "--conduit", "sci", "--repeat", "2", "--json", str(file))
    assert (status, err) == (1, f"wrote {file}\nconduit testam: the counts are gone\n")
    assert out.split("\n\n")[1:] == right.split("\n\n")[1:]
    (only,) = json.loads(file.read_text())
    assert len(only["records"]) == 4


@pytest.mark.parametrize(("part", "name"), [(Loggp, "host_statistics"), (LoggpTransport, "statistics")])
def test_counts_that_fail_are_told_in_a_line_that_says_whose_they_are(command, monkeypatch, part, name):
    def fails(counting):
        return {"messages": 1 // 0}

    monkeypatch.setattr(part, name, fails)
    status, out, err = command("testam", "--conduit", "loggp", "--sections", "A", "--iterations", "2")
    assert (status, out.count("AMShort")) == (1, 4)
    line = fails.__code__.co_firstlineno + 1
    assert err == (
        "conduit testam: the counts of rank 0 on conduit 'loggp' are not to be had: ZeroDivisionError: integer "
        f"division or modulo by zero, at {__file__}:{line} in fails: a mistake of the network, not of the program\n"
    )


def test_an_error_before_that_shows_no_table(command, monkeypatch):
    def fails(transport):
        raise conduit.ConduitError("no message can be taken")

    monkeypatch.setattr(LoggpTransport, "take", fails)
    status, out, err = command("testam", "--conduit", "loggp", "--sections", "A", "--iterations", "2")
    assert (status, "operation" in out) == (1, False)
    assert "no message can be taken" in err
