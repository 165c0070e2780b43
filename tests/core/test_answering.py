"""Which processes answer: the lowest of them weighs what all do."""

import pytest

from conduit.launch.processes.answering import UNANSWERED_S, Answers


def test_who_is_asked_and_does_not_answer_is_missing_after_some_time():
    answers = Answers(2)
    assert answers.ask(0, 10.0)
    assert not answers.ask(0, 11.0)  # an answer is due, since 10.0
    assert answers.missing(10.0 + UNANSWERED_S - 0.1) == {}
    assert answers.missing(10.0 + UNANSWERED_S) == {0: UNANSWERED_S}
    answers.answered(0)
    assert answers.missing(99.0) == {}
    assert answers.ask(0, 99.0)


@pytest.mark.parametrize(("asked", "first"), [([], 0), ([0], 1), ([1], 0), ([0, 1], 2), ([0, 2], 1), ([0, 1, 2], 3)])
def test_the_lowest_that_answers_is_first_and_nobody_behind_this_rank(asked, first):
    answers = Answers(3)
    for rank in asked:
        answers.ask(rank, 1.0)
    assert answers.first(1.0) == 0
    assert answers.first(1.0 + UNANSWERED_S) == first


def test_another_job_begins_anew():
    answers = Answers(1)
    answers.ask(0, 1.0)
    answers.forget()
    assert answers.first(99.0) == 0
