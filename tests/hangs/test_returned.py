"""Of the ranks that have returned, a deadlock blames those that others wait for."""

import pytest

import conduit


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
