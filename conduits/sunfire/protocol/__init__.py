"""How Active Messages travel over Sun Fire Link: postboxes, a pool of blocks, acknowledgements, repair."""

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
