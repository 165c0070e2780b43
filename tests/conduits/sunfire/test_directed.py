"""Directed polling: queues take turns, those of the ranks that are waited for at every second poll."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import conduit
from conduits.sunfire.protocol.directed import misses

LANDING, RECEIVE, POLL = 1.148, 0.40, 0.05


def walk(waited, others, wanted, turn):
    """Poll until the turn of queue `wanted` comes; return the polls before it."""
    found = 0
    while True:
        if waited and others:
            kind = others if turn % 2 else waited
            looked_at = kind[turn // 2 % len(kind)]
        else:
            looked_at = (waited or others)[turn % len(waited or others)]
        if looked_at == wanted:
            return found
        turn, found = turn + 1, found + 1


@given(st.data(), st.integers(0, 5), st.integers(0, 9), st.integers(0, 10**6))
def test_turns(data, waited, others, turn):
    names = list(range(waited + others))
    if not names:
        return
    wanted = data.draw(st.sampled_from(names))
    flags = [name == wanted for name in names]
    expected = walk(names[:waited], names[waited:], wanted, turn)
    assert misses(flags[:waited], flags[waited:], turn) == expected
    assert expected < 2 * len(names)


def delays(poll, *, named, hosts=8, turns=40):
    """Microseconds from the landing of each request of rank 1 until rank 0, which waits, begins to receive it."""

    async def main(ep):
        sent, taken, met = [], [], set()

        def meet(token):
            met.add(token.rank)

        def request(token):
            taken.append(ep.now)

        await ep.attach(meet, request)
        if ep.rank:
            await ep.request_short(0, meet)
        else:
            await ep.block_until(lambda: len(met) == ep.size - 1)
            await ep.block_until(lambda: len(taken) == turns, ranks=(1,) if named else ())
        if ep.rank == 1:
            await ep.compute(20e-3)  # until all others have met rank 0
            for turn in range(turns):
                await ep.compute(20e-6 + 0.0137e-6 * turn)
                await ep.request_short(0, request)
                sent.append(ep.now)
        return sent or taken

    found = conduit.run(main, ranks=hosts, ranks_per_host=1, conduit=f"sunfire:poll={poll}").values
    return [(taken - sent) * 1e6 - LANDING - RECEIVE for taken, sent in zip(found[0], found[1], strict=True)]


def test_what_nobody_waits_for_is_found_when_its_turn_comes():
    """Seven queues: up to six polls look elsewhere, three on average; the poll that finds it may have to begin."""
    found = delays("directed", named=False)
    assert all(POLL - 1e-3 <= each <= (1 + 1 + 6) * POLL + 1e-3 for each in found)
    assert max(found) > 5 * POLL
    assert sum(found) / len(found) == pytest.approx((1 + 0.5 + 3) * POLL, rel=0.2)


def test_what_is_waited_for_has_every_second_turn():
    found = delays("directed", named=True)
    assert all(POLL - 1e-3 <= each <= (1 + 1 + 1) * POLL + 1e-3 for each in found)


def test_a_general_poll_finds_it_wherever_it_is():
    poll = 0.03 + 7 * 0.02
    for named in (False, True):
        assert all(poll - 1e-3 <= each <= 2 * poll + 1e-3 for each in delays("general", named=named))


def test_ranks_that_wait_for_each_other_in_a_ring_serve_those_they_do_not_wait_for():
    async def main(ep):
        got, back = [], []

        def request(token):
            got.append(token.rank)
            token.reply_short(reply)

        def reply(token):
            back.append(token.rank)

        await ep.attach(request, reply)
        ahead = (ep.rank + 1) % ep.size
        for turn in range(20):
            await ep.request_short(ahead, request)
            await ep.block_until(lambda turn=turn: len(back) > turn, ranks=(ahead,))
        await ep.block_until(lambda: len(got) == 20)
        return len(back)

    assert conduit.run(main, ranks=5, ranks_per_host=1, conduit="sunfire:poll=directed").values == [20] * 5
