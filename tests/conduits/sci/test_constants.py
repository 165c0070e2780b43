"""Every number of sci names its source, and the arithmetic of the anchors holds."""

import re

import pytest

from conduits.sci import Sci
from conduits.sci import constants as c

# What the paper and its authors' code say, by the id under which a constant names it.
FACTS = {
    "sci.addr.max_nodes": 65536,
    "sci.link.rate": 662.5,
    "sci.outstanding": 16,
    "sci.ratio.read_over_write": 10,
    "sci.dma.setup": 30.0,
    "sci.dma.align": 8,
    "sci.map.dynamic": 200.0,
    "sci.seg.max_default": 2097152,
    "sci.long.dma_threshold": 2048,
    "sci.bed.cpus": 2,
    "sci.bed.clock": 2400,
    "sci.bed.ram": 1073741824,
    "sci.code.slots": 2,
    "sci.code.header_max": 80,
    "sci.code.medium_max": 2048,
    "sci.alt.ibel_single.bulk": 4096,
    "sci.alt.ibel_single.outstanding": 1,
}
ANCHORS = {"sci.am.short_med.overhead", "sci.am.long.scampi_max", "sci.am.long.bw_128k"}
DERIVED = {"am.args"}  # follows from the fact it names


@pytest.mark.parametrize("constant", Sci.constants, ids=lambda constant: constant.name)
def test_every_constant_names_its_source(constant):
    if constant.kind == "assumed":
        assert len(constant.source) > 20, "an assumption gives its reason"
        return
    name = re.match(r"sci(\.\w+)+", constant.source)
    assert name, f"{constant.source!r} begins with no id"
    if constant.kind == "anchor":
        assert name.group() in ANCHORS
    elif constant.name not in DERIVED:
        assert constant.value == FACTS[name.group()]


def test_names_are_unique():
    names = [constant.name for constant in Sci.constants]
    assert len(set(names)) == len(names)


def test_nothing_else_in_the_conduit_is_a_number_of_the_machine():
    """Times and rates come from constants.py alone: no other file converts a unit by itself."""
    for kind, unit in (("fact", "us"), ("assumed", "ns"), ("anchor", "MB/s")):
        assert any(constant.kind == kind and constant.unit == unit for constant in Sci.constants)


def test_the_software_s_share_of_the_anchor_of_12_us():
    """A round trip of testam: a request, which searches a slot, and a reply."""
    software = 2 * (c.CHECK.value + c.BUILD.value + c.UNPACK.value + c.DISPATCH.value) + c.SEARCH.value
    assert software == pytest.approx(7.2)
    # The protocol's: per message the wait for the barrier after the header, then two flags, against
    # one store of the raw ping-pong.  Neighbours on a ring of 4: the ways there and back have 1 and 3 links.
    header = 2 * (0.2 + 16 / 190 + 0.5 + 0.7 + 0.5) + (4 + 4) * 0.07
    flags = 2 * (2 * 0.2 + 2 / 190 + 0.5 + 0.7) + 4 * 0.07
    raw = 2 * (0.2 + 32 / 528 + 0.5 + 0.7) + 4 * 0.07
    assert header + flags - raw == pytest.approx(4.8, abs=0.05)
    assert software + header + flags - raw == pytest.approx(12, abs=0.05)


def test_the_dma_rate_from_the_anchor_of_213_mb_per_s():
    one_way = 131072 / (213 * 2**20) * 1e6  # microseconds; testam printed it, whose MB is 2**20 bytes
    software = 7.2 / 2
    header = 0.2 + 16 / 190
    completion = 0.5 + 0.7 + 0.5 + 0.07 * 4  # the way there, and the response on around the ring
    flags = 2 * 0.2 + 2 / 190 + 0.5 + 0.7 + 0.07 * 2
    body = one_way - 30 - software - header - completion - flags
    assert body == pytest.approx(549.2, abs=0.1)
    assert 131072 / body == pytest.approx(c.DMA_RATE.value, abs=0.5)


def test_conversions():
    assert c.ps(c.PIO_START) == 200_000
    assert c.ps(c.DMA_SETUP) == 30_000_000
    assert c.bytes_per_s(c.LINK_RATE) == 662_500_000
    assert c.whole(c.SLOTS) == 2
    with pytest.raises(TypeError, match=r"\Apio.order is 'in order to one segment', no number\Z"):
        c.whole(c.ORDER)
