"""The simulation kernel and its parts: virtual time, processors, memories, links.

Nothing in this package knows of Active Messages.  `Kernel` is Trio's clock; hardware parts are
callbacks that run in its events; programs are Trio tasks that wait for them.
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
