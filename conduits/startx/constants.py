"""Every number behind the simulated StarT-X cluster, and where it comes from.

Three kinds.  A *fact* is printed in the paper and is named by its id; where a cost is a difference of
printed numbers the arithmetic stands beside it.  An *anchor* is a measured result that fixes the one
cost that no fact gives; it calibrates and is no prediction.  The rest is *assumed*, with the reason,
fixed before anything was compared with a measurement; so is what needs an assumed number beside printed
ones.  Nothing here was adjusted so that a benchmark comes out.

Source: Husbands and Hoe, "MPI-StarT: Delivering Network Performance to Numerical Applications" (SC98).
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, ps, whole

__all__ = ["CONSTANTS", "bytes_per_s", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- programmed input and output (Table 1) -------------------------------------------------------------

STD = _constant("pio.std", 0.133, "us", "fact", "sx.pio.std_slope: one more 8-byte store, rows a and b")
LDD = _constant("pio.ldd", 1.383, "us", "fact", "sx.pio.ldd_slope: one more 8-byte load, rows a and b")
SEND_START = _constant(
    "pio.send_start", 0.334, "us", "fact", "sx.pio.a.send_ovh: 0.6, less two stores of 0.133 for 16 bytes"
)
RECEIVE_START = _constant(
    "pio.receive_start", 0.234, "us", "fact", "sx.pio.a.recv_ovh: 3.0, less two loads of 1.383 for 16 bytes"
)
STDA = _constant("pio.stda", 0.066, "us", "fact", "sx.pio.c.send_ovh: 0.4 for one 64-byte store, less send_start 0.334")
LDDA = _constant(
    "pio.ldda", 3.266, "us", "fact", "sx.pio.c.recv_ovh: 3.5 for one 64-byte load, less receive_start 0.234"
)
POLL = _constant(
    "pio.poll", 1.383, "us", "assumed",
    "a look that finds nothing is one uncached load over PCI, as pio.ldd, for both priorities; what finds a message "
    "is the first load of it, since the receive cost of Table 1 is the loads of the message and 0.234 more",
)  # fmt: skip
WORD = _constant("pio.word", 8, "bytes", "fact", "sx.pio.std_slope: what ldd and std move")
LINE = _constant("pio.line", 64, "bytes", "fact", "sx.pio.c.size: what ldda and stda move")

# -- messages and queues ---------------------------------------------------------------------------------

HEADER = _constant("message.header", 8, "bytes", "fact", "sx.msg.header: two words of 32 bits")
PAYLOAD_MIN = _constant("message.payload_min", 8, "bytes", "fact", "sx.msg.payload: 2 words of 32 bits")
PAYLOAD_MAX = _constant("message.payload_max", 88, "bytes", "fact", "sx.msg.payload: 22 words of 32 bits")
HIGH_QUEUE = _constant(
    "queue.high", 512, "messages", "assumed",
    "not printed; 64 KiB of memory on the card, 128 bytes for each message, for each queue of the high priority",
)  # fmt: skip
LOW_QUEUE = _constant("queue.low", 512, "messages", "assumed", "as queue.high, for each queue of the low priority")

# -- network ---------------------------------------------------------------------------------------------

LINK_RATE = _constant(
    "link.rate", 150, "MB/s", "assumed",
    "the paper prints no figure of Arctic (sx.gap.arctic); reports on the switch name about this much, each way",
)  # fmt: skip
STAGE = _constant(
    "link.stage", 150, "ns", "assumed",
    "a packet through one switch and its cable (sx.gap.arctic); reports name less than 0.15 us",
)  # fmt: skip
NIU_OUT = _constant(
    "niu.out", 0.561, "us", "assumed",
    "sx.pio.c.latency, read as without the wait for the rest of a poll: 5.6, less 0.4 to send and 3.5 to receive, "
    "leaves 1.7; less 64 bytes at link.rate, 0.427, and one switch, 0.150, both assumed, 1.123 remain; half of it (an "
    "even split is assumed), from the bus to the link. A receiver that polls adds up to pio.poll",
)  # fmt: skip
NIU_IN = _constant(
    "niu.in", 0.562, "us", "assumed",
    "sx.pio.c.latency, as niu.out says: the other half of 1.123, from the link into the queue",
)  # fmt: skip
DRAIN = _constant(
    "niu.drain", 0.627, "us", "assumed",
    "sx.pio.b.latency: 14.6, less 1.4 and 11.3, leaves 1.9 for single words; less niu.out, niu.in and one switch, "
    "1.273: how long the last 8-byte store stays in the processor's store buffer, as that difference is read",
)  # fmt: skip
UNORDERED = _constant(
    "order.unordered", 1, "us", "assumed",
    "fifo=no: messages take any way up the tree, and each is put off at random by up to this, a few sends long",
)  # fmt: skip
SPREAD = _constant(
    "weak.spread", 5, "us", "assumed",
    "order=weak puts off an arrival by up to this: longer than a small message takes, without a physical meaning",
)  # fmt: skip

# -- RDMA ------------------------------------------------------------------------------------------------

RDMA_RATE = _constant("rdma.rate", 60, "MB/s", "fact", "sx.rdma.rate: raw, from memory to memory")
RDMA_MAX = _constant("rdma.max", 16777216, "bytes", "fact", "sx.rdma.buffer: the largest single transfer")
RDMA_UNIT = _constant(
    "rdma.unit", 8, "bytes", "assumed", "addresses and sizes are whole 64-bit words, as the bus moves them"
)
GRANT = _constant(
    "rdma.grant", "a message that the NIU takes itself", "-", "assumed",
    "sx.gap.rdma_setup: the right to send is granted by PIO, how is not printed. A request and a grant that processors "
    "load, 16 bytes each (row a), would take 11.0 us; here no processor loads the grant, so that a granted transfer "
    "ends by hardware alone. That takes 8.1, 2.9 less for each transfer",
)  # fmt: skip
COMMITMENT = _constant(
    "rdma.commitment", "the NIU's engine at the grant, the process at a poll", "-", "assumed",
    "sx.rdma.one has engine and process committed together, by a receive. An Active Message has none: the engine is "
    "taken from the grant on, the process from its first poll after the first piece has come; MPI-StarT's at the grant",
)  # fmt: skip
PINNED = _constant(
    "rdma.pinned", 50331648, "bytes", "assumed",
    "the pinned region is finite (sx.rdma.region), its size not printed: three system buffers of 16 MiB, for requests "
    "that leave, replies that leave, and all that comes",
)  # fmt: skip
BUFFER = _constant(
    "rdma.buffer", 2097152, "bytes", "assumed", "one of 8 processors' equal share of a system buffer (sx.rdma.buffer)"
)

# -- hosts -----------------------------------------------------------------------------------------------

CPUS = _constant("host.cpus", 8, "count", "fact", "sx.bed.smp: processors of an E5000")
COPY_RATE = _constant(
    "host.copy_rate", 161.2, "MB/s", "anchor",
    "x.mpi.bw.shm: over 150 MB/s inside an SMP, where 1048576 bytes take 6990.5 us at most. MPI-StarT as modelled has "
    "16 pieces of 65536, which two processors copy one after the other: the time of 17 copies. Less 17 x 0.4 to begin "
    "them, 15 x 2.06 for the entries of further pieces, and 39.3 for the rendezvous with the first one's, 6913.5 us "
    "remain for 17 x 65536 bytes: 161.2 MB/s, rounded up",
)  # fmt: skip
FLOPS = _constant(
    "host.flops", 112, "Mflop/s", "anchor",
    "x.t4.p2.1k: 2 x 1024**3 operations on two processors in 9.6 s, communication counted as none",
)  # fmt: skip
COPY_START = _constant("host.copy_start", 0.4, "us", "assumed", "a call of memcpy and its first cache miss, 100 cycles")
BUS = _constant(
    "host.line", 300, "ns", "assumed", "a modified line passes between two processors: one transaction of their bus"
)
LOOK = _constant("host.poll", 40, "ns", "assumed", "a call and the test of one word in the cache, 10 cycles of 250 MHz")
SHARED_MESSAGE = _constant(
    "host.message",
    1.2,
    "us",
    "assumed",
    "building, or decoding and dispatching, a message in shared memory: 300 cycles",
)
LOCK = _constant(
    "lock.cost", 0.6, "us", "assumed",
    "taking and leaving the lock of an NIU (sx.mpi.lock, sx.gap.lock): two transactions of the processors' bus",
)  # fmt: skip
LOCK_PASS = _constant(
    "lock.pass", 0.3, "us", "assumed", "until a processor that spins has seen that the lock is free: one transaction"
)

P2_CPUS = _constant("pentium2.cpus", 2, "count", "assumed", "boards of the time had one or two; the paper names none")
P2_COPY_RATE = _constant(
    "pentium2.copy_rate", 180, "MB/s", "assumed", "SDRAM of 100 MHz: about half of what STREAM moves, read and written"
)
P2_FLOPS = _constant("pentium2.flops", 100, "Mflop/s", "assumed", "400 MHz, one operation in four cycles")
P2_BUS = _constant("pentium2.line", 200, "ns", "assumed", "a line passes over the front-side bus and memory")
P2_MESSAGE = _constant("pentium2.message", 0.8, "us", "assumed", "as host.message, 300 cycles of 400 MHz")

# -- the conduit -----------------------------------------------------------------------------------------

BUILD = _constant(
    "am.build", 1.2, "us", "assumed",
    "checks and packing of a header: 300 cycles of 250 MHz, a middling UltraSPARC of the time",
)  # fmt: skip
DISPATCH = _constant("am.dispatch", 1.2, "us", "assumed", "unpacking, checks and the handler's call: 300 cycles")
FILE = _constant(
    "am.file", 0.5, "us", "assumed",
    "storing a packet in the inbox in shared memory that it belongs to: its header decoded, two lines written",
)  # fmt: skip
BOOK = _constant("am.book", 0.5, "us", "assumed", "an entry in the list of appointments: as am.file")
START = _constant("start.open", 100, "us", "assumed", "opening the NIU and pinning three buffers: some system calls")
EXCHANGE_ROUND = _constant(
    "start.round", 20, "us", "assumed", "the exchange at attach, per doubling of the ranks: a message and its handling"
)
CROSSOVER = _constant("am.crossover", 1024, "bytes", "fact", "sx.mpi.crossover: larger payloads go by RDMA")
CROSSOVER_SHARED = _constant(
    "am.crossover_shared", 1024, "bytes", "assumed",
    "its own value exists (sx.mpi.crossover_shm) and is not printed; taken as that between hosts",
)  # fmt: skip
MAX_MEDIUM = _constant("am.max_medium", 1024, "bytes", "assumed", "what goes by PIO at most, as am.crossover")
SLOTS = _constant(
    "am.slots", 4, "count", "assumed",
    "request slots of a rank: 8 ranks with 4 replies of 14 packets each fit a queue of 512",
)  # fmt: skip
MAX_ARGS = _constant("am.args", 16, "count", "assumed", "what GASNet asks for; they fit one packet")
