"""A rank waits for it knows not whom, and a rank that does not poll has a request of it: that one is the cause."""

import json

import pytest
import trio

import conduit
from extended import Extended

NETWORKS = [
    "loggp",
    "sci",
    "sunfire",
    "startx",
    "udp",
    "t3e",
    "origin",
    *(f"mpi:library={each}" for each in ("scampi", "start", "sunmpi")),
]


def report_of(main, ranks, network="loggp"):
    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=ranks, conduit=network)
    return caught.value


def line_of(main, mark):
    code = main.__code__
    with open(code.co_filename) as file:
        lines = file.readlines()
    return next(at for at, line in enumerate(lines, 1) if at >= code.co_firstlineno and mark in line)


async def through_another(ep):
    """Rank 0 sleeps, rank 1 waits for its answer without a word, all others for rank 1."""
    answers = []

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        answers.append(1)

    await ep.attach(ask, answer)
    if ep.rank == 0:
        await trio.sleep_forever()  # cause
    if ep.rank == 1:
        await ep.request_short(0, ask)
        await ep.block_until(lambda: answers)
    await ep.block_until(lambda: answers, what="a word of 1", ranks=[1])


@pytest.mark.parametrize("network", NETWORKS)
def test_the_rank_that_does_not_poll_is_the_only_cause(network):
    error = report_of(through_another, 4, network)
    (cause,) = error.report.causes
    assert (cause.ranks, cause.direct, cause.in_turn) == ((0,), (1,), (2, 3))
    lines = str(error).splitlines()
    assert lines[1].endswith(
        f"test_unanswered.py:{line_of(through_another, '# cause')} in through_another: is in a wait of Trio's own"
    )
    assert lines[2] == "    3 ranks wait for it: 1 directly, 2 in turn"


@pytest.mark.parametrize("network", NETWORKS)
def test_what_it_has_not_handled_is_told_of_who_waits(network):
    error = report_of(through_another, 4, network)
    begin = line_of(through_another, "def ask")
    assert f"\n    rank 0 has not handled 1 of its requests, for ask (test_unanswered.py:{begin})\n" in str(error)
    (task,) = error.report.ranks[1].tasks
    assert task.wait.ranks == ()  # the program has named none
    (asked,) = task.wait.unanswered
    assert (asked.at, asked.handler, asked.place.line, asked.count) == (0, "ask", begin, 1)
    told = json.loads(error.report.to_json())["ranks"][1]["tasks"][0]["wait"]["unanswered"]
    assert told == [{"at": 0, "handler": "ask", "place": told[0]["place"], "count": 1}]


def test_of_many_ranks_it_is_told_once():
    async def main(ep):
        answers = []

        def ask(token, number):
            pass

        await ep.attach(ask)
        if ep.rank == 0:
            await trio.Event().wait()
        for number in range(ep.rank):
            await ep.request_short(0, ask, number)
        await ep.block_until(lambda: len(answers) > ep.rank)

    error = report_of(main, 8)
    assert [cause.ranks for cause in error.report.causes] == [(0,)]
    begin = line_of(main, "def ask")
    assert f"\n    rank 0 has not handled 28 of their requests, for ask (test_unanswered.py:{begin})\n" in str(error)
    assert "    7 ranks wait for it\n" in str(error)


def test_requests_of_a_layer_explain_no_wait_of_the_program():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            await trio.sleep_forever()
        await x.put_nbi(0, 8 * ep.rank, b"12345678")
        await ep.block_until(lambda: False)

    error = report_of(main, 2)
    assert sorted(cause.ranks for cause in error.report.causes) == [(0,), (1,)]
    assert "of its requests" not in str(error)


def test_a_rank_that_polls_is_not_blamed_for_what_it_has_still_to_handle():
    """Of a rank in a wait that polls nothing stays unhandled; who has named whom it waits for is taken at its word."""

    async def main(ep):
        def ask(token):
            pass

        await ep.attach(ask)
        if ep.rank == 0:
            await trio.sleep_forever()
        await ep.request_short(0, ask)
        await ep.block_until(lambda: False, what="a word", ranks=[2 if ep.rank == 1 else 1])

    error = report_of(main, 3)
    assert error.report.causes[0].cycle == (1, 2, 1)
    assert "of its requests" not in str(error)
