"""Finding commands, and turning outcomes into exit statuses."""

import itertools
import json
import re
import subprocess
import sys

import pytest

from conduit import BadRequest, ConduitError, UnknownConduit
from conduit.commands.cli import call
from conduit.launch.entry_points import COMMANDS, commands

BENCHMARKS = ["testam", "testsmall", "testlarge", "testbarrier", "testcoll", "testlogp"]
MPI_BENCHMARKS = ["mpi-pingpong", "mpi-bandwidth", "mpi-coll", "mpi-logp", "mpi-patterns"]
"""Which refuse conduits that are not MPI's."""


def test_help_lists_every_command(command):
    status, out, _ = command("--help")
    assert status == 0
    for name in ["list", "show", "run", "raw", "conform", "new", "testam", "testsmall", "testlarge", "testlogp"]:
        assert f"│ {name} " in out


def test_without_words_it_helps(command):
    assert command() == command("--help")


@pytest.mark.parametrize("name", ["list", "show", "run", "raw", "conform", "new", "testam"])
def test_each_command_helps(command, name):
    status, out, _ = command(name, "--help")
    assert status == 0
    assert out.startswith(f"Usage: conduit {name}")


@pytest.mark.parametrize(
    ("name", "unused"),
    [
        ("testbarrier", {"--min-size", "--max-size", "--max-step", "--local", "--pairing"}),
        ("testcoll", {"--local", "--pairing"}),
        ("testlogp", set()),
    ],
)
def test_help_offers_what_is_not_refused(command, name, unused):
    every = set(re.findall(r"--[a-z-]+", command("testam", "--help").out))
    offered = set(re.findall(r"--[a-z-]+", command(name, "--help").out))
    assert every - offered == unused
    for option in unused:
        status, _, err = command(name, option, {"--local": "in", "--pairing": "cross"}.get(option, "8"))
        assert status == 2
        assert err.startswith(f"conduit {name}: {option} ")
        assert "means nothing to" in err


@pytest.mark.parametrize(
    "name", ["--help", *BENCHMARKS, *MPI_BENCHMARKS, "list", "show", "run", "raw", "conform", "new"]
)
def test_help_breaks_no_line_of_a_narrow_terminal_twice(command, monkeypatch, name):
    """Lines of a paragraph stay lines: one that is too long would be broken again, in the middle of the paragraph."""
    monkeypatch.setenv("COLUMNS", "300")
    paragraphs = command(*dict.fromkeys([name, "--help"])).out.split("\n\n")
    lines = [line for each in paragraphs if each[:1] not in "╭ " for line in each.strip().splitlines() if "\n" in each]
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("name", ["--help", "run", "testam", "explain", "mpi-patterns", "completion"])
def test_help_fills_the_lines_of_a_terminal_that_has_not_room_for_those_of_the_source(command, monkeypatch, name):
    width = 50
    monkeypatch.setenv("COLUMNS", str(width))
    paragraphs = command(*dict.fromkeys([name, "--help"])).out.split("\n\n")
    texts = [each.rstrip().splitlines() for each in paragraphs[1:] if each[:1] not in "╭ "]
    assert any(len(lines) > 1 for lines in texts)
    for lines in texts:
        for line, following in itertools.pairwise(lines):
            word = following.split()[0]
            assert len(line.rstrip()) <= width
            assert len(line.rstrip()) + 1 + len(word) > width or word.endswith(":"), lines


@pytest.mark.parametrize("name", BENCHMARKS)
def test_help_says_what_the_sections_are(command, name):
    """All letters that a wrong one is answered with."""
    letters = re.search(r"letters out of ([A-Z]+)", command(name, "--sections", "?").err)[1]
    text = command(name, "--help").out.partition("Sections: ")[2].partition("\n\n")[0]
    found = re.findall(r"\b([A-Z])\b(?:-([A-Z])\b)?", text)
    told = {chr(code) for first, last in found for code in range(ord(first), ord(last or first) + 1)}
    assert told == set(letters)


def test_a_closed_output_is_no_error(command, monkeypatch):
    """As `conduit show sci >&-` gives: Python has no `sys.stdout` then."""
    monkeypatch.setattr("sys.stdout", None)
    assert call(["show", "loggp"]) == 0


def test_version(command):
    status, out, _ = command("--version")
    assert status == 0
    assert out.strip().count(".") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tetsam"], "conduit: there is no command 'tetsam' (did you mean testam?); conduit --help lists them\n"),
        (["--nosuch"], "conduit: there is no command '--nosuch'; conduit --help lists them\n"),
        (
            ["mpi-p"],
            "conduit: there is no command 'mpi-p' (did you mean mpi-patterns or mpi-pingpong?); conduit --help ",
        ),
        (
            ["run", "it.py", "-np", "3"],
            "conduit run: -n 'p' is no integer; write -n and the number of ranks, not -np\n",
        ),
        (["run", "it.py", "-n", "two"], "conduit run: -n 'two' is no integer; give a whole number\n"),
        (["--hlep"], "conduit: there is no command '--hlep' (did you mean --help?); conduit --help lists them\n"),
        (["help"], "conduit: there is no command 'help' (did you mean --help?); conduit --help lists them\n"),
        (["version"], "conduit: there is no command 'version' (did you mean --version?); conduit --help lists them\n"),
        (["report"], "conduit: there is no command 'report'; write conduit run PROGRAM --report DIR\n"),
        (["trace", "it.py"], "conduit: there is no command 'trace'; write conduit run PROGRAM --trace FILE\n"),
        (["it.py"], "conduit: there is no command 'it.py'; to run that program write conduit run it.py\n"),
        (
            ["--conduit", "sci", "run", "it.py", "-n", "3"],
            "conduit: options follow the command; write conduit run --conduit sci it.py -n 3\n",
        ),
        (["-n", "3", "run", "it.py"], "conduit: options follow the command; write conduit run -n 3 it.py\n"),
        (
            ["run", "-"],
            "conduit run: there is no option -; see conduit run --help; standard input is /dev/stdin: conduit run "
            "/dev/stdin\n",
        ),
        (
            ["run", "hello.py", "-c", "udp"],
            "conduit run: there is no option -c (did you mean --conduit?); see conduit run --help; an option of the "
            "program stands behind --: conduit run hello.py -- -c ...",
        ),
        (
            ["show", "ethernet100"],
            "conduit show: there is no conduit 'ethernet100' (did you mean loggp:set=ethernet100?)",
        ),
        (["raw", "--conduit", "sci"], "conduit raw: there is no option --conduit; write conduit raw sci\n"),
        (
            ["conform", "sci", "--conduit", "t3e"],
            "conduit conform: there is no option --conduit; write conduit conform sci t3e\n",
        ),
        (["raw", "sci", "--conduit", "t3e"], "conduit raw: there is no option --conduit; write conduit raw t3e\n"),
        (
            ["raw", "--conduit", "sci", "--conduit=t3e", "--json", "it.json"],
            "conduit raw: there is no option --conduit; write conduit raw sci --json it.json, then conduit raw t3e "
            "--json it.json\n",
        ),
        (
            ["show", "--conduit", "sci", "--conduit", "t3e"],
            "conduit show: there is no option --conduit; write conduit show sci, then conduit show t3e\n",
        ),
        (
            ["show", "--conduit=sci:slots=4"],
            "conduit show: there is no option --conduit=sci:slots=4; write conduit show sci",
        ),
        (
            ["run", "prog.py", "--slots", "4"],
            "conduit run: --slots is an option of the conduit sci; write --conduit sci:slots=4; an option of the "
            "program stands behind --: conduit run prog.py -- --slots ...",
        ),
        (
            ["testam", "--conduit", "startx:slots=2", "--slots=4"],
            "conduit testam: --slots is an option of the conduit startx; write --conduit startx:slots=4\n",
        ),
        (
            ["testam", "--conduit=sci:slots=2", "--slot-payload", "1024"],
            "conduit testam: --slot-payload is an option of the conduit sci; write --conduit "
            "sci:slots=2,slot_payload=1024\n",
        ),
        (
            ["testam", "--loss", "0.1"],
            "conduit testam: --loss is an option of the conduit udp, not of sci; write --conduit udp:loss=0.1\n",
        ),
        (
            ["testam", "--torus"],
            "conduit testam: --torus is an option of the conduit sci; write --conduit sci:torus=VALUE\n",
        ),
        (
            ["testam", "--rank", "2"],
            "conduit testam: there is no option --rank (did you mean --ranks?); see conduit testam",
        ),
        (
            ["run", "x.py", "--threads", "4"],
            "conduit run: there is no option --threads (did you mean --ranks?); see conduit run --help; an option of "
            "the program stands behind --: conduit run x.py -- --threads ...\n",
        ),
        (
            ["run", "a b.py", "-n2", "--n", "3"],
            "conduit run: there is no option --n (did you mean -n?); see conduit run --help; an option of the program "
            "stands behind --: conduit run 'a b.py' -- --n ...\n",
        ),
        (
            ["run", "--size=3", "x.py"],
            "conduit run: there is no option --size=3; see conduit run --help; an option of the program stands behind "
            "--: conduit run x.py -- --size=3 ...\n",
        ),
        (
            ["run", "-v"],
            "conduit run: there is no option -v; see conduit run --help; an option of the program stands behind --: "
            "conduit run PROGRAM -- -v ...\n",
        ),
        (["list", "--rank", "2"], "conduit list: there is no option --rank; see conduit list --help\n"),
        (["testam", "--ranks", "two"], "conduit testam: --ranks 'two' is no integer; give a whole number\n"),
        (
            ["testam", "--max-size", "1e6"],
            "conduit testam: --max-size '1e6' is no size; give bytes, or as 64K, 1M, 2G (powers of 2)\n",
        ),
        (["testsmall", "--iterations", "2.7"], "conduit testsmall: --iterations '2.7' is no integer; give a whole"),
        (["run", "x.py", "--ranks", "1.5"], "conduit run: --ranks '1.5' is no integer; give a whole number\n"),
        (["run", "x.py", "--seed", ""], "conduit run: --seed '' is no integer; give a whole number\n"),
        (["run", "x.py", "--time-limit", "soon"], "conduit run: --time-limit 'soon' is no time; give seconds as in 1e"),
        (["run", "x.py", "--time-limit", "-1s"], "conduit run: --time-limit -1s is too small; it must be at least 0\n"),
        (["run", "x.py", "--time-limit", "1xs"], "conduit run: --time-limit '1xs' is no time; give seconds as in 1e"),
        (["testam", "--local", "near"], "conduit testam: --local cannot be 'near'; choose in or out\n"),
        (["testam", "--ranks", "2", "--ranks", "3"], "conduit testam: --ranks is given twice; give it once\n"),
        (["testam", "--no-warmup=3"], "conduit testam: --no-warmup takes no value, and not '3'; write --no-warmup"),
        (["testam", "--json"], "conduit testam: --json needs a file; name one, or write - for standard output\n"),
        (["testam", "--trace"], "conduit testam: --trace needs a file; name one\n"),
        (["run", "prog.py", "--trace"], "conduit run: --trace needs a file; name one\n"),
        (["testam", "--trace", "--ranks", "3"], "conduit testam: --trace '--ranks' is no file; name one\n"),
        (["list", "--json"], "conduit list: --json needs a file; name one, or write - for standard output\n"),
        (["testam", "--ranks"], "conduit testam: --ranks needs a whole number; see conduit testam --help\n"),
        (["run", "x.py", "-n"], "conduit run: -n needs a whole number; see conduit run --help\n"),
        (["run", "x.py", "--report"], "conduit run: --report needs a folder; name one\n"),
        (["run", "x.py", "--segment"], "conduit run: --segment needs a number of bytes; K, M and G stand for powers"),
        (
            ["run", "x.py", "--stall-limit"],
            "conduit run: --stall-limit needs a time; give seconds as in 1e-6, or write",
        ),
        (["raw", "--conduit"], "conduit raw: there is no option --conduit; see conduit raw --help\n"),
        (["explain", "--conduit"], "conduit explain: --conduit needs a conduit; conduit list shows which there are\n"),
        (["testam", "--json", "--ranks", "3"], "conduit testam: --json '--ranks' is no file; name one, or write - for"),
        (["explain", "extra"], "conduit explain: the command takes no argument 'extra'; see conduit explain --help\n"),
        (["explain", "sci"], "conduit explain: the command takes no argument 'sci'; write --conduit sci\n"),
        (
            ["testam", "loggp:slots=2"],
            "conduit testam: the command takes no argument 'loggp:slots=2'; write --conduit loggp:slots=2",
        ),
        (["mpi-coll", "mpi"], "conduit mpi-coll: the command takes no argument 'mpi'; write --conduit mpi\n"),
        (
            ["mpi-coll", "--conduit", "mpi4py"],
            "conduit mpi-coll: --conduit mpi4py: mpi-coll measures MPI libraries; give mpi:library=mpi4py\n",
        ),
        (
            ["show", "sunmpi"],
            "conduit show: there is no conduit 'sunmpi' (did you mean mpi:library=sunmpi?); installed are: loggp, ",
        ),
        *(
            (
                ["show", name],
                f"conduit show: there is no conduit '{name}' (did you mean mpi:library=mpi4py?); installed are: ",
            )
            for name in ("openmpi", "mpich", "ompi")
        ),
        (["list", "extra"], "conduit list: there is no conduit 'extra'; installed are: loggp, mpi, origin, sci, "),
        (["show", "sci", "loggp"], "conduit show: the command takes no argument 'loggp'; see conduit show --help\n"),
        (["show"], "conduit show: NAME is missing, a conduit; conduit list shows which there are\n"),
        (["completion"], "conduit completion: SHELL is missing: bash, zsh or fish; see conduit completion --help\n"),
        (["conform"], "conduit conform: SPEC is missing, a conduit; conduit list shows which there are\n"),
        (["new"], "conduit new: NAME is missing; see conduit new --help\n"),
        (["run"], "conduit run: PROGRAM is missing; see conduit run --help\n"),
        (["show", "tokenring"], "conduit show: there is no conduit 'tokenring'; installed are: "),
        (["show", "scii"], "conduit show: there is no conduit 'scii' (did you mean sci?); installed are: "),
        (["raw", "loggp:slots=x"], "conduit raw: option 'slots' of conduit 'loggp' cannot be 'x'; allowed: an integer"),
    ],
)
def test_wrong_call_is_status_2(command, words, message):
    status, out, err = command(*words)
    assert (status, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_a_folder_that_is_gone_is_told(command, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert command("run", "prog.py") == (
        1,
        "",
        "conduit run: the folder that it was called in is not there any more; go to one that is, as by `cd ~`\n",
    )


def test_a_file_whose_name_begins_with_a_hyphen_is_told_how_it_is_written(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-dash.py").write_text("async def main(ep): pass")
    assert command("run", "-dash.py") == (
        2,
        "",
        "conduit run: there is no option -dash.py; see conduit run --help; a file whose name begins with a hyphen is "
        "written conduit run ./-dash.py\n",
    )
    assert command("run", "./-dash.py").status == 0


def test_a_program_that_is_not_there_and_whose_name_begins_with_a_hyphen(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    none = "conduit run: there is no option {}; see conduit run --help; "
    nor = "nor is there a file {0}, which would be written conduit run ./{0}\n"
    for name in ("-x.py", "--x.py"):
        assert command("run", name) == (2, "", none.format(name) + nor.format(name))
    assert command("run", "--conduit", "sci", "-x.py") == (2, "", none.format("-x.py") + nor.format("-x.py"))
    (tmp_path / "x.py").write_text("async def main(ep): pass")
    assert command("run", "-x.py") == (2, "", none.format("-x.py") + "did you mean conduit run x.py?\n")
    assert (
        command("run", "x.py", "-y.py")
        == command("run", "-y.py", "x.py")
        == (
            2,
            "",
            none.format("-y.py") + "an option of the program stands behind --: conduit run x.py -- -y.py ...\n",
        )
    )


def test_ranks_have_the_letter_that_launchers_have_for_them(command, tmp_path):
    (tmp_path / "it.py").write_text("async def main(ep): pass")
    status, out, err = command("run", str(tmp_path / "it.py"), "-n", "3")
    assert (status, err) == (0, "")
    assert out.startswith("ranks=3 conduit=sci ")
    assert command("testbarrier", "-n", "3", "--iterations", "1").out.startswith("testbarrier on sci: 3 ranks, ")


WRONG = [
    (["--ranks", "0"], "--ranks 0 is too small; it must be at least 1"),
    (["--ranks-per-host", "-1"], "--ranks-per-host -1 is too small; it must be at least 1"),
    (["--ranks-per-host", "3"], "ranks_per_host=3 does not fit 2 ranks on 'sci'; the smallest that does is 1"),
    (["--ranks", "200000"], "ranks=200000 does not fit on 'sci', with room for 2 ranks on each of 65536 hosts"),
    (
        ["--conduit", "t3e", "--ranks", "513"],
        "ranks=513 does not fit on 't3e', with room for 1 rank on each of 512 hosts; use at most 512",
    ),
    (["--conduit", "loggp", "--ranks", "100000000"], "ranks=100000000 is more than a simulation can have; use at most"),
    (
        ["--conduit", "mpi:library=sunmpi", "--ranks", "193"],
        "ranks=193 does not fit on 'mpi:library=sunmpi', with room for 24 ranks on each of 8 hosts; use at most 192",
    ),
    (
        ["--conduit", "mpi:library=sunmpi", "--ranks-per-host", "25"],
        "ranks_per_host=25 does not fit 2 ranks on 'mpi:library=sunmpi'; the smallest that does is 1, the largest 24",
    ),
    (["--conduit", "sci:torus=1x2", "--conduit", "loggp", "--ranks", "9"], "ranks=9 does not fit on 'sci'"),
    (["--conduit", "loggp", "--conduit", "sci:torus=1x2", "--ranks", "9"], "ranks=9 does not fit on 'sci'"),
    (["--iterations", "0"], "--iterations 0 is too small; it must be at least 1"),
    (["--sections", "ab "], "--sections 'ab ' has ' ' in it, which is no section; give letters out of AB"),
    (["--json", "."], "--json . is a folder; name a file in it\n"),
    (["--json", "no/such/folder.json"], "--json no/such/folder.json cannot be written; name a file in a folder that"),
]


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_options_of_benchmarks_are_refused_before_any_job(command, name, words, message):
    status, out, err = command(name, *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"conduit {name}: {message}")


def test_results_on_standard_output_stand_there_alone(command):
    status, out, err = command("testam", "--sections", "A", "--conduit", "loggp", "--conduit", "sci", "--json", "-")
    assert status == 0
    assert [run["conduit"] for run in json.loads(out)] == ["loggp", "sci"]
    assert "AMShort" in err


def test_a_file_that_may_not_be_written_is_refused_before_the_job(command, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    for path in (tmp_path / "new.json", tmp_path):
        status, out, err = command("testam", "--json", str(path), "--sections", "A")
        assert (status, out) == (2, "")
        assert err.startswith(f"conduit testam: --json {path} ")


def test_results_are_shown_when_their_file_fails(command, tmp_path, monkeypatch):
    def full(*args, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    path = tmp_path / "out.json"
    status, out, err = command("testam", "--json", str(path), "--sections", "A", "--iterations", "1")
    assert status == 1
    assert "AMShort" in out
    assert err == f"conduit testam: --json {path} cannot be written: No space left on device\n"


def test_output_that_cannot_be_written_is_said_without_a_traceback(command, install):
    def full() -> None:
        """Write to a disk that is full."""
        raise OSError(28, "No space left on device")

    install(COMMANDS, "full", full)
    assert command("full") == (1, "", "conduit full: output cannot be written: No space left on device\n")


def test_too_little_memory_is_said_without_a_traceback(command, install):
    def greedy() -> None:
        """Ask for more than there is."""
        raise MemoryError("Unable to allocate 909. TiB")

    install(COMMANDS, "greedy", greedy)
    assert command("greedy") == (1, "", "conduit greedy: out of memory: Unable to allocate 909. TiB\n")


def test_plugin_command_appears_and_runs(command, install):
    def measure(times: int = 1) -> int:
        """Measure something."""
        print("measured", times)
        return 0

    install(COMMANDS, "measure", measure)
    assert "Measure something." in command("--help").out
    assert command("measure", "--times", "3").out == "measured 3\n"


def test_broken_command_says_so_and_breaks_no_other(command, install):
    install(COMMANDS, "measure", target="no_such_package.commands:measure")
    help_text = " ".join(command("--help").out.replace("│", " ").split())
    assert "Cannot be imported: ModuleNotFoundError: No module named 'no_such_package'" in help_text
    assert command("list").status == 0
    status, _, err = command("measure", "--times", "3")
    assert status == 1
    assert err.startswith("conduit measure: the command 'measure' (no_such_package.commands:measure) cannot be")


def noted(error: Exception) -> Exception:
    error.add_note("rank 1 at 5 us")
    return error


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (BadRequest("size 3 is odd"), 2, "conduit fail: size 3 is odd\n"),
        (UnknownConduit("there is none"), 2, "conduit fail: there is none\n"),
        (ConduitError("contents differ"), 1, "conduit fail: contents differ\n"),
        (noted(BadRequest("dest=9")), 1, "conduit fail: dest=9\n  rank 1 at 5 us\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_status_of_errors(command, install, error, status, message):
    def fail() -> None:
        raise error

    install(COMMANDS, "fail", fail)
    assert command("fail") == (status, "", message)


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (1, 1), (7, 7)])
def test_status_is_what_the_command_returns(command, install, returned, status):
    install(COMMANDS, "give", lambda: returned)
    assert command("give").status == status


@pytest.mark.slow
def test_module_is_the_command_and_imports_only_what_it_runs():
    script = (
        "import sys, runpy, atexit; sys.argv = ['conduit', 'list'];"
        "atexit.register(lambda: print('testam' if 'conduit.commands.testam' in sys.modules else 'light'));"
        "runpy.run_module('conduit', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "loggp" in done.stdout
    assert done.stdout.endswith("light\n")


@pytest.mark.slow
def test_reader_that_goes_away_is_no_traceback():
    done = subprocess.run(
        f"{sys.executable} -m conduit list | true", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


@pytest.mark.parametrize("name", commands())
def test_help_shows_no_default_in_the_manner_of_python(command, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = command(name, "--help")
    assert status == 0
    assert not re.findall(r"\[default: (?:\(.*|\"\")\]", out)


def test_help_is_running_text_however_the_source_is_wrapped(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    _, out, _ = command("testam", "--help")
    assert [line.strip("│ ") for line in out.splitlines()][-10:-7] == [
        "--columns STR...      Columns of the tables, as average,MB/s: total, average, median, least,",
        "most, MB/s, KB/s, offered, driver, difference; by default all that there",
        "is room for.",
    ]


def test_what_help_says_of_completion_fits_a_terminal(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = command("completion", "--help")
    assert "\nbash: conduit completion bash > ~/.conduit_completion; source it in ~/.bashrc\n" in out
