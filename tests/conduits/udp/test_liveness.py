"""Jobs over a network that loses: they end right, or as an error that says why, and never hang."""

import pytest
import trio

import conduit
from conduit import Deadlock, NetworkError, TimeLimit
from conduit.contract import JobSetup
from conduit.launch import registry
from conduit.launch.jobs.simulated import SimulatedJob

HARD = "udp:loss=0.3,dup=0.1,reorder=0.2,buffer=1472,queue=1538"


async def crowd(ep, nbytes=3000, count=6):
    """Every rank sends to every other at once; returns the sums of what has come."""
    got, answers = [], []

    def request(token, payload, number):
        got.append((token.rank, number, sum(payload)))
        token.reply_medium(reply, bytes([number]) * 100)

    def reply(token, payload):
        answers.append(len(payload))

    await ep.attach(request, reply)
    others = [rank for rank in range(ep.size) if rank != ep.rank]
    for number in range(count):
        for rank in others:
            await ep.request_medium(rank, request, bytes([number]) * nbytes, number)
    await ep.block_until(lambda: len(answers) == count * len(others) == len(got))
    return sorted(got)


def expected(rank, ranks, nbytes=3000, count=6):
    return sorted(
        (other, number, number * nbytes) for other in range(ranks) if other != rank for number in range(count)
    )


def job(main, spec, ranks=2, seed=0):
    """Return a job that has not run, to look at its kernel afterwards."""
    network = registry.parse_spec(spec)
    hosts = network.cls.placement(network.options, ranks, None)
    return SimulatedJob(main, (), network, JobSetup(ranks=ranks, hosts=hosts, segment=1 << 16, seed=seed), 1000.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("per_host", [1, 2])
def test_a_third_lost_and_full_buffers_end_right(seed, per_host):
    result = conduit.run(crowd, ranks=4, conduit=HARD, seed=seed, ranks_per_host=per_host)
    assert result.values == [expected(rank, 4) for rank in range(4)]
    assert sum(counts["udp_retransmissions"] for counts in result.statistics) > 50
    assert sum(counts["udp_duplicates"] for counts in result.statistics) > 10
    assert sum(counts.get("frames_lost", 0) for counts in result.statistics) > 50
    drops = sum(counts["udp_socket_drops"] + counts.get("switch_drops", 0) for counts in result.statistics)
    assert drops > 10


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["udp:loss=0.05,dup=0.01,reorder=0.05", "udp:loss=0.05,order=weak"])
def test_the_same_seed_gives_the_same_digest_inline_or_not(spec):
    digests = {
        (seed, inline, again): conduit.run(crowd, ranks=3, conduit=f"{spec},inline={inline}", seed=seed).digest
        for seed in (1, 2)
        for inline in ("yes", "no")
        for again in (1, 2)
    }
    assert len(set(digests.values())) == 2
    assert len({digests[1, inline, again] for inline in ("yes", "no") for again in (1, 2)}) == 1


@pytest.mark.parametrize("spec", ["udp", "udp:loss=0.3", "udp:delay=0"])
def test_no_timer_is_left_at_the_end(spec):
    one = job(crowd, spec, ranks=3)
    assert one.run().values[0] == expected(0, 3)
    assert not one.kernel.timers


async def one_sided(ep, sleeper):
    """Rank 1 never polls after attach; rank 0 sends it more than its buffer holds."""

    def request(token, payload):
        pass

    await ep.attach(request)
    if ep.rank == 1:
        await sleeper()
    else:
        for _ in range(4):
            await ep.request_medium(1, request, bytes(1000))
        await ep.block_until(lambda: False, what="an answer")


@pytest.mark.parametrize("spec", ["udp:slots=2", "udp:slots=8,loss=0.3", "udp:slots=8,buffer=1472,dup=0.3"])
def test_a_rank_that_never_polls_is_a_deadlock_not_endless_retries(spec):
    with pytest.raises(Deadlock, match=r"not handled, because this rank does not poll") as caught:
        conduit.run(one_sided, trio.sleep_forever, conduit=spec)
    assert "request slots to rank 1 in use" in str(caught.value)


def test_a_rank_that_computes_for_a_minute_is_not_taken_for_dead():
    async def main(ep):
        got = []

        def request(token):
            got.append(token.rank)

        await ep.attach(request)
        if ep.rank == 1:
            await ep.compute(60.0)
        else:
            await ep.request_short(1, request)
        await ep.block_until(lambda: got or ep.rank == 0)

    result = conduit.run(main, conduit="udp")
    assert 60 < result.seconds < 60.1
    assert 10 < result.statistics[0]["udp_retransmissions"] < 20  # each after twice the time


def test_where_nothing_gets_through_the_job_says_so():
    with pytest.raises(
        NetworkError,
        match=r"^nothing gets from rank \d to rank \d and back: a datagram was sent 4 times without an",
    ):
        conduit.run(crowd, conduit="udp:loss=1,tries=4")


def test_where_nothing_gets_through_the_line_is_told_at_which_the_program_was():
    async def main(ep):
        got = []

        def request(token):
            got.append(token)

        await ep.attach(request)
        if ep.rank == 0:
            await ep.request_short(1, request)
            await ep.block_until(lambda: got)

    line = main.__code__.co_firstlineno + 9
    with pytest.raises(NetworkError) as caught:
        conduit.run(main, conduit="udp:loss=1,tries=4")
    assert caught.value.__notes__ == [
        f"the program of rank 0 was at {__file__}:{line} in main",
        "raised by rank 0 at 0.007704271 s",
    ]


def test_a_time_limit_ends_retries():
    with pytest.raises(TimeLimit):
        conduit.run(crowd, conduit="udp:loss=1", time_limit=1.0)


def test_a_network_without_losses_sends_nothing_twice():
    result = conduit.run(crowd, conduit="udp", ranks=2)
    assert all(counts["udp_retransmissions"] == counts["udp_duplicates"] == 0 for counts in result.statistics)
    assert result.statistics[0]["udp_datagrams_sent"] > 12
