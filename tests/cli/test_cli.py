"""Finding commands, and turning outcomes into exit statuses."""

import subprocess
import sys

import pytest

from conduit import BadRequest, ConduitError, UnknownConduit
from conduit.registry import COMMANDS

BENCHMARKS = ["testam", "testsmall", "testlarge", "testbarrier", "testcoll", "testlogp"]


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


@pytest.mark.parametrize("name", ["--help", *BENCHMARKS, "list", "show", "run", "raw", "conform", "new"])
def test_help_breaks_no_line_of_a_narrow_terminal_twice(command, monkeypatch, name):
    """Lines of a paragraph stay lines: one that is too long would be broken again, in the middle of the paragraph."""
    monkeypatch.setenv("COLUMNS", "300")
    paragraphs = command(*dict.fromkeys([name, "--help"])).out.split("\n\n")
    lines = [line for each in paragraphs if each[:1] not in "╭ " for line in each.strip().splitlines() if "\n" in each]
    assert all(len(line) <= 80 for line in lines)


def test_version(command):
    status, out, _ = command("--version")
    assert status == 0
    assert out.strip().count(".") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tetsam"], 'Unknown command "tetsam". Did you mean "testam"?'),
        (["testam", "--rank", "2"], "Unknown option: --rank."),
        (["testam", "--ranks", "two"], "Invalid value for --ranks: 'two' is no integer"),
        (["testam", "--max-size", "1e6"], "Invalid value for --max-size: '1e6' is no integer"),
        (["testsmall", "--iterations", "2.7"], "Invalid value for --iterations: '2.7' is no integer"),
        (["run", "x.py", "--ranks", "1.5"], "Invalid value for --ranks: '1.5' is no integer"),
        (["run", "x.py", "--seed", ""], "Invalid value for --seed: '' is no integer"),
        (["testam", "--local", "near"], 'Invalid value "near" for --local. Choose from: "in", "out".'),
        (["show"], 'Command "show" parameter NAME requires an argument.'),
        (["show", "tokenring"], "conduit show: there is no conduit 'tokenring'; installed are: "),
        (["raw", "loggp:slots=x"], "conduit raw: option 'slots' of conduit 'loggp' cannot be 'x'; allowed: an integer"),
    ],
)
def test_wrong_call_is_status_2(command, words, message):
    status, _, err = command(*words)
    assert status == 2
    assert message in err
    assert "Traceback" not in err


WRONG = [
    (["--ranks", "0"], "--ranks 0 is too small; it must be at least 1"),
    (["--ranks-per-host", "-1"], "--ranks-per-host -1 is too small; it must be at least 1"),
    (["--ranks-per-host", "3"], "ranks_per_host=3 does not fit 2 ranks on 'sci'; the smallest that does is 1"),
    (["--ranks", "200000"], "ranks=200000 does not fit on 'sci', with room for 2 ranks on each of 65536 hosts"),
    (["--conduit", "loggp", "--ranks", "100000000"], "ranks=100000000 is more than a simulation can have; use at most"),
    (["--conduit", "sci:torus=1x2", "--conduit", "loggp", "--ranks", "9"], "ranks=9 does not fit on 'sci'"),
    (["--conduit", "loggp", "--conduit", "sci:torus=1x2", "--ranks", "9"], "ranks=9 does not fit on 'sci'"),
    (["--iterations", "0"], "--iterations 0 is too small; it must be at least 1"),
    (["--sections", "ab "], "--sections 'ab ' has ' ' in it, which is no section; give letters out of AB"),
    (["--json", "no/such/folder.json"], "--json no/such/folder.json cannot be written; name a file in a folder that"),
]


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_options_of_benchmarks_are_refused_before_any_job(command, name, words, message):
    status, out, err = command(name, *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"conduit {name}: {message}")


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
    assert command("full") == (1, "", "conduit full: [Errno 28] No space left on device\n")


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
