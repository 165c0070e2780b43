"""Streams and DMA engines against closed forms; how they share links piece by piece."""

from hypothesis import given
from hypothesis import strategies as st

from conduit.sim import Kernel, simulate
from conduit.sim.dma import DmaEngine, DmaStream
from conduit.sim.link import Link, Route

GB = 1_000_000_000


def run(kernel, *acts):
    """Run `(time, function)` acts in virtual time and everything that follows from them."""

    async def body():
        for when, act in acts:
            kernel.at(when, act)
        await kernel.until(10**15)

    simulate(kernel, body)


def same(nbytes):
    return nbytes


def stream(kernel, route, nbytes, piece, rate, ends):
    return DmaStream(kernel, route, nbytes, piece, rate, same, lambda when: ends.append(("fed", when)),
                  lambda when: ends.append(("arrived", when)))  # fmt: skip


@given(st.integers(1, 20_000), st.integers(64, 5000), st.integers(1, 10))
def test_a_stream_alone_is_limited_by_its_source_or_the_link(nbytes, piece, tenths):
    kernel, ends = Kernel(), []
    route = Route([(Link(kernel, GB), 3_000), (Link(kernel, GB), 3_000)])
    rate = GB * tenths // 10
    made = stream(kernel, route, nbytes, piece, rate, ends)
    run(kernel, (5_000, lambda: made.start(5_000)))
    fed, arrived = (dict(ends)[name] for name in ("fed", "arrived"))
    pieces = -(-nbytes // piece)
    alone = nbytes * 10**12 / rate
    # Each piece may round up by a picosecond.
    assert alone <= fed - 5_000 <= alone + pieces
    assert arrived - fed == 6_000


def test_two_streams_share_a_link_piece_by_piece():
    kernel = Kernel()
    link = Link(kernel, GB)
    ends_a, ends_b = [], []
    a = stream(kernel, Route([(link, 0)]), 16 * 1024, 1024, 2 * GB, ends_a)
    b = stream(kernel, Route([(link, 0)]), 4 * 1024, 1024, 2 * GB, ends_b)
    run(kernel, (0, lambda: a.start(0)), (0, lambda: b.start(0)))
    # b has every other piece, so it ends with its fourth: not behind all of a.
    assert dict(ends_b)["arrived"] == 8 * 1024 * 1000
    assert dict(ends_a)["arrived"] == 20 * 1024 * 1000


@given(st.sampled_from([256, 1000, 4096, 20_000]), st.integers(1, 10), st.integers(1, 10))
def test_the_size_of_pieces_does_not_matter_to_streams_that_share_a_link(piece, one, other):
    """Two sources of so many tenths of the link's rate: each has its own rate, or both the link's in sum."""
    kernel, ends, nbytes = Kernel(), {}, 1_000_000
    link = Link(kernel, GB)
    for name, tenths in (("one", one), ("other", other)):
        ends[name] = []
        made = stream(kernel, Route([(link, 0)]), nbytes, piece, GB * tenths // 10, ends[name])
        kernel.at(0, made.start, 0)
    run(kernel)
    first, last = sorted(dict(found)["arrived"] for found in ends.values())
    slack = 3 * piece * 1000
    alone = sorted(nbytes * 10_000 // tenths for tenths in (one, other))
    assert first >= alone[0]
    assert last <= max(alone[1], 2 * nbytes * 1000) + slack
    if one + other <= 10:
        assert first <= alone[0] + slack
    assert link.statistics().nbytes == 2 * nbytes


def test_a_stream_whose_piece_waits_does_not_run_ahead():
    """A far link that is busy holds the source back: at most one piece waits in the network."""
    kernel, ends = Kernel(), []
    near, far = Link(kernel, GB), Link(kernel, GB)
    made = stream(kernel, Route([(near, 0), (far, 0)]), 10 * 1000, 1000, GB, ends)
    run(kernel, (0, lambda: far.take(0, 1_000_000)), (0, lambda: made.start(0)))
    assert dict(ends)["arrived"] == 10**9 + 10 * 10**6
    assert near.statistics().transfers == 10


def engine(kernel):
    return DmaEngine(kernel, setup_ps=30_000, bytes_per_s=GB, piece=4096, wire=same)


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=5))
def test_descriptors_are_worked_off_one_after_another(sizes):
    kernel, arrivals = Kernel(), []
    dma, route = engine(kernel), Route([(Link(kernel, GB), 2_000)])

    def post():
        for size in sizes:
            dma.post(route, size, arrivals.append)

    run(kernel, (1_000, post))
    expected, when = [], 1_000
    for size in sizes:
        when += 30_000 + size * 1000
        expected.append(when + 2_000)
    assert arrivals == expected
    assert dma.statistics() == (len(sizes), sum(sizes), len(sizes) - 1)


def test_an_idle_engine_begins_again():
    kernel, arrivals = Kernel(), []
    dma, route = engine(kernel), Route([(Link(kernel, GB), 0)])
    run(
        kernel,
        (0, lambda: dma.post(route, 10, arrivals.append)),
        (10**6, lambda: dma.post(route, 10, arrivals.append)),
    )
    assert arrivals == [40_000, 10**6 + 40_000]
