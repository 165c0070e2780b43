"""What `conduit run` says of slips in programs of MPI alone, on a simulated library: the exact words."""

import pytest

MPI = "import numpy as np\nfrom conduits.mpi import MPI\napi = 'mpi'\nasync def main(comm):\n    b = np.zeros(4)\n    "
OTHER = MPI + "other = 1 - comm.rank\n    "

SLIPS = {
    MPI + "await comm.Igather(b, b)": (
        "Comm has no Igather; it is not here; write `await comm.Gather(...)`, in a task of its own if others go on"
    ),
    MPI + "comm.Bcast_init(b)": (
        "Comm has no Bcast_init; persistent collectives are not here; write `await comm.Bcast(...)` each time"
    ),
    MPI + "MPI.Datatype.Create_struct([1], [0], [MPI.INT])": (
        "Datatype has no Create_struct; derived datatypes are not here; send a contiguous copy "
        "(numpy.ascontiguousarray), or the bytes"
    ),
    MPI + "MPI.DOUBLE.Create_vector(2, 1, 2)": (
        "Datatype has no Create_vector; derived datatypes are not here; send a contiguous copy "
        "(numpy.ascontiguousarray), or the bytes"
    ),
    MPI + "MPI.INTEGER": "conduits.mpi.MPI has no INTEGER; Fortran's datatypes are not here; write `MPI.INT`",
    OTHER + "r = await comm.Isend(b, other)\n    await r": "r is a Request, which is no call: write `await r.Wait()`",
}


@pytest.mark.parametrize(("program", "said"), SLIPS.items())
def test_a_slip_is_told_what_to_write(shown, program, said):
    assert said in shown(program)
