"""All pairs of 16 ranks exchange long messages at once, in both directions, each answered by one as long.

`pytest tests/conduits/startx/test_all_pairs.py --full` runs it as large as it is meant: 1 MB, 20 seeds.
"""

import numpy as np

import conduit
from conduits.startx.hardware import HIGH

RANKS = 16
SETTINGS = (
    ("startx", 1),
    ("startx:order=weak", 2),
    ("startx:fifo=no,buffer=262144", 8),
    ("startx:order=weak,fifo=no", 8),
    ("startx:order=weak,access=word,slots=1,buffer=524288", 1),
)
SMALL, LARGE = 24_000, 1 << 20


def pytest_generate_tests(metafunc):
    """Two small seeds in CI; with --full 20 of full size."""
    if "exchange" in metafunc.fixturenames:
        full = metafunc.config.getoption("full")
        found = [(seed, LARGE if full else SMALL) for seed in (range(20) if full else (3, 4))]
        metafunc.parametrize("exchange", found, ids=[f"seed{seed}-{nbytes}" for seed, nbytes in found])


def pattern(seed, source, dest, is_reply, nbytes):
    """Bytes that differ for each message and within it."""
    start = np.uint64(seed * 1_000_003 + source * 7919 + dest * 104_729 + is_reply * 15_485_863)
    words = np.arange(-(-nbytes // 8), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + start
    return words.view(np.uint8)[:nbytes].tobytes()


def test_all_pairs_in_both_directions(exchange, jobs):
    seed, nbytes = exchange
    spec, per_host = SETTINGS[seed % len(SETTINGS)]
    if nbytes == SMALL:
        spec = spec.replace("262144", "8192").replace("524288", "4096")

    async def main(ep):
        asked = answered = right = 0

        def ask(token, payload):
            nonlocal asked, right
            asked += 1
            right += payload == pattern(seed, token.rank, ep.rank, 0, nbytes)
            token.reply_long(answer, pattern(seed, ep.rank, token.rank, 1, nbytes), (RANKS + ep.rank) * nbytes)

        def answer(token, payload):
            nonlocal answered, right
            answered += 1
            right += payload == pattern(seed, token.rank, ep.rank, 1, nbytes)

        await ep.attach(ask, answer)
        for step in range(1, RANKS):
            dest = ep.rank ^ step  # all pairs meet
            await ep.request_long(dest, ask, pattern(seed, ep.rank, dest, 0, nbytes), ep.rank * nbytes)
        await ep.block_until(lambda: asked == answered == RANKS - 1)
        return right

    result = conduit.run(
        main, ranks=RANKS, conduit=spec, seed=seed, ranks_per_host=per_host, segment=2 * RANKS * nbytes
    )
    assert result.values == [2 * (RANKS - 1)] * RANKS
    # What is set aside for replies is enough: nothing of high priority ever waited for a place.
    (job,) = jobs
    rendezvous = [smp.rendezvous for smp in job._smps.values()]
    for host in range(RANKS // per_host):
        assert job.cluster.fabric.niu(host).statistics(HIGH).held == 0
        assert not job.cluster.fabric.niu(host).rdma_in.open
    assert not any(each.waiting for each in rendezvous)
    assert sum(each.put_off for each in rendezvous) > 0, "no two ranks ever wanted each other"
