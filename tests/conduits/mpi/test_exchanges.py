"""The wait of a Sendrecv where MPI's answer changes between two questions, as on real processes at any time."""

import pytest
import trio

from conduits.mpi.awaited.process import Process


class Changing:
    """A send and a receive; which are still to end, question by question."""

    def __init__(self, *answers):
        self._answers = list(answers)

    def left(self):
        return self._answers.pop(0) if self._answers[1:] else self._answers[0]

    def over(self):
        return not any(self.left())

    def what(self):
        return "an exchange"

    def ranks(self):
        return []


class Waits:
    """Polls, though not for ever."""

    exchanged = Process.exchanged

    async def wait(self, over, what, ranks):
        assert any(over() for _ in range(10)), "it waits for ever"


NONE, SEND, RECEIVE, BOTH = (False, False), (True, False), (False, True), (True, True)


@pytest.mark.parametrize(
    "answers",
    [
        (NONE,),
        (BOTH, NONE),
        (BOTH, BOTH, NONE),
        (SEND, NONE),
        (RECEIVE, NONE),
        (BOTH, SEND, NONE),
        (BOTH, SEND, SEND, NONE),
    ],
)
def test_it_ends_whenever_its_halves_do(answers):
    trio.run(Waits().exchanged, Changing(*answers))
