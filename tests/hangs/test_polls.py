"""What a program is told to write to poll is a call that it has: `ep` is unknown in programs of a front end."""

import sys
import types

import pytest

from conduit.launch.polls import Polls, polls_of

CORE = Polls("await ep.poll()", "await ep.block_until(predicate)")
SHMEM = Polls("await pe.test(ivar, cmp, value)", "await pe.wait_until(ivar, cmp, value)")
UPC = Polls("await t.ep.poll()", "await t.ep.block_until(predicate)")
MPI = Polls("await comm.Iprobe()", "await comm.Recv(...)")


@pytest.mark.parametrize(
    ("program", "polls"),
    [
        ("", CORE),
        ("from extended import Extended", CORE),
        ("api = 'shmem'", SHMEM),
        ("api = 'upc'", UPC),
        ("api = 'mpi'", MPI),
        ("from extended import shmem", SHMEM),
        ("from extended import upc as u", UPC),
        ("from conduits.mpi import MPI", MPI),
        ("from conduits.mpi import MPI; from extended import shmem", CORE),  # it may be either
        ("from conduits.mpi import MPI; api = 'shmem'", SHMEM),
        ("api = 3", CORE),
    ],
)
def test_words_are_those_of_what_the_program_is_for(program, polls):
    known = {"sys": sys}
    exec(program + "\nframe = sys._getframe()", known)
    assert polls_of([known["frame"]]) == polls


def test_a_frame_of_a_library_says_nothing():
    assert polls_of([types.SimpleNamespace(f_globals={}), types.SimpleNamespace(f_globals={"api": "mpi"})]) == MPI
