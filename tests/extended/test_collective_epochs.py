"""How far ranks run ahead of one another in collective calls, and which calls end where a team breaks."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conduit
from extended import Extended
from extended.collectives.team_calls import EPOCH, Broken, TeamCalls


@pytest.mark.parametrize("late", range(3))
def test_a_rank_that_is_late_in_every_epoch_misses_nothing(late):
    """What hides between epochs reaches it before it has come to their end."""

    async def main(ep):
        x = await Extended.attach(ep)
        found = []
        for number in range(6 * EPOCH):
            if ep.rank == late and number % EPOCH == EPOCH - 1:
                await ep.compute(1e-3)
                await ep.poll()
            found.append(await x.broadcast(number if ep.rank == number % 2 else None, root=number % 2))
        await x.barrier()
        return found

    assert conduit.run(main, ranks=3, conduit="loggp").values == [list(range(6 * EPOCH))] * 3


def test_what_is_kept_for_a_rank_that_makes_no_calls_is_bounded():
    """To the messages of two epochs, and of the fence behind the first."""

    async def main(ep):
        x = await Extended.attach(ep)
        handles, kept = [], 0
        if ep.rank == 0:
            handles = [await x.broadcast_nb(np.full(3, number)) for number in range(8 * EPOCH)]
            await x.put_value(1, 0, 1)
        else:
            await ep.block_until(lambda: ep.segment[0])
            kept = len(x._team_calls._unexpected)
            handles = [await x.broadcast_nb() for _ in range(8 * EPOCH)]
        assert [int((await handle)[0]) for handle in handles] == list(range(8 * EPOCH))
        return kept

    kept = conduit.run(main, ranks=2, conduit="loggp").values[1]
    assert kept == 2 * EPOCH + 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_calls_behind_the_first_that_was_broken_never_end(sequences):
    """In whichever order the news of several comes."""
    team_calls = TeamCalls((0, 0), lambda rank, identity: None)
    team_calls.calls = {number: SimpleNamespace(sequence=number) for number in range(10)}
    for count, sequence in enumerate(sequences, 1):
        ended = team_calls.breaks(Broken(sequence, f"{sequence}"))
        first = min(sequences[:count])
        assert team_calls.broken == (first, f"{first}")
        assert all(call.sequence > first for call in ended)
        assert list(team_calls.calls) == list(range(first + 1))
