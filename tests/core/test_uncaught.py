"""What a script shows of an error that it does not catch: its own lines, and what to do; the exact words."""

import signal
import sys
import types

import pytest

import conduit
from conduit.launch import imported
from conduit.launch.errors import uncaught
from conduit.launch.errors.tracebacks import WHOLE
from conduit.launch.printing import output, terminal

MAIN = "async def main(ep):\n    return ep.rank\n"


@pytest.fixture
def script(tmp_path, monkeypatch, capsys):
    """Run a script that fails; return the lines of standard error."""
    monkeypatch.delenv(WHOLE, raising=False)

    def run(source, package=None):
        path = tmp_path / "script.py"
        path.write_text(source)
        with pytest.raises(Exception) as caught:  # noqa: PT011  any
            exec(compile(source, str(path), "exec"), {"__name__": "__main__", "__package__": package})
        error = caught.value
        step = error.__traceback__.tb_next
        capsys.readouterr()
        uncaught._show(type(error), error, error.with_traceback(step).__traceback__)
        return capsys.readouterr().err.replace(str(path), "script.py").splitlines()

    return run


def places(lines):
    return [line.strip() for line in lines if line.startswith("  File ")]


JOB = f"import conduit\nkept = []\n{MAIN.replace('return ep.rank', 'kept.append(ep)')}conduit.run(main)\n"
OVER = (
    "conduit.errors.BadRequest: this call is on the endpoint of rank 0 of a job that is over; make calls while main "
    "runs, and return from it what is wanted afterwards"
)
FOR_TRIO = (
    "conduit.errors.BadRequest: run_async: it is for Trio programs, and no Trio runs here; call `conduit.run(main, "
    "...)` without `await`, and in a program of asyncio `await asyncio.to_thread(conduit.run, main, ...)`"
)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("from conduit import Extended", "Extended is in extended: write `from extended import Extended`"),
        (
            "from extended import shmem\nshmem.init()",
            "extended.shmem has no init; leave it out: `shmem.run(main)` begins SHMEM before it calls main, and ends "
            "it after",
        ),
        (f"import conduit\n{MAIN}conduit.run(main())", "conduit.run calls main by itself: write `conduit.run(main)`"),
        (
            f"import conduit\n{MAIN}conduit.run(main(), 4, conduit='sci')",
            "conduit.run calls main by itself: write `conduit.run(main, 4, conduit='sci')`",
        ),
        (
            "import conduit\nconduit.init()",
            "AttributeError: module 'conduit' has no attribute 'init'; it needs none: write `conduit.run(main, "
            "ranks=2)`",
        ),
        (
            "import conduit\nconduit.rank()",
            "AttributeError: module 'conduit' has no attribute 'rank'; write `ep.rank`, of the endpoint that `async "
            "def main(ep)` is called with",
        ),
        (
            f"import conduit\n{MAIN}r = conduit.run(main)\nr[0]",
            "r is a Result: write `r.values[rank]` for what a rank has returned",
        ),
        (
            f"import conduit\n{MAIN}r = conduit.run(main)\nfor value in r: pass",
            "r is a Result: write `r.values` for what the ranks have returned",
        ),
        (
            f"import conduit\n{MAIN}r = conduit.run(main)\nr.elapsed",
            "Result has no elapsed; write `r.seconds`, the job's duration on its own clock",
        ),
        (
            f"import conduit\n{MAIN}r = conduit.run(main)\nr.returned",
            "Result has no returned; write `r.values`, what each rank's main has returned",
        ),
        (
            f"import conduit\n{MAIN}r = conduit.run(main)\nr.stats",
            "Result has no stats; write `r.statistics[rank]`, the counts of a rank by name",
        ),
        *(
            (
                f"import conduit\n{MAIN}r = conduit.run(main)\n{use}",
                "r.trace is None, for that job kept none: give its run `trace=True`, as `conduit.run(main, ..., "
                "trace=True)`",
            )
            for use in (
                "r.trace.save('a.json')",
                "r.trace.write('a.json')",
                "r.trace[0]",
                "list(r.trace)",
                "len(r.trace)",
                "for each in r.trace: pass",
            )
        ),
        (
            f"import conduit\n{MAIN}conduit.run(main).trace.write('a.json')",
            "conduit.run(main).trace is None, for that job kept none: give its run `trace=True`, as `conduit.run(main, "
            "..., trace=True)`",
        ),
        (
            "import conduit\nconduit.MPI",
            "AttributeError: module 'conduit' has no attribute 'MPI'; write `from conduits.mpi import MPI`",
        ),
        (
            "import conduit\nconduit.attach",
            "AttributeError: module 'conduit' has no attribute 'attach'; write `await ep.attach(f, g)` for handlers; "
            "for the extended layer `from extended import Extended`, then `x = await Extended.attach(ep)`",
        ),
        (f"import asyncio, conduit\n{MAIN}asyncio.run(conduit.run_async(main))", FOR_TRIO),
        (JOB + "kept[0].poll()", OVER),
        (
            f"import conduit\n{MAIN}conduit.run(main, segment='1M')",
            "conduit.errors.BadRequest: run: segment='1M' is a str, as the command line takes it; here it is a "
            "number: segment=2**20",
        ),
        (
            f"import conduit\n{MAIN}conduit.run(main, segment='64k')",
            "conduit.errors.BadRequest: run: segment='64k' is a str, as the command line takes it; here it is a "
            "number: segment=64 * 2**10",
        ),
        (
            f"import conduit\n{MAIN}conduit.run(main, time_limit='5us')",
            "conduit.errors.BadRequest: run: time_limit='5us' is a str, as the command line takes it; here it is a "
            "number: time_limit=5e-06",
        ),
        (
            f"import conduit\n{MAIN}conduit.run(main, segment='big')",
            "conduit.errors.BadRequest: run: segment='big' is a str; pass an int",
        ),
    ],
)
def test_a_script_shows_its_own_line_alone_and_what_to_do(script, source, said):
    lines = script(source)
    assert lines[-1] == said
    last = source.count("\n") + 1
    assert places(lines) == [f'File "script.py", line {last}, in <module>']


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "import conduit\napi = 'mpi'\nasync def main(comm): await comm.Barrier()\nconduit.run(main, ranks=2)",
            "Endpoint has no Barrier; conduit.run gives main an endpoint: write `from conduits.mpi import MPI`, then "
            "`MPI.run(main, ranks=2)`",
        ),
        (
            "import conduit\nfrom extended import upc\napi = 'upc'\nasync def main(t): t.MYTHREAD\n"
            "conduit.run(main, ranks=3)",
            "Endpoint has no MYTHREAD; conduit.run gives main an endpoint: write `upc.run(main, threads=3)`",
        ),
        (
            "import conduit\nfrom extended import shmem\napi = 'shmem'\nasync def main(pe): pe.my_pe()\n"
            "conduit.run(main, ranks=2)",
            "Endpoint has no my_pe; conduit.run gives main an endpoint: write `shmem.run(main, pes=2)`",
        ),
        (
            "import conduit\nfrom extended import upc\napi = 'upc'\nasync def main(t): await t.all_alloc(4)\n"
            "conduit.run(main, ranks=2)",
            "Endpoint has no all_alloc; conduit.run gives main an endpoint: write `upc.run(main, threads=2)`",
        ),
        (
            "import conduit\napi = 'shmem'\nasync def main(ep): await ep.get(4)\nconduit.run(main, ranks=2)",
            "Endpoint has no get; conduit.run gives main an endpoint: write `from extended import shmem`, then "
            "`shmem.run(main, pes=2)`",
        ),
        (
            "from extended import shmem\nasync def main(pe): pe.ctx_create()\nshmem.run(main)",
            "PE has no ctx_create; write `ctx = await pe.Ctx.create()`",
        ),
    ],
)
def test_a_script_is_told_how_programs_of_its_front_end_are_run(script, source, said):
    assert script(source)[-1] == said


@pytest.mark.parametrize(("wrong", "meant"), [("sise", "size"), ("all_reduc", "all_reduce")])
def test_a_name_that_is_nearly_right_is_guessed_once(script, wrong, meant):
    body = f"async def main(ep):\n    (await Extended.attach(ep)).{wrong}\nconduit.run(main)\n"
    assert script("import conduit\nfrom extended import Extended\n" + body)[-3:] == [
        f"AttributeError: 'Extended' object has no attribute '{wrong}'",
        "raised by rank 0 at 0.000410000 s",
        f"Extended has no {wrong} (did you mean {meant}?)",
    ]


def test_an_error_that_is_not_of_this_package_is_shown_as_python_does(script):
    lines = script("import conduit\n1 / 0")
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert places(lines) == ['File "script.py", line 2, in <module>']


def test_of_an_error_outside_of_a_job_the_lines_of_libraries_stay(script):
    lines = script("import conduit, json\njson.loads('{')")
    assert places(lines)[0] == 'File "script.py", line 2, in <module>'
    assert len(places(lines)) > 2


def test_what_a_job_has_said_of_an_error_is_not_said_once_more_of_its_lines(script):
    source = "import asyncio, conduit\nasync def main(ep): await asyncio.Queue().get()\nconduit.run(main, ranks=1)"
    lines = script(source)
    assert places(lines) == ['File "script.py", line 3, in <module>', 'File "script.py", line 2, in main']
    assert sum("programs run on Trio, where nothing of asyncio works" in line for line in lines) == 1
    assert lines[-1].startswith("programs run on Trio, where nothing of asyncio works: write `await ep.block_until(")


def test_the_whole_traceback_is_shown_where_that_is_wanted(script, monkeypatch):
    monkeypatch.setenv(WHOLE, "1")
    assert len(places(script("import conduit\nconduit.init()"))) == 2


def test_the_lines_of_who_has_started_the_script_are_left_out(script):
    assert places(script("1 / 0", package="mpi4py")) == []
    assert places(script("1 / 0", package="")) == ['File "script.py", line 1, in <module>']


def test_what_all_processes_refuse_is_said_by_the_first_alone(script, monkeypatch):
    source = f"import conduit\n{MAIN}conduit.run(main, ranks=0)"
    assert script(source)[-1].startswith("conduit.errors.BadRequest: run: ranks=0 is not allowed")
    monkeypatch.setattr(uncaught, "_HEARD_S", 0.0)
    monkeypatch.setattr(output, "speech", lambda: types.SimpleNamespace(rank=1, framed=False))
    assert script(source) == []
    assert script("import conduit\n1 / 0")[-1] == "ZeroDivisionError: division by zero"


def test_whoever_shows_errors_otherwise_goes_on_to_do_so(monkeypatch):
    other = lambda *error: None  # noqa: E731
    monkeypatch.setattr(sys, "excepthook", other)
    uncaught.install()
    assert sys.excepthook is other
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    imported.install()
    assert sys.excepthook is imported._show
    uncaught.install()
    assert sys.excepthook is uncaught._show
    imported.install()
    assert sys.excepthook is uncaught._show


# -- Ctrl-C while this package is imported -------------------------------------------------------------------


def _interrupted():
    """Return a Ctrl-C that has come in the import of this package, out of a script."""
    inner = compile("import signal\nsignal.raise_signal(signal.SIGINT)", imported.PACKAGE + "a_part.py", "exec")
    names = {"exec": exec, "inner": inner}
    with pytest.raises(KeyboardInterrupt) as caught:
        exec(compile("\nexec(inner, {})", "script.py", "exec"), names)
    return caught.value.with_traceback(caught.value.__traceback__.tb_next)


def test_ctrl_c_in_the_imports_of_the_command_line_is_one_word(monkeypatch, capsys):
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    error = _interrupted()
    for words, arguments in ((["/bin/conduit", "run"], []), (["-m"], ["python", "-X", "dev", "-m", "conduit", "run"])):
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(sys, "orig_argv", arguments)
        with pytest.raises(SystemExit) as left:
            uncaught._show(KeyboardInterrupt, error, error.__traceback__)
        assert left.value.code == 130
        assert capsys.readouterr().err == "interrupted\n"


def test_ctrl_c_in_the_imports_of_a_script_shows_the_line_that_imports(monkeypatch, capsys):
    error = _interrupted()
    monkeypatch.setattr(sys, "argv", ["script.py"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "script.py"])
    uncaught._show(KeyboardInterrupt, error, error.__traceback__)
    lines = capsys.readouterr().err.splitlines()
    assert places(lines) == ['File "script.py", line 2, in <module>']
    assert lines[-1] == "KeyboardInterrupt"


# -- who has ended a job -------------------------------------------------------------------------------------


def _line(function, at):
    return f"{__file__}:{function.__code__.co_firstlineno + at} in {function.__name__}"


async def by_exit(ep):
    if ep.rank == 1:
        ep.exit(3)
    await ep.block_until(lambda: False)


async def by_python(ep):
    await ep.compute(1e-6)
    sys.exit("bad")


async def by_a_library(ep):
    import argparse

    argparse.ArgumentParser(prog="prog").parse_args(["--none"])


async def by_python_with_0(ep):
    if ep.rank == 1:
        sys.exit()
    await ep.block_until(lambda: False)


async def all_is_well(ep):
    if ep.rank == 1:
        await ep.compute(1e-3)
        sys.exit(0)


@pytest.mark.parametrize(
    ("main", "said"),
    [
        (by_exit, f"rank 1 ended the job with status 3 at {_line(by_exit, 2)}"),
        (by_python, f"rank 0 ended the job with status 1 at {_line(by_python, 2)}"),
        (by_a_library, f"rank 0 ended the job with status 2 at {_line(by_a_library, 3)}"),
        (by_python_with_0, f"rank 1 ended the job with status 0 at {_line(by_python_with_0, 2)}"),
        (all_is_well, ""),
    ],
)
def test_who_has_ended_the_job_is_said_unless_all_others_have_returned(main, said, capsys):
    with pytest.raises(SystemExit):
        conduit.run(main, conduit="loggp")
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rank ")]
    assert lines[:1] == ([said] if said else [])


REFUSED = "import conduit\nasync def main(ep):\n    pass\nconduit.run(main, conduit='sci', segment=1 << 40)\n"


def test_what_a_script_is_told_is_folded_in_a_terminal_and_nowhere_else(script, monkeypatch):
    whole = script(REFUSED)
    said = (
        "conduit.errors.BadRequest: segment=1099511627776: the SCI driver gives at most 2097152 bytes of "
        "contiguous memory; ask for at most 2097152"
    )
    assert whole[-1] == said
    monkeypatch.setattr(terminal, "columns", lambda: 80)
    assert script(REFUSED) == [
        *whole[:-1],
        "conduit.errors.BadRequest: segment=1099511627776: the SCI driver gives at most",
        "  2097152 bytes of contiguous memory; ask for at most 2097152",
    ]
    monkeypatch.setattr(terminal, "columns", lambda: 400)
    assert len(script(REFUSED)) == len(whole) + 1  # at 120
    monkeypatch.setattr(terminal, "columns", lambda: 10)
    code = [line for line in whole if line.startswith("  ")]
    assert [line for line in script(REFUSED) if line in code] == code
