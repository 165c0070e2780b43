"""Which waits are sends that only a receive ends: those that say so themselves, whatever their words are."""

import pickle

import attrs
import pytest

from conduits.mpi.crossed_sends import Unasked, UntilReceived

WORDS = "MPI Send to rank {}, tag 0, on MPI_COMM_WORLD"


@attrs.frozen
class Waits:
    what: str
    ranks: tuple[int, ...]


@pytest.mark.parametrize(
    ("kind", "words", "told"),
    [(UntilReceived, WORDS, True), (UntilReceived, "an Envoi to {}", True), (str, WORDS, False)],
)
def test_a_cycle_is_one_of_waits_that_are_such_sends(kind, words, told):
    waits = {rank: [Waits(kind(words.format(1 - rank)), (1 - rank,))] for rank in range(2)}
    clues = {rank: Unasked(frozenset({1 - rank})) for rank in range(2)}
    advice = clues[0].advice(0, waits.__getitem__, clues)
    assert advice.startswith("each rank of the cycle waits in a send") == told
    assert bool(advice) == told


def test_such_words_are_shown_and_travel_as_any():
    words = UntilReceived(WORDS.format(1))
    assert (f"{words}", pickle.loads(pickle.dumps(words))) == (WORDS.format(1), words)
