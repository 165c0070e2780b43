"""Rules I on a simulated library: it lets time pass within a poll, and nobody can tell.

A reply's handler starts a task in the poll that a call begins with.  The caller goes on with it, in an order that the
job's seed tells, whether events or the call itself made that poll.
"""

import pytest
import trio

from conduits.mpi import MPI

CREDITS = 8


async def calls_after_a_reply(ep, call):
    """Rank 1's reply lies there when rank 0 makes `call`; rank 0 returns who went on first."""
    order = []

    async def started():
        order.append("started")

    def start(token, payload):
        nursery.start_soon(started)

    def ask(token):
        token.reply_medium(start, bytes(200))

    def note(token, payload):
        pass

    await ep.attach(start, ask, note)
    if ep.rank == 2:
        await ep.compute(1e-2)
    if ep.rank > 0:
        return None
    async with trio.open_nursery() as nursery:
        await ep.request_short(1, ask)
        await call(ep, note)
        order.append("caller")
        await ep.block_until(lambda: len(order) == 2)
    return order


async def posts_a_receive(ep, note):
    await trio.sleep(3e-3)
    await MPI.COMM_WORLD.Irecv(bytearray(5), MPI.PROC_NULL)


async def sends(ep, note):
    """Send to rank 2 what the library keeps, since what went before fills the adapter's queue."""
    for _ in range(CREDITS - 1):
        await ep.request_medium(2, note, bytes(500))
    await trio.sleep(3e-3)
    await ep.request_medium(2, note, bytes(500))


async def sends_after_other_work(ep, note):
    """As `sends`, while the CPU has something to do before."""
    for _ in range(CREDITS - 1):
        await ep.request_medium(2, note, bytes(500))
    await trio.sleep(3e-3)
    ep.charge(1e-6)
    await ep.request_medium(2, note, bytes(500))


def orders(both_ways_on, spec, call):
    network = both_ways_on(f"mpi:library={spec},credits={CREDITS}")
    return [tuple(network.run(calls_after_a_reply, call, ranks=3, seed=seed).values[0]) for seed in range(8)]


@pytest.mark.parametrize("library", ["scampi", "sunmpi", "start"])
def test_I2_a_task_that_a_handler_starts_in_a_calls_own_poll_goes_on_with_the_caller(both_ways_on, library):
    assert {first for first, _ in orders(both_ways_on, library, posts_a_receive)} == {"started", "caller"}


@pytest.mark.parametrize("call", [sends, sends_after_other_work])
def test_I2_a_send_ends_in_an_event_after_what_its_poll_has_started(both_ways_on, call):
    assert set(orders(both_ways_on, "start,low_queue=1", call)) == {("started", "caller")}
