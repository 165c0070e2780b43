"""The simulation kernel and its parts: virtual time, processors, memories, links.

Nothing in this package knows of Active Messages.  `Kernel` is Trio's clock: a discrete-event kernel with a heap of
events in the order of (time, sequence).  Hardware parts are callbacks that run in its events.  Programs are Trio tasks
that wait for them (`waiter`).

Times are integers, in picoseconds, so that no sum depends on its order (`units`).  Each part of hardware is a resource
with a time from which it is free: a CPU does one thing at a time (`cpu`), a link carries one transfer at a time
(`link`), a DMA engine works through its queue of descriptors (`dma`).  Memory holds real bytes (`memory`).

A wait that nothing can end is found at once, since no event is left (`ending`).  A program that goes on while time does
not pass is found by counting its steps (`livelock`).  docs/virtual_time.md has the rules, and why they are so.
"""

from conduit.sim.cpu import Cpu
from conduit.sim.kernel import Kernel
from conduit.sim.memory import Flat, Memory, Store
from conduit.sim.run import run_tasks, simulate
from conduit.sim.trace import Trace, TraceEvent, TracingKernel
from conduit.sim.waiter import Ending, Waiter

__all__ = [
    "Cpu",
    "Ending",
    "Flat",
    "Kernel",
    "Memory",
    "Store",
    "Trace",
    "TraceEvent",
    "TracingKernel",
    "Waiter",
    "run_tasks",
    "simulate",
]
