"""Forms of buffers, each as mpi4py itself takes or refuses it."""

import pytest

pytest.importorskip("mpi4py")

SCRIPT = '''
"""Send each form of a buffer by mpi4py and take it apart here; print where the two differ."""

import array
import collections

import numpy as np
from mpi4py import MPI

from conduits.mpi import MPI as ours
from conduits.mpi.awaited import buffers

WORLD, ROOM = MPI.COMM_WORLD, 64
COUNTS = ["2", "None", "(2, 1)", "[2, 1]", "(2, 4)", "(2, None)", "(None, 1)", "(None, None)", "(2,)", "[2]", "()",
    "(2, 1, 0)", "True", "np.int64(2)", "np.array(2)", "2.0", "'2'", "-1", "0", "(0, 0)", "np.array([2, 1])",
    "([2, 1], [0, 3])", "[[2, 1], [0, 3]]", "((2, 1), (0, 3))", "([2, 1], None)", "(None, [0, 4])", "(2, [0, 3])",
    "([2, 1], 4)", "(np.array([2, 1]), np.array([0, 3]))"]
DISPLACEMENTS = ["None", "1", "4", "1.0", "[0, 3]", "(0, 3)", "np.array([0, 3])"]
SEVERAL = ["iter([2, 1])", "(each for each in [2, 1])", "{2, 1}", "frozenset([2, 1])", "{2: 2, 1: 1}",
    "{2: 2, 1: 1}.values()", "range(1, 3)", "array.array('i', [2, 1])", "collections.deque([2, 1])",
    "b'\\x02\\x01'", "'21'", "[2.0, 1]", "np.array([[2, 1]])", "np.array([2.0, 1.0])", "[True, True]"]
DATATYPES = ["None", "I", "'i'", "1"]
FORMS = (
    ["None"]
    + ["a", "array.array('i', a)", "[a]", "[]", "[a, I]", "[a, 'i']", "[a, I, 2]", "[a, 2, I, None]", "[a, 2, 1, 0, I]"]
    + ["[None, 0, I]", "[None, I]", "[None, 0]", "[None, None]", "[None, 0, None]", "[None, (0, 0), None]"]
    + ["[None, 2, I]", "[bytearray(a.tobytes()), (2, 1), None]", "[memoryview(a), (2, 1), None]", "(a, (2, 1), None)"]
    + [f"[a, {count}]" for count in COUNTS]
    + [f"[a, {count}, {datatype}]" for count in COUNTS for datatype in DATATYPES]
    + [f"[a, {count}, {place}, {datatype}]"
       for count in ("2", "None", "[2, 1]", "(2, 1)") for place in DISPLACEMENTS for datatype in DATATYPES]
    + ["a[:7]", "[a[:7], I]", "[a[:7], None, [1, 3], I]", "[a[:7], (None, [0, 4])]", "[a[:7], None, 3, I]",
       "[a[:7], (None, 2), I]", "a[:3].astype('f8')", "bytearray(range(7))", "[bytearray(7), I]",
       "[bytearray(7), None, I]", "[bytearray(range(9)), [1, 1], [0, 1], I]"]
    + [f"[a, {count}]" for count in SEVERAL] + [f"[a, {count}, I]" for count in SEVERAL]
    + [f"[a, [2, 1], {place}, I]" for place in SEVERAL]
)


def made(form, mpi):
    names = {"a": np.arange(8, dtype="i4"), "I": mpi.INT, "array": array, "collections": collections, "np": np}
    return eval(form, names)


def nothing(form):
    return any(f", {word}" in form for word in ("0,", "0]", "(0, 0)")) or form == "[None, I]"


def sent(form, call):
    """Return the bytes that each part of a form has, None where it is refused."""
    into = np.full(2 * ROOM, 255, np.uint8)
    places = ([ROOM, ROOM], [0, ROOM]) if not nothing(form) else ([0, 0], [0, ROOM])
    try:
        if call == "Send":
            status = MPI.Status()
            MPI.COMM_SELF.Sendrecv(made(form, MPI), 0, 0, into, 0, 0, status)
            got = [into[: status.Get_count(MPI.BYTE)].tobytes()]
        elif call == "Alltoall":
            WORLD.Alltoall(made(form, MPI), [into, ROOM, MPI.BYTE])
            got = [into.tobytes()]
        else:
            WORLD.Alltoallv(made(form, MPI), [into, places, MPI.BYTE])
            got = [into.tobytes()]
    except (TypeError, ValueError, KeyError, MPI.Exception):
        got = None
    if call == "Send" or got is None:
        return got
    return [part.rstrip(b"\\xff") for (whole,) in WORLD.allgather(got) for part in [whole[:ROOM]]]


def here(form, call):
    try:
        given = made(form, ours)
        if call == "Send":
            return [bytes(buffers.span(given, "buf").view)]
        found = (buffers.equal_parts if call == "Alltoall" else buffers.parts)(given, 2, "buf")
    except (ours.Exception, ValueError):
        return None
    return [bytes(found.part(rank)) for rank in range(2)]


for call in ("Send", "Alltoall", "Alltoallv"):
    for form in FORMS[call != "Send":]:  # None in a collective is IN_PLACE
        theirs, own = sent(form, call), here(form, call)
        if theirs != own and WORLD.rank == 0:
            print(call, form, theirs, own)
if WORLD.rank == 0:
    print(len(FORMS), "forms")
'''


def test_what_mpi4py_takes_as_a_buffer_is_taken_and_means_the_same(shell):
    done = shell.mpiexec(2, shell.file(SCRIPT))
    assert (done.status, done.err) == (0, "")
    assert done.lines == ["333 forms"]
