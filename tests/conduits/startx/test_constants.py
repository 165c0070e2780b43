"""Every number of startx names its source, and the arithmetic of the derived ones holds."""

import re

import pytest

from conduits.mpi.libraries.start import constants as start
from conduits.startx import StartX
from conduits.startx import constants as c

# What the paper says, by the id under which a constant names it.
FACTS = {
    "sx.pio.std_slope": 0.133,
    "sx.pio.ldd_slope": 1.383,
    "sx.pio.c.size": 64,
    "sx.msg.header": 8,
    "sx.rdma.rate": 60.0,
    "sx.rdma.buffer": 16777216,
    "sx.bed.smp": 8,
    "sx.mpi.crossover": 1024,
}
# Facts of which a constant is a part or a bound; the arithmetic is checked below.
DERIVED = {
    "pio.send_start": "sx.pio.a.send_ovh",
    "pio.receive_start": "sx.pio.a.recv_ovh",
    "pio.stda": "sx.pio.c.send_ovh",
    "pio.ldda": "sx.pio.c.recv_ovh",
    "pio.word": "sx.pio.std_slope",
    "message.payload_min": "sx.msg.payload",
    "message.payload_max": "sx.msg.payload",
}
# Assumed readings and divisions of what the paper prints, which their sources begin with.
READ = {
    "niu.out": "sx.pio.c.latency",
    "niu.in": "sx.pio.c.latency",
    "niu.drain": "sx.pio.b.latency",
    "rdma.grant": "sx.gap.rdma_setup",
    "rdma.commitment": "sx.rdma.one",
}
ANCHORS = {"host.copy_rate": "x.mpi.bw.shm", "host.flops": "x.t4.p2.1k"}


@pytest.mark.parametrize("constant", StartX.constants, ids=lambda constant: constant.name)
def test_every_constant_names_its_source(constant):
    name = re.match(r"sx?(\.\w+)+|x(\.\w+)+", constant.source)
    if constant.kind == "assumed":
        assert len(constant.source) > 20, "an assumption gives its reason"
        assert (name and name.group()) == READ.get(constant.name)
        return
    assert name, f"{constant.source!r} begins with no id"
    if constant.kind == "anchor":
        assert ANCHORS[constant.name] == name.group()
    elif constant.name in DERIVED:
        assert DERIVED[constant.name] == name.group()
    else:
        assert constant.value == FACTS[name.group()]


def test_names_are_unique():
    names = [constant.name for constant in StartX.constants]
    assert len(set(names)) == len(names)


def test_the_costs_of_table_1():
    """Rows a, b and c: 16 and 64 bytes by words of 8, 64 bytes at once."""
    std, ldd = c.STD.value, c.LDD.value
    assert c.SEND_START.value + 2 * std == pytest.approx(0.6, abs=1e-6)
    assert c.SEND_START.value + 8 * std == pytest.approx(1.4, rel=0.01)
    assert c.SEND_START.value + c.STDA.value == pytest.approx(0.4, abs=1e-6)
    assert c.RECEIVE_START.value + 2 * ldd == pytest.approx(3.0, abs=1e-6)
    assert c.RECEIVE_START.value + 8 * ldd == pytest.approx(11.3, rel=0.01)
    assert c.RECEIVE_START.value + c.LDDA.value == pytest.approx(3.5, abs=1e-6)


def test_the_way_of_table_1():
    """What is left of the latency: 1.7 us for a block, 1.9 for words, through one switch."""
    hardware = c.NIU_OUT.value + c.STAGE.value / 1000 + c.NIU_IN.value
    assert hardware + 64 / c.LINK_RATE.value == pytest.approx(5.6 - 0.4 - 3.5, abs=1e-3)
    assert hardware + c.DRAIN.value == pytest.approx(14.6 - 1.4 - 11.3, abs=1e-3)


def test_payloads():
    assert (c.PAYLOAD_MIN.value, c.PAYLOAD_MAX.value) == (2 * 4, 22 * 4)
    assert c.WORD.value == 8


def test_the_rate_of_a_copy_from_the_anchor_of_150_mb_per_s():
    """By docs/models/start.md: MPI-StarT's message of 1 MB within an SMP, and in what pieces it goes."""
    size, piece = 1 << 20, start.PIECE.value
    pieces = size // piece

    def entry():  # of a ring, without data: its store, with the line's way to the other processor, and who looks for it
        return c.COPY_START.value + 48 / c.COPY_RATE.value

    look = start.POLL.value + c.POLL.value + start.POLL_PEER.value / 1000
    control = 2 * start.LAYERS.value + entry() + c.BUS.value / 1000 + look
    first = 2 * start.PIECE_ENTRY.value + entry() + c.BUS.value / 1000 + look
    once = look + start.CALL.value + 2 * control + start.MATCH.value / 1000 + first + start.COMPLETE.value
    assert once == pytest.approx(36.4, abs=0.05)
    further = start.PIECE_ENTRY.value + entry() + start.POLL.value + start.POLL_PEER.value / 1000
    assert further == pytest.approx(2.06, abs=0.005)
    copies = size / 150 - once - 2.9 - (pieces - 1) * further - (pieces + 1) * c.COPY_START.value
    assert copies == pytest.approx(6913.5, abs=0.1)
    assert (pieces + 1) * piece / copies == pytest.approx(c.COPY_RATE.value, abs=0.06)


def test_the_rate_of_operations_from_the_anchor_of_9_6_s():
    assert c.FLOPS.value == pytest.approx(2 * 1024**3 / 2 / 9.6 / 1e6, abs=0.5)


def test_what_is_assumed_of_the_pinned_region_adds_up():
    system_buffer = c.RDMA_MAX.value
    assert c.PINNED.value == 3 * system_buffer
    assert c.BUFFER.value == system_buffer / c.CPUS.value


def test_conversions():
    assert c.ps(c.STD) == 133_000
    assert c.ps(c.STAGE) == 150_000
    assert c.bytes_per_s(c.RDMA_RATE) == 60_000_000
    assert c.whole(c.SLOTS) == 4
