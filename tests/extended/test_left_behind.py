"""What cancelled tasks leave under way is waited for, whichever of them is cancelled when."""

import pytest
import trio
import trio.testing

from extended.left_behind import LeftBehind


class _Layer:
    """Counts its syncs; `meanwhile` is done in each."""

    def __init__(self):
        self.syncs = 0
        self.meanwhile = trio.lowlevel.checkpoint

    async def sync(self):
        self.syncs += 1
        await self.meanwhile()


async def _fails():
    raise KeyError


async def test_it_waits_only_where_something_was_left():
    layer = _Layer()
    left = LeftBehind(layer)
    await left.complete()
    assert layer.syncs == 0
    with pytest.raises(KeyError):
        await left.begun(_fails())
    await left.complete()
    await left.complete()
    assert layer.syncs == 1
    assert not left.some


async def test_what_is_left_during_a_wait_is_waited_for_by_the_next():
    layer = _Layer()
    left = LeftBehind(layer)
    left.add()

    async def another_is_cancelled():
        with pytest.raises(KeyError):
            await left.begun(_fails())

    layer.meanwhile = another_is_cancelled
    await left.complete()
    assert left.some


async def test_a_wait_that_fails_is_done_again():
    layer = _Layer()
    left = LeftBehind(layer)
    left.add()
    layer.meanwhile = _fails
    with pytest.raises(KeyError):
        await left.complete()
    assert left.some


async def test_who_comes_while_another_task_waits_waits_too():
    layer = _Layer()
    left = LeftBehind(layer)
    left.add()
    release = trio.Event()
    layer.meanwhile = release.wait
    over = []

    async def complete():
        await left.complete()
        over.append(True)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(complete)
        nursery.start_soon(complete)
        await trio.testing.wait_all_tasks_blocked()
        assert (layer.syncs, over) == (2, [])
        release.set()
    assert not left.some
