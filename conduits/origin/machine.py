"""The machine: its options, how it is built, and what its constants come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from conduit.options import OneSidedOptions, option
from conduit.sim import Kernel
from conduit.simnet import HostModel
from conduits.globalmem import vendor
from conduits.globalmem.model import Timing
from conduits.globalmem.queues import QueueCosts
from conduits.globalmem.unit import Calls
from conduits.origin import constants as c
from conduits.origin.driver import pace
from conduits.origin.hardware import OriginFabric

NODES = c.whole(c.NODES)
PROCESSORS = c.whole(c.PER_NODE) * NODES


@attrs.frozen(kw_only=True)
class OriginMachine(OneSidedOptions):
    """What the machine is."""

    placement: Literal["linear", "random"] = option(
        "linear", "which nodes hosts are: the first ones, or drawn by the seed, as a busy machine gives them"
    )
    contention: bool = option(
        True, "memories and links are shared; no: each transfer finds them free", conformance=(True,)
    )


def nodes(kernel: Kernel, hosts: int, options: OriginMachine) -> tuple[int, ...]:
    """Return which nodes the hosts of a job are."""
    if options.placement == "linear":
        return tuple(range(hosts))
    return tuple(kernel.random("origin/placement").sample(range(NODES), hosts))


def build(kernel: Kernel, options: OriginMachine) -> OriginFabric:
    """Build the machine of a job."""
    return OriginFabric(kernel, contention=options.contention)


def host_model() -> HostModel:
    """Return what a node costs."""
    return HostModel(
        copy_bytes_per_s=c.bytes_per_s(c.COPY_RATE),
        copy_call_ps=c.ps(c.COPY_START),
        flops_per_s=c.number(c.FLOPS),
        line_ps=c.ps(c.SHARED_LINE),
        poll_ps=c.ps(c.POLL),
        message_ps=c.ps(c.SHARED_MESSAGE),
    )


def queue_costs() -> QueueCosts:
    """Return what messages cost a processor."""
    return QueueCosts(poll=c.ps(c.POLL), build=c.ps(c.BUILD), take=c.ps(c.TAKE))


def timing(routers: float) -> Timing:
    """Return the times between nodes with that many routers between, without contention."""
    latency = 2 * c.ps(c.HUB) + round(routers * c.ps(c.ROUTER))
    return Timing(c.ps(c.SERVICE), c.bytes_per_s(c.RATE), latency, pace(), queue_costs())


def calls() -> Calls:
    """Return what calls of the library cost, so that the anchors hold."""
    # Of the other processors one is on the same node, where nothing but the memory takes time.
    other = PROCESSORS - 1
    service = c.ps(c.SERVICE)
    mean = service + (timing(c.number(c.ROUTERS)).get(8) - service) * (other - 1) // other
    get = c.ps(c.GET_8) - 2 * c.ps(c.POLL) - mean  # two ranks of a node have two queues
    put = c.ps(c.PUT)
    return Calls(get=get, put=put, atomic=get, fence=put)


def library_costs() -> Mapping[str, float]:
    """Return what calls of MPI and a flush of the cache cost, by name, seconds."""
    return vendor.library_costs(
        calls(), get=c.ps(c.GET_8), barrier=c.ps(c.BARRIER), get_and_fence=c.ps(c.MPI), two_sided=c.ps(c.TWO_SIDED),
        flush=c.number(c.CACHE) / c.bytes_per_s(c.COPY_RATE),
    )  # fmt: skip
