"""What reports of a standstill say of methods that a program compares and does not call: the exact words."""

import pytest

MPI = "import numpy as np\nfrom conduits.mpi import MPI\napi = 'mpi'\nasync def main(comm):\n    a = np.zeros(3)\n    "
SHMEM = "api = 'shmem'\nasync def main(pe):\n    a = await pe.zeros(1, 'i8')\n    "
TOLD = "prog.py:{} compares {}, a method, which equals nothing else: call it, `{}()`"
COMPARED = {
    MPI + "if comm.Get_rank == 0: await comm.Send(a, 1)\n    else: await comm.Recv(a, 0)": (6, "comm.Get_rank"),
    MPI + "root = 0\n    if root == comm.Get_rank:\n        pass\n    else:\n        await comm.Recv(a, 0)": (
        (7, "comm.Get_rank")
    ),
    MPI + "if comm.Get_rank != comm.size - 1:\n        await comm.Recv(a, comm.size - 1)": (6, "comm.Get_rank"),
    MPI + "async def get(): await comm.Recv(a, 0)\n    if comm.Get_rank == 0: pass\n    else: await get()": (
        (7, "comm.Get_rank")
    ),
    SHMEM + "if pe.my_pe == 0: await pe.put(a, a + 1, 1)\n    else: await pe.wait_until(a, '>', 0)": (4, "pe.my_pe"),
}


@pytest.mark.parametrize("program", COMPARED)
def test_a_method_that_is_compared_is_told_to_be_called(shown, program):
    line, name = COMPARED[program]
    lines = shown(program)
    assert "deadlock" in lines[0]
    assert [each for each in lines if "compares" in each] == [TOLD.format(line, name, name)]


@pytest.mark.parametrize(
    "line",
    [
        "if comm.Get_rank() == 7: return\n    await comm.Recv(a, 0)",
        "if comm.rank == 7: return\n    await comm.Recv(a, 0)",
        "call = comm.Send\n    if call == comm.Recv: return\n    await comm.Recv(a, 0)",
        "if comm.Send == None: return\n    await comm.Recv(a, 0)",
        "def other():\n        if comm.Get_rank == 0: pass\n    await comm.Recv(a, 0)",  # which does not wait
    ],
)
def test_other_comparisons_are_not_told(shown, line):
    lines = shown(f"{MPI}{line}")
    assert "deadlock" in lines[0]
    assert not any("compares" in each for each in lines)
