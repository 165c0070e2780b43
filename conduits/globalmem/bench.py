"""What moves take on an idle machine, for `conduit raw`: no calls of a library, no messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conduit.contract import RawTable
from conduit.sim import Kernel, simulate
from conduit.sim.units import US
from conduit.simnet.bench import Tell, until_done
from conduits.globalmem.mover import Mover

SIZES = (8, 64, 1000, 4096, 10_000, 100_000, 1_000_000)


def moved(mover: Mover, node: int, nbytes: int, piece: int, *, push: int) -> float:
    """Return how long a move between a processor and the memory of a node takes, microseconds."""
    sizes = [[min(piece, nbytes - at)] for at in range(0, nbytes, piece)]
    kernel = mover.kernel

    def start(tell: Tell) -> None:
        over = lambda: tell(kernel.now)  # noqa: E731
        if push:
            mover.push(node, sizes, lambda _: None, lambda: None, over)
        else:
            mover.pull(node, sizes, lambda _: None, over)

    simulate(kernel, lambda: until_done(kernel, start))
    return kernel.now / US


def table(make: Callable[[Kernel], Mover], nodes: Sequence[tuple[str, int]], piece: int) -> RawTable:
    """Return what moves of some sizes take.

    Args:
        make: makes the processor of node 0 on an idle machine.
        nodes: the nodes with the memories, each with its name in the table.
        piece: bytes after which a move lets others onto memories and links.
    """
    columns = ["bytes", *(f"{what} {name} us" for name, _ in nodes for what in ("from", "to"))]
    rows = [
        [size, *(round(moved(make(Kernel()), node, size, piece, push=push), 3) for _, node in nodes for push in (0, 1))]
        for size in SIZES
    ]
    note = "by the hardware alone, without what a call of the library costs; to: until all is known to have landed"
    return RawTable("Moves between a processor and the memory of another node", tuple(columns), rows, note)
