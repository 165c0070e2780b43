"""Parts of hardware refuse rates and times that they cannot count with, where they are made."""

import re

import pytest

from conduit.sim import Kernel
from conduit.sim.dma import DmaEngine
from conduit.sim.link import Link, Route, latency_of
from conduit.sim.lossy import Lossy
from conduit.sim.queues import QueuedLink
from conduit.sim.units import NS

RATE = r"is no int of bytes per second above 0; pass one, as 10\*\*8 or round\(rate\)"
TIME = r"is no int of picoseconds from 0 on; use conduit\.sim\.units\.ps\(seconds\) or round"


@pytest.mark.parametrize("wrong", [1e8, "loft", None, 0, -5])
def test_a_rate_of_a_link(wrong):
    Link(Kernel(), 10**8)  # as much as the float: what is known of one must not let the other pass
    with pytest.raises(ValueError, match=rf"^Link: bytes_per_s={wrong!r} {RATE}$"):
        Link(Kernel(), wrong, "loft")
    with pytest.raises(ValueError, match=rf"^Link: bytes_per_s={wrong!r} {RATE}$"):
        QueuedLink(Kernel(), wrong, 1000)


@pytest.mark.parametrize("wrong", [200.0, 0.5, "5ns", None, -1])
def test_a_delay_of_a_route(wrong):
    kernel = Kernel()
    hops = [(Link(kernel, 10**8), 200 * NS), (Link(kernel, 10**8), wrong)]
    for make in (lambda: Route(hops), lambda: latency_of(delay for _, delay in hops)):
        with pytest.raises(ValueError, match=rf"^Route: delay 1 of its hops={wrong!r} {TIME}$"):
            make()


@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        ("setup_ps", 0.5, TIME),
        ("setup_ps", -1, TIME),
        ("setup_ps", None, TIME),
        ("bytes_per_s", 1e8, RATE),
        ("bytes_per_s", 0, RATE),
    ],
)
def test_an_engine(name, wrong, told):
    sound = {"setup_ps": 30_000, "bytes_per_s": 10**8}
    DmaEngine(Kernel(), **sound, piece=4096, wire=int)
    with pytest.raises(ValueError, match=rf"^DmaEngine: {name}={re.escape(repr(wrong))} {told}$"):
        DmaEngine(Kernel(), **sound | {name: wrong}, piece=4096, wire=int)


@pytest.mark.parametrize("wrong", [1e6, -1, None])
def test_how_late_a_lossy_route_is(wrong):
    kernel = Kernel()
    route = Route([(Link(kernel, 10**8), 0)])
    with pytest.raises(ValueError, match=rf"^Lossy: late={re.escape(repr(wrong))} {TIME}$"):
        Lossy(route, 0, 0, 0.5, kernel.random("a"), late=wrong)


def test_bytes_below_none():
    kernel = Kernel()
    route = Route([(Link(kernel, 10**8), 0)])
    with pytest.raises(ValueError, match=r"^a link was to carry nbytes=-80; pass 0 or more$"):
        route.carry(-80, 0, 0, print)
