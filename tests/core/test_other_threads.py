"""Calls in a thread that runs no rank, which could end the job there alone: they raise in it."""

import pytest
import trio

import conduit


@pytest.mark.parametrize("spec", ["sci", "loggp"])
def test_an_exit_in_another_thread_is_refused(spec):
    """It hung: the job's tasks cannot be let out of their waits from there."""

    async def main(ep):
        await ep.attach()
        await trio.to_thread.run_sync(ep.exit, 3)

    message = (
        r"^ep\.exit: called in the thread '.*', which runs no rank; a function that `await trio\.to_thread\.run_sync"
        r"\(\.\.\.\)` runs can make it by `trio\.from_thread\.run_sync\(ep\.exit, \.\.\.\)`"
    )
    with pytest.raises(conduit.BadRequest, match=message):
        conduit.run(main, conduit=spec)


def test_an_exit_by_way_of_the_job_is_taken():
    async def main(ep):
        await ep.attach()
        await trio.to_thread.run_sync(trio.from_thread.run_sync, ep.exit, 3)

    with pytest.raises(SystemExit) as caught:
        conduit.run(main, conduit="loggp")
    assert caught.value.code == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_forgotten_call_that_another_run_of_trio_finds_ends_the_job():
    """It hung too: that run told the job of it."""

    async def main(ep):
        def handler(token):
            pass

        await ep.attach(handler)
        ep.request_short(1 - ep.rank, handler)
        await trio.to_thread.run_sync(lambda: trio.run(ep.request_short, 1 - ep.rank, handler))

    with pytest.raises(conduit.BadRequest, match=r"ep\.request_short\(1 - ep\.rank, handler\) at .* never awaited"):
        conduit.run(main, conduit="loggp")


@pytest.mark.parametrize("code", [256, 300, -1])
def test_a_status_that_the_system_would_cut_is_refused(code):
    async def main(ep):
        ep.exit(code)

    with pytest.raises(
        conduit.BadRequest, match=rf"^ep\.exit: code={code} is no exit status; pass an int from 0 to 255"
    ):
        conduit.run(main, conduit="loggp")
