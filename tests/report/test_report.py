"""Reports of programs: four bad ones are told by the first screen what is wrong; figures add up; digests stay."""

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import conduit
from conduit.commands.cli import call
from conduit.launch.observing import observed
from conduit.launch.tracing import report_recording, reporting
from conduit.seeing import report
from conduit.seeing.report.drawings import drawings
from conduit.seeing.report.intervals import intersection, overlap, union
from conduit.seeing.report.profile import profile
from conduits.mpi import MPI
from conduits.mpi.libraries.scampi import constants as scampi
from extended import Extended

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
        "Rank 0 accesses rank 1 element by element at .*element_wise.py:14 in main: 200 times 8 bytes, "
        r"and waits for each one\. Calls and waits there take \d+ % of its time after the start\.",
        "Move a whole block at once",
    ),
    "hot_spot": (
        8,
        r"Rank 0 is a hot spot: 210 of 210 requests go to it, from 7 ranks, and it spends \d+ % of its "
        "time after the start on messages and handlers",
        "Let a tree combine what is one sum",
    ),
    "never_polls": (
        2,
        r"Rank 1 did not poll while others waited for it: it computed for 9\d\d\.\d µs, up to 49\d\.\d µs at a time, "
        r"with 2 messages under way to it\. That cost the others, which waited at .*never_polls.py:17 in main, "
        r"9\d\d\.\d µs together, and the job about 9\d0 µs\.",
        "Call `await ep.poll()` in long computations",
    ),
    "unaligned": (
        2,
        "20 of 20 long messages go to offsets that are no multiple of 8, mostly at .*unaligned.py:19 in main: the "
        r"processor copies them first, which cost rank 0 [\d,.]+ µs, \d+ % of its time after the start\.",
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
    assert {path.name for path in folder.iterdir()} == FILES == set(report.FILES)


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
    assert told.sizes == {"messages": {7: 1, 2: 1}}
    sender = [line for line in told.lines if line.requests]
    assert [(line.requests, line.nbytes) for line in sender] == [(1, 7), (1, 2)]
    assert all(" in talk" in line.place for line in sender)


def reported(main, *args, **settings):
    """The report of a program."""
    with reporting() as reports:
        conduit.run(main, *args, **settings)
    (found,) = reports
    return found


def test_calls_are_counted_as_the_program_makes_them_at_each_level():
    """A put of three messages is one put; a collective is one call of each rank, whatever it sends."""

    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        if ep.rank == 0:
            await x.put(1, 0, np.zeros(3 * ep.limits.max_long_request, np.uint8))
            await x.get(1, 0, 100)
            await x.memset(1, 0, 7, 50)
        await x.all_reduce(np.arange(5.0))

    found = reported(main, ranks=2, conduit="loggp:max_medium=4096,max_long=4096").profile
    assert found.sizes["puts and gets"] == {3 * 4096: 1, 100: 1, 50: 1}
    assert found.sizes["collective calls"] == {40: 2}
    assert found.sizes["messages"][4096] == 3
    assert "native operations" not in found.sizes
    assert not found.native


@pytest.mark.parametrize("network", ["origin", "t3e"])
def test_native_operations_count_in_matrix_sizes_and_lines(network):
    async def main(ep):
        done = []
        await ep.attach()
        if ep.rank == 0:
            await ep.rma.put(1, 0, bytes(100), lambda: done.append(1))
            await ep.rma.get(2, 0, bytearray(30), lambda: done.append(2))
            await ep.rma.fetch_add(1, 8, 5, done.append)
            await ep.rma.quiet()
            assert len(done) == 3

    found = reported(main, ranks=3, conduit=network).profile
    assert found.messages == {(0, 1): 2, (2, 0): 1}
    assert found.nbytes == {(0, 1): 108, (2, 0): 30}
    assert found.sizes == {"native operations": {100: 1, 30: 1, 8: 1}}
    assert [(call.name, call.peer, call.nbytes) for call in found.native] == [
        ("put", 1, 100), ("get", 2, 30), ("atomic", 1, 8),
    ]  # fmt: skip
    assert all(0 < call.begin < call.end for call in found.native)
    lines = {
        line.place.rpartition(":")[2].split()[0]: (line.requests, line.nbytes) for line in found.lines if line.requests
    }
    assert sorted(lines.values()) == [(1, 8), (1, 30), (1, 100)]


@pytest.mark.parametrize("network", ["sci", "t3e"])
def test_nobody_notices_that_calls_are_heard(network):
    async def main(ep):
        x = await Extended.attach(ep)
        await x.put_strided(1 - ep.rank, 0, (16,), np.arange(5))
        handle = await x.get_nb(1 - ep.rank, 16, 8)
        total = await x.all_reduce(np.arange(3))
        return bytes(await handle), total.tolist(), ep.now

    plain = conduit.run(main, conduit=network)
    with reporting() as reports:
        heard = conduit.run(main, conduit=network)
    assert heard == plain
    sizes = reports[0].profile.sizes
    assert (sizes["puts and gets"], sizes["collective calls"]) == ({40: 2, 8: 2}, {24: 2})


async def meets_late(ep, warm):
    """Rank 0 sends three messages to rank 1, each answered, before which one went along the pair, or none."""
    got = []

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        got.append(token.rank)

    await ep.attach(ask, answer)
    for turn in range(1 + warm + 3):
        if ep.rank == 0 and turn:
            await ep.request_short(1, ask)
            await ep.block_until(lambda turn=turn: len(got) == turn)
        if warm and turn == warm and ep.rank == 0:
            await ep.compute(20e-3)  # a long program is not hurt by what comes once


@pytest.mark.parametrize(("warm", "said"), [(0, True), (1, False)])
def test_first_contacts_in_the_measured_part_are_told(warm, said):
    told = reported(meets_late, warm, conduit="sunfire").advice
    first = [each for each in told if each.what.startswith("First contacts are in the time after the start")]
    assert bool(first) == said
    if said:
        assert "on 1 pair, which cost rank 0 " in first[0].what
        assert first[0].remedy == (
            "Send one message along each pair before the clock starts, and a barrier after it. Where the program has "
            "done so before it times itself, they are not in its times."
        )


async def to_and_fro(comm):
    """Two ranks send one message to and fro."""
    number = np.zeros(1)
    for _ in range(5):
        for rank in range(2):
            if comm.rank == rank:
                await comm.Send(number, 1 - rank)
            else:
                await comm.Recv(number, rank)


def test_first_contacts_of_programs_of_mpi_are_told_too():
    with reporting() as reports:
        MPI.run(to_and_fro, library="sunmpi")
        MPI.run(to_and_fro, library="scampi")
    assert re.fullmatch(
        r"First contacts are in the time after the start: the first message between two ranks took longer than later "
        r"ones do, on 2 pairs, which cost rank \d 832\.\d µs, \d\d % of its time after the start\.",
        reports[0].advice[0].what,
    )
    assert [each.what for each in reports[0].advice[1:] + reports[1].advice] == []


SAID = {
    "element_wise": "accesses rank 1 element by element at",
    "hot_spot": "is a hot spot",
    "never_polls": "did not poll while others waited for it",
    "unaligned": "long messages go to offsets that are no multiple of 8",
}


@pytest.mark.parametrize("network", ["origin", "t3e", "sunfire", "startx", "udp"])
@pytest.mark.parametrize("name", SAID)
def test_other_networks_are_told_too(name, network):
    """On those with native operations there is hardly a message of an element-wise access; none of them aligns."""
    main = runpy.run_path(str(PROGRAMS / f"{name}.py"))["main"]
    told = reported(main, ranks=8 if name == "hot_spot" else 2, conduit=network).advice
    assert any(SAID[name] in each.what for each in told[:2]) == (name != "unaligned")
    assert not any(SAID[other] in each.what for each in told for other in SAID if other != name)


def said(main, **options):
    """What is said of the first thing that is wrong, without the file."""
    first = reported(main, **options).advice[0]
    return re.sub(r"at \S*test_report.py:\d+ in [\w.<>]+", "HERE", first.what), first.remedy


def test_several_owners_of_one_line_are_not_laid_to_one():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            for turn in range(60):
                await x.get(1 + turn % 3 % 2, 8 * turn, 8)
        await x.barrier()

    what, remedy = said(main, ranks=4, conduit="sci")
    assert what.startswith(
        "Rank 0 accesses 2 ranks element by element HERE: 60 times 8 bytes, 40 of them of rank 1, and waits for each "
        "one."
    )
    assert remedy == (
        "Move a whole block of each rank at once (one get or put of the range), or begin all of them (get_nb, put_nb) "
        "and wait once."
    )


def test_ranks_that_do_the_same_in_one_line_are_told_once_and_one_access_each_is_no_block():
    async def main(ep):
        x = await Extended.attach(ep)
        for step in range(1, ep.size):
            await x.put((ep.rank + step) % ep.size, 8 * ep.rank, b"12345678")
        await x.barrier()

    told = [each for each in reported(main, ranks=40, conduit="loggp").advice if " accesses " in each.what]
    assert len(told) == 1
    assert re.fullmatch(
        r"Rank \d+, like 39 other ranks, accesses 39 ranks one after the other at \S+:\d+ in \S+: 39 times 8 bytes, "
        r"and waits for each one\. Calls and waits there take \d+ % of its time after the start\.",
        told[0].what,
    )
    assert told[0].remedy == "Begin all of them (get_nb, put_nb) and wait once."


@pytest.mark.parametrize("network", ["origin", "t3e"])
@pytest.mark.parametrize("form", ["accumulate", "get_indexed", "put_vector", "one by one"])
def test_a_list_on_a_native_network_is_no_access_element_by_element(network, form):
    """It is one native operation for each element; the line that made it is one call, and messages may be faster."""

    async def main(ep):
        x = await Extended.attach(ep)
        numbers = x.atomic("i8")
        offsets = np.arange(0, 1600, 16)
        if ep.rank == 0:
            for owner in 1, 2:
                if form == "accumulate":
                    await numbers.accumulate(owner, offsets, 1)
                elif form == "get_indexed":
                    await x.get_indexed(owner, offsets, 8)
                elif form == "put_vector":
                    await x.put_vector(owner, [(int(offset), 8) for offset in offsets], np.zeros(100))
                else:
                    for offset in offsets:
                        await numbers.fetch_inc(owner, int(offset))
        await x.barrier()

    what, remedy = said(main, ranks=3, conduit=network)
    if form == "one by one":
        assert what.startswith(
            "Rank 0 makes 200 atomic operations on 2 ranks HERE, one by one, 100 of them on rank 1. They take "
        )
        return
    assert what.startswith(
        "The lists that rank 0 gives HERE are one native operation for each element: 200 times 8 bytes in 2 lists. "
        "Calls and waits there take "
    )
    assert remedy == (
        "Try the conduit's option `rma=am`: a list then goes in messages, which hold many elements each. What lies "
        "together is better moved as one range."
    )
    faster = conduit.run(main, ranks=3, conduit=f"{network}:rma=am")
    assert faster.seconds < conduit.run(main, ranks=3, conduit=network).seconds


def test_many_messages_of_a_library_to_several_ranks_are_not_laid_to_one():
    async def main(comm):
        data = np.zeros(1)
        if comm.rank == 0:
            for turn in range(60):
                await comm.Send(data, 1 + turn % 3)
        else:
            for _ in range(20):
                await comm.Recv(data, 0)

    with reporting() as reports:
        MPI.run(main, ranks=4, library="scampi")
    what = [each.what for each in reports[0].advice if "element by element" in each.what]
    assert what[0].startswith("Rank 0 sends to 3 ranks element by element at ")
    assert ": 60 messages of 8 bytes, 20 of them to rank 1. Calls and waits" in what[0]


async def halo(comm, how):
    """Two neighbours give each other the cell at their edge in each of 48 steps, or in each fourth one four of them."""
    here, there, inner = np.zeros(4), np.zeros(4), 3e-6
    for step in range(48):
        if how == "wider" and step % 4:
            await conduit.current().compute(inner)
        elif how == "meanwhile":
            requests = [await comm.Irecv(there[:1], 1 - comm.rank), await comm.Isend(here[:1], 1 - comm.rank)]
            await conduit.current().compute(inner)
            await MPI.Request.Waitall(requests)
        else:
            cells = 4 if how == "wider" else 1
            await comm.Sendrecv(here[:cells], 1 - comm.rank, recvbuf=there[:cells], source=1 - comm.rank)
            await conduit.current().compute(inner)


def test_an_exchange_step_by_step_is_not_advised_what_its_steps_forbid():
    with reporting() as reports:
        before = MPI.run(halo, "one cell", ranks=2, library="scampi")
    (told,) = [each for each in reports[0].advice if "small messages" in each.what]
    assert re.match(
        r"Rank \d, like 1 other rank, exchanges small messages with rank \d step by step at \S*test_report.py:\d+ in "
        r"halo: 48 messages of 8 bytes\. Calls and waits there take \d\d % of its time after the start\.",
        told.what,
    )
    assert told.remedy == (
        "Exchange more at a time and less often, as a halo wide enough for several steps; or begin the exchange "
        "(Isend, Irecv), compute what needs none of it, and wait then (Waitall)."
    )
    assert not any("element by element" in each.what for each in reports[0].advice)
    start = 2e-4
    for mended, least in (("wider", 1.5), ("meanwhile", 1.2)):
        after = MPI.run(halo, mended, ranks=2, library="scampi")
        assert before.seconds - start > least * (after.seconds - start), mended


def test_intervals():
    assert union([(5, 7), (0, 2), (1, 3), (3, 4)]) == [(0, 4), (5, 7)]
    assert intersection([(0, 4), (5, 7)], [(1, 2), (3, 6)]) == [(1, 2), (3, 4), (5, 6)]
    assert overlap([(0, 4), (5, 7)], [(1, 2), (3, 6)]) == 3


@pytest.mark.usefixtures("undrawn")
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


@pytest.mark.usefixtures("undrawn")
def test_one_conduit_given_twice_has_a_folder_for_each_job(tmp_path, capsys):
    folder, program = tmp_path / "out", tmp_path / "prog.py"
    for source, status in (("async def main(ep):\n    raise ValueError", 1), ("async def main(ep): pass", 0)):
        program.write_text(source)
        words = ["--conduit", "sci", "--conduit", "loggp", "--conduit", "sci", "--conduit", "sci:slots=2"]
        assert call(["run", str(program), *words, "--report", str(folder)]) == status
        names = ("sci", "loggp", "sci-2", "sci-3")
        assert re.findall("^wrote (.*)$", "\n".join(capsys.readouterr()), re.MULTILINE) == [
            str(folder / name / "report.html") for name in names
        ]
        assert {path.parent.name for path in folder.glob("*/report.html")} == set(names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--report", ""], "--report '' is no folder; name one, as reports or ./reports"),
        (
            ["--report", "no/such/folder"],
            "--report no/such/folder cannot be made: No such file or directory; name a folder in one that exists\n",
        ),
        (["--report", "a.json"], "--report a.json is a file; name a folder\n"),
    ],
)
def test_wrong_calls(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    assert call(["run", str(PROGRAMS / "good.py"), *words]) == 2
    assert capsys.readouterr().err.startswith(f"conduit run: {message}")


def test_a_folder_that_may_not_be_written_is_refused_before_the_job(tmp_path, capsys, monkeypatch):
    def refuses(path, **options):
        raise PermissionError(13, "Permission denied")

    words = ["run", str(PROGRAMS / "good.py"), "--report", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda path, mode: False)
        assert call(words) == 2
        may_not_be_written = f"conduit run: --report {tmp_path} may not be written; name a folder that may\n"
        assert capsys.readouterr() == ("", may_not_be_written)
    monkeypatch.setattr(type(tmp_path), "mkdir", refuses)
    assert call(words) == 2
    may_not_be_made = f"conduit run: --report {tmp_path} may not be made; name a folder in one that may be written\n"
    assert capsys.readouterr() == ("", may_not_be_made)


def seen(page, folder, width):
    """What a browser of some width makes of a page.  Its title says how wide the page came out."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    script = "<script>document.title = document.documentElement.scrollWidth - innerWidth</script></body>"
    looked_at = folder / "page.html"
    looked_at.write_text(page.read_text().replace("</body>", script))
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    words += [f"--window-size={width},900", "--dump-dom", looked_at.as_uri()]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.parametrize("width", [1200, 500])
def test_a_browser_shows_the_page_wide_and_narrow(reports, capsys, tmp_path, width):
    _, folder = reports("hot_spot", capsys, 8)
    shown = seen(folder / "report.html", tmp_path, width)
    assert shown.count("<details>") >= 4
    assert "is a hot spot" in shown
    assert float(re.search(r"<title>(.*?)</title>", shown)[1]) <= 0, "the page is wider than its window"


@pytest.mark.usefixtures("undrawn")
def test_a_program_that_fails_is_told_where_its_report_is(tmp_path, capsys):
    program, folder = tmp_path / "prog.py", tmp_path / "out"
    program.write_text("async def main(ep):\n    raise ValueError('wrong')\n")
    assert call(["run", str(program), "--report", str(folder)]) == 1
    out, err = capsys.readouterr()
    assert err.count(f"wrote {folder / 'report.html'}\n") == 1
    assert "wrote" not in out
    assert (folder / "report.html").exists()


@pytest.mark.usefixtures("undrawn")
def test_json_is_as_without_a_report(tmp_path, capsys):
    words = ["run", str(PROGRAMS / "good.py"), "--json", "-", "--report", str(tmp_path / "out")]
    assert call(words) == 0
    assert json.loads(capsys.readouterr().out)[0]["ranks"] == 2


async def neighbours(comm):
    """Each rank sends eight bytes to both neighbours and waits for theirs."""
    data, got = np.zeros(1), np.zeros(1)
    near = [rank for rank in (comm.rank - 1, comm.rank + 1) if 0 <= rank < comm.size]
    for _ in range(10):
        for rank in near:
            await comm.Send(data, rank)
        for rank in near:
            await comm.Recv(got, rank)


@pytest.fixture(scope="module")
def beside():
    with reporting() as reports:
        MPI.run(neighbours, ranks=8, library="scampi")
    return reports[0]


def test_the_work_of_calls_of_mpi_is_overhead_and_no_polling(beside):
    account = beside.profile.accounts[3]
    look = scampi.ps(scampi.POLL) + 7 * scampi.ps(scampi.POLL_PEER)  # at the rings of all others, in vain
    assert account.polling % look == 0 < account.polling
    sent = scampi.ps(scampi.CALL) + scampi.ps(scampi.BUILD)
    received = scampi.ps(scampi.CALL) + scampi.ps(scampi.TAKE) + scampi.ps(scampi.COMPLETE)
    assert account.overhead > 20 * (sent + received) > 4 * account.polling
    assert "call" in {span.why for span in beside.recording.cpu[3]}
    assert account.total == beside.profile.length


def test_most_of_the_time_in_short_messages_is_told(beside):
    (told,) = beside.advice
    assert re.fullmatch(
        r"Rank \d, like \d other ranks, spends \d\d % of its time after the start in sending and receiving, not in "
        r"waits: 40 messages of 8 bytes on the average, \d+\.\d µs of its processor for each\.",
        told.what,
    )
    assert told.remedy.startswith("Send fewer and larger messages: ")


def test_pictures_and_links_are_of_the_time_after_the_start(beside):
    found = beside.profile
    pictures = {each.name: each for each in drawings(beside.recording, found)}
    started, length = found.started / 1e6, found.length / 1e6
    assert started > 0.5 * length
    assert found.working == found.length - found.started
    left_out = f"(the start, {started:,.3f} µs, is left out)"
    (timeline,) = pictures["timeline"].panels
    assert timeline.x_label == f"time, µs {left_out}"
    assert (timeline.begin, timeline.cut) == (started, True)
    for row in timeline.strips:
        assert row[0][0] == started
        assert row[-1][1] == pytest.approx(length)
    (parts,) = pictures["time"].panels
    assert parts.x_label == f"time after the start, µs {left_out}"
    assert all(row[-1][1] == pytest.approx(length - started) for row in parts.strips)
    (links,) = pictures["links"].panels
    assert links.x_label == "% of the time after the start"
    assert links.values[0][0] == pytest.approx(100 * found.links[0].busy / found.working)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("library", ["sunmpi", "scampi", "start"])
def test_a_program_that_does_nothing_has_no_time_after_the_start(library, tmp_path):
    async def nothing(comm):
        pass

    with reporting() as reports:
        MPI.run(nothing, library=library)
    reports[0].write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert re.search(r"[\d,.]+ µs of virtual time, 0\.000 µs of them after the start, 0 messages; ", page)


def test_the_page_is_small_and_says_of_which_time_links_are(beside, tmp_path):
    beside.write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "% of the time after the start</th>" in page
    assert "job&#x27;s time" not in page
    assert (tmp_path / "timeline.svg").stat().st_size < 180_000


ABSENT = """\
import trio

from extended import Extended


async def main(ep):
    x = await Extended.attach(ep)
    if ep.rank == 4:
        await trio.sleep_forever()
    await x.barrier()
"""

FLOODED = """\
import trio


async def main(ep):
    never = trio.Event()

    def take(token, item):
        pass

    await ep.attach(take)
    if ep.rank == 1:
        await never.wait()
    for item in range(100):
        await ep.request_short(1, take, item)
"""

ERROR = """\
async def main(ep):
    await ep.attach()
    if ep.rank == 2:
        raise ValueError("1 < 2")
    await ep.block_until(lambda: False)
"""


def failed_page(tmp_path, monkeypatch, source, *words):
    """What the page of a program that fails begins with: the failure, and what is said after it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(source)
    assert call(["run", "prog.py", "--report", "page", *words]) == 1
    page = (tmp_path / "page" / "report.html").read_text()
    found = re.search(
        r'</h1>\n<pre class="failure">(.*?)</pre>\n<p>.*?; the job failed\.</p>\n(.*?)\n<', page, re.DOTALL
    )
    assert '<ul class="warnings">' not in page
    return found[1].splitlines(), found[2]


NOT_LOOKED = "<p>Nothing else was looked for: where the time went follows from that standstill.</p>"


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_deadlock_begins_with_its_report(tmp_path, monkeypatch, capsys):
    said, then = failed_page(tmp_path, monkeypatch, ABSENT, "--ranks", "8")
    assert said[0].startswith("deadlock at ")
    assert said[1] == "rank 4: prog.py:9 in main: is in a wait of Trio&#x27;s own"
    assert then == NOT_LOOKED


@pytest.mark.usefixtures("undrawn")
def test_full_queues_of_a_deadlock_are_no_advice(tmp_path, monkeypatch, capsys):
    said, then = failed_page(tmp_path, monkeypatch, FLOODED, "--ranks", "64", "--conduit", "loggp")
    assert said[1] == "rank 1: prog.py:12 in main: is in a wait of Trio&#x27;s own"
    assert then == NOT_LOOKED


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_an_error_begins_with_it_and_its_line(tmp_path, monkeypatch, capsys):
    said, then = failed_page(tmp_path, monkeypatch, ERROR, "--ranks", "4")
    assert said[:2] == ["ValueError: 1 &lt; 2", "at prog.py:4 in main"]
    assert said[2].startswith("raised by rank 2 at ")
    assert then.startswith("<p>Before it failed, nothing stood out in where its time went: no hot spots, ")


@pytest.mark.usefixtures("undrawn")
def test_an_error_in_a_handler_is_named_with_the_handler(tmp_path, monkeypatch, capsys):
    source = """\
async def main(ep):
    def take(token):
        raise KeyError("no")

    await ep.attach(take)
    await ep.request_short(1 - ep.rank, take)
    await ep.block_until(lambda: False)
"""
    said, _ = failed_page(tmp_path, monkeypatch, source)
    assert said[:2] == ["KeyError: &#x27;no&#x27;", "at prog.py:3 in take"]
    assert said[2].startswith("in handler &#x27;take&#x27; on rank ")


def test_a_report_from_python_says_what_the_job_failed_with():
    async def main(ep):
        await ep.attach()
        await ep.block_until(lambda: False, what="nothing")

    with reporting("stuck") as reports, pytest.raises(conduit.Deadlock) as error:
        conduit.run(main, conduit="loggp")
    (found,) = reports
    assert found.recording.failure.text == str(error.value)
    assert json.loads(found.to_json())["failure"] == str(error.value)
    assert "<pre>deadlock at" in found._repr_html_()
    assert repr(found) == "<RunReport of stuck on loggp: 2 ranks, failed, nothing to change>"


def test_a_report_is_named_by_what_it_is_of():
    async def main(ep):
        assert repr(reports[0]) == "<RunReport of the program on loggp: 2 ranks, not over>"

    with reporting() as reports:
        conduit.run(main, conduit="loggp")
    assert repr(reports[0]) == "<RunReport of the program on loggp: 2 ranks, nothing to change>"


def test_a_job_that_has_ended_well_has_no_failure():
    assert reported(talk, ranks=3, conduit="loggp").recording.failure is None


def test_links_that_are_taken_alike_are_in_the_order_of_their_numbers():
    recording = reported(talk, ranks=3, conduit="loggp").recording
    for number in (1, 10, 2):
        recording.carried(f"bus {number}", 0, recording.length, 1)
    assert [use.name for use in profile(recording).links][:3] == ["bus 1", "bus 2", "bus 10"]


@pytest.mark.parametrize(("count", "which"), [(12, "Links"), (13, "The 12 busiest of 13 links")])
def test_the_picture_of_links_says_of_how_many_it_shows_some(count, which):
    recording = reported(talk, ranks=3, conduit="loggp").recording
    found = profile(recording)
    for number in range(count - len(found.links)):
        recording.carried(f"bus {number}", 0, recording.length, 1)
    (links,) = (each for each in drawings(recording, profile(recording)) if each.name == "links")
    assert links.title == f"{which} and engines: how long they were taken"


def test_the_timeline_says_what_its_stretches_show(reports, capsys):
    page = (reports("good", capsys)[1] / "report.html").read_text()
    assert "<figcaption>Each of 400 stretches shows what filled most of it: what alternates faster looks like" in page


async def does_nothing(ep):
    pass


async def computes_long(ep):
    await ep.attach()
    await ep.compute(100)


def drawn_of(main, folder, **options):
    """Write the report of a program; return its pictures by name."""
    with reporting("it") as reports:
        conduit.run(main, **options)
    folder.mkdir(exist_ok=True)
    reports[0].write(folder)
    recording = reports[0].recording
    return {picture.name: picture for picture in drawings(recording, profile(recording))}


def test_of_a_job_that_does_nothing_nothing_is_drawn_and_no_table_is_empty(tmp_path):
    assert drawn_of(does_nothing, tmp_path, conduit="sci") == {}
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    page = (tmp_path / "report.html").read_text()
    assert "None of them waited or sent anything." in page
    assert "<tbody>\n\n</tbody>" not in page


def test_pictures_of_an_earlier_report_do_not_stay(tmp_path):
    async def sends(ep):
        x = await Extended.attach(ep)
        await x.put(1 - ep.rank, 0, b"it")

    mine = tmp_path / "mine.svg"
    mine.write_text("it")
    assert set(drawn_of(sends, tmp_path, conduit="sci")) == {"time", "timeline", "matrix", "sizes", "links"}
    drawn_of(does_nothing, tmp_path, conduit="sci")
    assert {each.name for each in tmp_path.iterdir()} == {"report.html", "mine.svg"}


def test_times_in_pictures_are_in_a_unit_that_keeps_them_short(tmp_path):
    drawn = drawn_of(computes_long, tmp_path, ranks=1, conduit="loggp")
    (parts,), (timeline,) = drawn["time"].panels, drawn["timeline"].panels
    assert parts.x_label == "time after the start, s (the start, 0.001 µs, is left out)"
    assert timeline.x_label == "time, s (the start, 0.001 µs, is left out)"
    for panel in (parts, timeline):
        assert [(round(begin, 6), round(end, 6), group) for begin, end, group in panel.strips[0]] == [(0, 100, 0)]
