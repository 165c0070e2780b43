"""The machine: its options, how it is built, and what its constants come to."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from conduit.options import OneSidedOptions, option
from conduit.sim import Kernel
from conduit.simnet import HostModel
from conduits.globalmem import vendor
from conduits.globalmem.model import Timing
from conduits.globalmem.queues import QueueCosts
from conduits.globalmem.unit import Calls
from conduits.t3e import constants as c
from conduits.t3e.driver import pace
from conduits.t3e.hardware import T3eFabric

NODES = c.whole(c.PROCESSORS)


@attrs.frozen(kw_only=True)
class T3eMachine(OneSidedOptions):
    """What the machine is."""

    contention: bool = option(
        True, "memories and links are shared; no: each transfer finds them free", conformance=(True,)
    )


def build(kernel: Kernel, options: T3eMachine) -> T3eFabric:
    """Build the machine of a job."""
    return T3eFabric(kernel, contention=options.contention)


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


def timing(hops: float) -> Timing:
    """Return the times between nodes that many links apart, without contention."""
    latency = 2 * c.ps(c.ENTRY) + round(hops * c.ps(c.HOP))
    return Timing(c.ps(c.SERVICE), c.bytes_per_s(c.RATE), latency, pace(), queue_costs())


def calls() -> Calls:
    """Return what calls of the library cost, so that the anchors hold."""
    get = c.ps(c.GET_8) - c.ps(c.POLL) - timing(c.number(c.HOPS)).get(8)
    put = c.ps(c.PUT)
    return Calls(get=get, put=put, atomic=get, fence=put)


def library_costs() -> Mapping[str, float]:
    """Return what calls of MPI and a flush of the cache cost, by name, seconds."""
    return vendor.library_costs(
        calls(), get=c.ps(c.GET_8), barrier=c.ps(c.BARRIER), get_and_fence=c.ps(c.MPI), two_sided=c.ps(c.TWO_SIDED),
        flush=c.number(c.CACHE) / c.bytes_per_s(c.COPY_RATE),
    )  # fmt: skip
