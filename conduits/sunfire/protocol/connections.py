"""What one rank has exported and imported, each when it is first needed; and what it keeps of other ranks.

    id                 segment                                          exported by
    rank               a rank's own segment, for long payloads          the rank
    ranks + s          the area of rank s, one on each host             that host's service process
    ranks (2 + s) + d  the pair of requester s and replier d            s

An area serves all ranks of its host and belongs to none of them, so the host's *service process* makes it, on a CPU of
its own, and tells the ranks through the host's shared memory which queues there are.  (The papers do not say which
process of the receiving host exports an area.)

Source: SIS 3.1 and 3.3; which ids there are is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import MappingProxyType

import attrs

from conduit.sim import Flat
from conduit.simnet.chain import Act, Done
from conduits.rsm import Controller, ExportSegment, Permission
from conduits.rsm.safe import SafeImport
from conduits.sunfire.constants import SERVICE_PS
from conduits.sunfire.machine import SunfireCluster
from conduits.sunfire.protocol.layout import PostboxLayout
from conduits.sunfire.protocol.local_memory import AreaReader, LocalArea, LocalPair
from conduits.sunfire.protocol.peers import RemoteArea, SunfirePeer
from conduits.sunfire.protocol.pool import BlockPool


@cache
def _written_by(host: int) -> Mapping[int, Permission]:
    """Return the rights of memory that one host writes, the same object for all such memory."""
    return MappingProxyType({host: Permission.READ_WRITE})


class HostService:
    """One host's service process.

    Args:
        controller: of the service process.
        layout: of areas.
        readers: the host's ranks by their place there.

    Attributes:
        areas: the exports, by the rank that writes them.
    """

    def __init__(self, controller: Controller, layout: PostboxLayout, readers: Mapping[int, AreaReader]) -> None:
        self._controller = controller
        self._layout = layout
        self._readers = readers
        self.areas: dict[int, ExportSegment] = {}

    def make_area(self, writer: int, host: int, number: int, done: Done) -> None:
        """Export an area for rank `writer` of `host`, in an event; `done(when)` when it can be connected to.

        Args:
            writer: the rank.
            host: where it runs.
            number: the segment's id.
            done: called in an event.
        """
        cpu, kernel = self._controller.provider.cpu, self._controller.provider.kernel
        cpu.charge(SERVICE_PS)
        layout = self._layout
        area = LocalArea(writer, layout, self._readers)
        made = self.areas[writer] = self._controller.export_create(layout.area_bytes, area)
        made.publish(number, _written_by(host))
        kernel.at(cpu.free, done, cpu.free)


@attrs.frozen
class SunfireConfig:
    """What a transport needs to know of the job and its options.

    Attributes:
        cluster: the machine, and where ranks are on it.
        layout: of areas and pairs.
        services: by host.
    """

    cluster: SunfireCluster
    layout: PostboxLayout
    services: Mapping[int, HostService]


class Connections:
    """The connections of one rank.

    Args:
        rank: the one that it belongs to.
        controller: of its process, for all NIs.
        config: job and options.
        keep: whether to keep what was written last into each postbox, so that it can be written again.

    Attributes:
        peers: what is kept of other ranks, by rank.
        areas: this rank's areas, by host.
    """

    def __init__(self, rank: int, controller: Controller, config: SunfireConfig, *, keep: bool) -> None:
        self._rank = rank
        self._controller = controller
        self._config = config
        self._ranks = len(config.cluster.hosts)
        self._host = config.cluster.hosts[rank]
        self._keep = keep
        self.peers: dict[int, SunfirePeer] = {}
        self.areas: dict[int, RemoteArea] = {}

    def peer(self, rank: int) -> SunfirePeer:
        """Return what is kept of `rank`."""
        found = self.peers.get(rank)
        if found is None:
            config = self._config
            host = config.cluster.hosts[rank]
            area = self.areas.get(host)
            if area is None:
                area = self.areas[host] = RemoteArea(BlockPool(config.layout.pool))
            found = self.peers[rank] = SunfirePeer(
                rank, host, rank - config.cluster.first[host], area, config.layout, keep=self._keep
            )
        return found

    def export_segment(self, memory: Flat) -> None:
        """Export this rank's segment, for long payloads."""
        if memory.nbytes:
            exported = self._controller.export_create(self._config.layout.segment_bytes(memory.nbytes), memory)
            exported.publish(self._rank)

    def export_pair(self, peer: SunfirePeer, pair: LocalPair) -> None:
        """Let a peer write its acknowledgements and replies into `pair`; it alone does."""
        exported = self._controller.export_create(self._config.layout.pair_bytes, pair)
        exported.publish(self._pair_number(self._rank, peer.rank), _written_by(peer.host))
        peer.pair = pair

    def import_pair(self, peer: SunfirePeer) -> SafeImport:
        """Import a peer's memory for acknowledgements and replies, at its first request."""
        peer.remote_pair = self._remote(peer.host, self._pair_number(peer.rank, self._rank))
        peer.replies.mapping = peer.remote_pair.mapping
        return peer.remote_pair

    def make_area(self, peer: SunfirePeer, host: int) -> Act:
        """Return the act of asking the service process of the peer's host for an area, for this rank of `host`."""
        return partial(self._config.services[peer.host].make_area, self._rank, host, self._ranks + self._rank)

    def import_area(self, peer: SunfirePeer) -> None:
        """Import the area on the peer's host, which its service process has made."""
        peer.area.remote = self._remote(peer.host, self._ranks + self._rank)

    def segment_of(self, peer: SunfirePeer) -> SafeImport:
        """Import a peer's segment, at the first long payload to it."""
        if peer.segment is None:
            peer.segment = self._remote(peer.host, peer.rank)
        return peer.segment

    def _pair_number(self, requester: int, replier: int) -> int:
        return self._ranks * (2 + requester) + replier

    def _remote(self, host: int, number: int) -> SafeImport:
        return SafeImport(self._controller.import_connect(host, number), self._host, host)
