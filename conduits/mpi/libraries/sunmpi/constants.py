"""Every number behind simulated Sun MPI that is not the machine's, and where it comes from.

Two versions were measured, with two configurations of the library: *SIS* (Sistare and Jackson) and *Q* (Queen's
University, HPC ClusterTools 5.0); what differs is kept apart, under `sis.` and `q.`.  The papers print sizes and
thresholds, and nothing of the software's cost (sf.gap.mpi_sw), of an envelope (sf.gap.envelope) or of the path
within a host (sf.gap.onnode).  One latency within a host of each configuration is given as an anchor, and fixes one
unknown: what the library does for an entry.  The manual that is named is Sun's public "Sun MPI 4.0 User's Guide", an
earlier version of the library.  All else is assumed, with its reason, before anything was compared.
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, number, ps, whole
from conduits.sunfire import constants as sunfire

__all__ = ["CONSTANTS", "bytes_per_s", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- software ------------------------------------------------------------------------------------------

CALL = _constant(
    "mpi.call", 0.1, "us", "assumed", "arguments, communicator, datatype, a request: some 90 instructions; as am.check"
)
TEST = _constant("mpi.test", 30, "ns", "assumed", "a call and a flag in the cache: 27 instructions; as am.poll")
MATCH = _constant("mpi.match", 20, "ns", "assumed", "per comparison of a message with a receive: 18 instructions")
COMPLETE = _constant("mpi.complete", 50, "ns", "assumed", "ending a request and its status: some 45 instructions")
SPACE = _constant("mpi.space", 0.1, "us", "assumed", "blocks from private lists: some 90 instructions; as am.space")
RECLAIM = _constant(
    "mpi.reclaim", 20, "ns", "assumed",
    "an acknowledgement that is looked at: 18 instructions.  The line of one that has come is read from memory "
    "besides, since the NI has written it: the first of a run takes host.memory, each one behind it 64 bytes at "
    "host.copy_rate; as am.reclaim",
)  # fmt: skip
POLL = _constant("mpi.poll", 30, "ns", "assumed", "the progress engine's own call and loop: 27 instructions")
HEAD = _constant(
    "mpi.poll_head", 20, "ns", "assumed",
    "a look at one queue's head postbox, which stays in the cache until somebody writes it: 18 instructions",
)  # fmt: skip
LINE_MISS = _constant(
    "mpi.line_miss", 0.25, "us", "assumed",
    "taking an entry that the NI has written: no cache holds it, one memory access (host.memory); within a host the "
    "line's way is host.line",
)  # fmt: skip
SIS_ENTRY = _constant(
    "sis.entry", 0.385, "us", "anchor",
    "s.t1.lat.on: 1.5 us one way within a host, less the 0.730 that all else takes (docs/models/sunmpi.md), in two "
    "equal parts: making an entry, and taking it",
)  # fmt: skip
Q_ENTRY = _constant(
    "q.entry", 0.982, "us", "anchor",
    "q.t4.on.1: 2.8 us one way within a host, 1 byte, less the 0.835 that all else takes, in the same two parts",
)  # fmt: skip

# -- sizes, between hosts ------------------------------------------------------------------------------

SIS_SMALL = _constant("sis.block_small", 2048, "bytes", "fact", "sf.sis.block_small")
SIS_LARGE = _constant("sis.block_large", 4096, "bytes", "fact", "sf.sis.block_large")
SIS_SHORT = _constant("sis.short_limit", 2000, "bytes", "fact", "sf.sis.short_limit: up to here data go in postboxes")
Q_BLOCK = _constant("q.block", 1024, "bytes", "fact", "sf.q.buffer")
Q_SHORT = _constant("q.short_limit", 3911, "bytes", "fact", "sf.q.short_limit: less than 3912 goes in postboxes")
Q_RENDEZVOUS = _constant(
    "q.rendezvous", 262144, "bytes", "fact", "sf.q.rendezvous: from here on the receive is awaited"
)
POSTBOXES = _constant(
    "postboxes", 128, "count", "assumed",
    "of a queue (sf.sis.queues: several, not printed): the largest short message takes 71",
)  # fmt: skip
POOL = _constant(
    "pool", 262144, "bytes", "assumed",
    "of a sender on one other host (sf.sis.queues: not printed): holds the largest eager message of Q",
)  # fmt: skip
SMALL_SHARE = _constant(
    "sis.small_share", 4, "count", "assumed", "one part in so many of a pool is cut into small blocks"
)
PIECE = _constant(
    "piece", 16384, "bytes", "assumed",
    "data behind one entry: the manual's 8192 of MPI_RSM_PIPESIZE for each of two stripes, the NIs of a host",
)  # fmt: skip

# -- sizes, within a host ------------------------------------------------------------------------------

SHM_POSTBOXES = _constant("shm.postboxes", 16, "count", "assumed", "the manual's MPI_SHM_NUMPOSTBOX, of each pair")
SHM_SHORT = _constant("shm.short", 256, "bytes", "assumed", "the manual's MPI_SHM_SHORTMSGSIZE: data in the postbox")
SHM_PIPE = _constant(
    "shm.pipe", 8192, "bytes", "assumed", "the manual's MPI_SHM_PIPESIZE and MPI_SHM_CYCLESIZE: behind one postbox"
)
SHM_BUFFERS = _constant(
    "shm.buffers", 3, "count", "assumed", "of that size for what is sent at once: the manual's MPI_SHM_CPOOLSIZE, 24576"
)
SHM_CYCLE = _constant("shm.cycle", 2, "count", "assumed", "the manual: two sets of buffers for what goes in pieces")
SHM_BROADCAST = _constant(
    "shm.broadcast", 32768, "bytes", "assumed",
    "a piece of what one rank writes and others read: the manual's MPI_SHM_BCASTSIZE, the size of each buffer",
)  # fmt: skip
SHM_BROADCAST_PIECES = _constant(
    "shm.broadcast_pieces", 2, "count", "assumed", "of such a buffer: the manual has a double-buffering scheme"
)
SHM_CALLS = _constant(
    "shm.calls", 2, "count", "assumed",
    "calls of a communicator in a row whose buffers may be in use: one is written while the one before is read",
)  # fmt: skip
SHM_REDUCE = _constant(
    "shm.reduce", 256, "bytes", "assumed",
    "what each rank of a host combines in its turn: the manual's MPI_SHM_REDUCESIZE, of which np x np are reserved",
)  # fmt: skip
SHM_FLAG = _constant(
    "shm.flag",
    50,
    "ns",
    "assumed",
    "making a piece's flag, which is its number and two sizes: some 45 instructions; as mpi.complete",
)

# -- host ----------------------------------------------------------------------------------------------

MEMORY_RATE = _constant(
    "host.memory_rate", 9600, "MB/s", "assumed",
    "what a Sun Fire 6800's crossbar gives to all processors, read and written together: Sun's data sheet calls the "
    "Fireplane's bandwidth 9.6 GB/s; 8 copies at host.copy_rate need more",
)  # fmt: skip

# -- Active Messages over it -----------------------------------------------------------------------------
#
# Nobody has measured them; they do for a message what the sunfire conduit does, on the same processor.

AM_CHECK = _constant(
    "ammpi.check", number(sunfire.CHECK), "us", "assumed", "arguments, handler, destination: as am.check"
)
AM_SLOT = _constant(
    "ammpi.slot", 30, "ns", "assumed",
    "a request's credit from a private list, some 27 instructions: a third of am.space, whose postboxes and blocks "
    "are the library's here",
)  # fmt: skip
AM_BUILD = _constant("ammpi.build", number(sunfire.BUILD), "us", "assumed", "header and arguments: as am.build")
AM_UNPACK = _constant(
    "ammpi.unpack", number(sunfire.BUILD), "us", "assumed",
    "decoding a header and arguments that the library has just copied, so that the cache holds them: as packing them; "
    "am.unpack is one memory access, which mpi.line_miss has here",
)  # fmt: skip
AM_DISPATCH = _constant(
    "ammpi.dispatch", number(sunfire.DISPATCH), "us", "assumed", "handler table, token, call: as am.dispatch"
)
