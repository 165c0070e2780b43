"""Real time: the clock of a job on a real network, and what the ports of such networks have in common.

A network supplies a `WallConduit` and a `WallPort` (docs/writing_a_conduit.md): how a message is posted, how an arrived
one is taken, what a slot is.  Polling, waiting, cancellation and the end of a job are here, and how the clocks of
processes stand to one another (`measure_offsets`).  Where somebody listens, ports tell what they do (`observed`).
"""

from conduit.wall.clock import WallClock, WallEnding
from conduit.wall.network import WallConduit
from conduit.wall.observed import Counted, counted_of, found_number
from conduit.wall.offsets import Alignment, Offset, measure_offsets, one_clock_a_host
from conduit.wall.port import Posted, WallPort
from conduit.wall.run import run_tasks

__all__ = [
    "Alignment",
    "Counted",
    "Offset",
    "Posted",
    "WallClock",
    "WallConduit",
    "WallEnding",
    "WallPort",
    "counted_of",
    "found_number",
    "measure_offsets",
    "one_clock_a_host",
    "run_tasks",
]
