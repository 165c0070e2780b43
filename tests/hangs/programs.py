"""Programs that hang, each with a planted cause: the ranks that `@hang` names, at the lines marked `# cause`.

`odd` is the rank that does something else than the others, by default the one in the middle.
"""

import inspect

import attrs
import numpy as np
import trio

import conduit
from extended import Extended

HANGS = {}


@attrs.frozen
class Hang:
    """A program that hangs.

    Attributes:
        main: the program, `async def main(ep, odd)`.
        causes: of the odd rank and the job's size, the ranks that are the cause.
        error: what ends the job.
        limit: its time limit after start-up, seconds.
    """

    main: object
    causes: object
    error: type
    limit: float | None

    @property
    def lines(self):
        """The lines of the cause."""
        source, start = inspect.getsourcelines(self.main)
        return [start + at for at, line in enumerate(source) if "# cause" in line]


def hang(main=None, *, causes=lambda odd, size: [odd], error=conduit.Deadlock, limit=None):
    """Put a program on the list."""

    def add(main):
        HANGS[main.__name__] = Hang(main, causes, error, limit)
        return main

    return add if main is None else add(main)


def _trio(odd, size):
    return [odd - 1, odd, odd + 1]


@hang
async def a_rank_that_only_sleeps(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await trio.sleep_forever()  # cause
    await x.barrier()


@hang
async def a_rank_in_another_branch(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await ep.block_until(lambda: False, what="a word of the others")  # cause
    await x.barrier()


@hang
async def a_wait_that_names_nothing(ep, odd):
    await ep.attach()
    if ep.rank == odd:
        await ep.block_until(lambda: False)  # cause
    await ep.block_until(lambda: False)


@hang(causes=lambda odd, size: [0])
async def a_lost_reply(ep, odd):
    answers = []

    def ask(token):
        pass  # forgets to reply

    def answer(token):
        answers.append(1)

    await ep.attach(ask, answer)
    if ep.rank == odd:
        await ep.request_short(0, ask)
        await ep.block_until(lambda: answers, what="the answer", ranks=[0])  # cause


@hang
async def a_handler_that_forgot_to_reply_while_the_others_wait(ep, odd):
    x = await Extended.attach(ep)
    answers = []

    def ask(token):
        pass

    def answer(token):
        answers.append(1)

    await ep.attach(ask, answer)
    if ep.rank == odd:
        await ep.request_short(0, ask)
        await ep.block_until(lambda: answers, what="the answer", ranks=[0])  # cause
    await x.barrier()


@hang
async def a_lock_that_is_kept(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await x.lock("kept").acquire()
        await x.barrier()
        await trio.Event().wait()  # cause
    await x.barrier()
    async with x.lock("kept"):
        pass


@hang
async def a_lock_of_a_rank_that_has_returned(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await x.lock("kept").acquire()  # cause
        await x.barrier()
        return
    await x.barrier()
    async with x.lock("kept"):
        pass


@hang(causes=_trio)
async def a_cycle_of_locks_over_three_ranks(ep, odd):
    x = await Extended.attach(ep)
    place = ep.rank - odd + 1
    if place not in (0, 1, 2):
        return
    async with x.lock(place):
        for rank in (odd - 1, odd, odd + 1):
            await x.atomic("i4").add(rank, 0, 1)
        await ep.block_until(lambda: ep.segment[:4].view("<i4")[0] == 3, what="the others")
        async with x.lock((place + 1) % 3):  # cause
            pass


@hang(causes=lambda odd, size: [odd - 1, odd])
async def two_ranks_that_want_each_others_lock(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank not in (odd - 1, odd):
        await x.barrier()
        await x.barrier()
        return
    mine, other = ("a", "b") if ep.rank == odd else ("b", "a")
    async with x.lock(mine):
        await x.barrier()
        async with x.lock(other):  # cause
            pass
    await x.barrier()


@hang
async def a_ring_of_ranks_that_wait_for_the_next(ep, odd):
    await ep.attach()
    peer = (ep.rank + 1) % ep.size
    await ep.block_until(lambda: False, what=f"a message of rank {peer}", ranks=[peer])  # cause


@hang
async def a_collective_that_one_team_skips(ep, odd):
    x = await Extended.attach(ep)
    await x.split(ep.rank == odd)
    if ep.rank != odd:
        await x.all_reduce(1, op="sum")
    await x.barrier()  # cause


@hang
async def a_barrier_of_a_team_beside_one_of_the_job(ep, odd):
    x = await Extended.attach(ep)
    team = await x.split(0)
    if ep.rank == odd:
        await x.barrier()  # cause
    await team.barrier()


@hang
async def a_rank_that_has_returned_before_a_barrier(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank != odd:
        await x.barrier()  # cause


@hang
async def a_rank_that_has_returned_before_a_collective(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank != odd:
        await x.all_gather(ep.rank)  # cause


@hang
async def a_barrier_too_many(ep, odd):
    x = await Extended.attach(ep)
    await x.barrier()
    if ep.rank == odd:
        await x.barrier()  # cause


@hang
async def slots_used_up(ep, odd):
    def note(token):
        pass

    await ep.attach(note)
    if ep.rank == odd:
        await trio.sleep_forever()  # cause
    while True:
        await ep.request_short(odd, note)


@hang
async def a_full_queue_of_payloads(ep, odd):
    def note(token, payload):
        pass

    await ep.attach(note)
    if ep.rank == odd:
        await trio.Event().wait()  # cause
    while True:
        await ep.request_medium(odd, note, bytes(ep.limits.max_medium))


@hang
async def a_wait_in_a_nurserys_body(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        done = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.block_until, lambda: False)
            await done.wait()  # cause
    await x.barrier()


@hang
async def a_task_of_a_nursery(ep, odd):
    x = await Extended.attach(ep)

    async def work():
        await trio.Event().wait()  # cause

    if ep.rank == odd:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
    await x.barrier()


@hang
async def a_call_that_is_handed_to_a_nursery(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.block_until, lambda: False)  # cause
    await x.barrier()


@hang
async def a_barrier_too_many_that_is_handed_to_a_nursery(ep, odd):
    x = await Extended.attach(ep)
    await x.barrier()
    if ep.rank == odd:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(x.barrier)  # cause


@hang(causes=lambda odd, size: [odd, 0])
async def two_independent_causes(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await trio.sleep_forever()  # cause
    if ep.rank == 0:
        await ep.block_until(lambda: False, what="Godot")  # cause
    await x.barrier()


@hang
async def a_root_that_does_not_broadcast(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await ep.block_until(lambda: False, what="data to send")  # cause
    await x.broadcast(np.zeros(4) if ep.rank == odd else None, root=odd)


@hang
async def a_rank_that_gives_no_part_to_a_gather(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await trio.Event().wait()  # cause
    await x.gather(ep.rank)
    await x.barrier()


@hang
async def a_handle_whose_target_does_not_poll(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await trio.Event().wait()  # cause
    if ep.rank == 0:
        handle = await x.get_nb(odd, 0, 8)
        await handle
    await x.barrier()


@hang
async def puts_whose_target_does_not_poll(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await trio.sleep_forever()  # cause
    await x.put_nbi(odd, 0, b"12345678")
    await x.sync()


SHARED = []


@hang
async def what_became_true_without_a_handler(ep, odd):
    """Ranks share nothing: who counts on a global is wrong."""
    SHARED[:] = SHARED[:0]
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await ep.block_until(lambda: SHARED, what="a word of rank 0")  # cause
    if ep.rank == 0:
        await ep.compute(1e-2)
        SHARED.append(1)
        return
    await x.barrier()


@hang
async def a_rank_that_does_not_allocate(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await trio.sleep_forever()  # cause
    await x.all_alloc(64)


@hang
async def a_rank_that_does_not_attach(ep, odd):
    if ep.rank == odd:
        await trio.sleep_forever()  # cause
    await Extended.attach(ep)


@hang
async def a_channel_that_nobody_sends_on(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        sender, receiver = trio.open_memory_channel(0)
        with sender, receiver:
            await receiver.receive()  # cause
    await x.barrier()


@hang
async def a_lock_between_two_tasks_of_one_rank(ep, odd):
    x = await Extended.attach(ep)

    async def keep(taken):
        await x.lock("own").acquire()
        taken.set()
        await trio.sleep_forever()  # cause

    if ep.rank == odd:
        taken = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep, taken)
            await taken.wait()
            async with x.lock("own"):
                pass
    await x.barrier()


@hang
async def a_message_of_the_wrong_rank(ep, odd):
    """The next rank is at the barrier already: it has sent its word to another."""
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await ep.block_until(lambda: False, what="a word", ranks=[(odd + 1) % ep.size])  # cause
    await x.barrier()


@hang
async def a_rank_that_does_not_split(ep, odd):
    x = await Extended.attach(ep)
    if ep.rank == odd:
        await ep.block_until(lambda: False, what="nothing")  # cause
    await x.split(0)


@hang(error=conduit.TimeLimit, limit=1e-2)
async def a_rank_that_looks_again_and_again(ep, odd):
    x = await Extended.attach(ep)
    got = []
    while ep.rank == odd and not got:  # noqa: ASYNC110  a ticker is the point
        await trio.sleep(1e-4)  # cause
    await x.barrier()


@hang(error=conduit.TimeLimit, limit=1e-2)
async def a_rank_that_computes_for_ever(ep, odd):
    x = await Extended.attach(ep)
    while ep.rank == odd:
        await ep.compute(1e-4)  # cause
    await x.barrier()
