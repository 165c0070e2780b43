"""Virtual times far beyond any real program's are simulated or refused; nothing hangs or is called a deadlock."""

import math

import pytest
import trio

import conduit


def test_a_far_deadline_does_not_slow_down_what_comes_before_it(both_ways):
    async def main(ep):
        with trio.move_on_after(1e10):
            for _ in range(100):
                await ep.compute(1e-6)
        return trio.current_time() > 99e-6

    assert both_ways.run(main).values == [True, True]


@pytest.mark.parametrize("length", [1e4, 1e10, 1e12, 1e17])
def test_a_long_sleep_ends_when_it_is_over(on_loggp, length):
    async def main(ep):
        await trio.sleep(length)
        await trio.sleep(length / 2)
        return trio.current_time() / length

    assert on_loggp.run(main).values == [pytest.approx(1.5)] * 2


@pytest.mark.parametrize("length", [1e19, 1e300, 1.7e308])
def test_a_sleep_longer_than_virtual_time_is_a_wait_for_ever(on_loggp, length):
    async def main(ep):
        await trio.sleep(length)

    on_loggp.fails(conduit.Deadlock, main)


@pytest.mark.parametrize("past", [-1e300, -math.inf, -1.0])
def test_a_deadline_moved_into_the_past_is_due_at_once(on_loggp, past):
    async def main(ep):
        with trio.CancelScope() as scope:
            scope.deadline = past
            await ep.block_until(lambda: False)
        return scope.cancelled_caught, ep.now

    assert [caught for caught, _ in on_loggp.run(main).values] == [True, True]


def test_what_happens_after_thirty_years_is_in_the_digest(both_ways):
    """A time of 1e9 s is 1e21 ps, more than a machine word holds."""

    async def main(ep, first):
        got = []

        def note(token, number):
            got.append(number)

        await ep.attach(note)
        await ep.compute(1e9)
        await ep.compute(first * 1e-6)
        for number in range(60):  # more acts than are kept unhashed
            await ep.request_short(1 - ep.rank, note, number)
        await ep.block_until(lambda: len(got) == 60)
        return ep.now > 1e9

    results = [both_ways.run(main, first) for first in (1, 2)]
    assert [result.values for result in results] == [[True, True]] * 2
    assert results[0].digest != results[1].digest


@pytest.mark.parametrize(
    "value", [1e19, 1e300, 10**400, 1.0000001e9, 10**5000], ids=["1e19", "1e300", "int", "little", "unprintable"]
)
@pytest.mark.parametrize("call", ["compute", "charge"])
def test_E4_work_of_more_than_thirty_years_is_refused(on_loggp, call, value):
    async def main(ep):
        allowed = "finite number of at least 0 and at most 1e\\+09"
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.{call}: seconds=.* {allowed}"):
            getattr(ep, call)(value)
        return ep.now

    assert on_loggp.run(main).values == [1e-9] * 2  # the start alone


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("compute", {"flops": 10**400}, r"flops=an int of 1329 bits is not allowed; .* at most 1e\+24"),
        ("charge", {"flops": 10**400}, r"flops=an int of 1329 bits is not allowed; .* at most 1e\+24"),
        ("compute", {"flops": 1e300}, r"flops=1e\+300 is not allowed; .* at most 1e\+24"),
        ("compute", {"flops": 2 * 10**18}, r"flops=20+ would take 2e\+09 s on this host; .* at most 1e\+09 s"),
        ("charge", {"copied": 2 * 10**18}, r"copied=20+ would take 2e\+09 s on this host; .* at most 1e\+09 s"),
        ("charge", {"copied": 10**400}, r"copied=an int of 1329 bits is not allowed; .* at most 10{24}"),
        (
            "compute",
            {"flops": 10, "threads": 10**400},
            r"threads=an int of 1329 bits is not allowed; .* at most 1048576",
        ),
    ],
    ids=["compute_flops", "charge_flops", "float_flops", "slow_flops", "slow_copy", "copied", "threads"],
)
def test_E4_work_without_end_is_refused(on_loggp, call, arguments, message):
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.{call}: {message}"):
            getattr(ep, call)(**arguments)

    on_loggp.run(main)


def test_work_of_thirty_years_is_done(on_loggp):
    async def main(ep):
        await ep.compute(1e9)
        ep.charge(1e9)
        await ep.compute(flops=10**18)
        await ep.compute(flops=2 * 10**18, threads=2)
        return ep.now

    assert on_loggp.run(main).values == [4e9] * 2


@pytest.mark.parametrize("limit", [1e300, 10**400, 1.1e9], ids=["float", "int", "little"])
def test_a_time_limit_of_more_than_thirty_years_is_refused(limit):
    async def main(ep):
        pass

    with pytest.raises(conduit.BadRequest, match=r"\Arun: time_limit=.* of at least 0 and at most 1e\+09"):
        conduit.run(main, conduit="loggp", time_limit=limit)


@pytest.mark.parametrize("option", ["L=1e20", "o_s=1e300", "o_r=1000001", "g=1e7s", "G=1e20", "poll=1e18"])
def test_times_of_loggp_are_bounded(option):
    async def main(ep):
        pass

    name = option.partition("=")[0]
    with pytest.raises(conduit.BadRequest, match=rf"option '{name}' of conduit 'loggp' cannot be .* to 1000000"):
        conduit.run(main, conduit=f"loggp:{option}")


def test_the_longest_times_of_loggp_are_simulated():
    async def main(ep):
        got = []

        def note(token, payload):
            got.append(len(payload))
            if token.is_request:
                token.reply_medium(note, payload)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_medium(1, note, bytes(65000))
        await ep.block_until(lambda: got)
        return ep.now > 65000e6

    longest = ",".join(f"{name}=1e6" for name in ("L", "o_s", "o_r", "g", "G", "poll"))
    assert conduit.run(main, conduit=f"loggp:{longest}").values == [True, True]


@pytest.mark.parametrize("fault", [f"links@{'9' * 400}s", "links@2000000000s"], ids=["float", "little"])
def test_a_fault_after_many_years_is_refused(fault):
    async def main(ep):
        pass

    with pytest.raises(conduit.BadRequest, match=r"is no time, such as 50us, 1.5ms, 2s, at most 1000000s"):
        conduit.run(main, conduit=f"sunfire:fault={fault}")
