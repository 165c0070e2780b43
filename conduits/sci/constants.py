"""Every number behind the simulated SCI cluster, and where it comes from.

Three kinds.  A *fact* is printed in the conduit's paper or its authors' code and is named by its id.
An *anchor* is a measured result that fixes the one cost that no fact gives; it calibrates and is no
prediction.  The rest is *assumed*, with the reason, fixed before anything was compared with a
measurement.  Nothing here was adjusted so that a benchmark comes out.

Source: Su, Gordon, Oral, George, "SCI Networking for Shared-Memory Computing in UPC: Blueprints of
the GASNet SCI Conduit" (2004); GASNet's published sci-conduit; IEEE 1596-1992 for packets.
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, ps, whole

__all__ = ["CONSTANTS", "bytes_per_s", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- links and packets -------------------------------------------------------------------------------

LINK_RATE = _constant("link.rate", 662.5, "MB/s", "fact", "sci.link.rate: 5.3 Gb/s per link")
MAX_NODES = _constant("link.nodes", 65536, "count", "fact", "sci.addr.max_nodes: 16 bits of the address")
PACKET_DATA = _constant(
    "packet.data", 64, "bytes", "assumed", "IEEE 1596 packets hold 16, 64 or 256 data bytes; Dolphin's cards store 64"
)
PACKET_UNIT = _constant("packet.unit", 16, "bytes", "assumed", "IEEE 1596: the smallest packet holds 16 data bytes")
PACKET_HEADER = _constant("packet.header", 16, "bytes", "assumed", "IEEE 1596: the header of every packet")
HOP = _constant(
    "link.hop", 70, "ns", "assumed",
    "no figure in the paper; a link controller passes a packet on after its header, some ten symbol times and a cable",
)  # fmt: skip
TURN = _constant(
    "link.turn", 250, "ns", "assumed",
    "no figure in the paper; a packet of 80 bytes crosses the card's internal bus (about 640 MB/s) in and out: "
    "2 x 125 ns",
)  # fmt: skip

# -- adapter and host bus ------------------------------------------------------------------------------

OUTSTANDING = _constant("adapter.window", 16, "count", "fact", "sci.outstanding: transactions in flight per adapter")
BUS_RATE = _constant(
    "bus.rate", 528, "MB/s", "assumed", "the bus is not printed; 64 bits at 66 MHz, as the card's family uses"
)
SEND_LATENCY = _constant(
    "adapter.out", 500, "ns", "assumed",
    "from bus to link; with the other parts a store of 8 bytes reaches a neighbour in 1.5 us, inside the 1 to 10 us "
    "of sci.lat.remote_write",
)  # fmt: skip
RECEIVE_LATENCY = _constant(
    "adapter.in", 700, "ns", "assumed", "from link through bridge into memory; see adapter.out for the sum"
)
RESPONSE_LATENCY = _constant(
    "adapter.response", 500, "ns", "assumed",
    "from memory back to the sending adapter without the links: half of the way out, there is no memory to write",
)  # fmt: skip
PIO_START = _constant(
    "pio.start", 200, "ns", "assumed",
    "CPU time of a store to the card's bus; notes of a Dolphin talk of 2006 give about 210 ns for 8 bytes, at worst",
)  # fmt: skip
PIO_RATE = _constant(
    "pio.rate", 190, "MB/s", "anchor",
    "sci.am.long.scampi_max: ScaMPI stores all sizes by PIO, 190 MB/s at best; base unstated: 10**6 by the convention "
    "of the papers' file",
)  # fmt: skip
READ_RATIO = _constant(
    "pio.read_ratio", 10, "ratio", "fact",
    "sci.ratio.read_over_write: a remote read against a write of that size; 8 bytes then take 15 us, inside the 10 to "
    "100 us of sci.lat.remote_read",
)  # fmt: skip
DMA_SETUP = _constant("dma.setup", 30, "us", "fact", "sci.dma.setup: per transfer, of the engine")
DMA_ALIGN = _constant("dma.align", 8, "bytes", "fact", "sci.dma.align: both addresses and the size")
DMA_RATE = _constant(
    "dma.rate", 239, "MB/s", "anchor",
    "sci.am.long.bw_128k: 131072 bytes at 213 * 2**20 bytes/s, as testam prints, take 586.9 us; less 30 us set-up, "
    "3.6 us software, 0.3 us header, 2.0 us from the last byte to the completion and 1.8 us for the flags, 549.2 us "
    "remain: 239 MB/s",
)  # fmt: skip
ORDER = _constant(
    "pio.order", "in order to one segment", "-", "assumed",
    "stores of one adapter to one exported segment stay in order; else only a barrier or a completion orders",
)  # fmt: skip
SPREAD = _constant(
    "weak.spread", 5, "us", "assumed",
    "order=weak delays a landing by up to this: longer than a small write takes, without a physical meaning",
)  # fmt: skip

# -- driver --------------------------------------------------------------------------------------------

MAP = _constant("driver.map", 200, "us", "fact", "sci.map.dynamic: mapping a segment at run time")
UNMAP = _constant(
    "driver.unmap", 200, "us", "assumed", "the paper calls it costly and gives no number; as dear as mapping"
)
SEGMENT_MAX = _constant(
    "driver.segment", 2097152, "bytes", "fact", "sci.seg.max_default: contiguous memory of a kernel without the patch"
)
MEMORY = _constant("host.memory", 1073741824, "bytes", "fact", "sci.bed.ram: per node; the limit of a patched kernel")

# -- host ----------------------------------------------------------------------------------------------

CPUS = _constant("host.cpus", 2, "count", "fact", "sci.bed.cpus: per node")
CLOCK = _constant("host.clock", 2400, "MHz", "fact", "sci.bed.clock")
FLOPS_PER_CYCLE = _constant(
    "host.flops_per_cycle", 1, "count", "assumed", "compiled loops reach about half of the two that SSE2 allows"
)
COPY_RATE = _constant(
    "host.copy_rate", 700, "MB/s", "assumed",
    "DDR266 Xeons of the time: about 1.4 GB/s of traffic in STREAM, and a copy reads and writes",
)  # fmt: skip
COPY_START = _constant("host.copy_start", 100, "ns", "assumed", "a call of memcpy and its first cache miss")
SHARED_LINE = _constant(
    "host.line", 200, "ns", "assumed", "a modified line passes between two Xeons over the front-side bus and memory"
)
SHARED_MESSAGE = _constant(
    "host.message", 0.5, "us", "assumed",
    "building, or decoding and dispatching, a message in shared memory: some 1200 cycles, without SCI's checks",
)  # fmt: skip
EXCHANGE_ROUND = _constant(
    "start.round", 10, "us", "assumed",
    "the exchange of identifiers at attach, per doubling of the ranks: a short message and its handling",
)  # fmt: skip

# -- the conduit ---------------------------------------------------------------------------------------

CHECK = _constant(
    "am.check", 0.6, "us", "anchor",
    "sci.am.short_med.overhead, read per round trip (testam prints round trips): of 12 us the protocol takes 4.8 us "
    "(two waits for the store barrier, four flag stores); the 7.2 us of software are split by us: checks 2 x 0.6, "
    "headers 2 x 0.9, slot search 0.6, unpacking 2 x 1.1, dispatch 2 x 0.7. This is one sender's sanity checks",
)  # fmt: skip
BUILD = _constant(
    "am.build", 0.9, "us", "anchor", "sci.am.short_med.overhead, split as am.check says: packing a header"
)
SEARCH = _constant(
    "am.slot", 0.6, "us", "anchor", "sci.am.short_med.overhead, split as am.check says: a request's free slot"
)
UNPACK = _constant(
    "am.unpack", 1.1, "us", "anchor", "sci.am.short_med.overhead, split as am.check says: reading flags and header"
)
DISPATCH = _constant(
    "am.dispatch", 0.7, "us", "anchor", "sci.am.short_med.overhead, split as am.check says: checks and handler call"
)
POLL_MISS = _constant(
    "am.poll_miss", 50, "ns", "assumed", "a call and the test of one flag in the cache, some 120 cycles"
)
SCAN_FLAG = _constant(
    "am.scan_flag", 2, "ns", "assumed", "per message-ready flag of a scan: load, compare, branch; some 5 cycles"
)
SCAN_QUEUE = _constant(
    "am.scan_queue", 10, "ns", "assumed", "per queue of a poll over all queues: a cache line each, some 25 cycles"
)

# -- layout --------------------------------------------------------------------------------------------

DMA_THRESHOLD = _constant(
    "am.dma_threshold", 2048, "bytes", "fact", "sci.long.dma_threshold: long payloads from here on go by DMA"
)
SLOTS = _constant("am.slots", 2, "count", "fact", "sci.code.slots: request slots per peer, each with its reply slot")
HEADER_MAX = _constant("am.header", 80, "bytes", "fact", "sci.code.header_max: 16 bytes and 16 arguments of 4")
SLOT_PAYLOAD = _constant("am.slot_payload", 2048, "bytes", "fact", "sci.code.medium_max: medium area of a slot")
MAX_ARGS = _constant("am.args", 16, "count", "fact", "sci.code.header_max: what fits behind the 16 fixed bytes")
IBEL_BULK = _constant(
    "ibel.bulk", 4096, "bytes", "fact", "sci.alt.ibel_single.bulk: the buffer through which bulk data goes"
)
IBEL_OUTSTANDING = _constant(
    "ibel.outstanding", 1, "count", "fact", "sci.alt.ibel_single.outstanding: requests of a node in the whole network"
)
