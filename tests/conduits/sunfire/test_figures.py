"""What the model says of the conduit, pinned: the formulas and examples of docs/models/sunfire.md, "The conduit"."""

import math

import pytest

import conduit
from conduits.sunfire.port import SunfireOptions, layout_of

LINE, LANDING, OPEN, CLOSE = 0.102078, 0.45 + 0.698, 9.93, 7.13
REQUEST, REPLY, RECEIVE = 0.35, 0.25, 0.40


def issue(lines):
    return 0.2 + LINE * lines if lines else 0


def postboxes(inline, args=0):
    return math.ceil((16 + 4 * args + inline) / 56)


def copy(nbytes):
    return 0.1 + nbytes / 935 if nbytes else 0


def measured(category, nbytes=0, *, spec="sunfire", offset=0, ranks=2, args=0):
    """Microseconds of the third request's call and of its round trip; the reply is short."""

    async def main(ep):
        got = []

        def request(token, *rest):
            token.reply_short(reply)

        def reply(token):
            got.append(1)

        await ep.attach(request, reply)
        call = whole = 0.0
        if ep.rank == 0:
            for rank in range(2, ep.size):
                await ep.request_short(rank, request)
            for turn in range(ep.size - 2, ep.size + 1):
                await ep.block_until(lambda turn=turn: len(got) >= turn)
                begun = ep.now
                if category == "short":
                    await ep.request_short(1, request, *range(args))
                elif category == "medium":
                    await ep.request_medium(1, request, bytes(nbytes), *range(args))
                else:
                    await ep.request_long(1, request, bytes(nbytes), offset, *range(args))
                call = ep.now - begun
                await ep.block_until(lambda turn=turn: len(got) > turn)
                whole = ep.now - begun
        return call * 1e6, whole * 1e6

    return conduit.run(main, ranks=ranks, ranks_per_host=1, conduit=spec, segment=1 << 20).values[0]


def round_trip(call, acknowledged, copied):
    """The sum from a call that takes so long, up to the beginnings of two polling steps."""
    there = call + LANDING + 0.05 + RECEIVE + copy(copied)
    return there + REPLY + issue(acknowledged) + issue(1) + LANDING + 0.05 + RECEIVE


def test_a_short_round_trip():
    call, whole = measured("short")
    assert call == pytest.approx(0.05 + REQUEST + issue(1), abs=1e-3)
    assert round_trip(call, 1, 0) == pytest.approx(4.752, abs=1e-3)
    assert round_trip(call, 1, 0) <= whole <= round_trip(call, 1, 0) + 0.1 + 1e-3


@pytest.mark.parametrize("args", [0, 10, 11, 16])
def test_arguments_beyond_ten_need_a_second_postbox(args):
    call, _ = measured("short", args=args)
    assert postboxes(0, args) == (1 if args <= 10 else 2)
    assert call == pytest.approx(0.05 + REQUEST + issue(postboxes(0, args)), abs=1e-3)


@pytest.mark.parametrize(("spec", "nbytes"), [("sunfire", 2000), ("sunfire", 100), ("sunfire:config=q", 3911)])
def test_payloads_in_postboxes(spec, nbytes):
    call, whole = measured("medium", nbytes, spec=spec)
    count = postboxes(nbytes)
    assert call == pytest.approx(0.05 + REQUEST + issue(count), abs=1e-3)
    expected = round_trip(call, count, nbytes)
    assert expected <= whole <= expected + 0.1 + 1e-3
    assert measured("long", nbytes, spec=spec, offset=7) == pytest.approx((call, whole), abs=0.05)


@pytest.mark.parametrize(
    ("spec", "nbytes", "blocks"),
    [
        ("sunfire", 2001, [32]),
        ("sunfire", 16384, [64, 64, 64, 64]),
        ("sunfire", 4097, [64, 1]),
        ("sunfire:config=q", 3912, [16, 16, 16, 14]),
        ("sunfire:config=q", 16384, [16] * 16),
    ],
)
def test_payloads_in_blocks(spec, nbytes, blocks):
    call, whole = measured("medium", nbytes, spec=spec)
    count = postboxes(4 * len(blocks))
    assert call == pytest.approx(0.05 + REQUEST + OPEN + sum(map(issue, blocks)) + CLOSE + issue(count), abs=1e-2)
    expected = round_trip(call, count, nbytes)
    assert expected <= whole <= expected + 0.1 + 1e-2


@pytest.mark.parametrize(("nbytes", "offset"), [(65536, 0), (65536, 1), (10_000, 37)])
def test_long_payloads_go_straight_but_for_their_edges(nbytes, offset):
    call, whole = measured("long", nbytes, offset=offset)
    head = -offset % 64
    lines, edges = (nbytes - head) // 64, head + (nbytes - head) % 64
    count = postboxes(edges)
    assert call == pytest.approx(0.05 + REQUEST + OPEN + issue(lines) + CLOSE + issue(count), abs=1e-2)
    expected = round_trip(call, count, edges)
    assert expected <= whole <= expected + 0.1 + 1e-2


def test_queues_that_a_general_poll_looks_at_cost_20_ns_each():
    near, far = (measured("short", ranks=ranks)[0] for ranks in (2, 8))
    assert far - near == pytest.approx(6 * 0.02, abs=1e-3)


def taken_back(lines, runs):
    """What acknowledgements that came cost: 18 instructions each, the first of a run from memory, others behind."""
    return 0.02 * lines + 0.25 * runs + 64 / 935 * (lines - runs)


def test_acknowledgements_are_read_from_memory_run_by_run():
    """Behind 219 of 256 postboxes there is no room for a largest message, of 38: then those 219 are taken back."""

    async def main(ep, turns):
        got, calls = [], []

        def request(token):
            token.reply_short(reply)

        def reply(token):
            got.append(1)

        await ep.attach(request, reply)
        for turn in range(0 if ep.rank else turns):
            begun = ep.now
            await ep.request_short(1, request)
            calls.append((ep.now - begun) * 1e6)
            await ep.block_until(lambda turn=turn: len(got) > turn)
        return calls

    calls = conduit.run(main, 600, ranks=2, ranks_per_host=1, conduit="sunfire").values[0]
    usual = 0.05 + REQUEST + issue(1)
    longer = {turn: took - usual for turn, took in enumerate(calls) if turn and took > usual + 0.15}
    assert longer == {
        219: pytest.approx(taken_back(219, 1), abs=0.11),
        438: pytest.approx(taken_back(219, 2), abs=0.11),  # postboxes 219 to 437: the queue's end is at 256
    }
    assert longer[438] - longer[219] == pytest.approx(0.25 - 64 / 935, abs=1e-6)


def test_the_mean_of_many_round_trips_has_what_is_taken_back_and_the_ends_of_queues():
    """Of 256 postboxes 12 messages of 19 leave fewer than 38; the queue of replies has 304."""

    async def main(ep, turns):
        got = []

        def request(token, payload):
            token.reply_medium(reply, payload)

        def reply(token, payload):
            got.append(1)

        await ep.attach(request, reply)
        begun = ep.now
        for turn in range(0 if ep.rank else turns + 1):
            begun = begun if turn > 1 else ep.now
            await ep.request_medium(1, request, bytes(1024))
            await ep.block_until(lambda turn=turn: len(got) > turn)
        return (ep.now - begun) / turns * 1e6

    mean = conduit.run(main, 960, ranks=2, ranks_per_host=1, conduit="sunfire").values[0]
    lines = postboxes(1024)
    assert lines == 19
    there = 0.05 + REQUEST + issue(lines) + LANDING + 0.05 + RECEIVE + copy(1024)
    back = REPLY + 2 * issue(lines) + LANDING + 0.05 + RECEIVE + copy(1024)
    cuts = 18 / 256 * (0.2 + 0.2) + 18 / 304 * 0.2 + (227 / 256 * (0.25 - 64 / 935)) / 12
    assert there + back == pytest.approx(12.655, abs=1e-3)
    expected = there + back + taken_back(228, 1) / 12 + cuts
    assert expected - 0.01 <= mean <= expected + 0.15


@pytest.mark.parametrize(("config", "pair"), [("sis", 168), ("q", 184)])
def test_memory_of_an_area_and_of_a_pair(config, pair):
    layout = layout_of(SunfireOptions(config=config), 24)
    assert layout.area_bytes == 640 * 1024
    assert layout.pair_bytes == pytest.approx(pair * 1024, abs=8192)


def test_the_anchor_within_a_host(round_trips):
    """1.5 us one way: calibrated, not predicted."""
    took = conduit.run(round_trips, 10, ranks=2, ranks_per_host=2, conduit="sunfire").values[0] / 2 * 1e6
    assert took == pytest.approx(1.5, abs=0.06)
