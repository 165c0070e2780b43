"""Of the ranks that have returned, a deadlock blames those that others wait for."""

import re

import pytest
import trio

import conduit
from extended import Extended


@pytest.mark.parametrize("ranks", [3, 8])
def test_who_is_waited_for_stands_first_and_alone(ranks):
    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            await ep.block_until(lambda: False, what="a word", ranks=[2])

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=ranks, conduit="loggp")
    first, blamed, waiting, word = str(caught.value).splitlines()[:4]
    assert first.startswith("deadlock at ")
    assert blamed.startswith("rank 2: its main has returned: waits for the other ranks to return since ")
    assert waiting == "    rank 0 waits for it; it polls and has handled all that came"
    assert "waits for a word, which rank 2 must bring about" in word


@pytest.mark.parametrize("limit", [7000, 7015, 7135, 7480])
def test_who_has_handled_all_that_came_has_no_messages_left(limit):
    """Ranks in the same wait are told together, and some of them may have messages that others have not."""

    async def main(ep):
        x = await Extended.attach(ep)
        for number in range(3000):
            await x.all_reduce(number)

    with pytest.raises(conduit.TimeLimit) as caught:
        conduit.run(main, ranks=16, conduit="sci", time_limit=limit * 1e-6)
    told = re.split(r"\n(?! )", str(caught.value))
    assert len(told) > 1
    assert not [each for each in told if "handled all that came" in each and "not handled" in each]


def test_tasks_of_one_line_are_told_in_the_order_in_which_they_were_begun():
    """Trio keeps them in a set, whose order depends on where in memory they lie."""

    async def main(ep):
        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(wait, ep, number)

    async def wait(ep, number):
        await ep.block_until(lambda: False, what=f"word {number}")

    elsewhere = []
    for size in range(5):
        elsewhere += [bytearray(300 * size) for _ in range(10 * size)]
        with pytest.raises(conduit.Deadlock) as caught:
            conduit.run(main, ranks=1, conduit="loggp")
        told = re.findall(r"waits for word (\d)", str(caught.value))
        assert len(told) >= 3
        assert told == sorted(told)
