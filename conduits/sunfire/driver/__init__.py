"""The driver: RSM's provider for Sun Fire Link, and what a conduit's hot path uses of it directly.

How it is begun is `machine`'s business (`build`); on the hot path a conduit does without RSM::

    mapping.store(offset, lines, issued, announced)
    mapping.fence(then)
    process.processor.cesr, process.read_cesr(), process.stripes(host), process.unreachable(host)
"""

from conduits.sunfire.driver.mapping import StoreMapping
from conduits.sunfire.driver.process import CESR_PS, NAME, SunfireProcess

__all__ = ["CESR_PS", "NAME", "StoreMapping", "SunfireProcess"]
