"""A script that gives `conduit.run` a main of a front end is told how to start that: it does not read `api`."""

import pytest

SCRIPTS = {
    "from extended import shmem\nasync def main(pe): await pe.zeros(4)": (
        "Endpoint has no zeros; conduit.run gives main an endpoint: write `shmem.run(main, pes=2)`"
    ),
    "from conduits.mpi import MPI\nasync def main(comm): await comm.Barrier()": (
        "Endpoint has no Barrier; conduit.run gives main an endpoint: write `MPI.run(main, ranks=2)`"
    ),
    "async def main(pe): pe.my_pe()": (
        "Endpoint has no my_pe; if this is a program of shmem, write `from extended import shmem`, then "
        "`shmem.run(main, pes=2)`"
    ),
    'api = "upc"\nasync def main(t): t.MYTHREAD': (
        "Endpoint has no MYTHREAD; conduit.run gives main an endpoint: write `from extended import upc`, then "
        "`upc.run(main, threads=2)`"
    ),
}


@pytest.mark.parametrize("source", SCRIPTS, ids=range(len(SCRIPTS)))
def test_it_is_told_what_starts_its_main(source, tmp_path, ran):
    (tmp_path / "prog.py").write_text(f"import conduit\n{source}\nconduit.run(main, ranks=2, conduit='loggp')\n")
    done = ran("prog.py")
    assert done.stderr.splitlines()[-1] == SCRIPTS[source]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("await x.put(9, 0, b'a')", "x.put: dest=9 is no rank of this job; its ranks are 0 to 1"),
        ("x.lock((1, 2))", "x.lock: name=(1, 2) is a tuple"),
        ("await x.atomic('i8').fetch_add(0, 0, 0.5)", "x.atomic('i8').fetch_add: v=0.5 is a float"),
        ("y = await x.split(0)\n    await y.reduce(1, root=5)", "y.reduce: root=5 is no rank of this team"),
        ("await ep.request_short(9, print)", "ep.request_short: "),
        ("async with trio.open_nursery() as n:\n        n.start_soon(x.put, 9, 0, b'a')", "put: dest=9"),
    ],
)
def test_a_script_and_the_command_line_tell_of_a_call_in_the_same_words(shown, tmp_path, ran, line, said):
    begin = "import trio\nfrom extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n"
    source = f"{begin}    {line}\n"
    by_command = [each for each in shown(source) if "conduit.errors.BadRequest: " in each]
    script = f"{source}if __name__ == '__main__':\n    import conduit\n    conduit.run(main, conduit='loggp')\n"
    (tmp_path / "script.py").write_text(script)
    done = ran("script.py")
    assert [each for each in done.stderr.splitlines() if "conduit.errors.BadRequest: " in each] == by_command
    assert f"conduit.errors.BadRequest: {said}" in by_command[0]
