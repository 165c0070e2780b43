"""CPU time that interrupts take from a rank, whatever it does."""

import conduit
from conduit.sim.units import US
from conduits.loggp import Loggp


def run(main, monkeypatch, interrupts):
    """Run `main` on two ranks; rank 0 is interrupted at times, each for so long, in microseconds."""
    ends = []
    make_transport = Loggp.make_transport

    def interrupt(port, ticks):
        ends.append(port.interrupt(ticks) / US)

    def make(network, port):
        if port.rank == 0:
            for when, ticks in interrupts:
                network.kernel.at(round(when * US), interrupt, port, ticks * US)
        return make_transport(network, port)

    monkeypatch.setattr(Loggp, "make_transport", make)
    values = conduit.run(main, conduit="loggp").values
    return values[0], ends


async def computes(ep):
    await ep.compute(100e-6 - ep.now)
    return round(ep.now * 1e6, 6)


def test_a_compute_lasts_longer_by_as_much(monkeypatch):
    assert run(computes, monkeypatch, [(10, 5), (20, 7)]) == (112, [15, 27])


def test_interrupts_at_once_are_served_one_after_the_other(monkeypatch):
    assert run(computes, monkeypatch, [(10, 5), (12, 5), (99, 2)]) == (112, [15, 20, 101])


def test_one_that_comes_in_the_time_that_another_has_added_counts_too(monkeypatch):
    assert run(computes, monkeypatch, [(99, 5), (103, 4)]) == (109, [104, 108])


def test_an_idle_rank_is_late_for_what_it_does_next(monkeypatch):
    async def sleeps(ep):
        import trio

        if ep.rank == 0:
            await trio.sleep(20e-6)
            await ep.compute(10e-6)
        return round(ep.now * 1e6, 6)

    assert run(sleeps, monkeypatch, [(18, 5)]) == (33, [23])


def test_a_polling_loop_goes_on_after_it(monkeypatch):
    async def waits(ep):
        got = []

        def handler(token):
            got.append(ep.now)

        await ep.attach(handler)
        if ep.rank == 0:
            await ep.block_until(lambda: got)
            return round(got[0] * 1e6, 3)
        await ep.compute(100e-6 - ep.now)
        await ep.request_short(0, handler)
        return None

    usual, _ = run(waits, monkeypatch, [])
    late, _ = run(waits, monkeypatch, [(usual - 2, 30)])
    assert usual + 25 < late <= usual + 30
