"""Every rank passes an array on to its right neighbour, by MPI alone."""

import numpy as np

from conduits.mpi import MPI

api = "mpi"


async def main(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    got = np.empty(3, "i8")
    request = await comm.Irecv(got, source=left)
    await comm.Send(np.full(3, comm.rank), dest=right)
    await request.Wait()
    total = np.empty(3, "i8")
    await comm.Allreduce(got, total, op=MPI.SUM)
    if comm.rank == 0:
        print(f"from rank {left}: {got}, of all ranks together: {total}")


if __name__ == "__main__":
    MPI.run(main, ranks=4, library="scampi")
