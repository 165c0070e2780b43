"""Every number behind the simulated SGI Origin 2000, and where it comes from.

Facts and anchors are those of the paper (`sh.origin.*`, `h.*`); what is *assumed* was fixed before any comparison.
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, number, ps, whole

__all__ = ["CONSTANTS", "bytes_per_s", "number", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- isolated gets -------------------------------------------------------------------------------------------

GET_8 = _constant(
    "get.8", 2.5, "us", "anchor",
    "sh.origin.get.8: shmem_get of 8 bytes by one processor from another, the mean over all 255; with get.10k and "
    "get.1m it is the pace of a processor: straight lines between the three, the last one beyond",
)  # fmt: skip
GET_10K = _constant("get.10k", 102.0, "us", "anchor", "sh.origin.get.10k: the same of 10000 bytes")
GET_1M = _constant("get.1m", 7740.0, "us", "anchor", "sh.origin.get.1m: the same of 1000000 bytes")

# -- memory and network --------------------------------------------------------------------------------------

HOT = _constant(
    "hot.256", 43.8, "us", "anchor",
    "h.t3.origin.shmem.256: 255 processors get 8 bytes each from one; gives memory.service",
)  # fmt: skip
LINE = _constant("memory.line", 128, "bytes", "assumed", "a line of the second-level cache: what a load brings")
SERVICE = _constant(
    "memory.service", round((43.8 - 2.5) / 254 * 1000, 3), "ns", "anchor",
    "h.t3.origin.shmem.256: (43.8 - 2.5) us / 254 that wait for the others; a line in this time is 787 MB/s",
)  # fmt: skip
RATE = _constant(
    "link.rate", 780, "MB/s", "assumed",
    "each way, of the links between routers and to nodes: order of what is published of the CrayLink (Laudon, Lenoski)",
)  # fmt: skip
ROUTER = _constant("link.router", 50, "ns", "assumed", "of each router on the way: order of what is published of it")
HUB = _constant("network.hub", 100, "ns", "assumed", "between the memory or a processor of a node and its router")
GROUP = _constant("network.group", 16, "count", "fact", "sh.origin.net: nodes of one hypercube")
PER_ROUTER = _constant("network.per_router", 2, "count", "assumed", "nodes on a router: the hypercube is bristled")
NODES = _constant("machine.nodes", 128, "count", "fact", "sh.origin.procs")
PER_NODE = _constant("machine.per_node", 2, "count", "fact", "sh.origin.per_node")
ROUTERS = _constant(
    "network.routers", round(2 * (128 + 112 * 2 + 128 * 1.5 - 1) / 254, 6), "count", "assumed",
    "on the way from a processor to one of the 254 of another node, in the mean: one, two more to the 112 nodes of "
    "other hypercubes, 1.5 more for the corner; two processors on each node, without the node itself",
)  # fmt: skip

# -- processors ----------------------------------------------------------------------------------------------

FLOPS = _constant(
    "cpu.flops", 600e6, "1/s", "assumed", "300 MHz (sh.origin.clock), a multiplication and an addition in each cycle"
)
COPY_RATE = _constant(
    "cpu.copy_rate", 300, "MB/s", "assumed", "a copy in its own memory, read and written at 787 MB/s, less some"
)
COPY_START = _constant("cpu.copy_start", 100, "ns", "assumed", "order of a call of memcpy: 30 cycles of 300 MHz")
CACHE = _constant(
    "cpu.cache", 8388608, "bytes", "fact",
    "sh.origin.l2: the second-level cache; shmem-tests flushes it (sh.m.flush) by reading and writing as much, at "
    "cpu.copy_rate",
)  # fmt: skip
POLL = _constant("cpu.poll", 10, "ns", "assumed", "a load that hits the cache, and a branch: 3 cycles of 300 MHz")
SHARED_LINE = _constant(
    "cpu.line", 400, "ns", "assumed", "a line from the cache of the node's other processor: through the hub, some lines"
)
SHARED_MESSAGE = _constant("cpu.message", 300, "ns", "assumed", "building or taking one in shared memory: as am.build")

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
    "tree.16", 33.0, "us", "anchor",
    "h.t4.origin.shmem.16: binary tree broadcast of 8 bytes among 16, with a barrier; gives call.put",
)  # fmt: skip
PUT = _constant(
    "call.put", 1883, "ns", "anchor",
    "h.t4.origin.shmem.16: of a put, a fence or a quiet, alike: with it the tree takes tree.16 here, the barrier made "
    "of puts; tests/conduits/test_one_sided_anchors.py has the program",
)  # fmt: skip
BARRIER = _constant(
    "barrier.16", 11.869, "us", "assumed",
    "what a barrier of 16 takes here by native puts, each after the one before; from a common start on its ranks take "
    "11.38 to 11.91",
)  # fmt: skip
MPI = _constant(
    "mpi.get_fence16", 45.1, "us", "anchor",
    "sh.origin.mpi2.get_fence16: mpi_get of 8 bytes and a fence of 16; without get.8, call.put for the call, a quiet "
    "and barrier.16 it is the fence's own, which is taken to grow as log2 of its ranks (sh.gap.fence): what takes "
    "thousands of cycles is messages of the library, in rounds, as many as a tree is deep",
)  # fmt: skip
TWO_SIDED = _constant(
    "mpi.two_sided", whole(PUT), "ns", "assumed",
    "sh.gap.mpi_p2p: of an mpi_send and of an mpi_recv each, beside the message: what mpi_get and mpi_put add, which "
    "are calls of the same library",
)  # fmt: skip
