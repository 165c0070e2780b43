"""How Active Messages travel over Sun Fire Link: postboxes, a pool of blocks, acknowledgements, repair."""

from conduits.sunfire.protocol.layout import Layout
from conduits.sunfire.protocol.path import Setting, SunfirePath
from conduits.sunfire.protocol.pool import PoolShape
from conduits.sunfire.protocol.service import Service

__all__ = ["Layout", "PoolShape", "Service", "Setting", "SunfirePath"]
