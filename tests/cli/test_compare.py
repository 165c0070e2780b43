"""`conduit compare`: measures, draws, compares files; each wrong call has its words."""

import json
import re
import signal
import sys

import pytest

from conduit.benchmarks.progress import Progress
from conduit.commandline.files import write_file
from conduit.commands.cli import call
from conduit.seeing.comparison import differences, pictures, results_of
from conduit.seeing.comparison.results import from_json, read_results

SMALL = ("--max-size", "64", "--sections", "AB", "--iterations", "2")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Compare two conduits once; return the folder."""
    folder = tmp_path_factory.mktemp("compare") / "out"
    assert call(["compare", "--conduit", "sci", "--conduit", "loggp", *SMALL, "--out", str(folder)]) == 0
    return folder


def test_it_writes_pictures_a_page_and_the_results(measured):
    names = ["testam-round-trip", "testam-message-rate-flood-one-way"]
    files = {f"{name}.{form}" for name in names for form in ("svg", "png")}
    assert {path.name for path in measured.iterdir()} == {"compare.html", "results.json", *files}
    assert measured.joinpath("testam-round-trip.png").read_bytes().startswith(b"\x89PNG")


def test_results_are_those_of_the_benchmark(measured, command):
    own = json.loads(command("testam", "--conduit", "sci", "--conduit", "loggp", *SMALL, "--json", "-").out)
    assert json.loads(measured.joinpath("results.json").read_text()) == own


def test_the_page_is_whole_by_itself(measured):
    page = measured.joinpath("compare.html").read_text()
    assert "http" not in page
    assert set(re.findall(r'(?:src|href)="(\w+:)', page)) == {"data:"}
    assert page.count("<img") == 2
    assert "conduit testam --conduit sci --conduit loggp --drawn" in page
    assert re.search(r"<details><summary>All figures \(\d+\)", page)


def test_drawn_again_it_has_the_same_bytes(measured, command, tmp_path):
    again = tmp_path / "again"
    outcome = command("compare", "--from", str(measured / "results.json"), "--out", str(again))
    assert outcome == (
        0,
        "testam-round-trip: testam: Round trip\n"
        "testam-message-rate-flood-one-way: testam: Message rate, flood one way\n"
        f"wrote {again / 'compare.html'}, results.json and 2 pictures (svg and png)\n",
        "",
    )
    for path in measured.iterdir():
        if path.name != "compare.html":  # it says what measured them
            assert again.joinpath(path.name).read_bytes() == path.read_bytes(), path.name


def test_older_pictures_in_the_folder_are_told(measured, command, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    for name in ("testam-old.svg", "testam-old.png", "notes.svg"):  # of the last no comparison has made one
        (again / name).write_text("")
    out = command("compare", "--from", str(measured / "results.json"), "--out", str(again)).out
    assert out.endswith(f"older pictures are still in {again}: testam-old\n")
    assert (again / "testam-old.svg").exists()


def test_curves_are_the_figures_measured(measured):
    found = results_of("from", measured / "results.json")
    trip = pictures(found)[0]
    assert (trip.groups, trip.title) == (("sci", "loggp"), "testam: Round trip")
    assert trip.styles == ("AMMedium ping-pong roundtrip ReqRep", "AMShort ping-pong roundtrip ReqRep")
    (panel,) = trip.panels
    medium = next(curve for curve in panel.curves if (curve.group, curve.style) == (1, 0))
    rows = [row for row in found[1].rows if row.operation == trip.styles[0]]
    assert medium.x == (0, 1, 2, 4, 8, 16, 32, 64) == tuple(row.nbytes for row in rows)
    assert medium.y == tuple(row.microseconds for row in rows)


def test_what_was_measured_before_ctrl_c_is_kept(command, tmp_path, monkeypatch):
    """As benchmarks do: all rows of the calls before, and those of the broken one that are complete."""
    begun, advance = 0, Progress.advance

    def interrupted(self, doing=""):
        nonlocal begun
        begun += 1
        advance(self, doing)
        if begun == 4 + 3:  # of four steps each
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "advance", interrupted)
    folder = tmp_path / "out"
    words = ["--sweep", "ranks=2,4", "--sections", "A", "--iterations", "1", "--max-size", "0"]
    status, out, err = command("compare", *words, "--out", str(folder))
    assert (status, err) == (130, "interrupted\n")
    assert out.endswith(f"wrote {folder / 'compare.html'}, results.json and 2 pictures (svg and png)\n")
    found = json.loads((folder / "results.json").read_text())
    assert [len(each["records"]) for each in found] == [4, 1]  # of four rows each
    missing = "Ctrl-C has ended testam on sci: what would have followed is missing."
    assert missing in out.splitlines()
    assert missing in (folder / "compare.html").read_text()
    again = command("compare", "--from", str(folder / "results.json"), "--out", str(tmp_path / "again")).out
    assert missing in again.splitlines()


def test_a_conduit_that_was_interrupted_is_labelled_so(command, tmp_path):
    whole, broken = of(trip_64=1.0, trip_128=2.0), of(conduit="loggp", trip_64=1.0)
    broken = from_json({**broken.content, "interrupted": True})
    assert {picture.groups for picture in pictures([whole, broken])} == {("sci", "loggp (interrupted)")}
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(whole.content))
    second.write_text(json.dumps({**broken.content, "conduit": "sci"}))
    out = command("compare", "--diff", str(first), str(second), "--out", str(tmp_path / "diff")).out
    missing = "Ctrl-C has ended testam on sci: what would have followed is missing."
    assert missing in out.splitlines()
    assert missing in (tmp_path / "diff" / "diff.html").read_text()


def of(program="testam", conduit="sci", *, ranks=2, swept=None, **rows):
    """Return a result with rows, `time_64=1.5` of 64 bytes."""
    records = [
        {"section": "A", "operation": name.partition("_")[0], "bytes": int(name.partition("_")[2] or 0),
         "iterations": 1, "microseconds": us, "mb_per_s": None, "driver_us": None}
        for name, us in rows.items()
    ]  # fmt: skip
    content = {"program": program, "conduit": conduit, "ranks": ranks, "clock": "virtual", "records": records}
    if swept:
        content["swept"] = dict(zip(("option", "value", "conduit"), swept, strict=True))
    return from_json(content)


def test_thresholds_are_marked_where_they_can_be_seen():
    told = of(trip_64=1.0, trip_4096=2.0)
    marks = [
        {"bytes": 2048, "what": "by DMA"},
        {"bytes": 2048, "what": "largest"},
        {"bytes": 8192, "what": "out of sight"},
    ]
    one = from_json({**told.content, "marks": marks})
    (picture,) = pictures([one])
    assert [(mark.x, mark.text) for mark in picture.marks] == [(2048, "2048: by DMA; largest")]
    other = from_json({**told.content, "conduit": "loggp", "marks": marks[:1]})
    (picture,) = pictures([one, other])
    assert [mark.text for mark in picture.marks] == ["2048: by DMA (sci, loggp); largest (sci)"]


def test_a_conduit_tells_its_thresholds(command):
    out = command("testam", "--conduit", "sci", "--sections", "A", "--iterations", "1", "--json", "-").out
    assert json.loads(out)[0]["marks"] == [
        {"bytes": 2048, "what": "another way of sending"},
        {"bytes": 2048, "what": "largest medium message"},
    ]


def test_figures_without_sizes_are_bars():
    (picture,) = pictures([of(a=1.0, b=2.0), of(conduit="loggp", a=3.0)])
    (panel,) = picture.panels
    assert (panel.names, panel.values) == (("a", "b"), ((1.0, 2.0), (3.0, None)))


def test_operations_without_a_figure_that_can_be_drawn_have_no_picture():
    """Of sizes too, where axes were to be as long as the curves."""
    record = {"section": "A", "bytes": 64, "microseconds": 0.0, "mb_per_s": None}
    for quantity, more in (("time", {"unknown": True}), ("rate", {}), ("messages", {})):
        views = [{"title": "T", "quantity": quantity, "operations": ["a"]}]
        result = from_json({**of().content, "records": [{**record, "operation": "a", **more}], "views": views})
        assert pictures([result]) == []
        drawn = from_json({**of(conduit="loggp", a_64=1.0).content, "views": views})
        assert [each.groups for each in pictures([result, drawn])] == [("sci", "loggp")] * (quantity != "rate")


def test_results_of_one_spec_are_told_apart():
    assert pictures([of(a=1.0), of(a=2.0, ranks=4)])[0].groups == ("sci, 2 ranks", "sci, 4 ranks")
    assert pictures([of(a=1.0), of(a=2.0)])[0].groups == ("(1) sci, 2 ranks", "(2) sci, 2 ranks")


@pytest.mark.parametrize(
    ("files", "ranks", "labels"),
    [
        (("x/before.json", "x/after.json"), 2, ("sci, before.json", "t3e, before.json", "sci, after.json")),
        (("x/run.json", "y/run.json"), 2, ("sci, {}/x/run.json", "t3e, {}/x/run.json", "sci, {}/y/run.json")),
        (("x/run.json", "y/after.json"), 4, ("sci, 2 ranks", "t3e, 2 ranks", "sci, 4 ranks")),
    ],
)
def test_results_of_one_spec_in_several_files_are_told_apart_by_these(command, tmp_path, files, ranks, labels):
    for file, results in zip(files, ([of(a=1.0), of(conduit="t3e", a=1.0)], [of(a=2.0, ranks=ranks)]), strict=True):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([dict(each.content) for each in results]))
    paths = [str(tmp_path / file) for file in files]
    assert command("compare", "--from", *paths, "--out", str(tmp_path / "out")).status == 0
    expected = tuple(label.format(tmp_path) for label in labels)
    assert pictures(read_results(tmp_path / "out" / "results.json"))[0].groups == expected
    page = (tmp_path / "out" / "compare.html").read_text()
    assert all(f"<td>{label}</td>" in page for label in expected)


def test_results_of_one_spec_in_one_file_of_several_have_its_name_and_a_number():
    results = [from_json({**of(a=1.0, ranks=ranks).content, "file": "a.json"}) for ranks in (2, 2, 4)]
    results.append(from_json({**of(a=1.0).content, "file": "b.json"}))
    assert pictures(results)[0].groups == (
        "(1) sci, 2 ranks, a.json", "(2) sci, 2 ranks, a.json", "(3) sci, 4 ranks, a.json", "(4) sci, 2 ranks, b.json",
    )  # fmt: skip


def in_real_time(result):
    return from_json({**result.content, "clock": "wall"})


def test_of_results_with_two_clocks_those_in_real_time_say_so():
    real, simulated = in_real_time(of(conduit="mpi", trip_8=2.0, trip_64=3.0)), of(trip_8=1.0, trip_64=2.0)
    assert pictures([real, simulated])[0].groups == ("mpi (real time)", "sci")
    assert pictures([real])[0].groups == ("mpi",)
    swept = [
        clock(of(conduit=base, ranks=ranks, swept=("ranks", str(ranks), base), trip_8=1.0, trip_64=2.0))
        for base, clock in (("mpi", in_real_time), ("sci", lambda result: result))
        for ranks in (2, 4)
    ]
    by_size, over = pictures(swept)
    assert [panel.title for panel in by_size.panels] == list(over.groups) == ["mpi (real time)", "sci"]


def test_the_figures_of_a_sweep_over_ranks_say_of_how_many_they_are(command, tmp_path):
    path = tmp_path / "results.json"
    swept = [of(ranks=ranks, swept=("ranks", str(ranks), "sci"), trip_8=1.0 * ranks) for ranks in (2, 4)]
    path.write_text(json.dumps([dict(each.content) for each in swept]))
    assert command("compare", "--from", str(path), "--out", str(tmp_path / "out")).status == 0
    page = (tmp_path / "out" / "compare.html").read_text()
    assert ("<td>sci, 2 ranks</td>" in page, "<td>sci, 4 ranks</td>" in page) == (True, True)


def test_a_sweep_is_drawn_by_size_and_over_the_option():
    swept = [
        of(
            conduit=f"{base}:slots={value}",
            swept=("slots", value, base),
            trip_8=float(value),
            trip_64=2.0 * float(value),
        )
        for base in ("sci", "loggp")
        for value in ("1", "2", "4")
    ]
    by_size, over = pictures(swept)
    assert by_size.title == "testam: trip: time, by slots"
    assert [panel.title for panel in by_size.panels] == ["sci", "loggp"]
    assert by_size.groups == ("slots=1", "slots=2", "slots=4")
    assert over.title == "testam: trip: time, over slots"
    assert over.groups == ("sci", "loggp")
    assert [panel.title for panel in over.panels] == ["8 bytes", "64 bytes"]
    assert over.panels[1].scale == "log"
    assert [(curve.x, curve.y) for curve in over.panels[1].curves] == [((1, 2, 4), (2, 4, 8))] * 2


@pytest.mark.parametrize(
    ("sizes", "told", "shown"),
    [(4, "", [8, 16, 32, 64]), (5, ", for 4 of 5 sizes", [8, 16, 32, 128]), (2, "", [8, 16])],
)
def test_a_sweep_says_for_how_many_sizes_there_are_panels(sizes, told, shown):
    swept = [
        of(conduit=f"sci:slots={v}", swept=("slots", v, "sci"), **{f"trip_{8 << n}": 1.0 for n in range(sizes)})
        for v in ("1", "2")
    ]
    over = pictures(swept)[-1]
    assert over.title == f"testam: trip: time, over slots{told}"
    assert [panel.title for panel in over.panels] == [f"{each} bytes" for each in shown]


def test_values_of_a_sweep_ascend_where_they_are_numbers():
    swept = [of(conduit=f"sci:slots={v}", swept=("slots", v, "sci"), trip_8=1.0) for v in ("2", "16", "8")]
    assert pictures(swept)[0].groups == ("slots=2", "slots=8", "slots=16")


def test_pictures_whose_titles_differ_in_case_alone_have_files_of_their_own():
    results = [of(swept=(option, value, "loggp"), a=1.0) for option in ("G", "g") for value in ("1us", "2us")]
    assert [each.name for each in pictures(results)] == ["testam-times-over-g", "testam-times-over-g-2"]


def test_a_sweep_of_what_is_no_number():
    swept = [
        of(conduit=f"sci:queue={v}", swept=("queue", v, "sci"), time=y) for v, y in (("paired", 1.0), ("single", 2.0))
    ]
    (picture,) = pictures(swept)
    (panel,) = picture.panels
    assert (panel.ticks, panel.scale) == (((0, "paired"), (1, "single")), "linear")
    assert panel.curves[0].y == (1.0, 2.0)


def test_a_sweep_measures_each_value(command, tmp_path):
    words = ("--conduit", "loggp:set=myrinet2000", "--sweep", "slots=1,2", "--sections", "A", "--iterations", "2")
    assert command("compare", *words, "--out", str(tmp_path / "out")).status == 0
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [(each["conduit"], each["swept"]) for each in found] == [
        (f"loggp:set=myrinet2000,slots={n}", {"option": "slots", "value": str(n), "conduit": "loggp:set=myrinet2000"})
        for n in (1, 2)
    ]


def test_a_sweep_of_ranks_over_several_benchmarks(command, tmp_path):
    words = ("--command", "testbarrier", "--command", "testcoll", "--sweep", "ranks=2,3", "--sections", "A")
    words = (*words, "--max-size", "8", "--iterations", "1", "--conduit", "loggp")
    outcome = command("compare", *words, "--out", str(tmp_path / "out"))
    assert outcome.status == 0
    assert outcome.out.startswith("testbarrier-barrier-over-ranks: testbarrier: Barrier, over ranks\n")
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [(each["program"], each["ranks"]) for each in found] == [
        ("testbarrier", 2), ("testbarrier", 3), ("testcoll", 2), ("testcoll", 3),
    ]  # fmt: skip


def test_spread_of_several_runs_is_drawn(command, tmp_path):
    words = ("--conduit", "udp:loss=0.05", "--repeat", "3", "--sections", "B", "--min-size", "8", "--max-size", "16")
    assert command("compare", *words, "--out", str(tmp_path / "out")).status == 0
    found = results_of("from", tmp_path / "out" / "results.json")
    (picture,) = pictures(found)
    (panel,) = picture.panels
    assert panel.y_label == "time, µs (median, least, most)"
    (curve,) = panel.curves
    assert [*zip(curve.low, curve.y, curve.high, strict=True)] == [
        (row.least, row.microseconds, row.most) for row in found[0].rows if row.operation == picture.styles[0]
    ]
    assert any(low < high for low, high in zip(curve.low, curve.high, strict=True))


def test_two_files_as_ratios(command, tmp_path):
    for name, slots in (("a", 1), ("b", 4)):
        words = ("testam", "--conduit", f"loggp:slots={slots}", *SMALL, "--json", str(tmp_path / f"{name}.json"))
        assert command(*words).status == 0
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    status, out, err = command("compare", "--diff", *files, "--out", str(tmp_path / "out"))
    assert (status, err) == (0, "")
    assert "loggp:slots=1 to loggp" in out
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made == {"diff.html", "testam-ratio.svg", "testam-ratio.png", "testam-ratio-1.svg", "testam-ratio-1.png"}
    found, alone = differences(*(results_of("diff", tmp_path / f"{name}.json") for name in "ab"))
    assert alone == 0
    assert f"Of {len(found)} figures in both" in out
    assert sum(each.before != each.after for each in found) > 10
    assert "Above are the 10 that differ most; --out FOLDER writes a page with all.\n" in out
    flood = next(each for each in found if each.operation == "AMShort flood roundtrip ReqRep")
    assert flood.ratio == flood.after / flood.before < 0.9


def test_several_conduits_are_compared_on_other_numbers_of_ranks():
    first = [of(conduit="sci", a=1.0), of(conduit="t3e", a=1.0), of(conduit="t3e", ranks=4, a=3.0)]
    second = [of(conduit="sci", ranks=4, a=2.0), of(conduit="t3e", ranks=4, a=6.0)]
    found, alone = differences(first, second)
    assert [(each.label, each.ratio) for each in found] == [("sci, 2 to 4 ranks", 2.0), ("t3e", 2.0)]
    assert alone == 1  # that of t3e on 2 ranks


def test_figures_of_no_time_are_compared_too(command, tmp_path):
    first, second = of(a=0.0, b=0.0, c=2.0, d_8=0.0), of(a=0.0, b=1.0, c=0.0, d_8=3.0)
    for name, result in (("a", first), ("b", second)):
        (tmp_path / f"{name}.json").write_text(json.dumps(result.content))
    found, alone = differences([first], [second])
    assert [each.ratio for each in found] == [1.0, float("inf"), 0.0, float("inf")]
    assert alone == 0
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    status, out, _ = command("compare", "--diff", *files, "--out", str(tmp_path / "out"))
    assert status == 0
    assert "Of 4 figures in both, 1 is the same, 2 larger, 1 smaller." in out
    assert re.search(r" b +0 +0\.000 +1\.000 +inf\n", out)
    assert (tmp_path / "out" / "diff.html").read_text().count("<td class=number>inf</td>") == 4  # in both tables


def test_what_one_file_has_alone_is_told(command, tmp_path):
    first = [of(a=1.0), of(conduit="t3e", a=1.0, b=2.0), of("testcoll", a=1.0)]
    second = [of(a=1.0), of(conduit="t3e:slots=4", a=1.0, b=2.0), of(conduit="loggp", ranks=4, a=1.0)]
    for name, results in (("a", first), ("b", second)):
        (tmp_path / f"{name}.json").write_text(json.dumps([dict(each.content) for each in results]))
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    status, out, _ = command("compare", "--diff", *files, "--out", str(tmp_path / "out"))
    told = (
        "Of 1 figure in both, 1 is the same, 0 larger, 0 smaller. 6 are in one file alone.",
        "testam on t3e (2 ranks), testcoll on sci (2 ranks) are in the first file alone. testam on t3e:slots=4 "
        "(2 ranks), testam on loggp (4 ranks) are in the second file alone.",
    )
    assert status == 0
    assert out.replace("\n", " ").startswith(" ".join(told))
    assert " ".join(told) in (tmp_path / "out" / "diff.html").read_text()


BOUNDS = [
    {"section": "B", "operation": "L", "bytes": 0, "microseconds": 0.0, "mb_per_s": None, "unknown": True},
    {"section": "B", "operation": "g", "bytes": 0, "microseconds": 6.42, "mb_per_s": None, "bound": "at most"},
    {"section": "B", "operation": "o_s", "bytes": 0, "microseconds": 1.5, "mb_per_s": None},
]


@pytest.fixture
def bounds(tmp_path):
    """Give a file of results of which one is a bound, and one unknown."""
    result = {"program": "testlogp", "conduit": "mpi:library=mpi4py", "ranks": 2, "clock": "wall", "records": BOUNDS}
    path = tmp_path / "bounds.json"
    path.write_text(json.dumps(result))
    return path


def test_what_is_unknown_and_what_is_a_bound_is_said_everywhere(command, bounds, tmp_path):
    (result,) = read_results(bounds)
    frame = result.to_frame()
    assert frame["bound"].tolist() == ["unknown", "at most", ""]
    assert frame["microseconds"].isna().tolist() == [True, False, False]
    (picture,) = pictures([result])
    assert picture.panels[0].values == ((None, 6.42, 1.5),)
    assert picture.panels[0].bounds == (("unknown", "at most", ""),)
    out = command("compare", "--from", str(bounds), "--out", str(tmp_path / "out"))
    assert out.status == 0
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "<td>unknown</td>" in page
    assert "≤ 6.42</td>" in page
    told = command("compare", "--diff", str(bounds), str(bounds)).out
    assert told == "Of 2 figures in both, 2 are the same, 0 larger, 0 smaller. 1 is unknown in one of them or both.\n"


def test_the_same_file_twice_differs_in_nothing(command, tmp_path):
    path = str(tmp_path / "a.json")
    assert command("testam", "--conduit", "loggp", *SMALL, "--json", path).status == 0
    status, out, _ = command("compare", "--diff", path, path)
    assert status == 0
    assert re.fullmatch(r"Of (\d+) figures in both, \1 are the same, 0 larger, 0 smaller\.\n", out)


@pytest.mark.parametrize("name", ["a\udcff.py", "a$b_$c.py"])
def test_a_program_may_have_any_name(command, tmp_path, name):
    """Of bytes that are no UTF-8, or as mathematics begin in texts of matplotlib."""
    program = tmp_path / name
    program.write_text("async def main(ep):\n    await ep.attach()\n")
    made = {each: tmp_path / each for each in ("json", "trace", "report", "out", "diff")}
    files = [word for each in ("json", "trace", "report") for word in (f"--{each}", str(made[each]))]
    assert command("run", str(program), "--conduit", "loggp", *files).status == 0
    result = str(made["json"])
    assert command("compare", "--from", result, "--out", str(made["out"])).status == 0
    assert command("compare", "--diff", result, result, "--out", str(made["diff"])).status == 0
    shown = name.replace("\udcff", r"\udcff")
    for page in (made["report"] / "report.html", made["out"] / "compare.html", made["diff"] / "diff.html"):
        assert shown in page.read_text(encoding="utf-8")


def test_texts_with_any_name_are_written(tmp_path):
    write_file("full-report", tmp_path / "full.txt", "a\udcff.py:2 in main")
    assert (tmp_path / "full.txt").read_text(encoding="utf-8") == r"a\udcff.py:2 in main"


def test_results_of_a_program_are_drawn_too(command, tmp_path):
    program = tmp_path / "it.py"
    program.write_text("async def main(ep):\n    await ep.attach()\n    await ep.compute(1e-6)\n")
    path = tmp_path / "run.json"
    assert command("run", str(program), "--conduit", "sci", "--conduit", "loggp", "--json", str(path)).status == 0
    found = results_of("from", path)
    (picture,) = pictures(found)
    assert picture.groups == ("sci", "loggp")
    assert picture.panels[0].values == tuple((row.microseconds,) for result in found for row in result.rows)


ONCE = {
    "program": "heat.py",
    "conduit": "sci",
    "ranks": 4,
    "clock": "virtual",
    "seconds": 1.0,
    "arguments": ["16", "5"],
}


def _files(tmp_path, *results):
    """Write each result into a file of its own; return their paths."""
    paths = [tmp_path / f"{name}.json" for name, _ in zip("abc", results, strict=False)]
    for path, result in zip(paths, results, strict=True):
        path.write_text(json.dumps(result))
    return [str(path) for path in paths]


def test_runs_with_other_arguments_and_settings_are_told_as_such(command, tmp_path):
    first = {**ONCE, "seed": 0, "segment": 4096, "ranks_per_host": 1}
    second = {**ONCE, "arguments": ["16", "a b"], "seed": 3, "segment": 8192, "ranks_per_host": 2, "seconds": 2.0}
    paths = _files(tmp_path, first, second)
    outcome = command("compare", "--diff", *paths, "--out", str(tmp_path / "out"))
    told = "heat.py was called otherwise: arguments 16 5, then 16 'a b'; seed 0, then 3; ranks_per_host 1, then 2."
    assert told in " ".join(outcome.out.split())
    assert told.replace("'", "&#x27;") in (tmp_path / "out" / "diff.html").read_text()


def test_benchmarks_with_other_settings_are_told_as_such(command, tmp_path):
    rows = {"records": [{"section": "A", "operation": "it", "bytes": 0, "microseconds": 1.0, "mb_per_s": None}]}
    base = {"program": "testam", "conduit": "sci", "ranks": 2, "clock": "virtual", **rows}
    first = {
        **base,
        "parameters": {"iterations": 20, "local": "in", "sections": "A", "max_size": 64, "segment": 9},
    }
    second = {**base, "parameters": {"iterations": 9, "local": "in", "sections": "AB", "max_size": 8, "segment": 8}}
    out = command("compare", "--diff", *_files(tmp_path, first, second)).out
    assert out.splitlines()[-1] == "testam was called otherwise: iterations 20, then 9."


def test_runs_that_were_called_alike_are_not_said_to_differ(command, tmp_path):
    """What one of the files does not say, as an old one, does not count."""
    out = command("compare", "--diff", *_files(tmp_path, ONCE, {**ONCE, "ranks_per_host": 2, "seed": 1})).out
    assert "was called otherwise" not in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([["16", "5"], ["16", "5"]], "4 ranks, virtual time. Arguments: 16 5."),
        ([["16", "5"], ["16", "50"]], "4 ranks, virtual time. Arguments: 16 5 (a.json), 16 50 (b.json)."),
        ([["16", "5"], []], "4 ranks, virtual time. Arguments: 16 5 (a.json), none (b.json)."),
        ([[], []], "4 ranks, virtual time. <"),
    ],
)
def test_a_page_says_what_the_program_was_given(command, tmp_path, arguments, told):
    paths = _files(tmp_path, *({**ONCE, "arguments": each} for each in arguments))
    assert command("compare", "--from", *paths, "--out", str(tmp_path / "out")).status == 0
    page = (tmp_path / "out" / "compare.html").read_text()
    assert f">{told}" in page.replace("time. </p>", "time. <").replace("time.</p>", "time. <")


@pytest.mark.parametrize(
    ("ranks", "told"),
    [([1], "1 rank, virtual"), ([2, 4], "2 and 4 ranks, virtual"), ([2, 4, 8], "2, 4 and 8 ranks, virtual")],
)
def test_a_page_says_of_how_many_ranks_it_is(command, tmp_path, ranks, told):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{**ONCE, "ranks": each} for each in ranks]))
    assert command("compare", "--from", str(path), "--out", str(tmp_path / "out")).status == 0
    assert f">{told} time" in (tmp_path / "out" / "compare.html").read_text()


REMEDY = "give a file that --json of a benchmark or of conduit run has written\n"


@pytest.mark.parametrize("words", [[], ["--from", "out.json"], ["--diff", "out.json", "out.json"]])
def test_a_file_in_the_place_of_the_folder_is_refused_before_the_work(command, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    assert command("testam", "--conduit", "loggp", "--sections", "A", "--json", "out.json").status == 0
    (tmp_path / "jac.py").write_text("pass\n")
    status, out, err = command("compare", *words, "--out", "jac.py")
    assert (status, out, err) == (2, "", "conduit compare: --out jac.py is a file; name a folder\n")
    assert (tmp_path / "jac.py").read_text() == "pass\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--out is missing; name a folder for the pictures\n"),
        (["--diff", "a.json"], "--diff needs two files of results, as --diff before.json after.json; see conduit comp"),
        (["--diff"], "--diff needs two files of results, as --diff before.json after.json; see conduit compare --help"),
        (
            ["--out", "no/such/folder"],
            "--out no/such/folder cannot be made: No such file or directory; name a folder in one that exists\n",
        ),
        (
            ["--command", "tetsam", "--out", "x"],
            "--command 'tetsam' is no command (did you mean testam?); benchmarks",
        ),
        (["--command", "list", "--out", "x"], "--command 'list' is no benchmark; these are: mpi-bandwidth, mpi-coll, "),
        (
            ["--sweep", "slots", "--out", "x"],
            "--sweep 'slots' names no values; write it as slots=1,2,4 or ranks=2",
        ),
        (
            ["--conduit", "loggp:L=2us", "--sweep", "L=1us,2us", "--out", "x"],
            "--sweep L and --conduit loggp:L=2e-06, which gives L already; leave it out of the spec",
        ),
        (["--sweep", "slots=,", "--out", "x"], "--sweep 'slots=,' names no values; write it as slots=1,2,4 or ranks=2"),
        (
            ["--sweep", "slot=1", "--out", "x"],
            "--sweep slot: conduit 'sci' has no such option (did you mean slots?); give one that every conduit of the "
            "call has, or ranks, or ranks-per-host\n",
        ),
        (
            ["--conduit", "udp", "--conduit", "loggp", "--sweep", "window=4,8", "--out", "x"],
            "--sweep window: conduit 'loggp' has no such option; give one that every conduit of the call has, or ranks",
        ),
        (
            ["--sweep", "seed=1,2", "--out", "x"],
            "--sweep seed: conduit 'sci' has no such option; give one that every conduit of the call has, or ranks, or "
            "ranks-per-host; --repeat N measures with N seeds\n",
        ),
        (
            ["--sweep", "ranks=2,4", "--ranks", "3", "--out", "x"],
            "--ranks and --sweep ranks=2,4 are both given; leave one out\n",
        ),
        (
            ["--sweep", "ranks=2,0", "--out", "x"],
            "--sweep ranks=2,0: 0 is too small; it must be at least 1\n",
        ),
        (
            ["--sweep", "ranks_per_host=1,x", "--out", "x"],
            "--sweep ranks_per_host=1,x: 'x' is no integer; give whole numbers, joined by commas\n",
        ),
        (
            ["--conduit", "loggp", "--conduit", "t3e", "--sweep", "ranks-per-host=1,4", "--ranks", "4", "--out", "x"],
            "ranks_per_host=4 does not fit 4 ranks on 't3e'; the smallest that does is 1, the largest 1\n",
        ),
        (["--conduit", "scii", "--out", "x"], "there is no conduit 'scii' (did you mean sci?); installed are: "),
        (["--from", "a", "--diff", "a", "b", "--out", "x"], "--from and --diff are both given; choose one\n"),
        (
            ["--from", "a", "--ranks", "3", "--out", "x"],
            "--ranks means nothing to results that --from reads; leave it out\n",
        ),
        (
            ["--diff", "a", "b", "--conduit", "sci"],
            "--conduit means nothing to results that --diff reads; leave it out\n",
        ),
        (
            ["--diff", "a.json", "b.json", "c.json"],
            "--diff takes two files; leave c.json out, and compare it by a call of its own\n",
        ),
        (["--diff", "a.json", "b.json", "c"], "'c' means nothing to results that --diff reads; leave it out\n"),
        (
            ["--command", "testam --sections A", "--out", "x"],
            "--command 'testam --sections A' is a command and its options; write --command testam --sections A\n",
        ),
        (
            ["--from", "failed.json", "--out", "x"],
            "--from failed.json holds no results, for what it is of has failed: ValueError: no; " + REMEDY,
        ),
        (
            ["my program.py", "--conduit", "sci", "--conduit", "t3e", "--out", "x"],
            "my program.py is a program, and compare runs benchmarks; write `conduit run 'my program.py' --conduit sci "
            "--conduit t3e --json FILE`, which shows them side by side, and `conduit compare --from FILE --out DIR` ",
        ),
        (["--from", "no.json", "--out", "x"], "--from no.json cannot be read: No such file or directory; " + REMEDY),
        (["--diff", "empty.json", "empty.json"], "--diff empty.json holds no results; " + REMEDY),
        (["--from", "text.json", "--out", "x"], "--from text.json is no JSON; " + REMEDY),
        (["--from", "list.json", "--out", "x"], "--from list.json holds no results; " + REMEDY),
        (
            ["--diff", "one.json", "other.json"],
            "--diff: the files have nothing in common: testam on sci and testcoll on sci; give results of the same",
        ),
        (
            ["--diff", "two.json", "third.json"],
            "--diff: the files have nothing in common: testam on sci, testam on t3e and testam on loggp; give results "
            "of the same conduits, or files with one conduit each\n",
        ),
    ],
)
def test_wrong_calls(command, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "text.json").write_text("no JSON")
    (tmp_path / "failed.json").write_text('[{"conduit": "sci", "error": "ValueError: no"}]')
    (tmp_path / "list.json").write_text('[{"conduit": "sci", "limits": {}}]')
    for name, program in (("one", "testam"), ("other", "testcoll")):
        (tmp_path / f"{name}.json").write_text(json.dumps([dict(of(program, a=1.0).content)]))
    for name, conduits in (("two", ("sci", "t3e")), ("third", ("loggp",))):
        texts = [dict(of(conduit=each, a=1.0).content) for each in conduits]
        (tmp_path / f"{name}.json").write_text(json.dumps(texts))
    status, out, err = command("compare", *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"conduit compare: {message}")
    assert err.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_what_a_benchmark_refuses_is_said_with_its_name(command, tmp_path):
    words = ("compare", "--conduit", "sci", "--sections", "Z", "--out", str(tmp_path / "out"))
    status, out, err = command(*words)
    assert (status, out) == (2, "")
    assert err == "conduit compare: testam: --sections 'Z' names no section; give letters out of ABCDEFGHIJK\n"
    status, out, err = command(*words[:3], *words[5:], "--", "--foo", "3")
    assert (status, out) == (2, "")
    assert err == "conduit compare: testam: there is no option --foo; see conduit testam --help\n"


def test_ranks_of_a_sweep_that_are_too_few_for_a_benchmark_are_refused_first(command, tmp_path):
    words = ("--command", "testlogp", "--sweep", "ranks=2,1", "--out", str(tmp_path / "out"))
    status, out, err = command("compare", *words)
    assert (status, out) == (2, "")
    assert err == "conduit compare: testlogp: --ranks 1 is too few for testlogp; give at least 2\n"


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        (("--conduit", "loggp", "--conduit", "loggp:slots=16"), [("loggp", None)]),
        (("--command", "testam", "--command", "testam", "--conduit", "loggp"), [("loggp", None)]),
        (("--conduit", "loggp", "--sweep", "ranks=2,02,2"), [("loggp", "2")]),
        (
            ("--conduit", "loggp", "--sweep", "max_medium=1K,1024,2048"),
            [("loggp:max_medium=1024", "1K"), ("loggp:max_medium=2048", "2048")],
        ),
    ],
)
def test_what_is_given_twice_is_measured_once(command, tmp_path, words, measured):
    few = ("--iterations", "1", "--max-size", "1", "--sections", "A", "--out", str(tmp_path / "out"))
    assert command("compare", *words, *few).status == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [(each["conduit"], (each.get("swept") or {}).get("value")) for each in results] == measured


def test_without_matplotlib(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = command("compare", "--out", str(tmp_path / "out"))
    assert (status, out) == (1, "")
    assert err == (
        "conduit compare: it needs matplotlib for its pictures; install it with: pip install 'conduit-am[plot]', in a "
        "clone of the project pip install '.[plot]'\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--sweep", "ranks"), "--sweep 'ranks' names no values; write it as slots=1,2,4 or ranks=2,4,8"),
        (("--sweep", "set=a,b"), "--sweep set: conduit 'sci' has no such option"),
        (("--conduit", "sic"), "there is no conduit 'sic'"),
        (("--from", "none.json"), "--from none.json"),
    ],
)
def test_what_is_wrong_in_the_call_is_told_before_matplotlib_is_missed(command, tmp_path, monkeypatch, words, wrong):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = command("compare", *words, "--out", str(tmp_path / "out"))
    assert (status, out) == (2, "")
    assert wrong in err
    assert "matplotlib" not in err


def test_without_matplotlib_ratios_are_told(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "a.json").write_text(json.dumps([dict(of(a=1.0, b=4.0).content)]))
    (tmp_path / "b.json").write_text(json.dumps([dict(of(a=3.0, b=4.0, c=1.0).content)]))
    status, out, _ = command("compare", "--diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert status == 0
    assert "3.000" in out
    assert out.endswith("Of 2 figures in both, 1 is the same, 1 larger, 0 smaller. 1 is in one file alone.\n")


def test_tests_of_shmem_are_compared_too(tmp_path):
    words = ["--command", "shmem-tests", "--conduit", "t3e", "--ranks", "2", "--out", str(tmp_path / "out")]
    own = ["--trials", "2", "--sizes", "8,64", "--test", "shift", "--test", "alltoall"]
    assert call(["compare", *words, "--", *own]) == 0
    (result,) = results_of("from", tmp_path / "out" / "results.json")
    drawn = {picture.title: picture for picture in pictures([result])}
    assert list(drawn) == ["shmem-tests: shift", "shmem-tests: alltoall"]
    assert drawn["shmem-tests: shift"].styles == ("shift shmem get", "shift mpi2 get")
    assert [curve.x for curve in drawn["shmem-tests: alltoall"].panels[0].curves] == [(8.0, 64.0)] * 2
