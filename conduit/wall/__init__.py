"""Real time: the clock of a job on a real network, and what the ports of such networks have in common.

A network supplies a `WallConduit` and a `WallPort` (docs/writing_a_conduit.md): how a message is posted, how an arrived
one is taken, what a slot is.  Polling, waiting, cancellation and the end of a job are here, and how the clocks of
processes stand to one another (`measure_offsets`).
"""

from conduit.wall.clock import WallClock, WallEnding
from conduit.wall.network import WallConduit
from conduit.wall.offsets import Alignment, Offset, measure_offsets
from conduit.wall.port import Posted, WallPort
from conduit.wall.run import run_tasks

__all__ = [
    "Alignment",
    "Offset",
    "Posted",
    "WallClock",
    "WallConduit",
    "WallEnding",
    "WallPort",
    "measure_offsets",
    "run_tasks",
]
