"""How Active Messages travel over Sun Fire Link: postboxes, a pool of blocks, acknowledgements, repair.

A connection has two directions, each made at the first message in it and kept (`connections`, `SunfirePeer`):

    to send requests     the service process of the other host exports an area, one for all its ranks (`area.remote`);
                         this rank exports the pair (`pair`); `requests` is set when both are there
    to answer requests   the requester's pair is imported when its first request is taken (`remote_pair`)

From then on a message is stores alone.  Lost stores are written again (`repair`); that changes no state.

A postbox is free, reserved for a request, written, taken by the reader's poll, and free again once its acknowledgement
has been seen (`postbox_writer`, `inbox`).  A block is free, granted to a message, and free again with the postbox that
pointed to it; a block whose writing failed is *withdrawn* until a barrier was good (`pool`).
"""

from conduits.sunfire.protocol.connections import HostService, SunfireConfig
from conduits.sunfire.protocol.directed import DirectedTransport
from conduits.sunfire.protocol.layout import LIBRARIES, PostboxLayout
from conduits.sunfire.protocol.pool import BlockPoolShape
from conduits.sunfire.protocol.transport import SunfireTransport

__all__ = [
    "LIBRARIES",
    "BlockPoolShape",
    "DirectedTransport",
    "HostService",
    "PostboxLayout",
    "SunfireConfig",
    "SunfireTransport",
]
