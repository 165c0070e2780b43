"""A cancelled receive is as if it had never been posted, or it completes: no message is lost, as MPI says of Cancel."""

import numpy as np
import pytest
import trio

import conduit
from conduits.mpi import MPI

SIZES = [8, 600, 20_000, 100_000]


async def asks_again(comm, call, size, late):
    """Rank 1 receives one message, and gives up ever later until it is there; return what it got, and how often."""
    if comm.rank == 0:
        await comm.Send(np.full(size, 7, "u1"), 1)
        if call == "Sendrecv":
            await comm.Recv(np.empty(1, "u1"), 1)
        return None
    await conduit.current().compute(late)
    buffers, patience, over = [], 1e-7, False
    found = await comm.Mprobe(0) if call == "Message.Recv" else None
    while not over:
        buffers.append(np.zeros(size, "u1"))
        with trio.move_on_after(patience):
            if call == "Recv":
                await comm.Recv(buffers[-1], 0)
            elif call == "Sendrecv":
                dest = 0 if len(buffers) == 1 else MPI.PROC_NULL  # the send of a cancelled call goes on
                await comm.Sendrecv(np.zeros(1, "u1"), dest, 0, buffers[-1], 0)
            else:
                await found.Recv(buffers[-1])
            over = True
        patience *= 3
    await conduit.current().compute(1e-2)
    return [int(each.sum()) for each in buffers]


@pytest.mark.parametrize("late", [0, 1e-3], ids=["receives first", "message first"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("call", ["Recv", "Sendrecv", "Message.Recv"])
def test_a_receive_that_is_cancelled_loses_no_message(library, call, size, late):
    runs = [
        MPI.run(asks_again, call, size, late, ranks=2, library=f"{library}:inline={inline}", time_limit=5)
        for inline in ("yes", "no")
    ]
    *unused, last = runs[0].values[1]
    assert last == 7 * size
    assert not any(unused), "nothing was written for a call that was cancelled"
    assert runs[0].digest == runs[1].digest


def test_a_receive_that_completes_leaves_the_cancellation_to_the_next_call(library):
    async def main(comm):
        size = 100_000
        if comm.rank == 0:
            await comm.Send(np.full(size, 7, "u1"), 1)
            return None
        got, said = np.zeros(size, "u1"), []
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def cancel():
                    while not got.any():  # noqa: ASYNC110  the library tells nobody of a part of a message
                        await trio.sleep(1e-6)
                    said.append("cancelled")
                    scope.cancel()

                nursery.start_soon(cancel)
                await comm.Recv(got, 0)
                said.append(int(got.sum()))
                await comm.Recv(got, 0)
        return said, scope.cancelled_caught

    assert MPI.run(main, ranks=2, library=library).values[1] == (["cancelled", 700_000], True)
