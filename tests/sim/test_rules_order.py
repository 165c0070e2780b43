"""Rule O: what stores and messages may overtake, and what may not, under `order=weak`."""

import itertools

import pytest

import conduit
from conduit.sim import Kernel, Memory, simulate
from conduit.sim.topology import Torus
from conduits.sci.hardware import SPREAD_PS, SciFabric

SEEDS = range(12)


async def _numbered(ep):
    """Rank 0 sends numbered messages; the others note in which order they handle them."""
    got = []

    def note(token, number):
        got.append(number)

    await ep.attach(note)
    if ep.rank == 0:
        for number in range(8):
            await ep.request_short(1, note, number)
    elif ep.rank == 1:
        await ep.block_until(lambda: len(got) == 8)
    return got


def _orders(spec, **settings):
    return {tuple(conduit.run(_numbered, conduit=spec, seed=seed, **settings).values[1]) for seed in SEEDS}


IN_ORDER = tuple(range(8))


def test_O_two_messages_of_loggp_are_never_ordered():
    orders = _orders("loggp:order=weak,g=0,o_s=100ns")
    assert len(orders) > 6
    assert all(sorted(order) == list(IN_ORDER) for order in orders)


def test_O_strict_order_is_the_order_of_sending():
    assert _orders("loggp") == {IN_ORDER}


@pytest.mark.parametrize("network", ["loggp", "sci", "startx"])
def test_O_memory_that_ranks_of_a_host_share_keeps_the_order_of_stores(network):
    assert _orders(f"{network}:order=weak", ranks_per_host=2) == {IN_ORDER}


def test_O_a_rank_finds_a_long_payload_whole_when_its_handler_runs_however_weak_the_order(both_ways):
    """Data and the flags that announce them are in different segments: a barrier must keep them apart."""

    async def main(ep):
        got = []

        def land(token, payload, number):
            got.append(set(payload) == {number})

        await ep.attach(land)
        if ep.rank == 0:
            for number in range(1, 7):
                await ep.request_long(1, land, bytes([number]) * (300 * number**2), 12_003 * number, number)
        else:
            await ep.block_until(lambda: len(got) == 6)
        return got

    for seed in range(6):
        assert both_ways.run(main, options="order=weak", seed=seed).values[1] == [True] * 6


def _adapter(seed, *, weak):
    return SciFabric(Kernel(seed), Torus((4,)), weak=weak).adapter(0)


@pytest.mark.parametrize("seed", SEEDS)
def test_O_stores_of_one_adapter_to_one_segment_stay_in_order(seed):
    adapter = _adapter(seed, weak=True)
    landings = [adapter.later(arrival, "segment") for arrival in range(0, 40_000, 1000)]
    assert landings == sorted(set(landings))
    assert all(landing - arrival >= 0 for arrival, landing in zip(range(0, 40_000, 1000), landings, strict=True))


def test_O_stores_to_different_segments_and_dma_are_unordered():
    def overtaken(first, second):
        return sum(
            adapter.later(0, first) > adapter.later(1000, second)
            for adapter in (_adapter(seed, weak=True) for seed in SEEDS)
        )

    assert SPREAD_PS > 1000
    for first, second in itertools.permutations(["segment", "another", None], 2):
        assert 0 < overtaken(first, second) < len(SEEDS)


def test_O_strict_order_delays_nothing():
    adapter = _adapter(1, weak=False)
    assert [adapter.later(arrival, target) for arrival, target in ((5, "a"), (4, "b"), (3, None))] == [5, 4, 3]
    assert adapter.cut(3, 100) == [(0, 100)]


@pytest.mark.parametrize("seed", SEEDS)
def test_O_weak_order_cuts_a_store_at_a_word_of_eight_bytes(seed):
    parts = _adapter(seed, weak=True).cut(3, 100)
    assert [start for start, _ in parts] == [0, *(end for _, end in parts[:-1])]
    assert parts[-1][1] == 100
    assert all((3 + end) % 8 == 0 for _, end in parts[:-1])


def test_O_the_order_is_drawn_from_the_seed():
    runs = [conduit.run(_numbered, conduit="loggp:order=weak,g=0", seed=seed).digest for seed in (1, 2, 1)]
    assert runs[0] == runs[2] != runs[1]


def test_O_simulated_memory_is_bytes_at_addresses():
    """What travels is copied at the store: a later change of the source is not seen."""
    world, memory, source = Kernel(), Memory(100), bytearray(b"abc")

    async def store():
        world.at(10, memory.write, 5, bytes(source))
        source[:] = b"xyz"
        await world.until(20)

    simulate(world, store)
    assert memory.read(4, 5) == b"\0abc\0"
