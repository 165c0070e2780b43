"""How Active Messages travel over Sun Fire Link: postboxes, a pool of blocks, acknowledgements, repair.

A connection is made at the first message to a rank, and kept (`connections`):

    unknown     nothing is exported or imported for it
    exported    the other host's service process has made the area, and this rank has made its half of the pair
    imported    both are imported and mapped; from here on a message is stores alone
    repaired    a barrier reported lost stores: what was kept is written again, over the links that work (`repair`)

A postbox is free, reserved for a request, written, taken by the reader's poll, and free again once its acknowledgement
has been seen (`postbox_writer`, `inbox`).  A block is free, granted to a message, and free again with the postbox that
pointed to it; a block whose writing failed is *withdrawn* until a barrier was good (`pool`).
"""

from conduits.sunfire.protocol.connections import HostService, SunfireConfig
from conduits.sunfire.protocol.directed import DirectedPath
from conduits.sunfire.protocol.layout import LIBRARIES, PostboxLayout
from conduits.sunfire.protocol.path import SunfirePath
from conduits.sunfire.protocol.pool import BlockPoolShape

__all__ = [
    "LIBRARIES",
    "BlockPoolShape",
    "DirectedPath",
    "HostService",
    "PostboxLayout",
    "SunfireConfig",
    "SunfirePath",
]
