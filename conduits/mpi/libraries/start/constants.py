"""Every number behind simulated MPI-StarT that is not the machine's, and where it comes from.

The paper prints the two thresholds' existence, the one between SMPs, and the size of a system buffer; nothing of the
software's cost (sx.gap.mpich), of shared memory's layout (sx.gap.shm) or of the memory's rate (sx.gap.memcpy).  Its
latency within an SMP is given as an anchor, and fixes one unknown: what the layers of MPICH take for a control message.
All else is assumed, with its reason, before anything was compared.  Cycles are those of a processor of 250 MHz, as in
the machine's constants.

Source: Husbands and Hoe, "MPI-StarT: Delivering Network Performance to Numerical Applications" (SC98).
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, number, ps, whole
from conduits.startx import constants as startx

__all__ = ["CONSTANTS", "bytes_per_s", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- software ------------------------------------------------------------------------------------------

CALL = _constant(
    "mpi.call", 1.2, "us", "assumed", "arguments, communicator, datatype, a request: 300 cycles; as am.build"
)
TEST = _constant("mpi.test", 0.12, "us", "assumed", "asking a request: a call and a flag in the cache, 30 cycles")
MATCH = _constant("mpi.match", 60, "ns", "assumed", "per comparison of a message with a receive: 15 cycles")
COMPLETE = _constant("mpi.complete", 0.4, "us", "assumed", "ending a request and filling in its status: 100 cycles")
LAYERS = _constant(
    "mpi.layers", 5.8, "us", "anchor",
    "x.mpi.lat.shm: 18 us one way within an SMP, less the 5.74 that all else takes and the 0.6 that pass before the "
    "polling loop looks (docs/models/start.md), in two equal parts: from the call through ADI, protocol and channel "
    "layer to a control message, and back",
)  # fmt: skip
PIECE_ENTRY = _constant(
    "mpi.piece", 1.2, "us", "assumed",
    "making, or taking, the entry of a piece in shared memory, which the channel layer does alone: as host.message",
)  # fmt: skip
POLL = _constant("mpi.poll", 0.12, "us", "assumed", "the progress routine, called in vain: 30 cycles")
POLL_PEER = _constant("mpi.poll_peer", 40, "ns", "assumed", "per ring in shared memory that it looks at: as host.poll")
RIGHT = _constant("mpi.right", 0.5, "us", "assumed", "a list in shared memory: as am.book")
REST = _constant(
    "mpi.rest", 10, "us", "assumed",
    "for how long a process leaves the engine that receives to others that want it, when it has had it: some polls",
)  # fmt: skip

# -- sizes, between SMPs -------------------------------------------------------------------------------

CROSSOVER = _constant("mpi.crossover", 1024, "bytes", "fact", "sx.mpi.crossover: longer messages go by RDMA")
BUFFER = _constant("mpi.buffer", 16777216, "bytes", "fact", "sx.rdma.buffer: each of the two system buffers of an SMP")
POOL = _constant(
    "mpi.pool", 32768, "bytes", "assumed",
    "control messages that a process keeps of one sender before they are wanted: 32 of the longest",
)  # fmt: skip
INBOX = _constant(
    "mpi.inbox", 512, "messages", "assumed",
    "StarT-X messages of a process that others of its SMP have loaded: as many as the queue they come from holds",
)  # fmt: skip

# -- sizes, within an SMP ------------------------------------------------------------------------------

CROSSOVER_SHARED = _constant(
    "shm.crossover", 1024, "bytes", "assumed",
    "its own value exists (sx.mpi.crossover_shm) and is not printed; taken as that between SMPs",
)  # fmt: skip
ENTRIES = _constant(
    "shm.entries", 32, "count", "assumed", "of the ring of control messages from one process to another"
)
PIECES = _constant(
    "shm.pieces", 3, "count", "assumed",
    "buffers for pieces of large messages: one is filled, one emptied, and one is on its way between them",
)  # fmt: skip
PIECE = _constant(
    "shm.piece", 65536, "bytes", "assumed",
    "of such a buffer: 407 us of copying, beside which its entry and the answer to it, some 3 us, are small",
)  # fmt: skip

# -- hosts ---------------------------------------------------------------------------------------------

MEMORY_RATE = _constant(
    "host.memory_rate", 1733, "MB/s", "assumed",
    "of an E5000 for all its processors, read and written together: 32 bytes at 83 MHz are 2.6 GB/s on its bus, and a "
    "line that is copied crosses it three times: read, read by who will write it, and written back",
)  # fmt: skip
P2_MEMORY_RATE = _constant(
    "pentium2.memory_rate", 400, "MB/s", "assumed",
    "half of what SDRAM of 8 bytes at 100 MHz gives at best: rows are opened, and reads and writes take turns",
)  # fmt: skip

# -- Active Messages over it -----------------------------------------------------------------------------
#
# Nobody has measured them; they do for a message what the startx conduit does, on the same processor.

AM_BUILD = _constant(
    "ammpi.build", number(startx.BUILD), "us", "assumed", "checks, a slot, packing of a header: as am.build"
)
AM_DISPATCH = _constant(
    "ammpi.dispatch",
    number(startx.DISPATCH),
    "us",
    "assumed",
    "unpacking, checks and the handler's call: as am.dispatch",
)
