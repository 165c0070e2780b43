"""The machine: what its options are, and how a job's cluster, and the sockets on it, are built.

What stands on UDP takes the machine from here: this package's conduit, a library of messages of another kind.  How it
is begun, and what comes of it::

    cluster = build(kernel, hosts, UdpMachine(loss=0.01))       for ranks on these hosts
    socket = cluster.socket(rank)                               of a rank (`conduits.udp.driver`)
    cluster.host                                                what copies and work cost on a host
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from conduit.options import SimOptions, option
from conduit.sim import Kernel
from conduit.simnet import HostModel
from conduit.simnet.constants import named_rate
from conduit.simnet.parts import link_counts
from conduits.udp import constants as c
from conduits.udp.driver import Socket
from conduits.udp.hardware import DATAGRAM, Ethernet, on_the_wire

MAX_RANKS = c.whole(c.RANKS)
"""Of a host."""

_chance = [attrs.validators.ge(0), attrs.validators.le(1)]


@attrs.frozen(kw_only=True)
class UdpMachine(SimOptions):
    """What hosts and network are."""

    loss: float = option(0.0, "probability that a frame is lost", validator=_chance, conformance=(0.01, 0.05, 0.0))
    dup: float = option(0.0, "probability that a frame arrives twice", validator=_chance, conformance=(0.0, 0.01))
    reorder: float = option(
        0.0,
        "probability that a frame is put off and overtaken",
        validator=_chance,
        conformance=(0.0, 0.01),
    )
    rate: float = option(
        float(c.bytes_per_s(c.RATE)),
        "of each link and direction, bytes per second",
        validator=[attrs.validators.ge(1e3), attrs.validators.le(1e12)],
    )
    buffer: int = option(
        c.whole(c.SOCKET),
        "receive buffer of a socket, bytes; what finds it full is dropped",
        validator=attrs.validators.ge(DATAGRAM),
        conformance=(c.whole(c.SOCKET), 4096),
    )
    queue: int = option(
        c.whole(c.SWITCH_QUEUE),
        "frames that wait for a port of the switch, bytes; what finds it full is dropped",
        validator=attrs.validators.ge(on_the_wire(DATAGRAM)),
        conformance=(c.whole(c.SWITCH_QUEUE), 4096),
    )


def host_model() -> HostModel:
    """Return the costs of a host."""
    return HostModel(
        copy_bytes_per_s=c.bytes_per_s(c.COPY_RATE),
        copy_call_ps=c.ps(c.COPY_START),
        flops_per_s=c.whole(c.FLOPS),
        line_ps=c.ps(c.LINE),
        poll_ps=c.ps(c.LOOK),
        message_ps=c.ps(c.SHARED_MESSAGE),
    )


def build(kernel: Kernel, hosts: tuple[int, ...], options: UdpMachine) -> UdpCluster:
    """Build the cluster of a job.

    Args:
        kernel: the job's time.
        hosts: host of every rank.
        options: of the machine.

    Raises:
        ValueError: a host has more ranks than processors.
    """
    if not hosts or max(map(hosts.count, set(hosts))) > MAX_RANKS:
        raise ValueError(
            f"hosts={hosts}: a host has {MAX_RANKS} processors; give the host of each rank, none more often than that"
        )
    return UdpCluster(kernel, hosts, options)


class UdpCluster:
    """The cluster of a job, and the sockets on it; see `build`.

    Attributes:
        hosts: as given to `build`.
        network: the Ethernet.
        host: the costs of a host; all are alike.
    """

    def __init__(self, kernel: Kernel, hosts: tuple[int, ...], options: UdpMachine) -> None:
        self._kernel = kernel
        self._room = options.buffer
        self.hosts = hosts
        self.host = host_model()
        self.network = Ethernet(
            kernel,
            rate=named_rate(round(options.rate), "rate"),
            queue=options.queue,
            loss=options.loss,
            duplicate=options.dup,
            # A weak order: each frame may be overtaken by all that are sent up to so much later.
            reorder=1.0 if options.order == "weak" else options.reorder,
        )
        self._sockets: dict[int, Socket] = {}

    def socket(self, rank: int) -> Socket:
        """Return the socket of a rank, made when it is first asked for."""
        found = self._sockets.get(rank)
        if found is None:
            found = self._sockets[rank] = Socket(self._kernel, self.network, self.hosts[rank], self.host, self._room)
        return found

    def statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links have carried, and what became of frames, by host."""
        return {host: self._count(host) for host in sorted(set(self.hosts))}

    def _count(self, host: int) -> Mapping[str, int]:
        up, down, ways = self.network.up(host), self.network.down(host), self.network.ways_from(host)
        return {
            **link_counts("link", [up]),
            **link_counts("link_in", [down]),
            "adapter_drops": up.dropped,
            "switch_drops": down.dropped,
            "frames_lost": sum(way.lost for way in ways),
            "frames_doubled": sum(way.duplicated for way in ways),
            "frames_put_off": sum(way.reordered for way in ways),
        }
