"""How Active Messages travel over Sun Fire Link: postboxes, a pool of blocks, acknowledgements, repair."""

from conduits.sunfire.protocol.connections import Service, Setting
from conduits.sunfire.protocol.directed import DirectedPath
from conduits.sunfire.protocol.layout import LIBRARIES, Layout
from conduits.sunfire.protocol.path import SunfirePath
from conduits.sunfire.protocol.pool import PoolShape

__all__ = ["LIBRARIES", "DirectedPath", "Layout", "PoolShape", "Service", "Setting", "SunfirePath"]
