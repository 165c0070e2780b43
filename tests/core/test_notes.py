"""The notes on the error that a job ends with: what else was raised, each once, and what was in groups of errors."""

import sys
from types import SimpleNamespace

import pytest
import trio

from conduit.launch.errors.at_end import raise_error
from conduit.sim.ending import SimulationEnd


def _late(error):
    """Return the notes but the first, which says where the error itself was raised."""
    return error.__notes__[1:]


def test_an_exit_while_the_job_ends_is_noted_once(both_ways, fails_while):
    async def clean_up(ep):
        ep.exit(3)

    assert _late(both_ways.fails(ValueError, fails_while(clean_up))) == [
        "while the job ended, rank 0 raised SystemExit: 3"
    ]


def test_two_exits_at_once_are_noted_once_each(both_ways):
    async def main(ep):
        await trio.sleep(1e-3)  # all meet at one instant
        if ep.rank == 3:
            raise ValueError("the reason")
        if ep.rank:
            ep.exit(ep.rank)
        await ep.block_until(lambda: False)

    error = both_ways.fails(SystemExit, main, ranks=4)
    notes = getattr(error, "__notes__", [])
    assert error.code == 1
    line = main.__code__.co_firstlineno + 5
    assert notes == [
        f"rank 1 ended the job with status 1 at {__file__}:{line} in main",
        "rank 2 raised SystemExit too: 2",
        "rank 3 raised ValueError too: the reason",
    ]


@pytest.mark.parametrize("leave", [lambda ep: ep.exit(0), lambda ep: sys.exit()], ids=["ep.exit(0)", "sys.exit()"])
def test_an_error_decides_over_an_exit_with_status_0_at_once(both_ways, leave):
    async def main(ep):
        await trio.sleep(1e-3)  # all meet at one instant
        if ep.rank == 0:
            leave(ep)
        if ep.rank == 1:
            raise ValueError("the reason")
        await ep.block_until(lambda: False)

    error = both_ways.fails(ValueError, main, ranks=3)
    assert str(error) == "the reason"
    assert error.__notes__[0].startswith("raised by rank 1 at ")
    assert error.__notes__[1:] in (["rank 0 raised SystemExit too: 0"], ["rank 0 raised SystemExit too"])


def test_a_failure_by_exit_decides_over_an_exit_with_status_0_at_once(both_ways):
    async def main(ep):
        await trio.sleep(1e-3)  # both meet at one instant
        ep.exit(3 * ep.rank)

    error = both_ways.fails(SystemExit, main)
    assert error.code == 3
    line = main.__code__.co_firstlineno + 2
    assert error.__notes__ == [
        f"rank 1 ended the job with status 3 at {__file__}:{line} in main",
        "rank 0 raised SystemExit too: 0",
    ]


async def _fail(error):
    raise error


def test_a_note_names_what_a_group_holds(both_ways, fails_while):
    async def clean_up(ep):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_fail, KeyError("inside"))

    assert _late(both_ways.fails(ValueError, fails_while(clean_up))) == [
        "while the job ended, rank 0 raised ExceptionGroup: KeyError: 'inside'"
    ]


def test_a_note_names_all_leaves_of_groups_in_groups_and_says_how_many_it_leaves_out(both_ways):
    async def main(ep):
        await trio.sleep(1e-3)  # both meet at one instant
        many = ExceptionGroup("many", [TypeError(str(number)) for number in range(10)])
        if ep.rank == 1:
            raise ExceptionGroup("outer", [KeyError("inside"), many, OSError("last")])
        raise ValueError("the reason")

    error = both_ways.fails(ValueError, main)
    types = "; ".join(f"TypeError: {number}" for number in range(7))
    assert _late(error) == [f"rank 1 raised ExceptionGroup too: KeyError: 'inside'; {types}; and 4 more"]


def test_what_several_events_raise_on_the_way_out_is_noted_once():
    end = SimulationEnd()
    error = LookupError("first")
    end.note(5, -1, error)
    end.closing = True
    for late in ("first", "again", "first", "again", "again"):
        end.note(5, -1, LookupError(late))
    with pytest.raises(LookupError, match="first"):
        raise_error(SimpleNamespace(end=end), [])
    assert error.__notes__ == [
        "raised by an event of no rank at 0.000000000 s",
        "while the job ended, an event of no rank raised LookupError: again",
    ]


@pytest.mark.parametrize("late", [False, True], ids=["at_once", "late"])
def test_an_error_of_a_sole_rank_has_no_further_notes(both_ways, late):
    async def main(ep):
        await ep.compute(1e-6 * ep.rank)
        try:
            await ep.block_until(lambda: ep.rank == 0)
            raise ValueError("the reason")
        finally:
            if late:
                with trio.CancelScope(shield=True):
                    await trio.sleep(1e-6)

    assert _late(both_ways.fails(ValueError, main)) == []


def test_ranks_that_raise_alike_at_one_instant_are_noted_once(both_ways):
    async def main(ep):
        await trio.sleep(1e-3)
        if ep.rank == 5:
            raise OSError("another")
        raise ValueError("the reason" if ep.rank < 3 else "one more")

    assert _late(both_ways.fails(ValueError, main, ranks=6)) == [
        "ranks 1-2 raised the same",
        "ranks 3-4 raised ValueError too: one more",
        "rank 5 raised OSError too: another",
    ]
