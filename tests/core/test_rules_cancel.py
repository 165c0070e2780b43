"""Rule S6 above the core: a cancelled wait ends the wait, not what is waited for."""

import numpy as np
import pytest
import trio

from extended import Extended


def test_S6_a_cancelled_wait_for_a_handle_does_not_cancel_the_operation(both_ways):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            data = np.full(1000, 7, np.uint8)
            handle = await x.put_nb(1, 0, data)
            with trio.move_on_after(1e-6) as scope:
                await handle
            assert scope.cancelled_caught
            assert not handle.done
            await handle  # it can be waited for again
            assert handle.done
        else:
            await ep.compute(1e-3)
        await x.barrier()
        return int(ep.segment[:1000].sum())

    assert both_ways.run(main).values[1] == 7000


def test_S6_a_barrier_whose_wait_is_cancelled_has_sent_its_part_and_is_done_later(both_ways):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            with trio.CancelScope() as scope:
                scope.cancel()
                await x.barrier_notify()  # sends, cancelled or not
            with trio.move_on_after(1e-6) as scope:
                await x.barrier_wait()
            assert scope.cancelled_caught
            early = ep.now
            await x.barrier_wait()
            return early
        await ep.compute(1e-3)
        await x.barrier()
        return ep.now

    early, late = both_ways.run(main).values
    assert early < 1e-3 < late


@pytest.mark.parametrize("cancel_after", [0, 1e-9, 1e-6, 3e-6, 1e-5])
def test_S6_a_barrier_cut_off_anywhere_leaves_the_ranks_in_step(both_ways, cancel_after):
    async def main(ep):
        x = await Extended.attach(ep)
        rounds = 0
        for _ in range(3):
            done = False
            if ep.rank == 1:
                await x.barrier_notify()
                with trio.move_on_after(cancel_after):
                    await x.barrier_wait()
                    done = True
                if not done:
                    await x.barrier_wait()
            else:
                await x.barrier()
            rounds += 1
        return rounds

    assert both_ways.run(main, ranks=3).values == [3, 3, 3]
