"""`help(MPI.run)`, `help(upc.run)` and `help(shmem.run)` name every option that they take."""

import inspect
import re

import pytest

import conduit
from conduits.mpi import MPI
from extended import shmem, upc

FIXED = {"main", "args"}


@pytest.mark.parametrize(
    ("run", "own"),
    [(MPI.run, {"conduit": "library"}), (upc.run, {"ranks": "threads"}), (shmem.run, {"ranks": "pes"})],
    ids=["MPI", "upc", "shmem"],
)
def test_every_option_is_named(run, own):
    text = inspect.getdoc(run)
    arguments = re.search(r"Args:\n(.*?)\n\n", text, re.S)[1]
    taken = set(inspect.signature(conduit.run).parameters) - FIXED
    for name in taken:
        assert re.search(rf"\b{own.get(name, name)}\b", arguments), name
