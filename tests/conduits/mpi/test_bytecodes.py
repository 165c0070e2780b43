"""What a ping-pong of MPI costs to simulate, in bytecodes: exact, and the same on every computer."""

import sys

import numpy as np
import pytest

MOST = {"mpi:library=sunmpi": 12768, "mpi:library=scampi": 11752}
"""Of 8 bytes there and back between two hosts, the program's own included; they may fall, not rise."""


async def round_trips(ep, count):
    """A program of MPI alone."""
    from conduits.mpi.program import entered

    async with entered(ep) as comm:
        data = np.zeros(8, np.uint8)
        for _ in range(count):
            if comm.rank == 0:
                await comm.Send(data, 1)
                await comm.Recv(data, 1)
            else:
                await comm.Recv(data, 0)
                await comm.Send(data, 0)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecodes")
@pytest.mark.parametrize("network", MOST)
def test_a_round_trip_takes_no_more_bytecodes_than_it_did(network, bytecodes):
    def of(turns):
        return bytecodes(round_trips, turns, conduit=network, ranks_per_host=1)

    of(1)  # what is made once for the process
    assert 2000 < (of(40) - of(20)) / 20 <= MOST[network]
