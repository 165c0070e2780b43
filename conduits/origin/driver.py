"""A process's loads and stores: memory of all nodes is in its address space, and coherent.

A get is a copy by cached loads, for which the processor waits.  A put is a copy by stores, each of which needs its line
for itself; the processor goes on while the last of them wait for theirs.  Stores of one processor are seen in their
order.  An atomic operation takes a line for itself and changes it (load linked, store conditional).
"""

from __future__ import annotations

from conduit.sim import Cpu
from conduits.globalmem.mover import Mover
from conduits.globalmem.pace import Pace, through
from conduits.origin import constants as c
from conduits.origin.hardware import OriginFabric


def pace() -> Pace:
    """Return how fast a processor moves bytes by cached loads and stores."""
    return through([(8, c.GET_8), (10_000, c.GET_10K), (1_000_000, c.GET_1M)])


def loads_and_stores(cpu: Cpu, node: int, fabric: OriginFabric) -> Mover:
    """Return the way of a processor of a node to all memories."""
    return Mover(cpu, node, fabric, pace())
