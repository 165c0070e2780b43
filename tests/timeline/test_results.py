"""What programs and notebooks make of results: JSON, frames of pandas, tables of HTML."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import conduit
from conduit.commands.cli import call
from conduit.errors import BadRequest, ConduitError
from conduit.launch.explanation import explained
from conduit.launch.tracing import reporting
from conduit.seeing.comparison import read_results

from .chrome_format import Loaded
from .programs import everything


async def main(ep):
    got = []

    def take(token, number):
        got.append(number)

    await ep.attach(take)
    await ep.request_short(1 - ep.rank, take, 7)
    await ep.block_until(lambda: got)
    return {"<rank>": ep.rank, "all": np.arange(2), "one": np.float64(0.5), "odd": float("inf"), "what": take}


@pytest.fixture(scope="module")
def result():
    return conduit.run(main, conduit="sci", trace=True)


@pytest.fixture(scope="module")
def report():
    with reporting("everything.py") as reports:
        conduit.run(everything, conduit="sci")
    (found,) = reports
    return found


@pytest.fixture(scope="module")
def explanation():
    return explained("loggp", size=100, category="long")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "results.json"
    words = ["testam", "--conduit", "loggp", "--sections", "A", "--iterations", "1", "--json", str(path)]
    assert call(words) == 0
    (found,) = read_results(str(path))
    return found


class Checked(HTMLParser):
    """HTML whose elements are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.text = [], 0, ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "img", "rank")
        if tag != "br":
            self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_result_as_json(result):
    content = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert content["values"][1] == {
        "<rank>": 1,
        "all": [0, 1],
        "one": 0.5,
        "odd": "inf",
        "what": repr(result.values[1]["what"]),
    }
    assert content["statistics"] == [dict(each) for each in result.statistics]
    assert {key: content[key] for key in ("conduit", "ranks", "seconds", "digest")} == {
        "conduit": "sci", "ranks": 2, "seconds": result.seconds, "digest": result.digest,
    }  # fmt: skip
    assert content["warnings"] == [[], []]


def test_a_result_as_a_frame(result):
    frame = result.to_frame()
    assert list(frame.index) == [0, 1]
    assert frame["value"][1] is result.values[1]
    assert frame["requests_sent"].sum() == 2
    assert set(frame.columns) == {"value", *result.statistics[0]}


def test_a_result_in_a_notebook(result):
    shown = Checked(result._repr_html_())
    assert shown.text.strip().startswith(f"2 ranks on sci, {result.seconds * 1e6:,.3f} µs, digest {result.digest}")
    assert "{'<rank>': 1" in shown.text
    assert shown.rows == 2 * 3
    assert "All counts" in shown.text


def test_warnings_are_shown_in_a_notebook():
    async def warns(ep):
        await ep.attach()
        ep.warn(f"rank {ep.rank} & <others>")

    with pytest.warns(conduit.ConduitWarning):
        found = conduit.run(warns, conduit="loggp")
    assert "rank 1 & <others>" in Checked(found._repr_html_()).text


def test_a_trace_as_json_is_what_is_written(result, tmp_path):
    result.trace.write(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text() == result.trace.to_json()
    assert len(Loaded(tmp_path / "trace.json").flows) == 2


@pytest.mark.parametrize("of", ["accounts", "cpu", "messages", "waits", "links"])
def test_a_trace_as_frames(result, of):
    trace, frame = result.trace, result.trace.to_frame(of)
    rows = {
        "accounts": 2,
        "cpu": sum(map(len, trace.cpu)),
        "messages": len(trace.messages),
        "waits": sum(map(len, trace.waits)),
        "links": sum(map(len, trace.links.values())),
    }
    assert len(frame) == rows[of] > 0
    if of == "accounts":
        assert set(frame.drop(columns="rank").sum(axis=1)) == {trace.length}
    if of == "messages":
        assert set(frame["handler"]) == {"take"}
        assert set(frame["category"]) == {"short"}
        assert (frame["begin"] <= frame["noticed"]).all()


def test_a_trace_in_a_notebook(result):
    shown = Checked(result.trace._repr_html_())
    assert shown.rows == 3
    assert "blocked µs" in shown.text


def test_a_trace_says_what_it_is_of(result):
    messages = len(result.trace.to_frame("messages"))
    seconds = f"{result.trace.length / 1e12:.9f} s"
    assert repr(result.trace) == f"<Timeline of 2 ranks on {result.trace.conduit}: {seconds}, {messages} messages>"


def test_a_trace_has_these_parts_alone(result):
    with pytest.raises(BadRequest, match=r"to_frame: of='spans' is no part of a trace; give one of accounts, cpu, "):
        result.trace.to_frame("spans")
    with pytest.raises(BadRequest, match=r"to_frame: of=\['cpu'\] is no part of a trace; give one of accounts, cpu, "):
        result.trace.to_frame(["cpu"])


@pytest.mark.parametrize("path", [3, None, b"x"])
def test_what_is_no_path_is_refused(path):
    with reporting() as reports:
        conduit.run(main, conduit="loggp")
    for refused, name, what in (
        (read_results, "read_results: path", "file"),
        (reports[0].write, "report.write: folder", "folder"),
    ):
        with pytest.raises(BadRequest, match=rf"\A{name}={re.escape(repr(path))} is .*; pass the path of a {what}\Z"):
            refused(path)


def test_an_explanation(explanation):
    content = json.loads(explanation.to_json())
    assert content["category"] == "long"
    assert sum(step["ps"] for step in content["steps"]) == content["ps"] == explanation.ps
    frame = explanation.to_frame()
    assert frame["ps"].sum() == explanation.ps
    assert set(frame["leg"]) == {"request", "reply"}
    shown = Checked(explanation._repr_html_())
    assert explanation.title in shown.text
    assert all(each.source in shown.text for each in explanation.constants)


def test_a_report(report, tmp_path):
    content = json.loads(report.to_json())
    length = report.recording.length
    assert [sum(parts.values()) for parts in content["ranks_ps"]] == [length, length]
    assert content["ps"] == length
    assert sum(row["messages"] for row in content["traffic"]) == len(report.profile.lives)
    assert sum(row["count"] for row in content["sizes"] if row["level"] == "messages") == len(report.profile.lives)
    frame = report.to_frame()
    assert frame["requests"].sum() == sum(
        not life.message.reply
        for life in report.profile.lives
        if report.recording.lines[life.message._replace(reply=False)]
    )
    assert all("everything" in line for line in frame["line"])
    assert "everything.py on sci" in Checked(report._repr_html_()).text
    pytest.importorskip("matplotlib")
    report.write(tmp_path / "new")
    report.write(tmp_path / "new")
    assert (tmp_path / "new" / "report.html").is_file()


def test_a_report_without_matplotlib_says_what_to_install(monkeypatch, tmp_path):
    async def main(ep):
        await ep.attach()

    with reporting() as reports:
        conduit.run(main, conduit="loggp")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConduitError, match=r"^report\.write needs matplotlib for its pictures; install it with: "):
        reports[0].write(tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"category": "Medium"}, "--category cannot be 'Medium'; choose short, medium or long"),
        ({"category": "long", "op": "get"}, "--category long is of messages, and --op get has none; leave it out"),
        ({"size": "100"}, "--size '100' is no integer; give a number of bytes"),
    ],
)
def test_wrong_calls_of_explained(named, told):
    with pytest.raises(BadRequest) as caught:
        explained("loggp", **named)
    assert str(caught.value) == told


def test_what_a_benchmark_has_written(measured, tmp_path):
    assert json.loads(measured.to_json())["program"] == "testam"
    frame = measured.to_frame()
    assert len(frame) == len(measured.rows)
    assert (frame["microseconds"] > 0).all()
    assert "testam on loggp, 2 ranks, virtual time" in Checked(measured._repr_html_()).text
    with pytest.raises(BadRequest, match=r"read_results: .*nothing cannot be read: No such file or directory; give a "):
        read_results(tmp_path / "nothing")


@pytest.mark.parametrize("what", ["result", "trace", "explanation", "report", "measured"])
def test_without_pandas_it_is_said_what_to_do(what, request, monkeypatch):
    holder = request.getfixturevalue("result" if what == "trace" else what)
    found = holder.trace if what == "trace" else holder
    monkeypatch.setitem(sys.modules, "pandas", None)  # as if it were not installed
    name = "trace" if what == "trace" else type(found).__name__
    with pytest.raises(
        ConduitError,
        match=rf"{name}\.to_frame needs pandas, which is not installed; install it with: pip install "
        r"'conduit-am\[frame\]', in a clone of the project pip install '\.\[frame\]'\Z",
    ):
        found.to_frame()


def test_nothing_imports_pandas_before_it_is_asked_for():
    code = "import sys, conduit, conduit.seeing.report, conduit.launch.explanation; print('pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_what_is_given_to_a_trace_is_checked(result):
    with pytest.raises(BadRequest) as caught:
        result.trace.svg("x.svg")
    assert str(caught.value) == (
        "trace.svg: begin='x.svg' is a str; pass seconds, or nothing: it returns the picture, "
        "and `Path('x.svg').write_text(trace.svg())` writes it"
    )
    with pytest.raises(BadRequest, match=r"^trace\.svg: end=\[\] is a list; pass a number$"):
        result.trace.svg(0, [])
    with pytest.raises(BadRequest, match=r"^trace\.write: path=3 is an int; pass the path of a file$"):
        result.trace.write(3)


def test_a_picture_of_no_time_is_refused(result):
    seconds = result.seconds
    connected = min(span.end for rank in range(result.ranks) for span in result.trace.cpu[rank] if span.why == "start")
    for given, message in (
        ((1e-4, 1e-5), "begin=0.0001 is not before end=1e-05; give the earlier one first, in seconds"),
        ((0, 0), "begin=0 is not before end=0; give the earlier one first, in seconds"),
        ((5, 6), f"begin=5 is not before the job's end, {seconds:g} s; give an earlier one"),
        ((5,), f"begin=5 is not before the job's end, {seconds:g} s; give an earlier one"),
        (
            (None, 0),
            f"end=0 is not after the time at which the first rank is connected, {connected / 1e12:g} s; give a later "
            "one, or begin=0 too",
        ),
    ):
        with pytest.raises(BadRequest) as caught:
            result.trace.svg(*given)
        assert str(caught.value) == f"trace.svg: {message}"
    assert result.trace.svg(0, 1) != result.trace.svg(end=2 * seconds)


def test_a_picture_of_a_job_that_took_no_time_is_drawn():
    async def nothing(ep):
        pass

    trace = conduit.run(nothing, conduit="loggp", ranks=1, trace=True).trace
    assert trace.svg(0).startswith("<svg")
    assert trace.svg().startswith("<svg")


def test_a_picture_of_many_ranks_says_what_it_leaves_out_and_has_its_times_at_both_ends():
    async def everyone(ep):
        got = []

        def take(token):
            got.append(token.rank)

        await ep.attach(take)
        for rank in range(ep.size):
            if rank != ep.rank:
                await ep.request_short(rank, take)
        await ep.block_until(lambda: len(got) == ep.size - 1)

    picture = conduit.run(everyone, ranks=24, conduit="loggp", trace=True).trace.svg()
    assert "552 messages, more than lines could show: none is drawn" in picture
    assert picture.count(">100<") == 2
    few = conduit.run(everyone, ranks=3, conduit="loggp", trace=True).trace.svg()
    assert "more than lines" not in few
    assert re.findall(r">(\d+)<", few) == sorted(set(re.findall(r">(\d+)<", few)), key=int)
