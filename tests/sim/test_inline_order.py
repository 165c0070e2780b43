"""Rule I: tasks that one event wakes go on in the same order, whether one of them drove the loop or not."""

import pytest
import trio

import conduit


async def _two_senders(ep):
    order = []

    def handler(token):
        order.append((token.rank, ep.now))

    async def send(dest):
        await ep.request_short(dest, handler)
        order.append((f"sent to {dest}", ep.now))

    await ep.attach(handler)
    async with trio.open_nursery() as nursery:
        for step in range(2):
            nursery.start_soon(send, (ep.rank + step) % ep.size)
    await ep.block_until(lambda: len(order) == 4)
    return order


@pytest.mark.parametrize("seed", range(10))
def test_order_after_a_common_wake_does_not_depend_on_inline(seed):
    driven, parked = (
        conduit.run(_two_senders, conduit=f"loggp:inline={inline}", seed=seed) for inline in ("yes", "no")
    )
    assert driven.values == parked.values
    assert driven.digest == parked.digest


async def _progress_that_makes_it_true(ep):
    digest_log = []

    async def progress():
        await ep.request_short(2, note)
        digest_log.append("sent")

    def note(token):
        ep.want_progress()

    await ep.attach(note)
    if ep.rank == 1:
        ep.on_progress(progress)
        await ep.block_until(lambda: digest_log)
    elif ep.rank == 0:
        await ep.request_short(1, note)
    return ep.now


def test_I2_a_wait_that_is_over_already_runs_no_event():
    driven, parked = (
        conduit.run(_progress_that_makes_it_true, conduit=f"loggp:inline={inline}", ranks=3) for inline in ("yes", "no")
    )
    assert driven.values == parked.values
    assert driven.digest == parked.digest
