"""How Active Messages travel over Sun Fire Link: postboxes, a pool of blocks, acknowledgements, repair."""

from conduits.sunfire.protocol.directed import DirectedPath
from conduits.sunfire.protocol.layout import Layout
from conduits.sunfire.protocol.path import SunfirePath
from conduits.sunfire.protocol.pool import PoolShape
from conduits.sunfire.protocol.service import Service
from conduits.sunfire.protocol.setting import Setting

__all__ = ["DirectedPath", "Layout", "PoolShape", "Service", "Setting", "SunfirePath"]
