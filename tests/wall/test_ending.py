"""Tasks that a shield keeps in a job which has ended: they have their time, and then no loop of any kind holds it."""

import pytest
import trio

import conduit
from conduit.wall import expulsion


async def threads(calls):
    while True:
        await trio.to_thread.run_sync(calls.append, 1)


async def checkpoints(calls):
    while True:
        calls.append(1)
        await trio.lowlevel.checkpoint()


async def children(calls):
    """The loop is in a child, and its parent at the end of its nursery."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(threads, calls)


async def waits(calls):
    calls += [1] * expulsion.STEPS
    await trio.Event().wait()


def fails_while(clean_up):
    """Return a program whose rank 0 fails while the others clean up under a shield."""

    there = []

    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            while not there:
                await trio.lowlevel.checkpoint()
            raise ValueError("the reason")
        there.append(ep.rank)
        try:
            await ep.block_until(lambda: False)
        finally:
            with trio.CancelScope(shield=True):
                await clean_up()

    return main


@pytest.mark.parametrize("loop", [threads, checkpoints, children, waits])
def test_D6_what_goes_on_under_a_shield_does_not_keep_a_job_alive(local, monkeypatch, loop):
    """Of its time none is waited for here."""
    monkeypatch.setattr(expulsion, "GRACE_NS", 0)
    calls = []
    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(fails_while(lambda: loop(calls)), conduit=local)
    what = "wait" if loop is waits else "loop"
    where = (threads if loop is children else loop).__name__
    assert any(f"a shielded {what} was ended by force" in note and where in note for note in caught.value.__notes__)
    assert expulsion.STEPS / 2 <= len(calls) <= 2 * expulsion.STEPS


@pytest.mark.parametrize(("count", "grace"), [(expulsion.STEPS // 2 - 2, 0), (300, 3600 * 10**9)])
def test_D6_a_clean_up_in_threads_is_let_finish(local, monkeypatch, count, grace):
    """A few calls, however long each takes, are no loop; nor are many within the time."""
    monkeypatch.setattr(expulsion, "GRACE_NS", grace)
    ended = []

    async def clean_up():
        for _ in range(count):
            await trio.to_thread.run_sync(ended.append, 1)
        ended.append("over")

    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(fails_while(clean_up), conduit=local)
    assert ended == [*[1] * count, "over"]
    assert not any("by force" in note for note in caught.value.__notes__)


def test_what_ends_a_process_says_so_to_a_program_that_catches_it(local):
    there, caught = [], []

    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            while not there:
                await trio.lowlevel.checkpoint()
            raise ValueError("the reason")
        there.append(ep.rank)
        try:
            await ep.block_until(lambda: False)
        except BaseException as error:
            caught.append(str(error))
            raise

    with pytest.raises(ValueError, match=r"^the reason"):
        conduit.run(main, conduit=local)
    assert set(caught) == {
        "the job has ended, and this rank's main with it: let this pass, as `except Exception:` does, or raise it again"
    }
