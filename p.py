import numpy as np
from conduits.mpi import MPI
api = "mpi"
async def main(comm):
    a = np.ones(4)
    MPI.Win
