"""Running programs of PEs, and what a PE says of itself."""

import subprocess
import sys

import pytest
import trio

import conduit
from extended import shmem

PROGRAM = """
api = "shmem"
async def main(pe, size="8"):
    a = await pe.zeros(int(size), dtype="i4")
    await pe.put(a, a + pe.my_pe() + 1, (pe.my_pe() + 1) % pe.n_pes())
    await pe.barrier_all()
    if pe.my_pe() == 0:
        print(a.tolist())
"""


async def _main(pe, *args):
    await pe.barrier_all()
    return pe.my_pe(), pe.n_pes(), args, repr(pe)


async def _no_pe():
    pass


def test_every_pe_runs_main():
    assert shmem.run(_main, "x", pes=3, conduit="loggp").values == [(k, 3, ("x",), f"<PE {k} of 3>") for k in range(3)]
    assert len(shmem.run(_main, conduit="loggp").values) == 2


def test_from_inside_a_trio_program():
    async def outer():
        return await shmem.run_async(_main, pes=2, conduit="loggp")

    assert [value[0] for value in trio.run(outer).values] == [0, 1]


@pytest.mark.slow
def test_by_the_command_line(tmp_path):
    (tmp_path / "ring.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "conduit", "run", "ring.py", "--conduit", "t3e", "--ranks", "3", "--", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[3, 3]\nranks=3 conduit=t3e ")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shmem.run(3), "main=3"),
        (lambda: shmem.run(lambda pe: None), "cannot be async"),
        (lambda: shmem.run(_no_pe), "0 arguments"),
        (lambda: shmem.run(_main, pes=0), "pes=0"),
        (lambda: shmem.run(_main, ranks=2), "give pes=2"),
        (lambda: shmem.run(_main, colour=1), "colour="),
    ],
)
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(conduit.BadRequest, match=words):
        call()


def test_what_a_pe_says_of_itself():
    async def main(pe):
        a = await pe.zeros(3)
        assert pe.info_get_version() == (1, 5)
        assert pe.info_get_name() == shmem.VENDOR_STRING
        assert pe.query_thread() == await pe.init_thread() == shmem.THREAD_MULTIPLE
        assert (pe.pe_accessible(1), pe.pe_accessible(2), pe.pe_accessible(-1)) == (True, False, False)
        assert (pe.addr_accessible(a, 1), pe.addr_accessible(a[1:], 0), pe.addr_accessible(a + 1, 0)) == (1, 1, 0)
        assert pe.ptr(a, pe.my_pe()) is a
        assert pe.ptr(a, 1 - pe.my_pe()) is None
        assert pe.CMP_EQ is shmem.CMP_EQ
        pe.pcontrol(2)
        if pe.my_pe() == 1:
            pe.global_exit(3)
        await pe.barrier_all()

    with pytest.raises(SystemExit) as caught:
        shmem.run(main, pes=2, conduit="loggp")
    assert caught.value.code == 3


def test_a_forgotten_await_is_named():
    async def main(pe):
        pe.barrier_all()
        await pe.sync_all()

    with pytest.raises(conduit.BadRequest, match=r"barrier_all.*never awaited"):
        shmem.run(main, pes=1, conduit="loggp")
