"""Rules T: what time is, who may be ahead of it, and what takes how much of it."""

import pytest
import trio

import conduit
from conduit.sim import Kernel, Waiter, livelock, simulate
from conduit.sim.dma import DmaStream
from conduit.sim.link import Link, Route
from conduit.sim.units import NS, PS_PER_S, US


def test_T1_a_cpu_does_one_thing_at_a_time_in_the_order_asked(both_ways):
    async def main(ep):
        ends = []

        async def work(name, seconds):
            await ep.compute(seconds)
            ends.append((name, round(ep.now - start, 9)))

        start = ep.now
        async with trio.open_nursery() as nursery:
            for name, seconds in (("a", 3e-6), ("b", 1e-6), ("c", 2e-6)):
                nursery.start_soon(work, name, seconds)
                await trio.sleep(1e-8)
        return ends

    assert both_ways.run(main, ranks=1).values == [[("a", 3e-6), ("b", 4e-6), ("c", 6e-6)]]


def test_T1_a_handler_and_its_charge_keep_the_cpu_from_other_tasks(on_loggp):
    async def main(ep):
        times = {}

        def slow(token):
            ep.charge(5e-6)
            times["handled"] = ep.now

        async def compute_at(when):
            await trio.sleep(when - trio.current_time())
            await ep.compute(1e-6)
            times["computed"] = ep.now

        await ep.attach(slow)
        if ep.rank == 0:
            await ep.request_short(1, slow)
            return None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.block_until, lambda: times)
            nursery.start_soon(compute_at, ep.now + 9e-6)  # while the handler runs
        return times["computed"] - times["handled"]

    # o_s for the empty reply, then the computation
    assert on_loggp.run(main).values[1] == pytest.approx(1e-6 + 1e-6, abs=1e-11)


def test_T1_nothing_is_handled_during_compute(both_ways):
    async def main(ep):
        handled = []

        def note(token):
            handled.append(ep.now)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
        else:
            await ep.compute(1e-3)
            end = ep.now
            assert not handled
            await ep.block_until(lambda: handled)
            return handled[0] - end

    assert 0 < both_ways.run(main).values[1] < 1e-5


@pytest.mark.parametrize("call", ["compute", "poll", "request", "block_until"])
@pytest.mark.parametrize("when", [1e-6, 5.5e-6])
def test_T1_work_that_a_sibling_charges_during_a_call_is_done_after_it(both_ways, call, when):
    async def main(ep):
        seen = []

        def note(token):
            seen.append(1)

        async def sibling():
            await trio.sleep(when)
            ep.charge(20e-6)
            times.append(ep.now)

        await ep.attach(note)
        start = ep.now
        times = [start]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            ep.charge(5e-6)
            if call == "compute":
                await ep.compute(1e-6)
            elif call == "poll":
                await ep.poll()
            elif call == "request":
                await ep.request_short(1 - ep.rank, note)
            else:
                await ep.block_until(lambda: len(times) > 1)
            times.append(ep.now)
            await ep.compute(1e-6)
            times.append(ep.now)
        assert times == sorted(times)
        return times[-1] - start

    assert all(took >= 26e-6 - 1e-12 for took in both_ways.run(main).values)


def test_T1_work_that_a_sibling_charges_stops_the_polling_loop(on_loggp):
    async def main(ep):
        handled = []

        def note(token):
            handled.append(ep.now)

        async def sibling():
            await trio.sleep(1e-6)
            ep.charge(20e-6)

        await ep.attach(note)
        start = ep.now
        if ep.rank == 0:
            await ep.request_short(1, note)  # arrives after 6 us
            return None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await ep.block_until(lambda: handled)
        return handled[0] - start

    assert on_loggp.run(main).values[1] == pytest.approx(22e-6, abs=2e-8)  # 1 + 20, and o_r


def _stranger(busy):
    """Return when rank 1's message is handled by rank 2 while rank 0 is ahead of its time, or does nothing."""

    async def main(ep):
        handled = []

        def note(token):
            handled.append(ep.now)

        def bulk(token, payload):
            pass

        await ep.attach(note, bulk)
        start = ep.now
        if ep.rank == 0 and busy:
            ep.charge(1e-3)
            await ep.request_long(2, bulk, bytes(65536), 0)
        if ep.rank == 1:
            await ep.compute(1e-6)
            await ep.request_short(2, note)
        if ep.rank == 2:
            await ep.block_until(lambda: handled)
            return handled[0] - start

    return main


@pytest.mark.parametrize("network", ["sci:torus=4", "sci:torus=4,inline=no", "loggp"])
def test_T2_a_rank_ahead_of_the_kernel_does_not_delay_a_stranger(network):
    times = [conduit.run(_stranger(busy), ranks=3, conduit=network).values[2] for busy in (False, True)]
    assert times[0] == times[1] < 1e-4


def test_T2_a_store_is_seen_at_the_time_of_the_store(both_ways):
    """A rank charges 1 ms and then sends: nobody handles that message before."""

    async def main(ep):
        handled = []

        def note(token):
            handled.append(ep.now)

        await ep.attach(note)
        start = ep.now
        if ep.rank == 0:
            ep.charge(1e-3)
            await ep.request_short(1, note)
        else:
            await ep.block_until(lambda: handled)
            return handled[0] - start

    assert both_ways.run(main).values[1] > 1e-3


def test_T3_waits_return_at_the_cpus_time_and_sends_early_by_at_most_their_last_stretch(both_ways):
    async def main(ep):
        handled = []
        ahead = []

        def note(token):
            handled.append(ep.now)
            ep.charge(1e-6)

        await ep.attach(note)
        peer = 1 - ep.rank
        for _ in range(3):
            await ep.compute(1e-6)
            ahead.append(ep.now - trio.current_time())
            await ep.request_short(peer, note)
            sent = ep.now
            await ep.compute(1e-6)
            assert ep.now == pytest.approx(sent + 1e-6, abs=1e-12)  # the next call starts at the CPU's time
            await ep.block_until(lambda: handled)
            ahead.append(ep.now - trio.current_time())
            await ep.poll()
            ahead.append(ep.now - trio.current_time())
            handled.clear()
        return ahead

    for ahead in both_ways.run(main).values:
        assert ahead == [0.0] * 9


def test_T4_the_clock_of_a_rank_is_the_later_of_kernel_and_cpu_and_never_goes_back(both_ways):
    async def main(ep):
        start = trio.current_time()
        await ep.compute(0)
        start = trio.current_time()
        ep.charge(10e-6)
        seen = [ep.now - start]
        await trio.sleep(4e-6)  # kernel time passes; this CPU stays ahead
        seen.append(ep.now - start)
        with trio.move_on_after(5e-6):
            await trio.sleep_forever()
        seen += [ep.now - start, trio.current_time() - start]
        await trio.sleep(20e-6)  # Trio's waits use no CPU
        seen.append(ep.now - start)
        return seen

    for seen in both_ways.run(main).values:
        assert seen == pytest.approx([10e-6, 10e-6, 10e-6, 9e-6, 29e-6], abs=1e-11)


def test_T5_time_passes_only_at_awaits_and_memory_is_that_of_kernel_time(both_ways):
    async def main(ep):
        handled = []

        def land(token, payload):
            handled.append(1)

        await ep.attach(land)
        if ep.rank == 0:
            await ep.compute(50e-6)
            await ep.request_long(1, land, b"\x07" * 4096, 0)
            return None
        spins = 0
        while not ep.segment[4095]:
            before = ep.now
            assert [ep.now for _ in range(100)] == [before] * 100
            await ep.compute(1e-6)
            spins += 1
        assert not handled  # the memory changed although this rank has not polled
        return spins

    assert both_ways.run(main).values[1] > 50


@pytest.mark.parametrize("call", ["poll", "compute"])
def test_T6_every_poll_and_compute_takes_at_least_a_nanosecond(both_ways, call):
    async def main(ep):
        start = ep.now
        for _ in range(100):
            await (ep.poll() if call == "poll" else ep.compute(0))
        return ep.now - start

    assert min(both_ways.run(main).values) >= 100e-9 * (1 - 1e-9)


def test_T6_steps_without_progress_of_time_end_the_job_and_name_the_line(on_loggp, monkeypatch):
    assert livelock.STILL == 100_000
    monkeypatch.setattr(livelock, "STILL", 1000)

    async def main(ep):
        await ep.compute(1e-6)
        if ep.rank == 1:
            while True:
                await trio.lowlevel.checkpoint()  # the line that is to be named
        await ep.block_until(lambda: False)

    error = on_loggp.fails(conduit.Livelock, main)
    line = main.__code__.co_firstlineno + 4
    assert str(error).startswith(
        f"livelock at 1.001 us: time does not pass any more (task rank 1 at {__file__}:{line} in main)\n"
        f"rank 1: test_rules_time.py:{line} in main: lets no time pass\n"
    )


def test_T6_what_a_livelock_overtakes_is_not_called_a_mistake(on_loggp, monkeypatch):
    """Rank 0 comes to `attach` last and loops: rank 1 would go on, were there another instant."""
    monkeypatch.setattr(livelock, "STILL", 1000)

    async def main(ep):
        await ep.attach()
        while ep.rank == 0:
            await trio.lowlevel.checkpoint()
        await ep.compute(1e-6)

    error = on_loggp.fails(conduit.Livelock, main)
    assert "became true without a handler" not in str(error)
    assert "which is true by now" in str(error)


def test_T6_steps_of_many_ranks_at_one_instant_are_no_livelock(on_loggp, monkeypatch):
    monkeypatch.setattr(livelock, "STILL", 100)

    async def main(ep):
        for _ in range(90):
            await trio.lowlevel.checkpoint()

    on_loggp.run(main, ranks=32)


def test_T6_any_number_of_steps_is_fine_while_time_passes(on_loggp, monkeypatch):
    monkeypatch.setattr(livelock, "STILL", 100)

    async def main(ep):
        for _ in range(1000):
            await trio.sleep(1e-9)

    on_loggp.run(main)


@pytest.mark.parametrize("inline", [True, False])
def test_T6_events_that_follow_one_another_at_one_instant_end_the_run(inline, monkeypatch):
    monkeypatch.setattr(livelock, "STILL", 10_000)
    world = Kernel(inline=inline)

    def again():
        world.at(world.now, again)

    async def wait_for_nothing():
        again()
        await world.wait(Waiter())

    with pytest.raises(RuntimeError, match=r"\Alivelock: .*events of the simulated hardware"):
        simulate(world, wait_for_nothing)


RATE = 1_000_000_000  # 1 ns for a byte


def _carry(world, route, nbytes, arrivals, at=0):
    def go():
        arrival = route.carry(nbytes, world.now, world.now, arrivals.append)
        if arrival:
            arrivals.append(arrival)

    world.at(at, go)


def test_T7_free_links_are_reserved_in_one_go_and_a_busy_one_costs_one_event():
    def events_and_arrivals(*starts):
        world = Kernel(inline=False)
        links = [Link(world, RATE, str(index)) for index in range(8)]
        routes = [Route([(link, 10 * NS) for link in links]) for _ in starts]
        arrivals = []
        for route, start in zip(routes, starts, strict=True):
            _carry(world, route, 100, arrivals, start)

        async def wait():
            await world.until(10 * US)

        simulate(world, wait)
        return world.events, arrivals

    alone, (arrival,) = events_and_arrivals(0)
    assert arrival == 180 * NS  # eight hops and a hundred bytes
    apart, arrivals = events_and_arrivals(0, 100 * NS)
    assert apart == alone + 1  # only the start of the second
    assert arrivals == [180 * NS, 280 * NS]
    waited, arrivals = events_and_arrivals(0, 40 * NS)
    assert waited == apart + 1  # one more event for the one wait, none for the hops
    assert arrivals == [180 * NS, 280 * NS]


def test_T7_links_beyond_a_busy_one_are_not_reserved_before_the_head_gets_there():
    world = Kernel()
    first, second = Link(world, RATE, "first"), Link(world, RATE, "second")
    times = {name: [] for name in ("holder", "waiting", "stranger")}
    _carry(world, Route([(first, 0)]), 500, times["holder"])
    _carry(world, Route([(first, 0), (second, 0)]), 100, times["waiting"], 10 * NS)
    _carry(world, Route([(second, 0)]), 100, times["stranger"], 20 * NS)

    async def wait():
        await world.until(10 * US)

    simulate(world, wait)
    assert times == {"holder": [500 * NS], "waiting": [600 * NS], "stranger": [120 * NS]}


@pytest.mark.parametrize(("piece", "worst"), [(1000, 1000), (100_000, 100_000)])
def test_T7_a_long_transfer_lets_others_onto_its_links_after_every_piece(piece, worst):
    world = Kernel()
    link = Link(world, RATE)
    done, arrivals = [], []
    stream = DmaStream(
        world, Route([(link, 0)]), 100_000, piece, RATE, lambda nbytes: nbytes, lambda _: None, done.append
    )
    world.at(0, stream.start, 0)
    asked = 500 * NS
    _carry(world, Route([(link, 0)]), 10, arrivals, asked)

    async def wait():
        await world.until(PS_PER_S)

    simulate(world, wait)
    assert arrivals == [worst * NS + 10 * NS]
    assert done == [(100_000 + (10 if piece < 100_000 else 0)) * NS]


def test_T7_the_option_piece_is_the_length_of_a_piece():
    """While two ranks put 256 KB to a third, whose bus has no more room, the short message of another has to wait
    the longer, the larger their pieces are."""

    async def main(ep):
        handled = []

        def land(token, payload):
            pass

        def note(token):
            handled.append(ep.now)

        await ep.attach(land, note)
        start = ep.now
        if ep.rank in (0, 3):
            await ep.request_long(2, land, bytes(1 << 18), 0)
        elif ep.rank == 1:
            await ep.compute(300e-6)
            await ep.request_short(2, note)
        else:
            await ep.block_until(lambda: handled)
            return handled[0] - start

    fine, coarse = (
        conduit.run(main, ranks=4, conduit=f"sci:torus=4,piece={piece}").values[2] for piece in (4096, 1 << 20)
    )
    assert fine < coarse
