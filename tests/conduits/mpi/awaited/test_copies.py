"""Communicators and requests stay on their rank: neither copied nor pickled."""

import copy
import pickle

import numpy as np
import pytest

from conduits.mpi import MPI

STAYS = "cannot pickle or copy {!r}: it stays on its rank, as all does that has it"
DUP = "; `await comm.Dup()` makes a communicator of the same ranks"


@pytest.mark.parametrize("call", [copy.copy, copy.deepcopy, pickle.dumps])
def test_communicators_and_requests_are_refused(library, call):
    async def main(comm):
        request = await comm.Irecv(np.zeros(1), 1 - comm.rank)
        for each, more in ((comm, DUP), ([await comm.Dup()], DUP), (request, "")):
            if isinstance(each, list) and call is copy.copy:
                continue  # a list's copy has the same communicator
            there = each[0] if isinstance(each, list) else each
            with pytest.raises(TypeError) as caught:
                call(each)
            assert str(caught.value) == STAYS.format(there) + more
        await comm.Send(np.ones(1), 1 - comm.rank)
        await request.Wait()

    MPI.run(main, ranks=2, library=library)


@pytest.mark.parametrize("call", [copy.copy, copy.deepcopy, lambda there: pickle.loads(pickle.dumps(there))])
def test_null_handles_are_copied(call):
    assert not call(MPI.COMM_NULL)
    assert not call(MPI.REQUEST_NULL)
