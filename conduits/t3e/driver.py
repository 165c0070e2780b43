"""A process's E-registers: the only way to other memories, around the cache.

A put is posted: the processor feeds words and goes on; a get and an atomic operation are waited for.  A fence waits for
the acknowledgements of all puts.  Routing adapts, so that puts may land in another order (`order=weak`).
"""

from __future__ import annotations

from conduit.sim import Cpu
from conduits.globalmem.mover import Mover
from conduits.globalmem.pace import Pace, through
from conduits.t3e import constants as c
from conduits.t3e.hardware import T3eFabric


def pace() -> Pace:
    """Return how fast a processor moves bytes through E-registers."""
    return through([(8, c.GET_8), (10_000, c.GET_10K), (1_000_000, c.GET_1M)])


def e_registers(cpu: Cpu, node: int, fabric: T3eFabric, *, weak: bool) -> Mover:
    """Return the E-registers of the processor of a node."""
    random = fabric.kernel.random(f"t3e/{node}") if weak else None
    return Mover(cpu, node, fabric, pace(), random, c.ps(c.LATE))
