"""The arithmetic of the anchors, with the papers' figures written out once more."""

import re

import pytest

from conduits.mpi.libraries.sunmpi import constants as sunmpi
from conduits.sunfire import Sunfire
from conduits.sunfire import constants as c
from conduits.sunfire.constants import BARRIER_PS, LANDING_PS, LINE_PS, READ_LINE_PS, START_PS

# What the papers say, by the id under which a constant names it.
FACTS = {
    "sf.link.uni": 1000,
    "sf.link.bidi": 800,
    "sf.ni.path": 2400,
    "sf.ni.links": 2,
    "sf.ni.max_15k": 8,
    "sf.ni.unit": 64,
    "sf.switch.links": 8,
    "sf.topo.max_impl": 8,
    "sf.topo.p2p": 3,
    "sf.rsm.get_topology": 12.65,
    "sf.rsm.get_controller": 841.00,
    "sf.rsm.free_topology": 0.61,
    "sf.rsm.export_create": 103.61,
    "sf.rsm.export_publish": 119.36,
    "sf.rsm.export_unpublish": 73.48,
    "sf.rsm.export_destroy": 16.73,
    "sf.rsm.release_controller": 3.63,
    "sf.rsm.import_connect": 173.45,
    "sf.rsm.import_map": 13.56,
    "sf.rsm.init_barrier": 0.33,
    "sf.rsm.set_mode": 0.38,
    "sf.rsm.open_barrier": 9.93,
    "sf.rsm.order_barrier": 16.80,
    "sf.rsm.put_16k": 27.73,
    "sf.rsm.get_16k": 373.01,
    "sf.rsm.close_barrier": 7.13,
    "sf.rsm.destroy_barrier": 0.14,
    "sf.rsm.signal_post": 23.78,
    "sf.rsm.import_unmap": 21.40,
    "sf.rsm.import_disconnect": 486.31,
    "sf.rsm.min_segment": 8192,
    "sf.mem.export": 16 << 30,
    "sf.bed.sistare.cpus": 24,
    "sf.bed.sistare.clock": 900,
    "sf.bed.sistare.nodes": 8,
    "sf.bed.sistare.nis": 2,
    "sf.bed.q.nodes": 4,
    "sf.bed.q.links": 4,
    "sf.sis.block_small": 2048,
    "sf.sis.block_large": 4096,
    "sf.sis.short_limit": 2000,
    "sf.q.buffer": 1024,
    "sf.q.short_limit": 3912 - 1,  # strictly less
}
ANCHORS = {"host.copy_rate": "s.t1.bw.on", "host.message": "s.t1.lat.on"}
ON_NODE_MB_S, ON_NODE_US = 806, 1.5
"""s.t1.bw.on, s.t1.lat.on."""

PING_PONG, PUT_16K, GET_16K = 1.7, 27.73, 373.01
"""Microseconds: sf.rsm.pingpong, sf.rsm.put_16k, sf.rsm.get_16k."""
LINES = 16384 // 64


@pytest.mark.parametrize("constant", c.CONSTANTS, ids=lambda constant: constant.name)
def test_a_fact_has_the_value_that_the_paper_prints(constant):
    name = re.match(r"(sf|s)(\.\w+)+", constant.source)
    if constant.name == "store.line":
        assert constant.kind == "fact"  # arithmetic on two of them, see below
    elif constant.kind == "fact":
        expected = FACTS[name.group()]
        assert constant.value == (expected // 2 if name.group() == "sf.bed.q.links" else expected)
    elif constant.kind == "anchor":
        assert name.group() == ANCHORS[constant.name]
    else:
        assert len(constant.source) > 20


def test_the_pace_of_stores_is_the_slope_between_a_line_and_16_kb():
    assert c.STORE_LINE.value / 1000 == pytest.approx((PUT_16K - PING_PONG) / (LINES - 1), abs=1e-6)
    assert 64 / c.STORE_LINE.value * 1000 > 500  # "more than half of one link"


def test_the_parts_of_a_ping_pong_are_all_of_it():
    parts = (START_PS + LINE_PS + LANDING_PS) / 1e6 + c.MEMORY.value / 1000
    assert parts == pytest.approx(PING_PONG, abs=1e-3)


def test_the_put_of_a_line_is_as_long():
    assert c.PUT_CALL.value + (START_PS + LINE_PS) / 1e6 == pytest.approx(PING_PONG, abs=1e-3)


def test_loads_are_one_round_trip_after_another():
    assert c.GET_CALL.value + LINES * READ_LINE_PS / 1e6 == pytest.approx(GET_16K, abs=1e-3)


def test_the_barrier_calls_hold_the_hardware_s_round_trip():
    assert BARRIER_PS / 1e6 < c.CLOSE_BARRIER.value < c.ORDER_BARRIER.value


def test_the_clusters_of_the_papers():
    assert (c.SIS_HOSTS.value, c.SIS_NIS.value) == (8, 2)
    assert (c.Q_HOSTS.value, c.Q_NIS.value) == (4, 2)


def test_the_anchors_of_a_host():
    polls = 0.15
    assert 2 * c.SHARED_MESSAGE.value + c.SHARED_LINE.value + polls == pytest.approx(ON_NODE_US)


def test_the_copy_rate_is_what_the_anchor_leaves_for_copies():
    """Each buffer of two: both ends have their entry, copy, a store of 48 or 24 bytes, its way, a poll; one waits."""
    start, pipe, buffers = c.COPY_START.value, sunmpi.SHM_PIPE.value, sunmpi.SHM_CYCLE.value
    entry, way = sunmpi.SIS_ENTRY.value, c.SHARED_LINE.value
    stores = 2 * start + (48 + 24) / c.COPY_RATE.value
    polls = 2 * 1.6 * (sunmpi.POLL.value + sunmpi.HEAD.value) / 1000
    memory = 2 * 4096 / sunmpi.MEMORY_RATE.value
    beside = (2 * (entry + start + way) + stores + polls + memory) / buffers
    rate = pipe / (pipe / ON_NODE_MB_S - beside)
    assert rate == pytest.approx(933, abs=1)
    assert c.COPY_RATE.value == 5 * round(rate / 5)


def test_what_assumed_parts_are_taken_off_of_is_assumed():
    """As docs/calibration.md defines the kinds; anchors are results of MPI alone."""
    kinds = {constant.name: constant.kind for constant in c.CONSTANTS}
    assert {name for name, kind in kinds.items() if kind == "anchor"} == ANCHORS.keys()
    rests = {"ni.write", "load.line", "rsm.put_call"}
    assert {kinds[name] for name in rests} == {"assumed"}


def test_memory_is_as_slow_for_the_conduit_as_for_the_raw_ping_pong():
    assert c.ps(c.UNPACK) == c.ps(c.SHARED_LINE) == c.ps(c.MEMORY)


def test_names_are_all_different():
    names = [constant.name for constant in Sunfire.constants]
    assert len(set(names)) == len(names)
