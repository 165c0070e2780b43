"""What one rank has exported and imported, each when it is first needed; and what it keeps of other ranks.

    id                 segment                                          exported by
    rank               a rank's own segment, for long payloads          the rank
    ranks + s          the area of rank s, one on each host             that host's service process
    ranks (2 + s) + d  the pair of requester s and replier d            s

Source: SIS 3.1 and 3.3; which ids there are is ours.
"""

from __future__ import annotations

from functools import partial

from conduit.sim import Flat
from conduits.rsm import Controller, ExportSegment, Permission
from conduits.sunfire.protocol.chain import Act
from conduits.sunfire.protocol.peers import Area, Peer, Remote
from conduits.sunfire.protocol.pool import Pool
from conduits.sunfire.protocol.setting import Setting


class Connections:
    """The connections of one rank.

    Args:
        rank: whose.
        controller: of its process, for all NIs.
        setting: job and options.
        keep: whether to keep what was written last into each postbox, so that it can be written again.

    Attributes:
        peers: what is kept of other ranks, by rank.
        areas: this rank's areas, by host.
    """

    def __init__(self, rank: int, controller: Controller, setting: Setting, *, keep: bool) -> None:
        self._rank = rank
        self._controller = controller
        self._setting = setting
        self._ranks = len(setting.hosts)
        self._keep = keep
        self.peers: dict[int, Peer] = {}
        self.areas: dict[int, Area] = {}

    def peer(self, rank: int) -> Peer:
        """Return what is kept of `rank`."""
        found = self.peers.get(rank)
        if found is None:
            setting = self._setting
            host = setting.hosts[rank]
            area = self.areas.get(host)
            if area is None:
                area = self.areas[host] = Area(Pool(setting.layout.pool))
            found = self.peers[rank] = Peer(
                rank, host, rank - setting.first[host], area, setting.layout, keep=self._keep
            )
        return found

    def export_segment(self, memory: Flat) -> None:
        """Export this rank's segment, for long payloads."""
        if memory.nbytes:
            exported = self._controller.export_create(self._setting.layout.segment_bytes(memory.nbytes), memory)
            exported.publish(self._rank)

    def export_pair(self, peer: Peer) -> ExportSegment:
        """Set aside memory for a peer's acknowledgements and replies, which it alone writes."""
        exported = self._controller.export_create(self._setting.layout.pair_bytes)
        exported.publish(self._pair_number(self._rank, peer.rank), {peer.host: Permission.READ_WRITE})
        peer.pair = exported.memory
        return exported

    def import_pair(self, peer: Peer) -> Remote:
        """Import a peer's memory for acknowledgements and replies, at its first request."""
        peer.back = self._remote(peer.host, self._pair_number(peer.rank, self._rank))
        return peer.back

    def make_area(self, peer: Peer, host: int) -> Act:
        """Return the act of asking the service process of the peer's host for an area, for this rank of `host`."""
        return partial(self._setting.services[peer.host].make_area, self._rank, host, self._ranks + self._rank)

    def import_area(self, peer: Peer) -> None:
        """Import the area on the peer's host, which its service process has made."""
        peer.area.remote = self._remote(peer.host, self._ranks + self._rank)

    def segment_of(self, peer: Peer) -> Remote:
        """Import a peer's segment, at the first long payload to it."""
        if peer.segment is None:
            peer.segment = self._remote(peer.host, peer.rank)
        return peer.segment

    def _pair_number(self, requester: int, replier: int) -> int:
        return self._ranks * (2 + requester) + replier

    def _remote(self, host: int, number: int) -> Remote:
        return Remote(self._controller.import_connect(host, number))
