"""What the hardware alone takes, as `conduit raw origin` shows it."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.contract import RawTable
from conduit.sim import Cpu, Kernel
from conduits.globalmem.bench import table
from conduits.globalmem.mover import Mover
from conduits.origin.driver import loads_and_stores
from conduits.origin.machine import OriginMachine, build

FARTHEST = 127


def tables(options: OriginMachine) -> Sequence[RawTable]:
    """Return the table of moves, to a neighbour and to the node that is farthest away."""

    def make(kernel: Kernel) -> Mover:
        return loads_and_stores(Cpu(kernel), 0, build(kernel, options))

    return [table(make, (("its own router's", 1), ("six routers away", FARTHEST)), options.piece)]
