"""Arguments that `run` does not have, and a call of main in the place of main: the exact words, for each `run`."""

import functools
import inspect
import re
from pathlib import Path

import pytest
import trio

import conduit
from conduit.launch import registry
from conduits.mpi import MPI
from extended import shmem, upc

KNOWN = "ranks, conduit, seed, segment, ranks_per_host, time_limit, stall_limit, trace"


async def main(ep):
    await ep.attach()


async def _program(t):
    pass


async def _with_a_name(ep, *, verbose=False):
    pass


def test_what_main_takes_by_name_alone_is_told_how_to_be_given():
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(_with_a_name, verbose=True)
    assert str(caught.value) == (
        f"run: there is no argument verbose=; there are {KNOWN}; what main takes goes before them, without names, or "
        "by functools.partial(main, verbose=...)"
    )


@pytest.mark.parametrize(("front", "name"), [(upc, "upc"), (shmem, "shmem"), (MPI, "MPI"), (conduit, "conduit")])
def test_what_begins_a_job_where_trio_runs_or_does_not_is_told_the_call_of_its_own_front_end(front, name):
    refused = []

    async def program():
        with pytest.raises(conduit.BadRequest) as caught:
            front.run(_program)
        refused.append(str(caught.value))

    trio.run(program)
    assert refused == [f"run: a Trio program is running in this thread; use `await {name}.run_async(...)` there"]
    with pytest.raises(conduit.BadRequest) as caught:
        front.run_async(_program).send(None)
    assert str(caught.value) == (
        f"run_async: it is for Trio programs, and no Trio runs here; call `{name}.run(main, ...)` without `await`, and "
        f"in a program of asyncio `await asyncio.to_thread({name}.run, main, ...)`"
    )


def test_a_main_that_takes_no_communicator_is_named_without_its_address():
    async def main():
        pass

    with pytest.raises(conduit.BadRequest) as caught:
        MPI.run(main)
    assert re.fullmatch(
        r"MPI\.run: main=\S*main cannot be called with a communicator and 0 arguments: too many positional arguments; "
        r"write `async def main\(comm, \*args\)`",
        str(caught.value),
    )


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("rank", "ranks"),
        ("pes", "ranks"),
        ("threads", "ranks"),
        ("np", "ranks"),
        ("timeout", "time_limit"),
        ("conduits", "conduit"),
        ("network", "conduit"),
        ("segments", "segment"),
        ("ranks_per_node", "ranks_per_host"),
        ("TRACE", "trace"),
        ("zzz", ""),
    ],
)
@pytest.mark.parametrize("run", [conduit.run, conduit.run_async])
def test_an_argument_that_there_is_not_is_refused_with_the_one_that_was_meant(run, given, meant):
    with pytest.raises(conduit.BadRequest) as caught:
        run(main, **{given: 4})
    asked = f" (did you mean {meant}=?)" if meant else ""
    assert str(caught.value) == (
        f"{run.__name__}: there is no argument {given}={asked}; there are {KNOWN}; what main takes goes before them, "
        "without names"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slots": 4}, 'slots=4 is an option of the conduit sci: write conduit="sci:slots=4"'),
        ({"torus": "2x2"}, "torus='2x2' is an option of the conduit sci: write conduit=\"sci:torus=2x2\""),
        ({"torus": (2, 2)}, 'torus=(2, 2) is an option of the conduit sci: write conduit="sci:torus=2x2"'),
        ({"patched": True}, 'patched=True is an option of the conduit sci: write conduit="sci:patched=yes"'),
        ({"loss": 0.1}, 'loss=0.1 is an option of the conduit udp, not of sci: write conduit="udp:loss=0.1"'),
        (
            {"max_medium": 4096},
            "max_medium=4096 is an option of the conduits loggp, startx and udp, not of sci: write "
            'conduit="loggp:max_medium=4096"',
        ),
        (
            {"conduit": "sci:torus=2x2", "slots": 4},
            'slots=4 is an option of the conduit sci: write conduit="sci:torus=2x2,slots=4"',
        ),
        (
            {"conduit": "sci:slots=2,torus=2x2", "slots": 4},
            'slots=4 is an option of the conduit sci: write conduit="sci:slots=4,torus=2x2"',
        ),
        (
            {"conduit": "mpi", "library": "sunmpi"},
            "library='sunmpi' is an option of the conduit mpi: write conduit=\"mpi:library=sunmpi\"",
        ),
        (
            {"conduit": "mpi:library=sunmpi", "credits": 3},
            'credits=3 is an option of the conduit mpi: write conduit="mpi:library=sunmpi,credits=3"',
        ),
    ],
)
@pytest.mark.parametrize("front", ["", "upc.", "shmem."])
def test_an_option_of_a_conduit_is_told_to_stand_in_the_spec(front, given, said):
    run = {"": conduit.run, "upc.": upc.run, "shmem.": shmem.run}[front]
    with pytest.raises(conduit.BadRequest) as caught:
        run(main, **given)
    assert str(caught.value) == f"{front}run: {said}"
    registry.parse_spec(said.split('"')[1])


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"credits": 3}, "scampi:credits=3"),
        ({"library": "sunmpi:credits=2", "credits": 3}, "sunmpi:credits=3"),
        ({"library": "scampi:torus=2x2", "credits": 3}, "scampi:torus=2x2,credits=3"),
    ],
)
def test_an_option_of_a_library_of_mpi_is_told_to_stand_behind_its_name(given, written):
    with pytest.raises(conduit.BadRequest) as caught:
        MPI.run(main, **given)
    assert str(caught.value) == f'MPI.run: credits=3 is an option of the library: write library="{written}"'
    registry.parse_spec(f"mpi:library={written.replace(':', ',')}")


@pytest.mark.parametrize("written", ["sunmpi", "sunmpi:credits=3", "scampi:torus=2x2,credits=3"])
def test_a_spec_in_the_place_of_a_library_is_told_what_that_is_called(written):
    spec = f"mpi:library={written.replace(':', ',')}"
    with pytest.raises(conduit.BadRequest) as caught:
        MPI.run(main, library=spec)
    assert str(caught.value) == f'MPI.run: library={spec!r} is a spec of conduits; write library="{written}"'


@pytest.mark.parametrize("given", [["sci", "startx"], ("sci", "startx")], ids=["list", "tuple"])
@pytest.mark.parametrize("run", [conduit.run, upc.run], ids=["conduit", "upc"])
def test_several_conduits_are_told_to_be_one_for_each_job(run, given):
    with pytest.raises(conduit.BadRequest) as caught:
        run(_program, conduit=given)
    assert str(caught.value) == (
        f"run: conduit={given!r} is a {type(given).__name__}; give a spec string such as 'sci' or 'sci:torus=4x2'; a "
        f"job runs on one: write `for spec in {given!r}:`, and in it give `conduit=spec`"
    )


@pytest.mark.parametrize(("given", "kind"), [(None, "no value"), (3, "an int"), ([], "a list")])
def test_what_is_no_spec_is_refused(given, kind):
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(main, conduit=given)
    assert str(caught.value) == (
        f"run: conduit={given!r} is {kind}; give a spec string such as 'sci' or 'sci:torus=4x2'"
    )


def test_what_run_takes_can_be_looked_up():
    assert ", ".join(list(inspect.signature(conduit.run).parameters)[2:]) == KNOWN


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (shmem.run, "shmem.run: there is no argument rnks=; give pes, conduit, seed, "),
        (upc.run, "upc.run: there is no argument rnks=; give threads, write_buffer, conduit, seed, "),
        (MPI.run, "MPI.run: there is no argument rnks= (did you mean ranks?); give library, ranks, seed, "),
    ],
)
def test_the_front_ends_refuse_it_too(run, said):
    with pytest.raises(conduit.BadRequest) as caught:
        run(main, rnks=4)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("run", "given", "said"),
    [
        (upc.run, "thread", "upc.run: there is no argument thread= (did you mean threads=?); give threads, write_"),
        (upc.run, "THREADS", "upc.run: there is no argument THREADS= (did you mean threads=?); give threads, write_"),
        (upc.run, "writebuffer", "upc.run: there is no argument writebuffer= (did you mean write_buffer=?); give "),
        (upc.run, "np", "upc.run: there is no argument np=; give threads=3"),
        (upc.run, "pes", "upc.run: there is no argument pes=; give threads=3"),
        (shmem.run, "pe", "shmem.run: there is no argument pe= (did you mean pes=?); give pes, conduit, "),
        (shmem.run, "ranks", "shmem.run: there is no argument ranks=; give pes=3"),
        (shmem.run, "timelimit", "shmem.run: there is no argument timelimit= (did you mean time_limit=?); give pes, "),
    ],
)
def test_the_front_ends_name_the_argument_that_was_meant(run, given, said):
    with pytest.raises(conduit.BadRequest) as caught:
        run(main, **{given: 3})
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("given", "meant"), [("pes", "ranks"), ("timeout", "time_limit"), ("conduit", "library"), ("libary", "library")]
)
def test_mpi_knows_what_others_call_its_arguments(given, meant):
    with pytest.raises(
        conduit.BadRequest, match=rf"\AMPI\.run: there is no argument {given}= \(did you mean {meant}\?"
    ):
        MPI.run(main, **{given: 4})


@pytest.mark.parametrize(
    ("run", "start", "first", "named"),
    [
        (conduit.run, "run: main=main(ep) cannot be called with an endpoint", "ep", 'conduit="sci", ranks'),
        (upc.run, "upc.run: main=main cannot be called with a thread", "t", "threads"),
        (shmem.run, "shmem.run: main=main cannot be called with a PE", "pe", "pes"),
        (MPI.run, "MPI.run: main=main cannot be called with a communicator", "comm", 'library="scampi", ranks'),
    ],
    ids=["conduit", "upc", "shmem", "MPI"],
)
@pytest.mark.parametrize(
    ("args", "count", "shown"),
    [((8,), "1 argument", 8), ((0,), "1 argument", 4), (("sci", 8), "2 arguments", 4), ((True,), "1 argument", 4)],
)
def test_ranks_are_given_by_name(run, start, first, named, args, count, shown):
    with pytest.raises(conduit.BadRequest) as caught:
        run(main, *args)
    assert str(caught.value) == (
        f"{start} and {count}: too many positional arguments; write `async def main({first}, *args)`; what run takes "
        f"itself is given by name: {named}={shown}"
    )


async def _solve(first, n, m, steps=3):
    pass


@pytest.mark.parametrize(
    ("run", "call"),
    [(conduit.run, "conduit.run"), (upc.run, "upc.run"), (shmem.run, "shmem.run"), (MPI.run, "MPI.run")],
)
@pytest.mark.parametrize(("args", "lacks"), [((), "n"), ((1,), "m")])
def test_what_main_lacks_is_said_to_be_given_after_it(run, call, args, lacks):
    with pytest.raises(conduit.BadRequest) as caught:
        run(_solve, *args)
    assert str(caught.value).endswith(
        f"missing a required argument: '{lacks}'; pass what it takes after it: {call}(_solve, n, m, ...)"
    )


@pytest.mark.parametrize(
    ("run", "call"), [(conduit.run, "run"), (upc.run, "upc.run"), (shmem.run, "shmem.run"), (MPI.run, "MPI.run")]
)
def test_a_call_of_main_is_no_main(run, call):
    """And Python does not warn that it was never awaited."""
    with pytest.raises(conduit.BadRequest) as caught:
        run(main(None), **{} if call == "MPI.run" else {"conduit": "loggp"})
    assert str(caught.value).startswith(f"{call}: main=main(...) is a call of main, made already; pass the function")
    assert str(caught.value).endswith(f"{'conduit.' * (call == 'run')}{call}(main, ...)")


@pytest.mark.parametrize("path", ["trace.json", Path("trace.json")])
def test_a_trace_is_written_by_the_result(path):
    with pytest.raises(
        conduit.BadRequest, match=r"\Arun: trace=.*trace\.json.* is a path; pass True, then `result\.trace"
    ):
        conduit.run(main, trace=path)


async def generator(ep):
    yield 1


def ordinary(ep):
    pass


class Sync:
    def __call__(self, ep):
        pass

    def method(self, ep):
        pass

    def __repr__(self):
        return "Sync()"


def decorated(main):
    @functools.wraps(main)
    def wrapper(*args):
        return main(*args)

    return wrapper


def undeclared(main):
    def wrapper(*args):
        return main(*args)

    return wrapper


async def right(ep):
    pass


WRITE = "write `async def main(ep, *args)`"
LINES = {name: f"{__file__}:{code.__code__.co_firstlineno + 1}" for name, code in (("d", decorated), ("u", undeclared))}
AWAIT = ", and `return await` in it where it calls another async function"


@pytest.mark.parametrize(
    ("main", "text"),
    [
        (generator, f"main=generator is an async generator, for it has a `yield`; {WRITE}"),
        (functools.partial(generator), f"is an async generator, for it has a `yield`; {WRITE}"),
        (ordinary, f"main=ordinary is an ordinary function; {WRITE}"),
        (Sync(), f"main=Sync() is an object whose `__call__` is an ordinary function; {WRITE}"),
        (Sync().method, f"is an ordinary function; {WRITE}"),
        (Sync, f"is a class; {WRITE}, or pass an object of it"),
        (decorated(right), f"main=right is an ordinary function ({LINES['d']}); {WRITE}{AWAIT}"),
        (undeclared(right), f"main=wrapper is an ordinary function ({LINES['u']}); {WRITE}{AWAIT}"),
    ],
)
def test_a_main_that_is_not_async_is_told_why(main, text):
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(main, conduit="loggp")
    assert str(caught.value).startswith("run: main=")
    assert str(caught.value).endswith(text)


def test_a_lambda_is_told_what_to_pass():
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(lambda ep: right(ep), conduit="loggp")
    line = caught.value.__traceback__.tb_lineno
    assert str(caught.value) == (
        f"run: main=<lambda> ({__file__}:{line}) cannot be async; {WRITE}, or pass the function that it calls and then "
        "its arguments"
    )


def test_a_main_that_is_missing_is_told():
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(ranks=2)
    assert str(caught.value) == (
        "run: there is no main; give first the function that every rank calls: conduit.run(main, ...)"
    )


@pytest.mark.parametrize("run", [conduit.run, upc.run, shmem.run, MPI.run], ids=["core", "upc", "shmem", "mpi"])
def test_a_main_that_returns_a_call_of_the_programs_own_is_told_to_await_it(run):
    async def work(first):
        await trio.lowlevel.checkpoint()

    async def main(first):
        return work(first)

    with pytest.raises(conduit.BadRequest) as caught:
        run(main, **({"library": "scampi"} if run is MPI.run else {"conduit": "loggp"}))
    assert str(caught.value) == (
        "run: main returned a call of work that was not awaited; write `return await work(...)` in it"
    )


def test_a_main_that_returns_a_call_of_the_endpoint_is_told_to_await_it():
    async def main(ep):
        return ep.poll()

    with pytest.raises(conduit.BadRequest, match=r"ep\.poll\(\) at .* was called but never awaited, .*`await ep\.poll"):
        conduit.run(main, conduit="loggp")
