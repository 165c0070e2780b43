"""What the hardware alone takes, as `conduit raw t3e` shows it."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.contract import RawTable
from conduit.sim import Cpu, Kernel
from conduits.globalmem.bench import table
from conduits.globalmem.mover import Mover
from conduits.t3e.driver import e_registers
from conduits.t3e.machine import T3eMachine, build

FARTHEST = 4 + 4 * 8 + 4 * 64


def tables(options: T3eMachine) -> Sequence[RawTable]:
    """Return the table of moves, to a neighbour and to the node that is farthest away."""

    def make(kernel: Kernel) -> Mover:
        return e_registers(Cpu(kernel), 0, build(kernel, options), weak=False)

    return [table(make, (("a neighbour", 1), ("12 hops away", FARTHEST)), options.piece)]
