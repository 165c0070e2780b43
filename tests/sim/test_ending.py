"""Jobs that end although a task does all it can to go on (D6), and calls that never let time pass (T6)."""

import pytest
import trio

import conduit


def test_D6_an_endless_loop_of_shielded_sleeps_does_not_keep_a_job_alive():
    async def main(ep):
        if ep.rank == 1:
            raise ValueError("the reason")
        try:
            await ep.block_until(lambda: False)
        finally:
            with trio.CancelScope(shield=True):
                while True:  # noqa: ASYNC110  what the test is about
                    await trio.sleep(1e-3)

    with pytest.raises(ValueError, match=r"^the reason") as caught:
        conduit.run(main, conduit="loggp")
    assert any("a shielded wait was ended by force" in note for note in caught.value.__notes__)


def test_D6_a_shielded_sleep_of_some_length_is_let_finish():
    ended = []

    async def main(ep):
        if ep.rank == 1:
            raise ValueError("the reason")
        try:
            await ep.block_until(lambda: False)
        finally:
            with trio.CancelScope(shield=True):
                for _ in range(10):
                    await trio.sleep(1)
                ended.append(trio.current_time())

    with pytest.raises(ValueError, match=r"^the reason"):
        conduit.run(main, conduit="loggp")
    assert ended == [pytest.approx(10)]


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_T6_calls_that_take_no_time_are_a_livelock_too(inline):
    async def main(ep):
        while True:
            await ep.block_until(lambda: True)

    with pytest.raises(conduit.Livelock, match=r"(?s)^livelock at .*test_ending\.py:\d+ in main"):
        conduit.run(main, ranks=1, conduit=f"loggp:inline={inline}")
