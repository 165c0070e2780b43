"""The frames of what a task awaits, through every kind of object that Python puts between."""

import trio
import trio.testing

from conduit.frames import awaited_frames


class _Wrapped:
    def __await__(self):
        return _innermost().__await__()


async def _innermost():
    await trio.sleep_forever()


async def _yields():
    await _Wrapped()
    yield


async def _outermost():
    async for _ in _yields():
        pass


async def test_frames_go_on_through_wrappers_and_asynchronous_generators():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_outermost)
        await trio.testing.wait_all_tasks_blocked()
        (task,) = nursery.child_tasks
        names = [frame.f_code.co_name for frame, _ in awaited_frames(task)]
        nursery.cancel_scope.cancel()
    assert names[:4] == ["_outermost", "_yields", "_innermost", "sleep_forever"]
    assert not list(awaited_frames(task))
