"""What sunfire takes and refuses: options, clusters, placement."""

import re

import pytest

import conduit
from conduit.errors import BadRequest
from conduit.launch.registry import parse_spec
from conduit.options import render
from conduits.sunfire.port import Sunfire, SunfireOptions
from conduits.sunfire.protocol import LIBRARIES


def options(text):
    return parse_spec(f"sunfire:{text}").options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config=r", "option 'config' of conduit 'sunfire' cannot be 'r'; allowed: sis|q"),
        ("stripes=3", "option 'stripes' of conduit 'sunfire' cannot be '3'; allowed: 1|2|4"),
        ("stripes=0", "option 'stripes' of conduit 'sunfire' cannot be '0'"),
        ("poll=some", "option 'poll' of conduit 'sunfire' cannot be 'some'; allowed: general|directed"),
        ("outstanding=0", "option 'outstanding' of conduit 'sunfire' cannot be '0'"),
        ("outstanding=65", "option 'outstanding' of conduit 'sunfire' cannot be '65'"),
        ("nis=9", "option 'nis' of conduit 'sunfire' cannot be '9'"),
        ("wiring=ring", "option 'wiring' of conduit 'sunfire' cannot be 'ring'; allowed: switched|direct"),
        ("fault=ni0.0", "options of conduit 'sunfire': fault 'ni0.0' is not understood; write PART@TIME"),
        ("fault=ni0.2@1ms", "options of conduit 'sunfire': fault 'ni0.2@1ms': there is no ni0.2; this cluster has 8"),
        ("config=q,fault=ni4.0@1ms", "options of conduit 'sunfire': fault 'ni4.0@1ms': there is no ni4.0"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(BadRequest, match=r"\A" + re.escape(message)):
        options(text)


def test_defaults():
    found = SunfireOptions()
    assert (found.config, found.stripes, found.poll, found.outstanding) == ("sis", 4, "general", 8)
    assert (found.fault, found.faults) == ("none", ())


@pytest.mark.parametrize("fault", ["none", "link0.0.0@1ms-2ms+links%1e-7", "ni1.1~2ms/100us"])
def test_faults_are_written_as_they_are_read(fault):
    found = options(f"fault={fault}")
    assert len(found.faults) == (0 if fault == "none" else fault.count("+") + 1)
    assert render(found) == ("" if fault == "none" else f"fault={fault}")


@pytest.mark.parametrize(("config", "most"), [("sis", 8 * 24), ("q", 4 * 24)])
def test_a_cluster_holds_so_many_ranks(config, most):
    found = options(f"config={config}")
    assert max(Sunfire.placement(found, most, None)) == most // 24 - 1
    with pytest.raises(BadRequest, match=f"use at most {most}"):
        Sunfire.placement(found, most + 1, None)
    with pytest.raises(BadRequest, match="ranks_per_host=25 does not fit 25 ranks"):
        Sunfire.placement(found, 25, 25)


@pytest.mark.parametrize(("config", "limit"), [("sis", 2000), ("q", 3911)])
def test_configurations_differ_in_limit_and_blocks(config, limit):
    library = LIBRARIES[config]
    assert library.short_limit == limit
    assert library.small * library.smalls + library.large * library.larges == 256 * 1024
    assert Sunfire.thresholds(options(f"config={config}"))[0] == limit + 1


def test_limits():
    limits = Sunfire.limits(SunfireOptions())
    assert (limits.max_args, limits.max_medium, limits.max_long_request) == (16, 16384, 2**31 - 1)


def test_segments_of_any_size_are_exported():
    async def main(ep):
        return ep.segment.nbytes

    for segment in (0, 1, 8191, 8193):
        assert conduit.run(main, conduit="sunfire", segment=segment).values == [segment] * 2
