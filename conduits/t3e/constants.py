"""Every number behind the simulated Cray T3E-600, and where it comes from.

Facts and anchors are those of the paper (`sh.t3e.*`, `h.*`); what is *assumed* was fixed before any comparison.
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, number, ps, whole

__all__ = ["CONSTANTS", "bytes_per_s", "number", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- isolated gets -------------------------------------------------------------------------------------------

GET_8 = _constant(
    "get.8", 3.7, "us", "anchor",
    "sh.t3e.get.8: shmem_get of 8 bytes by one processor from another, the mean over all 255; with get.10k and get.1m "
    "it is the pace of a processor: straight lines between the three, the last one beyond",
)  # fmt: skip
GET_10K = _constant("get.10k", 40.0, "us", "anchor", "sh.t3e.get.10k: the same of 10000 bytes")
GET_1M = _constant("get.1m", 3010.0, "us", "anchor", "sh.t3e.get.1m: the same of 1000000 bytes")

# -- memory and network --------------------------------------------------------------------------------------

HOT = _constant(
    "hot.256", 18.6, "us", "anchor",
    "h.t3.t3e.shmem.256: 255 processors get 8 bytes each from one; gives memory.service",
)  # fmt: skip
LINE = _constant("memory.line", 64, "bytes", "assumed", "what E-registers move in a block, eight words")
SERVICE = _constant(
    "memory.service", round((18.6 - 3.7) / 254 * 1000, 3), "ns", "anchor",
    "h.t3.t3e.shmem.256: (18.6 - 3.7) us / 254 that wait for the others; a line in this time is 1091 MB/s",
)  # fmt: skip
RATE = _constant(
    "link.rate",
    480,
    "MB/s",
    "assumed",
    "of payload each way, order of what is published of the machine's torus (Scott)",
)
HOP = _constant("link.hop", 40, "ns", "assumed", "of each router on the way: three cycles of a network of 75 MHz")
ENTRY = _constant(
    "network.entry", 200, "ns", "assumed",
    "from E-registers into the network, and from it to memory: 60 cycles of 300 MHz each",
)  # fmt: skip
HOPS = _constant(
    "network.hops", round(5.5 * 256 / 255, 6), "count", "assumed",
    "from the first of 256 processors to another, in the mean: 8 x 8 x 4 of a torus of 8 x 8 x 8, consecutive ranks; "
    "2 + 2 + 1.5 over 255 of 256",
)  # fmt: skip
PROCESSORS = _constant("machine.processors", 512, "count", "fact", "sh.t3e.procs")
SIDE = _constant("machine.side", 8, "count", "assumed", "512 processors as a cube: the torus is 3D (sh.t3e.net)")
LATE = _constant(
    "network.late", 1, "us", "assumed",
    "by how much a put may be overtaken where order=weak: routing adapts to load; 1 us is two ways through the torus",
)  # fmt: skip

# -- barrier units -------------------------------------------------------------------------------------------

BARRIER_ACCESS = _constant(
    "barrier.access", 200, "ns", "assumed",
    "a processor writes its unit's register, and again reads it: memory-mapped, as from E-registers into the network",
)  # fmt: skip
BARRIER_STAGE = _constant(
    "barrier.stage", 80, "ns", "assumed",
    "from a node of the tree to the next, up or down: a router as link.hop, and as long in the unit that combines; "
    "packets go before all others (sh.gap.barrier; Scott, Synchronization and communication in the T3E multiprocessor, "
    "1996)",
)  # fmt: skip

# -- processors ----------------------------------------------------------------------------------------------

FLOPS = _constant("cpu.flops", 600e6, "1/s", "fact", "sh.t3e.peak: the peak of one processor")
COPY_RATE = _constant(
    "cpu.copy_rate", 300, "MB/s", "assumed", "a copy in its own memory, streams off: no faster than from E-registers"
)
COPY_START = _constant("cpu.copy_start", 100, "ns", "assumed", "order of a call of memcpy: 30 cycles of 300 MHz")
CACHE = _constant(
    "cpu.cache", 98304, "bytes", "fact",
    "sh.t3e.l2: the second-level cache; shmem-tests flushes it (sh.m.flush) by reading and writing as much, at "
    "cpu.copy_rate",
)  # fmt: skip
POLL = _constant("cpu.poll", 10, "ns", "assumed", "a load that hits the cache, and a branch: 3 cycles of 300 MHz")
SHARED_LINE = _constant("cpu.line", 100, "ns", "assumed", "of no effect: a node has one processor")
SHARED_MESSAGE = _constant("cpu.message", 300, "ns", "assumed", "of no effect: a node has one processor")

# -- messages ------------------------------------------------------------------------------------------------

BUILD = _constant("am.build", 0.3, "us", "assumed", "checks and a header: 90 cycles of 300 MHz")
TAKE = _constant("am.take", 0.3, "us", "assumed", "an entry and a header, finding the handler: as am.build")
SLOTS = _constant("am.slots", 8, "count", "assumed", "outstanding requests to one rank: longer than a round trip needs")
MAX_MEDIUM = _constant("am.max_medium", 4096, "bytes", "assumed", "a page; 256 ranks have 16 MB of slots on each other")
MAX_ARGS = _constant("am.args", 16, "count", "assumed", "what GASNet asks for, in one header")
START = _constant("start.open", 100, "us", "assumed", "queues and their addresses at the start of a job")
EXCHANGE_ROUND = _constant("start.round", 20, "us", "assumed", "the exchange at attach, for each doubling of the ranks")

# -- calls of the library ------------------------------------------------------------------------------------

TREE = _constant(
    "tree.16", 26.0, "us", "anchor",
    "h.t4.t3e.shmem.16: binary tree broadcast of 8 bytes among 16, with a barrier; gives call.put",
)  # fmt: skip
PUT = _constant(
    "call.put", 1992, "ns", "anchor",
    "h.t4.t3e.shmem.16: of a put, a fence or a quiet, alike: twelve of them are on the tree's longest way, and all "
    "else takes 2.09 us here, 1.22 of it barrier.16; tests/conduits/test_one_sided_anchors.py has the program",
)  # fmt: skip
BARRIER = _constant(
    "barrier.16", 1.22, "us", "assumed",
    "what a barrier of 16 takes here: two of barrier.access, five of barrier.stage up and as many down, two of "
    "cpu.poll",
)  # fmt: skip
MPI = _constant(
    "mpi.get_fence16", 35.3, "us", "anchor",
    "sh.t3e.mpi2.get_fence16: mpi_get of 8 bytes and a fence of 16; without get.8, call.put for the call, a quiet and "
    "barrier.16 it is the fence's own, which is taken to grow as log2 of its ranks (sh.gap.fence): what takes "
    "thousands of cycles is messages of the library, in rounds, as many as a tree is deep",
)  # fmt: skip
TWO_SIDED = _constant(
    "mpi.two_sided", whole(PUT), "ns", "assumed",
    "sh.gap.mpi_p2p: of an mpi_send and of an mpi_recv each, beside the message: what mpi_get and mpi_put add, which "
    "are calls of the same library",
)  # fmt: skip
