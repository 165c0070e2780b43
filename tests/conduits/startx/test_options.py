"""What startx takes and refuses: options, placement, buffers."""

import re

import pytest

import conduit
from conduit.contract import Category
from conduit.errors import BadRequest
from conduit.launch.registry import parse_spec
from conduits.startx.port import StartX, StartXOptions, effective_crossover_shared


def options(text):
    return parse_spec(f"startx:{text}").options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("host=vax", "option 'host' of conduit 'startx' cannot be 'vax'; allowed: e5000|pentium2"),
        ("access=byte", "option 'access' of conduit 'startx' cannot be 'byte'; allowed: block|word"),
        ("fifo=maybe", "option 'fifo' of conduit 'startx' cannot be 'maybe'; allowed: yes|no"),
        ("slots=0", "option 'slots' of conduit 'startx' cannot be '0'"),
        ("slots=257", "option 'slots' of conduit 'startx' cannot be '257'"),
        ("max_medium=511", "option 'max_medium' of conduit 'startx' cannot be '511'"),
        ("crossover=-1", "option 'crossover' of conduit 'startx' cannot be '-1'"),
        ("buffer=63", "option 'buffer' of conduit 'startx' cannot be '63'"),
        ("buffer=16777224", "option 'buffer' of conduit 'startx' cannot be '16777224'"),
        ("buffer=100", "options of conduit 'startx': buffer=100 is no multiple of 8, as RDMA needs it; round it down"),
        (
            "slots=5",
            "options of conduit 'startx': slots=5 of 8 ranks with replies of 1024 bytes (14 packets) need 560 "
            "places in the receive queue of high priority, it has high_queue=512; lower slots, max_medium or "
            "crossover, or raise high_queue",
        ),
        (
            "crossover=4096",
            "options of conduit 'startx': slots=4 of 8 ranks with replies of 4096 bytes (50 packets) need 1600",
        ),
        (
            "low_queue=13",
            "options of conduit 'startx': a request of 1024 bytes takes 14 packets, the transmit queue has "
            "low_queue=13; lower max_medium or crossover, or raise low_queue",
        ),
    ],
)
def test_refusals(text, message):
    with pytest.raises(BadRequest, match=r"\A" + re.escape(message)):
        options(text)


def test_the_limits_follow_from_the_queue():
    """Rule S5: 8 ranks x slots x packets of the largest reply fit the receive queue of high priority."""
    assert options("slots=5,high_queue=560").slots == 5
    assert options("slots=5,max_medium=512,crossover=512").slots == 5
    assert options("slots=18,host=pentium2").slots == 18


def test_defaults_are_those_of_the_paper():
    found = StartXOptions()
    assert (found.crossover, found.buffer, found.host, found.fifo) == (1024, 2 << 20, "e5000", True)
    limits = StartX.limits(found)
    assert (limits.max_args, limits.max_medium) == (16, 1024)
    assert StartX.thresholds(found) == (1024, 1024, 2 << 20)


def test_what_no_slot_holds_goes_straight_into_the_segment():
    assert effective_crossover_shared(options("crossover_shared=5000")) == 1024
    assert effective_crossover_shared(options("crossover_shared=500")) == 500


@pytest.mark.parametrize(
    ("text", "most"), [("order=strict", 8), ("host=pentium2", 2), ("buffer=4194304", 4), ("buffer=16777216", 1)]
)
def test_ranks_on_a_host_are_its_processors_or_what_its_pinned_region_gives_buffers_to(text, most):
    assert StartX.max_ranks_per_host(options(text)) == most
    assert StartX.placement(options(text), 2 * most, most) == (0,) * most + (1,) * most
    with pytest.raises(BadRequest, match=rf"\Aranks_per_host={most + 1} does not fit"):
        StartX.placement(options(text), 2 * most + 2, most + 1)


def test_ranks_are_spread_over_as_many_hosts_as_there_are():
    assert StartX.placement(StartXOptions(), 4, None) == (0, 1, 2, 3)
    assert StartX.placement(StartXOptions(), 2048, None)[-1] == 1023


def test_buffers_that_fill_the_region_can_be_used():
    async def main(ep):
        return ep.host

    assert conduit.run(main, ranks=8, conduit="startx", ranks_per_host=8).values == [0] * 8
    assert conduit.run(main, ranks=2, conduit="startx:buffer=16777216").values == [0, 1]


def test_raw_time_is_that_of_the_way_that_a_message_takes():
    def raw(category, nbytes, **settings):
        return StartX.raw_time(StartXOptions(**settings), category, nbytes, round_trip=True) * 1e6

    assert raw(Category.SHORT, 0) == pytest.approx(2 * (0.4 + 16 / 150 + 1.273 + 3.5))
    assert raw(Category.LONG, 1024) == pytest.approx(raw(Category.MEDIUM, 1024))
    assert raw(Category.LONG, 1025) < raw(Category.MEDIUM, 1025)
    assert raw(Category.LONG, 1024, crossover=512) < raw(Category.LONG, 1024)
    one_way = StartX.raw_time(StartXOptions(), Category.LONG, 65536, round_trip=False)
    assert raw(Category.LONG, 65536) == pytest.approx(2 * one_way * 1e6)
    largest = 1 << 24  # of one RDMA
    several = [largest, largest, 8]
    assert raw(Category.LONG, sum(several)) == pytest.approx(
        sum(raw(Category.LONG, size, crossover=0) for size in several)
    )
    assert raw(Category.LONG, 2 * largest) == pytest.approx(2 * raw(Category.LONG, largest))
