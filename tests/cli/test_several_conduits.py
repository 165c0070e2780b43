"""`conduit run` on several conduits, on some of which the program fails."""

import io
import json
from pathlib import Path

import attrs
import pytest
from rich.console import Console

from conduit.commands import running
from conduit.commands.cli import call
from conduit.commands.tables import print_specs
from conduit.errors import BadRequest, NetworkError
from conduit.seeing.comparison import read_results

FAILS = "async def main(ep):\n    1 / 0\n"
TRACEBACK = """\
Traceback (most recent call last):
  File "prog.py", line 2, in main
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero
"""
UNLIKE_LOGGP = "async def main(ep):\n    if ep.limits.max_medium != 65000:\n        "


@pytest.fixture
def run(command, tmp_path, monkeypatch):
    """Run a program on several conduits, as `command` does."""
    monkeypatch.chdir(tmp_path)

    def on(source, *conduits, words=()):
        Path("prog.py").write_text(source)
        return command("run", "prog.py", *(word for each in conduits for word in ("--conduit", each)), *words)

    return on


def test_a_failure_is_shown_under_its_conduit_and_once_where_it_is_the_same(run):
    assert run(FAILS, "loggp", "sci", "udp") == (
        1,
        "",
        f"on loggp:\n{TRACEBACK}raised by rank 0 at 0.000000001 s\n"
        "on sci: the same, at 0.000400000 s\n"
        "on udp: the same, at 0.000100000 s\n"
        "failed on: loggp, sci, udp\n",
    )


def test_on_one_conduit_nothing_is_said_of_it(run):
    assert run(FAILS, "loggp").err == f"{TRACEBACK}raised by rank 0 at 0.000000001 s\n"


def test_a_failure_after_one_that_ran_is_shown_whole_again(run):
    source = "async def main(ep):\n    if ep.limits.max_medium != 65000: 1 / 0"
    _, out, err = run(source, "sci", "loggp", "sci:slots=4")
    lines = err.splitlines()
    assert [line for line in lines if line.startswith("on ")] == ["on sci:", "on sci:slots=4:"]
    assert lines.count("Traceback (most recent call last):") == 2
    assert lines[-1] == "failed on: sci, sci:slots=4"
    assert [line.split()[0] for line in out.split("─\n")[1].splitlines() if line] == ["loggp"]


@pytest.mark.parametrize(
    ("body", "words", "first"),
    [
        (
            "await ep.block_until(lambda: False)",
            (),
            "conduit run: deadlock at 400.000 us: ",
        ),
        ("await ep.compute(1)", ("--time-limit", "1ms"), "conduit run: time limit at 1000.000 us: "),
        ("while True: await ep.poll()", ("--time-limit", "1ms"), "conduit run: time limit at 1000.000 us: "),
    ],
)
def test_it_goes_on_after_a_job_that_got_no_further(run, body, words, first):
    status, out, err = run(UNLIKE_LOGGP + body, "sci", "loggp", words=words)
    assert status == 1
    lines = err.splitlines()
    assert lines[0] == "on sci:"
    assert lines[1].startswith(first)
    assert lines[-1] == "failed on: sci"
    assert out.startswith("ranks=2 conduit=loggp ")


def test_it_goes_on_after_an_error_of_the_network_before_the_program_begins(run, monkeypatch):
    def fails(runner, file, args, settings, words, **more):
        raise NetworkError("no route to host 1")

    monkeypatch.setattr("conduit.commands.running._run", fails)
    assert run("async def main(ep): pass", "loggp", "sci") == (
        1,
        "",
        "on loggp:\nconduit run: no route to host 1\non sci: the same\nfailed on: loggp, sci\n",
    )


@pytest.mark.parametrize(
    ("body", "expected", "said"),
    [
        ("ep.exit(3)", 3, "rank 0 ended the job with status 3 at prog.py:3 in main"),
        ("raise SystemExit(3)", 3, "rank 0 ended the job with status 3 at prog.py:3 in main"),
    ],
)
def test_an_exit_ends_all(run, capsys, body, expected, said):
    with pytest.raises(SystemExit) as caught:
        run(UNLIKE_LOGGP + body, "loggp", "sci", "udp")
    assert caught.value.code == expected
    assert capsys.readouterr().err == f"{said}\nstopped on: sci; not run on: udp\n"


@pytest.mark.parametrize("leave", ["ep.exit(0)", "raise SystemExit"])
def test_an_exit_with_status_0_is_no_success_after_failures(run, leave):
    source = UNLIKE_LOGGP + f"{leave}\n    1 / 0"
    status, _, err = run(source, "loggp", "sci", "udp")
    assert status == 1
    assert err.splitlines()[-2:] == [
        "rank 0 ended the job with status 0 at prog.py:3 in main",
        "failed on: loggp; stopped on: sci; not run on: udp",
    ]
    with pytest.raises(SystemExit) as caught:  # without a failure before it
        run(source, "sci", "loggp")
    assert caught.value.code in (0, None)


def test_ctrl_c_ends_all_and_earlier_failures_are_named(run):
    source = UNLIKE_LOGGP + "raise KeyboardInterrupt\n    1 / 0"
    status, _, err = run(source, "loggp", "sci", "udp")
    assert status == 130
    assert "failed on: loggp; stopped on: sci; not run on: udp" in err.splitlines()


def test_a_wrong_call_ends_all(run):
    status, _, err = run("async def main(ep, n): pass", "loggp", "sci")
    assert (status, err.count("does not take the arguments given"), "failed on" in err) == (2, 1, False)


@pytest.mark.parametrize(
    ("conduits", "words", "message"),
    [
        (
            ("loggp", "sci:torus=1x2", "udp"),
            ("--ranks", "9"),
            "ranks=9 does not fit on 'sci', with room for 2 ranks on each of 2 hosts; use at most 4",
        ),
        (
            ("loggp", "sci"),
            ("--ranks", "4", "--ranks-per-host", "3"),
            "ranks_per_host=3 does not fit 4 ranks on 'sci'; the smallest that does is 1, the largest 2",
        ),
        (
            ("loggp", "sci"),
            ("--segment", "3M"),
            "--segment 3M: the SCI driver gives at most 2M of contiguous memory; ask for at most 2M, or use "
            "sci:patched=yes",
        ),
        (
            ("loggp", "mpi:library=mpi4py"),
            ("--ranks-per-host", "3"),
            "ranks_per_host=3 is more than the 2 ranks on 'mpi:library=mpi4py', whose processes are where their "
            "launcher puts them; leave it out, and tell the launcher",
        ),
        (
            ("loggp", "mpi:library=mpi4py"),
            ("--stall-limit", "-1"),
            "--stall-limit -1 is not allowed; pass a finite number of at least 0 and at most 1e+09",
        ),
    ],
)
def test_what_does_not_fit_a_later_conduit_is_refused_before_any_runs(run, conduits, words, message):
    status, out, err = run("print('ran')\nasync def main(ep): pass\n", *conduits, words=words)
    assert (status, out, err) == (2, "", f"conduit run: {message}\n")


def test_limits_that_mean_something_to_others_alone_are_no_reason_to_refuse(run):
    status, out, err = run(
        "async def main(ep): pass", "loggp", "sci", words=("--ranks", "4", "--ranks-per-host", "2", "--time-limit", "1")
    )
    assert (status, out.count("ranks=4 "), err) == (0, 2, "")


def test_json_has_failures_among_the_results(run):
    source = UNLIKE_LOGGP + "raise ValueError('no')"
    assert run(source, "sci", "loggp", "sci:slots=4", words=("--json", "out.json")).status == 1
    found = json.loads(Path("out.json").read_text())
    assert [(each["conduit"], each.get("error")) for each in found] == [
        ("sci", "ValueError: no"),
        ("loggp", None),
        ("sci:slots=4", "ValueError: no"),
    ]
    assert [each.conduit for each in read_results(Path("out.json"))] == ["loggp"]


def test_a_trace_has_all_jobs(run):
    run(UNLIKE_LOGGP + "1 / 0", "sci", "loggp", words=("--trace", "trace.json"))
    jobs = json.loads(Path("trace.json").read_text())["otherData"]["jobs"]
    assert [(job["conduit"], job["failed"]) for job in jobs] == [("sci", True), ("loggp", False)]


def test_the_file_of_a_full_report_keeps_the_first_one(run):
    source = UNLIKE_LOGGP + "await ep.block_until(lambda: False)"
    _, _, err = run(source, "sci", "sci:slots=4", "loggp", words=("--full-report", "full.json"))
    assert (
        "400.000 us" in json.dumps(json.loads(Path("full.json").read_text())) or "sci" in Path("full.json").read_text()
    )
    lines = err.splitlines()
    assert lines.count("wrote full.json") == 1
    assert lines[-2:] == [
        "full.json has the report on sci; for that on another one run on it alone",
        "failed on: sci, sci:slots=4",
    ]


@pytest.mark.filterwarnings("default:coroutine")
def test_a_forgotten_call_is_told_on_the_first_of_them(run):
    source = "async def work(ep): pass\nasync def main(ep):\n    work(ep)\n    1 / 0\n"
    alone = run(source, "loggp").err
    assert "work(ep) at prog.py:3 was called but never awaited" in alone
    err = run(source, "loggp", "sci").err
    assert err == f"on loggp:\n{alone}on sci: the same, at 0.000400000 s\nfailed on: loggp, sci\n"


def test_a_front_end_refuses_a_conduit_before_anything_runs(run):
    source = 'api = "mpi"\nasync def main(comm): print("here")\n'
    assert run(source, "mpi", "loggp") == (
        2,
        "",
        "conduit run: conduit='loggp': programs with `api = \"mpi\"` run on MPI libraries; give mpi:library=scampi, "
        "say\n",
    )


def test_a_front_end_that_is_installed_may_do_so(run, install):
    def runs(main, *args, conduit="loggp", **options):
        raise AssertionError("it is to be refused before")

    def check(conduit):
        if conduit != "loggp":
            raise BadRequest(f"conduit='{conduit}': not here")

    runs.check_conduit = check
    install("conduit.front_ends", "mine", runs)
    assert run('api = "mine"\nasync def main(x): pass\n', "loggp", "sci") == (
        2,
        "",
        "conduit run: conduit='sci': not here\n",
    )


def test_times_of_different_clocks_are_not_divided(run, monkeypatch):
    clocks = {"loggp": True, "sci": False, "udp": True}

    def one(file, spec, *rest):
        return attrs.evolve(ran(file, spec, *rest), simulated=clocks[spec.text])

    ran = running._ran
    monkeypatch.setattr(running, "_ran", one)
    _, out, _ = run("async def main(ep): pass", *clocks)
    rows = [line.split() for line in out.split("─\n")[1].splitlines() if line]
    assert [(row[0], len(row), row[-1]) for row in rows] == [
        ("loggp", 5, "virtual"),
        ("sci", 4, "wall"),
        ("udp", 5, "virtual"),
    ]


def test_the_table_names_the_library_of_MPI_though_it_be_the_default(run):
    asked = ("mpi", "mpi:library=scampi,collectives=nodes", "mpi:collectives=flat,library=sunmpi", "loggp:L=5e-6")
    _, out, _ = run('api = "mpi"\nasync def main(comm): await comm.Barrier()', *asked[:3])
    assert [line.split()[0] for line in out.split("─\n")[1].splitlines() if line] == [
        "mpi:library=scampi",
        "mpi:library=scampi,collectives=nodes",
        "mpi:library=sunmpi,collectives=flat",
    ]
    assert "\nranks=2 conduit=mpi:collectives=nodes seconds=" in out


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (90, ["loggp:order=weak,set=ethernet100,slots=4", "sci"]),
        (81, ["loggp:order=weak,set=ethernet100,", "slots=4", "sci"]),
        (80, ["loggp:order=weak,", "set=ethernet100,slots=4", "sci"]),
        (71, ["loggp:order=weak,", "set=ethernet100,slots=4", "sci"]),
        (64, ["loggp:", "order=weak,", "set=ethernet100,", "slots=4", "sci"]),
        (50, ["loggp:", "order=weak,", "set=ethernet100,", "slots=4", "sci"]),
    ],
)
def test_a_table_breaks_specs_between_options_alone(width, shown):
    where = io.StringIO()
    rows = [("loggp:order=weak,set=ethernet100,slots=4", 2, "0.001", "1.000", "virtual"), ("sci", 2, "0", "", "wall")]
    titles = ("conduit", "ranks", "time us", "times the first", "clock")
    print_specs(Console(file=where, width=width), titles, rows, right=[1, 2, 3])
    lines = [line for line in where.getvalue().splitlines() if line.strip()][2:]
    assert [line.split()[0] for line in lines] == shown
    assert where.getvalue().split()[:8] == [word for title in titles for word in title.split()]
    assert "virtual" in where.getvalue()


def test_a_failure_decides_over_an_exit_with_256_on_a_later_conduit(tmp_path, capfd):
    program = tmp_path / "exits.py"
    program.write_text(f"{UNLIKE_LOGGP}raise SystemExit(256)\n    raise ValueError('no')\n")
    with pytest.raises(SystemExit) as caught:
        call(["run", str(program), "--conduit", "loggp", "--conduit", "sci"])
    assert caught.value.code == 1
    assert f"rank 0 ended the job with status 1 at {program}:3 in main" in capfd.readouterr().err
