"""The simulation kernel and its parts: virtual time, processors, memories, links.

Nothing in this package knows of Active Messages.  `Kernel` is Trio's clock; hardware parts are
callbacks that run in its events; programs are Trio tasks that wait for them.
"""

from conduit.sim.cpu import Cpu
from conduit.sim.kernel import Ending, Kernel, Waiter
from conduit.sim.memory import Memory
from conduit.sim.run import run_tasks, simulate

__all__ = ["Cpu", "Ending", "Kernel", "Memory", "Waiter", "run_tasks", "simulate"]
