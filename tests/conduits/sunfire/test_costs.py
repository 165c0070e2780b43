"""The conduit's own constants: facts have the papers' values, the rest says why."""

import re

import pytest

from conduits.sunfire import Sunfire
from conduits.sunfire import constants as c
from conduits.sunfire.protocol import costs

# What the papers say, by the id under which a constant names it.
FACTS = {
    "sf.sis.block_small": 2048,
    "sf.sis.block_large": 4096,
    "sf.sis.short_limit": 2000,
    "sf.q.buffer": 1024,
    "sf.q.short_limit": 3912 - 1,  # strictly less
}
ANCHORS = {"s.t1.bw.on": 806, "s.t1.lat.on": 1.5}


@pytest.mark.parametrize("constant", costs.CONSTANTS, ids=lambda constant: constant.name)
def test_every_constant_names_its_source(constant):
    named = re.match(r"(sf|s)(\.\w+)+", constant.source)
    if constant.kind == "fact":
        assert constant.value == FACTS[named.group()]
    elif constant.kind == "anchor":
        assert named.group() in ANCHORS
    else:
        assert len(constant.source) > 20


def test_anchors():
    assert costs.COPY_RATE.value == ANCHORS["s.t1.bw.on"]
    polls = 0.15
    assert 2 * costs.SHARED_MESSAGE.value + costs.SHARED_LINE.value + polls == pytest.approx(ANCHORS["s.t1.lat.on"])


def test_memory_is_as_slow_for_the_conduit_as_for_the_raw_ping_pong():
    assert c.ps(costs.UNPACK) == c.ps(costs.SHARED_LINE) == c.ps(c.MEMORY)


def test_names_are_all_different():
    names = [constant.name for constant in Sunfire.constants]
    assert len(set(names)) == len(names)
