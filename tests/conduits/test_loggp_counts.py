"""What loggp counts of its own."""

import pytest

import conduit


async def burst(ep, messages):
    """A program: rank 0 sends so many requests without a reply, one after the other."""
    taken = []

    def take(token):
        taken.append(token.rank)

    await ep.attach(take)
    if ep.rank == 0:
        for _ in range(messages):
            await ep.request_short(1, take)
    else:
        await ep.block_until(lambda: len(taken) == messages)


@pytest.mark.parametrize(("gap", "waits"), [("5us", 9), ("0.5us", 0)])
def test_messages_that_follow_sooner_than_the_gap_wait(gap, waits):
    """A send takes 1 us of CPU time: the next message comes that much later by itself, and waits for a longer gap."""
    found = conduit.run(burst, 10, conduit=f"loggp:o_s=1us,g={gap},slots=16")
    assert found.statistics[0]["loggp_gap_waits"] == waits
