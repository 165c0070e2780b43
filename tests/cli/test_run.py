"""`conduit run`: programs, their output, their failures."""

import json
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import conduit
from conduit.commands import reported
from conduit.commands.program import ProgramFile
from conduit.errors import BadRequest
from conduit.launch.entry_points import FRONT_ENDS
from conduit.launch.processes import of_spec
from conduit.seeing.comparison import read_results


@pytest.fixture
def run(command, tmp_path):
    """Write a program and run it; words after the program are those of the command line."""

    def write_and_run(source: str, *words: str, name: str = "program.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source))
        return command("run", str(path), "--conduit", "loggp", *words)

    return write_and_run


@pytest.mark.usefixtures("undrawn")
def test_an_interrupt_that_comes_as_a_call_dies_while_a_report_is_written_is_not_lost(run, tmp_path, monkeypatch):
    """Python drops what is raised there, and would show it with lines of this package."""

    class Dying:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def write(*_, **__):
        Dying()
        for _ in range(10**8):
            pass

    monkeypatch.setattr(reported, "write_report", write)
    outcome = run("async def main(ep): pass", "--report", str(tmp_path / "report"))
    assert outcome.status == 130
    assert outcome.err == "interrupted\n"


LAST_LINE = re.compile(r"ranks=(\d+) conduit=(\S+) seconds=(\S+) digest=([0-9a-f]+)")


def test_output_then_a_last_line_for_scripts(run):
    status, out, err = run(
        """
        async def main(ep):
            print("rank", ep.rank, "of", ep.size)
            await ep.compute(1e-3)
        """
    )
    assert (status, err) == (0, "")
    *printed, last = out.splitlines()
    assert printed == ["rank 0 of 2", "rank 1 of 2"]
    ranks, spec, seconds, _ = LAST_LINE.fullmatch(last).groups()
    assert (ranks, spec) == ("2", "loggp")
    assert 1e-3 <= float(seconds) < 2e-3


@pytest.mark.parametrize("printed", ['print("x", end="")', 'import sys; sys.stdout.writelines(["x"])'])
def test_the_last_line_has_a_line_of_its_own(run, printed):
    status, out, err = run(f"async def main(ep): {printed}")
    assert (status, err) == (0, "")
    first, last = out.splitlines()
    assert first == "xx"
    assert LAST_LINE.fullmatch(last)


def test_a_line_that_is_ended_gets_no_other_end(run):
    out = run("async def main(ep): print('x', end=''); print('y', end='\\n', flush=True); print('', end='')").out
    assert out.splitlines()[:-1] == ["xy", "xy"]


def test_what_a_program_that_fails_has_printed_is_ended_too(run):
    status, out, _ = run("async def main(ep): print('x', end=''); 1 / 0", "--ranks", "1")
    assert (status, out) == (1, "x\n")


def test_same_call_same_digest(run):
    program = """
        def count(token, number): pass
        async def main(ep):
            await ep.attach(count)
            await ep.request_short(1 - ep.rank, count, ep.random.randrange(1000))
        """
    first, second, other = (run(program, "--seed", seed).out.splitlines()[-1] for seed in "112")
    assert first == second
    assert first != other


def test_options_reach_the_job(run):
    program = """
        async def main(ep, *args):
            if ep.rank == 0:
                print(ep.size, ep.segment_size(0), ep.host_of(2), args)
        """
    words = ["--ranks", "4", "--segment", "1000", "--ranks-per-host", "2", "--", "a", "--b", "7"]
    assert run(program, *words).out.startswith("4 1000 1 ('a', '--b', '7')\n")


COUNTED = """
    def take(token):
        pass

    async def main(ep):
        await ep.attach(take)
        for _ in range(ep.rank):
            await ep.request_short(0, take)
        await ep.compute(1e-3)
        await ep.poll()
    """


def table(out):
    """Read the rows of a table of counts: cells by the name in front."""
    return {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith(" ") and line.strip()}


def test_counts_of_every_rank(run):
    status, out, _ = run(COUNTED, "--ranks", "3", "--stats")
    assert status == 0
    rows = table(out)
    assert rows["count"] == ["rank", "0", "rank", "1", "rank", "2"]
    assert rows["requests_sent"] == ["0", "1", "2"]
    assert rows["requests_handled"] == ["3", "0", "0"]
    assert LAST_LINE.fullmatch(out.splitlines()[-1])


def test_counts_of_many_ranks_in_three_columns(run):
    rows = table(run(COUNTED, "--ranks", "9", "--stats")[1])
    assert rows["count"] == ["least", "mean", "most"]
    assert rows["requests_sent"] == ["0", "4.0", "8"]


def test_counts_of_ranks_for_which_there_is_no_room_in_three_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    rows = table(run(COUNTED, "--ranks", "8", "--stats")[1])
    assert rows["count"] == ["least", "mean", "most"]
    assert rows["requests_sent"] == ["0", "3.5", "7"]
    assert "rank" in table(run(COUNTED, "--ranks", "4", "--stats")[1])["count"]


def test_no_counts_unasked(run):
    assert len(run(COUNTED)[1].splitlines()) == 1


def test_each_rank_has_a_module_of_its_own(run):
    status, out, _ = run(
        """
        import dataclasses, pickle
        seen = []

        @dataclasses.dataclass
        class Point:
            x: int

        async def main(ep):
            seen.append(ep.rank)
            await ep.compute(1e-6)
            print(seen, pickle.loads(pickle.dumps(Point(ep.rank))), __name__ != "__main__", __file__[-10:])
        """
    )
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "[0] Point(x=0) True program.py"
    assert lines[1] == "[1] Point(x=1) True program.py"


TRAVELS = """
    import enum, pickle
    from dataclasses import dataclass
    class Kind(enum.Enum):
        STOP = 1
    @dataclass
    class Task:
        kind: "Kind"
    async def main(ep):
        got = []
        def take(token, payload):
            got.append(pickle.loads(payload))
        await ep.attach(take)
        await ep.request_medium(1 - ep.rank, take, pickle.dumps(Task(Kind.STOP)))
        await ep.block_until(lambda: got)
        print(got[0] == Task(Kind.STOP), got[0].kind is Kind.STOP, isinstance(got[0], Task))
    """


@pytest.mark.parametrize("name", ["program.py", "my.own-program.py", "colorsys.py"])
def test_what_travels_by_pickle_is_of_the_class_that_the_receiver_has(run, name):
    status, out, err = run(TRAVELS, name=name)
    assert (status, err) == (0, "")
    assert out.splitlines()[:2] == ["True True True"] * 2
    assert not [each for each in sys.modules if each.endswith(("_rank0", "_rank1"))]


def test_processes_that_a_rank_forks_have_its_functions(run):
    source = """
        import multiprocessing
        def square(n): return n * n
        async def main(ep):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(square, [2, 3]))
        """
    assert run(source).out.startswith("[4, 9]\n[4, 9]\n")


def test_a_library_is_found_that_has_the_name_of_the_program(run):
    """As far as it has been imported before; `json.py` hides no json that the program does not import itself."""
    status, out, err = run(
        TRAVELS.replace("class Task:", "class JSONDecoder:").replace("Task", "JSONDecoder"), name="json.py"
    )
    assert (status, err) == (0, "")
    assert out.splitlines()[:2] == ["True True True"] * 2
    assert sys.modules["json"] is json


def test_an_object_that_is_called_is_a_main(run):
    source = """
        class Main:
            async def __call__(self, ep): print("called")
        main = Main()
        """
    assert run(source).out.startswith("called\ncalled\n")
    assert "is an object whose `__call__` is an ordinary function; write" in run(source.replace("async ", "")).err


def test_modules_and_path_are_gone_after_the_job(run, tmp_path):
    run("async def main(ep): pass")  # the command's own modules, which it loads when first used, stay
    before = list(sys.path), set(sys.modules)
    (tmp_path / "beside_it.py").write_text("WORD = 'found'")
    out = run("import beside_it\nasync def main(ep): print(beside_it.WORD)").out
    assert out.startswith("found\nfound\n")
    sys.modules.pop("beside_it")
    assert (sys.path, {name for name in sys.modules if "program" in name}) == (
        before[0],
        {name for name in before[1] if "program" in name},
    )


def test_failing_program_shows_its_traceback_and_rank(run):
    status, out, err = run(
        """
        async def main(ep):
            await ep.compute(2e-6)
            if ep.rank == 1:
                raise KeyError("lost")
        """
    )
    assert status == 1
    assert "ranks=" not in out
    lines = err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "program.py" in lines[1]
    assert "line 5, in main" in lines[1]
    assert "KeyError: 'lost'" in err
    assert "rank 1" in lines[-1]


@pytest.mark.parametrize("kind", ["Exception", "BaseException", "GeneratorExit"])
def test_an_error_of_any_kind_is_shown_from_the_first_line_of_the_program(run, kind):
    status, _, err = run(
        f"""
        class Stop({kind}):
            pass
        async def main(ep):
            await ep.compute(2e-6)
            raise Stop("enough")
        """
    )
    assert status == 1
    assert re.fullmatch(
        r"Traceback \(most recent call last\):\n"
        r'  File "\S*program\.py", line 6, in main\n'
        r'    raise Stop\("enough"\)\n'
        r"\S*Stop: enough\n"
        r"raised by rank 0 at \S+ s\n",
        err,
    )


def test_this_package_is_no_part_of_a_program_in_a_folder_above_it(tmp_path):
    """Such as that of a clone, in which there is the environment."""
    (tmp_path / "program.py").write_text("")
    file = ProgramFile(tmp_path / "program.py")
    file.path = Path(conduit.__file__).parents[1] / "program.py"
    names = {}
    exec(compile("async def main(ep): raise KeyError('lost')", file.path, "exec"), names)
    with pytest.raises(KeyError) as caught:
        conduit.run(names["main"])
    behind_this_test = caught.value.with_traceback(caught.value.__traceback__.tb_next)
    assert file.own_part(behind_this_test).tb_frame.f_code.co_filename == str(file.path)


def test_failing_handler_shows_where(run):
    status, _, err = run(
        """
        def fail(token):
            raise RuntimeError("in the handler")
        async def main(ep):
            await ep.attach(fail)
            if ep.rank == 1:
                await ep.request_short(0, fail)
            await ep.block_until(lambda: False)
        """
    )
    assert status == 1
    assert "line 3, in fail" in err
    assert "RuntimeError: in the handler" in err
    assert "in handler 'fail' on rank 0, for a request from rank 1\nraised by rank 0 at " in err
    assert "During handling" not in err
    assert "HandlerError" not in err
    assert err.count("in the handler") == 2  # in the line that raises it, and as what that raised


def test_failure_while_the_file_is_executed(run):
    status, _, err = run("x = 1 / 0\nasync def main(ep): pass")
    assert status == 1
    assert "program.py" in err.splitlines()[1]
    assert "ZeroDivisionError" in err


def test_wrong_argument_inside_the_program_is_a_failure_not_a_wrong_call(run):
    status, _, err = run("async def main(ep): await ep.compute(-1)")
    assert status == 1
    assert "program.py" in err
    assert "BadRequest: " in err


def test_deadlock_ends_with_its_report(run):
    status, _, err = run("async def main(ep): await ep.block_until(lambda: False, what='news', ranks=(1 - ep.rank,))")
    assert status == 1
    assert err.startswith("conduit run: deadlock at ")
    assert "waits for news" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("limit", ["1e-4", "100us", "0.1ms"])
def test_time_limit(run, limit):
    status, _, err = run(
        """
        async def main(ep):
            while True:
                await ep.compute(1e-6)
        """,
        *("--time-limit", limit),
    )
    assert status == 1
    assert err.startswith("conduit run: time limit at 100.000 us: ")


@pytest.mark.parametrize(("leave", "status"), [("ep.exit(7)", 7), ("ep.exit()", 0), ("raise SystemExit(3)", 3)])
def test_exit_status_of_the_program_is_that_of_the_command(run, leave, status):
    with pytest.raises(SystemExit) as caught:
        run(f"async def main(ep): {leave}")
    assert caught.value.code == status


def test_ctrl_c_ends_with_a_report(run):
    status, _, err = run(
        """
        import signal

        async def main(ep):
            if ep.rank:
                await ep.block_until(lambda: False, what="a word", ranks=[0])
            await ep.compute(1e-3)
            signal.raise_signal(signal.SIGINT)
            await ep.compute(1)
        """
    )
    assert status == 130
    assert re.match(r"interrupted at 1000\.\d+ us: where the ranks were", err)
    assert re.search(r"program\.py:6 in main: waits for a word, which rank 0 must bring about, since", err)
    assert err.count("interrupted") == 1


def test_warnings_go_to_stderr_with_their_rank(run):
    status, out, err = run("async def main(ep): ep.warn(f'{ep.rank} is slow')")
    assert status == 0
    assert err == "warning from rank 0: 0 is slow\nwarning from rank 1: 1 is slow\n"
    assert LAST_LINE.fullmatch(out.rstrip())


def test_full_report_has_every_rank_as_text_or_as_json(run, tmp_path):
    source = "async def main(ep): await ep.block_until(lambda: False, what='news', ranks=[0] if ep.rank else [])"
    text, structure = tmp_path / "report.txt", tmp_path / "report.json"
    assert run(source, "--ranks", "40", "--full-report", str(text))[0] == 1
    lines = text.read_text().splitlines()
    assert [sum(line.startswith(f"rank {rank}: ") for line in lines) for rank in range(40)] == [1] * 40
    assert run(source, "--ranks", "40", "--full-report", str(structure))[0] == 1
    report = json.loads(structure.read_text())
    assert [rank["tasks"][0]["wait"]["ranks"] for rank in report["ranks"]] == [[]] + [[0]] * 39
    assert report["causes"][0] == {"ranks": [0], "cycle": [], "direct": list(range(1, 40)), "in_turn": []}


@pytest.mark.parametrize("option", ["json", "trace", "full-report"])
def test_a_file_for_results_that_is_the_program_is_refused_before_it_runs(run, tmp_path, option):
    """By another path too: a link, or one that goes round."""
    source = 'print("runs")\nasync def main(ep): await ep.block_until(lambda: False)\n'
    (tmp_path / "link.py").symlink_to(tmp_path / "program.py")
    for path in (tmp_path / "program.py", tmp_path / "link.py", tmp_path / ".." / tmp_path.name / "program.py"):
        assert run(source, f"--{option}", str(path)) == (
            2,
            "",
            f"conduit run: --{option}={path} is the program itself; give another file\n",
        )
        assert (tmp_path / "program.py").read_text() == source


def test_two_results_in_one_file_are_refused_before_it_runs(run, tmp_path):
    """Whether the file is there or not; what is no file, as /dev/null, takes several."""
    source = 'print("runs")\nasync def main(ep): pass\n'
    path = tmp_path / "out"
    for one, other in ((path, path), (path, tmp_path / ".." / tmp_path.name / "out")):
        assert run(source, "--json", str(one), "--trace", str(other)) == (
            2,
            "",
            f"conduit run: --json {one} and --trace {other} would be written to one file; name another for one of "
            "them\n",
        )
    assert not path.exists()
    path.touch()
    (tmp_path / "link").hardlink_to(path)
    assert run(source, "--trace", str(path), "--full-report", str(tmp_path / "link")).status == 2
    assert run(source, "--json", "/dev/null", "--trace", "/dev/null").status == 0
    assert run(source, "--json", str(path), "--trace", str(tmp_path / "other")).status == 0


@pytest.mark.usefixtures("undrawn")
def test_a_result_that_the_report_would_overwrite_is_refused_before_it_runs(run, tmp_path):
    source = 'print("runs")\nasync def main(ep): pass\n'
    folder = tmp_path / "D"
    pages = (folder / "report.html", folder, folder / "loggp" / "report.html", folder / ".." / "D" / "time.svg")
    for path in pages:
        several = ("--conduit", "sci") if "loggp" in path.parts else ()
        for option in ("json", "trace", "full-report"):
            folder.joinpath("loggp").mkdir(parents=True, exist_ok=True)
            if path == folder:
                folder.joinpath("loggp").rmdir()
                folder.rmdir()
            assert run(source, *several, "--report", str(folder), f"--{option}", str(path)) == (
                2,
                "",
                f"conduit run: --{option} {path} and --report {folder} would be written to one place; name another "
                "for one of them\n",
            )
    folder.mkdir(exist_ok=True)
    assert run(source, "--report", str(folder), "--json", str(folder / "counts.json")).status == 0
    assert {"report.html", "counts.json"} <= {each.name for each in folder.iterdir()}


@pytest.mark.usefixtures("undrawn")
def test_a_result_beside_the_report_is_not_refused(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    source = "async def main(ep): await ep.attach()\n"
    for path in ("other.svg", "sub/report.html", "page.html"):
        assert run(source, "--report", ".", "--json", path).status == 0
        json.loads((tmp_path / path).read_text())


def test_files_that_were_written_are_told_on_standard_error(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("--json", "counts.json", "--trace", "trace.json", "--full-report", "report.txt")
    status, out, err = run("async def main(ep): await ep.attach()", *words)
    assert (status, err) == (0, "wrote trace.json\nwrote counts.json\n")
    assert LAST_LINE.fullmatch(out.strip())
    status, _, err = run("async def main(ep): await ep.block_until(lambda: False)", *words)
    assert status == 1
    assert err.startswith("wrote report.txt\nwrote trace.json\nwrote counts.json\nconduit run: deadlock at ")
    assert run("async def main(ep): pass", "--json", "/dev/null", "--trace", "/dev/null").err == ""
    assert run("async def main(ep): pass", "--json", "-").err.startswith("ranks=2 conduit=loggp seconds=")


def test_full_report_is_printed_for_a_hyphen(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "async def main(ep): await ep.block_until(lambda: False, what='news')"
    status, out, err = run(source, "--ranks", "6", "--full-report", "-")
    assert status == 1
    assert [line.partition(":")[0] for line in out.splitlines()[-6:]] == [f"rank {rank}" for rank in range(6)]
    assert "nothing can happen any more" in err
    assert not (tmp_path / "-").exists()
    refused = run(source, "--full-report", "-", "--json", "-")
    assert refused == (
        2,
        "",
        "conduit run: --json - and --full-report - would both be printed; name a file for one of them\n",
    )


def test_full_report_of_a_job_that_ends_well_is_not_written(run, tmp_path):
    assert run("async def main(ep): pass", "--full-report", str(tmp_path / "report.txt"))[0] == 0
    assert not list(tmp_path.glob("report.txt"))


def test_full_report_in_a_folder_that_is_not_there_is_a_wrong_call(run, tmp_path):
    status, _, err = run("async def main(ep): pass", "--full-report", str(tmp_path / "no" / "report.txt"))
    assert status == 2
    path = tmp_path / "no" / "report.txt"
    assert err == f"conduit run: --full-report {path} cannot be written; name a file in a folder that exists\n"


def test_all_files_that_cannot_be_written_are_told_at_once_before_the_job(run, tmp_path):
    words = [word for each in ("json", "trace", "full-report") for word in (f"--{each}", str(tmp_path / "no" / each))]
    status, out, err = run("async def main(ep): print('began')", *words)
    assert (status, out) == (2, "")
    assert err == (
        f"conduit run: --json {tmp_path}/no/json cannot be written; name a file in a folder that exists\n"
        f"  --trace {tmp_path}/no/trace cannot be written; name a file in a folder that exists\n"
        f"  --full-report {tmp_path}/no/full-report cannot be written; name a file in a folder that exists\n"
    )


def test_a_warning_of_many_ranks_is_said_once(run):
    status, _, err = run("async def main(ep): ep.warn('slow') if ep.rank != 1 else ep.warn('odd')", "--ranks", "4")
    assert status == 0
    assert err == "warning from ranks 0, 2-3: slow\nwarning from rank 1: odd\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "program.py defines no `async def main(ep, *args)`; give it one"),
        (
            "async def Main(ep): pass",
            "program.py defines no `async def main(ep, *args)`; its `Main` is to be called `main`\n$",
        ),
        (
            "api = 'shmem'\nasync def MAIN(pe): pass\nif __name__ == '__main__': pass",
            "program.py defines no `async def main(pe, *args)`; its `MAIN` is to be called `main`, or start it as a "
            "script: python .*.py",
        ),
        (
            "def Main(ep): pass",
            "program.py defines no `async def main(ep, *args)`; its `Main` is to be called `main`, and to be async\n$",
        ),
        ("MAIN = 3", "program.py defines no `async def main(ep, *args)`; give it one\n$"),
        ("def main(ep): pass", "main of .*program.py is an ordinary function; write `async def main(ep, *args)`"),
        ("class main: pass", "main of .*program.py is a class; write `async def main(ep, *args)`"),
        ("main = 3", "main of .*program.py is of type int; write `async def main(ep, *args)`"),
        (
            "from conduit.sim import Kernel, simulate\nasync def main(): pass\nsimulate(Kernel(), main)",
            "program.py, line 3 runs a simulation by itself; start it as a script: python .*program.py",
        ),
        (
            "async def it(ep): pass\nif __name__ == '__main__':\n    print(1)",
            "program.py defines no `async def main(ep, *args)`; give it one, or start it as a script: python .*.py",
        ),
        ("async def main(ep:\n", "program.py, line 1 is no Python: "),
        (
            "api = 'caf'\nasync def main(t): pass",
            "program.py is written for api = 'caf', a front end that is",
        ),
        (
            "api = 3\nasync def main(ep): pass",
            'program.py is written for api = 3, which is no text; write a front end, as api = "mpi"; installed are: ',
        ),
        (
            "import upc\napi: object = upc\nasync def main(t): pass",
            'program.py is written for api = upc, which is no text; write a front end, as api = "upc"; installed are: ',
        ),
    ],
)
def test_file_that_is_no_program_is_a_wrong_call(run, source, message):
    status, _, err = run(source)
    assert status == 2
    assert re.match("conduit run: .*" + message.replace("(", r"\(").replace("*args)", r"\*args\)"), err)
    assert "Traceback" not in err


def test_no_api_may_be_said_and_means_the_core(run):
    assert run("api = None\nasync def main(ep): print(type(ep).__name__)", "--ranks", "1").out.startswith("Endpoint")


@pytest.mark.parametrize(
    ("source", "message", "marked"),
    [
        (
            "async def main(ep)\n    pass\n",
            "line 1 is no Python: expected ':'",
            ["    async def main(ep)", "                      ^"],
        ),
        (
            "def main(ep):\n    await ep.poll()\n",
            "line 2 is no Python: 'await' outside async function; write `async` before the `def` that it is in, "
            "unless that is a handler, which cannot wait: let it take note of what has come, and wait in main",
            ["    await ep.poll()", "    ^^^^^^^^^^^^^^^"],
        ),
        ("x = 0\n  y = 1\n", "line 2 is no Python: unexpected indent", ["    y = 1"]),
    ],
)
def test_a_line_that_is_no_python_is_shown(run, tmp_path, source, message, marked):
    (tmp_path / "program.py").write_text(source)
    status, out, err = run(source)
    assert (status, out) == (2, "")
    assert err.splitlines() == [f"conduit run: {tmp_path / 'program.py'}, {message}", *marked]


@pytest.mark.parametrize(
    "source",
    [
        "{}",
        "{}\n",
        "{}\r\n",
        "# a line of two\x0c lines\n{}\n",
        "# -*- coding: latin-1 -*-\n{}\n",
        "\ufeff{}",
    ],
)
def test_the_line_of_an_error_is_that_of_python(command, tmp_path, source):
    latin = "latin-1" in source
    path = tmp_path / "program.py"
    body = 'async def main(ep):\n    await ep.compute("\xe4")'
    path.write_bytes(source.format(body).encode("latin-1" if latin else "utf-8"))
    _, _, err = command("run", str(path), "--conduit", "loggp")
    number = 1 + source.count("\n", 0, source.index("{}")) + 1
    assert err.splitlines()[1:4] == [
        f'  File "{path}", line {number}, in main',
        '    await ep.compute("\xe4")',
        "          ^^^^^^^^^^^^^^^",
    ]


def test_bytes_that_are_no_python_have_no_line(command, tmp_path):
    (tmp_path / "program.py").write_bytes(b"\x7fELF\0\1")
    status, _, err = command("run", str(tmp_path / "program.py"))
    assert status == 2
    assert re.fullmatch(r"conduit run: .*program.py is no Python: source code .*null bytes\n", err)


def test_arguments_that_main_does_not_take(run):
    status, _, err = run("async def main(ep, word): pass", "--", "a", "b")
    assert status == 2
    given = r"conduit run: main\(ep, word\) of .*program.py does not take the arguments given"
    many = r": too many positional arguments; write `async def main\(ep, \*args\)`"
    assert re.fullmatch(rf"{given} \(a b\){many}\n", err)
    err = run("async def main(ep, word): pass").err
    assert re.fullmatch(rf"{given} \(none\): missing a required argument: 'word'; give them behind the file\n", err)


def test_a_program_that_reads_sys_argv_finds_its_own_words(run, tmp_path):
    before = list(sys.argv)
    out = run("import sys\nasync def main(ep, *args): print(sys.argv)", "--ranks", "1", "--", "a", "--b").out
    assert out.splitlines()[0] == str([str(tmp_path / "program.py"), "a", "--b"])
    assert sys.argv == before


def test_main_without_an_endpoint(run):
    status, _, err = run("async def main(): pass")
    assert status == 2
    assert re.match(r"conduit run: main\(\) of .* takes no endpoint; write `async def main\(ep\)`\n", err)


def test_a_script_that_starts_a_job_by_itself_is_told_how_to_be_run(run):
    status, _, err = run("import conduit\nasync def main(ep): pass\nconduit.run(main)")
    assert status == 1
    assert 'run: called while a rank runs; put what starts a job under `if __name__ == "__main__":`' in err
    assert (
        run("import conduit\nasync def main(ep): pass\nif __name__ == '__main__':\n    conduit.run(main)").status == 0
    )


@pytest.mark.parametrize(
    ("front", "module", "call"),
    [
        ("mpi", "from conduits.mpi import MPI", "MPI.run(main)"),
        ("upc", "from extended import upc", "upc.run(main)"),
        ("shmem", "from extended import shmem", "shmem.run(main)"),
    ],
)
def test_a_script_of_a_front_end_that_starts_a_job_by_itself_is_told_all_that_it_lacks(
    command, tmp_path, front, module, call
):
    def run(*lines):
        (tmp_path / "program.py").write_text("\n".join([module, *lines]))
        return command("run", str(tmp_path / "program.py"))

    guarded = (
        'put what starts a job under `if __name__ == "__main__":`, which `conduit run` does not execute, because it '
        f"calls main by itself; for a job inside a job, `await {call.partition('.')[0]}.run_async(...)`\n"
    )
    started = f"{call.partition('(')[0]}: called while a rank runs; "
    program, api = "async def main(given): pass", f'api = "{front}"'
    assert f"{started}put `{api}` at its top, and {guarded}" in run(program, call).err
    assert started + guarded in run(api, program, call).err
    done = run(api, program, 'if __name__ == "__main__":', f"    {call}")
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("words", [("--conduit", "loggp"), ("--conduit=loggp",)])
def test_such_a_script_of_mpi_is_also_told_another_conduit(command, tmp_path, words):
    (tmp_path / "program.py").write_text("from conduits.mpi import MPI\nasync def main(comm): pass\nMPI.run(main)")
    assert (
        'put `api = "mpi"` at its top, give another --conduit (conduit=\'loggp\': programs with `api = "mpi"` run on '
        "MPI libraries; give mpi:library=scampi, say), and put what starts a job under "
    ) in command("run", str(tmp_path / "program.py"), *words).err


def test_a_job_inside_a_job_is_told_apart_from_a_script_that_is_run(run):
    _, _, err = run("import conduit\nasync def inner(ep): pass\nasync def main(ep): conduit.run(inner)")
    assert "run: called while a rank runs; a job inside a job is `await conduit.run_async(...)`" in err
    assert "__main__" not in err


def test_missing_file(command):
    status, _, err = command("run", "no_such_file.py")
    assert status == 2
    assert err.startswith("conduit run: cannot read the program no_such_file.py: No such file or directory; give the ")


def test_a_missing_file_is_not_meant_to_be_one_that_ends_likewise(command, tmp_path, monkeypatch):
    (tmp_path / "ring.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert command("run", "nothing.py").err.endswith("; give the path of a Python file\n")


@pytest.mark.parametrize(
    ("word", "meant"), [("ring", "ring.py"), ("rign.py", "ring.py"), ("sub/rin.py", "sub/ring.py")]
)
def test_a_file_that_may_be_meant(command, tmp_path, monkeypatch, word, meant):
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "ring.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert command("run", word) == (
        2,
        "",
        f"conduit run: cannot read the program {word}: No such file or directory; did you mean {meant}?\n",
    )


def test_a_link_that_leads_nowhere_is_told_so(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dangling.py").symlink_to("nothing.py")
    assert command("run", "dangling.py") == (
        2,
        "",
        "conduit run: cannot read the program dangling.py: No such file or directory; it is a link to nothing.py, "
        "which leads to no file\n",
    )


def test_a_file_of_results_is_no_program(command, tmp_path):
    (tmp_path / "it.json").write_text("[]")
    status, _, err = command("run", str(tmp_path / "it.json"))
    path = tmp_path / "it.json"
    assert status == 2
    assert err == (
        f"conduit run: {path} is no program; if it holds results, conduit compare --from {path} --out FOLDER draws "
        "them\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "0"], "conduit run: --ranks 0 is too small; it must be at least 1\n"),
        (["-n", "-1"], "conduit run: -n -1 is too small; it must be at least 1\n"),
        (["--segment", "-1"], "conduit run: --segment -1 is too small; it must be at least 0\n"),
        (["--ranks-per-host", "0"], "conduit run: --ranks-per-host 0 is too small; it must be at least 1\n"),
        (["--conduit", "loggp:slots=0"], "option 'slots' of conduit 'loggp' cannot be '0'"),
        (["--conduit", "tokenring"], "there is no conduit 'tokenring'"),
    ],
)
def test_wrong_option(command, tmp_path, words, message):
    path = tmp_path / "program.py"
    path.write_text("async def main(ep): pass")
    conduit = [] if "--conduit" in words else ["--conduit", "loggp"]
    status, _, err = command("run", str(path), *conduit, *words)
    assert status == 2
    assert err.startswith("conduit run: ")
    assert message in err


def test_front_end_that_is_installed_runs_its_programs(run, install):
    calls = []

    def runner(main, *args, **settings):
        calls.append((args, settings))
        return SimpleNamespace(warnings=[], statistics=[], ranks=3, conduit="loggp", seconds=0.5, digest=None)

    install(FRONT_ENDS, "caf", runner)
    status, out, _ = run("api: str = 'caf'\nasync def main(t, *args): pass", "--ranks", "3", "--", "x")
    assert (status, out) == (0, "ranks=3 conduit=loggp seconds=0.5 digest=none\n")
    [(args, settings)] = calls
    assert args == ("x",)
    assert settings["ranks"] == 3
    assert settings["conduit"] == "loggp"


def test_a_front_end_may_say_where_its_programs_run(command, install, tmp_path):
    asked = []

    def runner(main, *args, conduit="loggp:slots=2", **settings):
        asked.append(conduit)
        return SimpleNamespace(warnings=[], statistics=[], ranks=2, conduit=conduit, seconds=0.5, digest=None)

    install(FRONT_ENDS, "caf", runner)
    path = tmp_path / "prog.py"
    path.write_text("api = 'caf'\nasync def main(t): pass")
    assert command("run", str(path))[0] == command("run", str(path), "--conduit", "startx")[0] == 0
    assert asked == ["loggp:slots=2", "startx"]


def test_several_conduits_run_one_after_the_other_with_a_table_of_their_times(command, tmp_path):
    path = tmp_path / "prog.py"
    path.write_text("async def main(ep, *words):\n    await ep.compute(1e-3)\n    print(ep.rank, *words)\n")
    specs = ["loggp", "sci:slots=4", "startx"]
    words = [word for spec in specs for word in ("--conduit", spec)]
    status, out, err = command("run", str(path), *words, "--", "word")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    last = [line for line in lines if line.startswith("ranks=")]
    assert [LAST_LINE.fullmatch(line)[2] for line in last] == specs
    assert lines[:3] == ["0 word", "1 word", last[0]]
    table = [line.split() for line in lines[lines.index(last[-1]) + 1 :] if line.strip(" ─")]
    assert table[0] == ["conduit", "ranks", "time", "us", "times", "the", "first", "clock"]
    seconds = [float(LAST_LINE.fullmatch(line)[3]) for line in last]
    assert table[1:] == [
        [spec, "2", f"{each * 1e6:.3f}", f"{each / seconds[0]:.3f}", "virtual"]
        for spec, each in zip(specs, seconds, strict=True)
    ]


def test_what_has_run_is_in_the_table_although_a_later_conduit_fails(command, tmp_path):
    path = tmp_path / "prog.py"
    path.write_text("async def main(ep):\n    assert not ep.costs.off_host or ep.limits.max_medium != 1024, 'no'\n")
    status, out, err = command("run", str(path), "--conduit", "loggp", "--conduit", "loggp:max_medium=1024")
    assert status == 1
    assert err.endswith("raised by rank 0 at 0.000000000 s\n") or "AssertionError: no" in err
    assert out.count("loggp ") == 2  # of the line for scripts, and of the table


def test_json_of_a_run(command, tmp_path):
    path, out = tmp_path / "prog.py", tmp_path / "out.json"
    path.write_text(textwrap.dedent(COUNTED))
    words = ["--conduit", "loggp:slots=4", "--conduit", "sci", "--ranks", "3", "--seed", "7", "--segment", "64K"]
    status, printed, _ = command("run", str(path), *words, "--json", str(out))
    assert status == 0
    first, second = json.loads(out.read_text())
    digest = LAST_LINE.fullmatch(printed.splitlines()[0])[4]
    assert first["options"].pop("slots") == 4
    assert {name: first[name] for name in first if name not in ("options", "seconds", "statistics")} == {
        "program": str(path),
        "arguments": [],
        "version": conduit.__version__,
        "conduit": "loggp:slots=4",
        "ranks": 3,
        "seed": 7,
        "segment": 65536,
        "ranks_per_host": 1,
        "clock": "virtual",
        "digest": digest,
        "warnings": [],
    }
    assert [counts["requests_sent"] for counts in first["statistics"]] == [0, 1, 2]
    assert second["conduit"] == "sci"


def test_json_of_a_run_says_how_many_ranks_share_a_host(command, tmp_path):
    path, out = tmp_path / "prog.py", tmp_path / "out.json"
    path.write_text("async def main(ep):\n    await ep.attach()\n")
    words = ["--conduit", "sunfire", "--conduit", "loggp", "-n", "5", "--ranks-per-host", "3", "--json", str(out)]
    assert command("run", str(path), *words).status == 0
    assert [each["ranks_per_host"] for each in json.loads(out.read_text())] == [3, 3]


def test_json_of_a_run_says_how_many_ranks_share_a_host_where_the_network_decides(command, tmp_path):
    path, out = tmp_path / "prog.py", tmp_path / "out.json"
    path.write_text("async def main(ep):\n    await ep.attach()\n")
    assert command("run", str(path), "--conduit", "sunfire", "-n", "20", "--json", str(out)).status == 0
    (found,) = json.loads(out.read_text())
    assert found["ranks_per_host"] == 3  # 20 ranks on its 8 hosts


@pytest.mark.parametrize(
    ("body", "expected", "error"),
    [
        ("raise ValueError('no\\nmore')", 1, "ValueError: no"),
        ("await ep.block_until(lambda: False)", 1, "Deadlock: deadlock at "),
        ("ep.exit(3)", 3, "exit with status 3"),
        ("raise SystemExit", None, "exit with status 0"),
        ("raise SystemExit(True)", True, "exit with status 1"),
        ("raise SystemExit('no\\nmore')", "no\nmore", "exit with status 1: no"),
        ("raise SystemExit('')", "", "exit with status 1"),
        ("raise SystemExit([1, 2])", [1, 2], "exit with status 1: [1, 2]"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
    ],
)
def test_json_of_a_run_that_fails_says_so(command, tmp_path, body, expected, error):
    path, out = tmp_path / "prog.py", tmp_path / "out.json"
    path.write_text(f"async def main(ep):\n    if ep.hosts == (0, 1):\n        {body}\n")
    out.write_text("an older one")
    words = ["--conduit", "loggp:slots=2", "-n", "2", "--ranks-per-host", "1", "--conduit", "loggp", "--json", str(out)]
    try:
        status, _, _ = command("run", str(path), *words)
    except SystemExit as exit:
        status = exit.code
    assert status == expected
    found, *_ = json.loads(out.read_text())
    assert found["error"].startswith(error) if error.endswith(" ") else found["error"] == error
    assert (found["conduit"], found["options"]["slots"], found["seed"]) == ("loggp:slots=2", 2, 0)
    assert found["ranks_per_host"] == 1
    assert found["ranks"] == 2
    if len(json.loads(out.read_text())) == 1:  # the program went on to no other conduit
        with pytest.raises(BadRequest, match="holds no results"):
            read_results(out)


@pytest.mark.parametrize("body", ["1 / 0", "ep.exit(1)", "while True: await ep.block_until(lambda: False)"])
@pytest.mark.parametrize("conduit", ["loggp", "sci:torus=4x2"])
def test_json_of_a_run_that_fails_says_how_many_ranks_it_had_by_default(command, tmp_path, body, conduit):
    path, out = tmp_path / "prog.py", tmp_path / "out.json"
    path.write_text(f"async def main(ep):\n    {body}\n")
    with suppress(SystemExit):
        command("run", str(path), "--conduit", conduit, "--json", str(out))
    (found,) = json.loads(out.read_text())
    assert found["ranks"] == 2


def test_json_keeps_what_ran_before_a_failure(command, tmp_path):
    path, out = tmp_path / "prog.py", tmp_path / "out.json"
    path.write_text("async def main(ep):\n    assert ep.limits.max_medium == 65000\n")
    status, _, _ = command("run", str(path), "--conduit", "loggp", "--conduit", "sci", "--json", str(out))
    assert status == 1
    first, second = json.loads(out.read_text())
    assert "error" not in first
    assert (second["conduit"], second["error"]) == ("sci", "AssertionError")
    assert [each.conduit for each in read_results(out)] == ["loggp"]


def test_a_wrong_call_leaves_an_older_file(command, tmp_path):
    path, out = tmp_path / "prog.py", tmp_path / "out.json"
    path.write_text("async def main(ep): pass\n")
    out.write_text("an older one")
    status, _, _ = command("run", str(path), "--ranks", "0", "--json", str(out))
    assert (status, out.read_text()) == (2, "an older one")


COPIES = (
    "warning: a launcher has started 3 processes, and each of them runs all ranks on 'sci' by itself; choose --conduit "
    "mpi:library=mpi4py for a rank in each process, or start it without the launcher\n"
)


@pytest.mark.parametrize("words", [["run", "prog.py"], ["testbarrier", "--iterations", "1"]])
@pytest.mark.parametrize(("processes", "warning"), [("3", COPIES), ("1", ""), (None, "")])
def test_a_launcher_that_starts_copies_of_a_simulation_is_noticed(
    command, tmp_path, monkeypatch, words, processes, warning
):
    pytest.importorskip("mpi4py", reason="the network that is proposed needs mpi4py")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text("async def main(ep): pass\n")
    monkeypatch.setattr(of_spec, "_WARNED", [])
    if processes is not None:
        monkeypatch.setenv("PMI_SIZE", processes)
    status, _, err = command(*words)
    assert (status, err) == (0, warning)


def test_json_that_is_printed_stands_alone(command, tmp_path):
    path = tmp_path / "prog.py"
    path.write_text("async def main(ep): print('a word')")
    status, out, err = command("run", str(path), "--conduit", "loggp", "--json", "-")
    assert status == 0
    assert json.loads(out)[0]["conduit"] == "loggp"
    assert err.splitlines()[:2] == ["a word", "a word"]
    assert LAST_LINE.fullmatch(err.splitlines()[2])


@pytest.mark.parametrize(("size", "nbytes"), [("1M", 1 << 20), ("64k", 1 << 16), ("1_000", 1000), ("2G", 1 << 31)])
def test_sizes_in_powers_of_two(run, size, nbytes):
    out = run("async def main(ep):\n    print(ep.segment_size(0))", "--segment", size, "--ranks", "1").out
    assert out.splitlines()[0] == str(nbytes)


@pytest.mark.parametrize("size", ["1.5M", "1MB", "M", "1 M"])
def test_what_is_no_size_is_refused(run, size):
    assert run("async def main(ep): pass", "--segment", size) == (
        2,
        "",
        f"conduit run: --segment '{size}' is no size; give bytes, or as 64K, 1M, 2G (powers of 2)\n",
    )


def test_an_older_report_is_told_to_be_none_of_a_job_that_is_well(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.py").write_text("async def main(ep): pass\n")
    assert command("run", "it.py", "--full-report", "old.json").err == ""
    (tmp_path / "old.json").write_text("{}")
    status, _, err = command("run", "it.py", "--full-report", "old.json")
    assert (status, err) == (0, "old.json is left from before: this job came to its end, and has no report\n")
    assert (tmp_path / "old.json").read_text() == "{}"


def test_a_time_whose_unit_was_forgotten_is_told_where_the_network_is_absurdly_slow_by_it(command, tmp_path):
    path = tmp_path / "program.py"
    path.write_text("async def main(ep): pass")
    status, _, err = command("run", str(path), "--conduit", "loggp:L=5,g=1us,G=1e-9")
    assert (status, err) == (
        0,
        "warning: a round trip on 'loggp:L=5,g=1us,G=1e-9' takes 10 s of virtual time, as a time without a unit is in "
        "seconds; where microseconds are meant write loggp:L=5us,g=1us,G=1e-9\n",
    )


@pytest.mark.parametrize(
    "spec",
    ["loggp:L=5s", "loggp:L=0.00001", "udp:rto=2", "udp:rate=1000,rto=0.001", "udp:rate=1000,rto=2", "sci:slots=4"],
)
def test_a_network_that_is_slow_by_units_that_were_written_or_by_no_time_is_not_told(command, tmp_path, spec):
    path = tmp_path / "program.py"
    path.write_text("async def main(ep): pass")
    outcome = command("run", str(path), "--conduit", spec)
    assert (outcome.status, outcome.err) == (0, "")


def test_a_program_in_a_package_is_told_how_it_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "prog.py").write_text("from .util import step\nasync def main(ep): pass")
    told = (
        "a program is a file of no package: write one beside the folder pkg with `from pkg.prog import main`, and run "
        "that"
    )
    assert told in command("run", "pkg/prog.py").err.splitlines()
    (tmp_path / "alone.py").write_text("from .util import step\nasync def main(ep): pass")
    alone = "a program is a file of no package: write `from module import name`, without the dot"
    assert alone in command("run", "alone.py").err.splitlines()
    assert command("run", "-m", "pkg.prog").err == (
        "conduit run: there is no option -m; see conduit run --help; a program is a file: write one with `from "
        "package.module import main`, and run that\n"
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_program_runs_where_an_output_is_closed(tmp_path, closed):
    program = tmp_path / "program.py"
    program.write_text("async def main(ep): print(ep.rank)")
    words = f"{sys.executable} -m conduit run {program} --conduit loggp {closed}"
    found = subprocess.run(words, shell=True, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout[:4] == ("" if words.endswith((">&- 2>&-", " >&-")) else "0\n1\n")
