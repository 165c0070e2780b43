"""Reports of programs: four bad ones are told by the first screen what is wrong; figures add up; digests stay."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import conduit
from conduit.commands.cli import call
from conduit.launch.observing import observed
from conduit.launch.tracing import report_recording
from conduit.seeing.report.profile import intersection, overlap, profile, union

PROGRAMS = Path(__file__).parent / "programs"
FILES = {"report.html", "time.svg", "timeline.svg", "matrix.svg", "sizes.svg", "links.svg"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Report of a program: what it printed, and its folder; each is run once."""
    made = {}

    def report(name, capsys, ranks=2):
        if name not in made:
            folder = tmp_path_factory.mktemp("report") / name
            words = ["run", str(PROGRAMS / f"{name}.py"), "--ranks", str(ranks), "--report", str(folder)]
            assert call(words) == 0
            made[name] = capsys.readouterr().out, folder
        return made[name]

    return report


BAD = {
    "element_wise": (
        2,
        "Rank 0 accesses rank 1 element by element at .*element_wise.py:14 in main: 200 messages with 8 bytes each, "
        r"and waits for each one: \d+ % of the time\.",
        "Move a whole block at once",
    ),
    "hot_spot": (
        8,
        r"Rank 0 is a hot spot: 210 of 210 requests go to it, from 7 ranks, and it spends \d+ % of the time on",
        "Let a tree combine what is one sum",
    ),
    "never_polls": (
        2,
        r"Rank 1 did not poll while others waited for it: it computed for 1,9\d\d\.\d µs, up to 49\d\.\d µs at a time, "
        r"with 4 messages under way to it\. That cost the others 1,9\d\d\.\d µs \(at .*never_polls.py:17 in main\)\.",
        "Call `await ep.poll()` in long computations",
    ),
    "unaligned": (
        2,
        "20 of 20 long messages go to offsets that are no multiple of 8, mostly at .*unaligned.py:19 in main: ",
        "Let offsets, sizes and source addresses be multiples of 8",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_the_first_thing_said_is_what_is_wrong(reports, capsys, name):
    ranks, what, remedy = BAD[name]
    out, folder = reports(name, capsys, ranks)
    assert re.match(what, out)
    assert out.splitlines()[1].startswith(f"  {remedy}")
    page = (folder / "report.html").read_text()
    first = re.search(r'<ul class="warnings">\n<li><strong>(.*?)</strong><br>(.*?)</li>', page)
    assert re.match(what, first[1])
    assert first[2].startswith(remedy)
    assert page.index("<ul") < page.index("<img")
    assert "http" not in page
    assert {path.name for path in folder.iterdir()} == FILES


def test_a_good_program_is_not_blamed(reports, capsys):
    out, folder = reports("good", capsys)
    assert out.startswith("wrote ")
    assert "Nothing stands out" in (folder / "report.html").read_text()


@pytest.mark.parametrize("name", [*BAD, "good"])
def test_the_digest_is_that_without_a_report(reports, capsys, name):
    ranks = BAD[name][0] if name in BAD else 2
    out, _ = reports(name, capsys, ranks)
    assert call(["run", str(PROGRAMS / f"{name}.py"), "--ranks", str(ranks)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == out.splitlines()[-1]


async def talk(ep):
    heard = []

    def hear(token, payload):
        heard.append(len(payload))

    await ep.attach(hear)
    if ep.rank == 0:
        await ep.request_medium(1, hear, b"1234567")
        await ep.request_medium(2, hear, b"12")
    else:
        await ep.block_until(lambda: heard)


def test_figures_add_up():
    found = []

    def make(spec, setup):
        found.append(report_recording(spec, setup))
        return found[0]

    with observed(make):
        result = conduit.run(talk, ranks=3, conduit="loggp")
    told = profile(found[0])
    assert told.length == round(result.seconds * 1e12)
    assert [account.total for account in told.accounts] == [told.length] * 3
    assert (told.messages, told.nbytes) == ({(0, 1): 1, (0, 2): 1}, {(0, 1): 7, (0, 2): 2})
    assert told.sizes == {7: 1, 2: 1}
    sender = [line for line in told.lines if line.requests]
    assert [(line.requests, line.nbytes) for line in sender] == [(1, 7), (1, 2)]
    assert all(" in talk" in line.place for line in sender)


def test_intervals():
    assert union([(5, 7), (0, 2), (1, 3), (3, 4)]) == [(0, 4), (5, 7)]
    assert intersection([(0, 4), (5, 7)], [(1, 2), (3, 6)]) == [(1, 2), (3, 4), (5, 6)]
    assert overlap([(0, 4), (5, 7)], [(1, 2), (3, 6)]) == 3


def test_several_conduits_have_a_folder_each(tmp_path, capsys):
    folder = tmp_path / "out"
    words = [
        "run",
        str(PROGRAMS / "good.py"),
        "--conduit",
        "loggp:slots=2",
        "--conduit",
        "sci",
        "--report",
        str(folder),
    ]
    assert call(words) == 0
    assert {path.name for path in folder.iterdir()} == {"loggp_slots=2", "sci"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--report", "no/such/folder"],
            "--report no/such/folder cannot be made: No such file or directory; name ",
        ),
        (
            ["--report", "x", "--conduit", "mpi:library=mpi4py"],
            "--report: 'mpi:library=mpi4py' runs in real time, ",
        ),
    ],
)
def test_wrong_calls(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call(["run", str(PROGRAMS / "good.py"), *words]) == 2
    assert capsys.readouterr().err.startswith(f"conduit run: {message}")


def test_a_browser_shows_the_page(reports, capsys, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    _, folder = reports("hot_spot", capsys, 8)
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--window-size=1200,900", "--dump-dom", (folder / "report.html").as_uri()]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    assert shown.count("<details>") >= 4
    assert "is a hot spot" in shown


def test_json_is_as_without_a_report(tmp_path, capsys):
    words = ["run", str(PROGRAMS / "good.py"), "--json", "-", "--report", str(tmp_path / "out")]
    assert call(words) == 0
    assert json.loads(capsys.readouterr().out)[0]["ranks"] == 2
