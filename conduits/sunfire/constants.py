"""Every number behind the simulated Sun Fire Link cluster, and where it comes from.

Three kinds.  A *fact* is printed in a paper and is named by its id, or is arithmetic on such figures alone.  An
*anchor* is a measured result of MPI that fixes a cost that no fact gives; it calibrates and is no prediction.  The
rest is *assumed*, with the reason, fixed before anything was compared with a measurement: also what is left of a
printed figure when assumed parts are taken off.  Nothing here was adjusted so that a benchmark comes out.

Two clusters were measured: *SIS* (8 nodes; Sistare and Jackson) and *Q* (4 nodes; Queen's University).
Their hardware is one; layouts and thresholds of their libraries are kept apart, under `sis.` and `q.`.

Source: Sistare and Jackson, "MPI and the Sun Fire Link"; the Queen's University evaluation of the Sun Fire
Link interconnect (Table III for RSMAPI).
"""

from __future__ import annotations

from conduit.sim.units import duration
from conduit.simnet.constants import Constants, bytes_per_s, ps, whole

__all__ = ["CONSTANTS", "bytes_per_s", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- links, switches, network interfaces -------------------------------------------------------------------

LINK_ALONE = _constant(
    "link.alone", 1000, "MB/s", "fact", "sf.link.uni: one direction of a link while the other is quiet"
)
LINK_BOTH = _constant("link.both", 800, "MB/s", "fact", "sf.link.bidi: each direction while both are busy")
NI_PATH = _constant("ni.path", 2400, "MB/s", "fact", "sf.ni.path: between NI and host, both directions together")
NI_LINKS = _constant("ni.links", 2, "count", "fact", "sf.ni.links: optical links of an NI")
NI_MAX = _constant("ni.max", 8, "count", "fact", "sf.ni.max_15k: NIs of the largest server")
LINE = _constant("ni.line", 64, "bytes", "fact", "sf.ni.unit, sf.ni.align: every remote access, aligned")
SWITCH_LINKS = _constant("switch.links", 8, "count", "fact", "sf.switch.links: of one switch; no cascades")
MAX_HOSTS = _constant("topology.hosts", 8, "count", "fact", "sf.topo.max_impl: with the switches there are")
DIRECT_HOSTS = _constant("topology.direct", 3, "count", "fact", "sf.topo.p2p: two or three hosts without switches")

# -- stores and loads ----------------------------------------------------------------------------------------

STORE_LINE = _constant(
    "store.line", 102.078, "ns", "fact",
    "sf.rsm.put_16k: 27.73 us less the first line (1.7 us, sf.rsm.pingpong, as sf.rsm.put_flat has it), over the 255 "
    "other lines; the pace at which one CPU stores lines",
)  # fmt: skip
STORE_START = _constant(
    "store.start", 200, "ns", "assumed",
    "before the first line of a run: call of the store routine, saving and loading of floating-point registers, some "
    "180 cycles",
)  # fmt: skip
TRANSIT = _constant(
    "link.transit", 450, "ns", "assumed",
    "from NI to NI: two times the NI's pipeline (150 ns), 20 m of fibre, the longest there is (sf.link.length; 100 ns, "
    "5 ns a metre), a switch (50 ns); about half of what sf.rsm.get_16k leaves of a load beside two memory accesses",
)  # fmt: skip
WRITE = _constant(
    "ni.write", 698, "ns", "assumed",
    "what is left of sf.rsm.pingpong: 1.7 us less store.start 200, store.line 102, link.transit 450 and host.memory "
    "250, which are assumed but for one; from the arrival of a line until a CPU can see it, caches having been told",
)  # fmt: skip
READ_LINE = _constant(
    "load.line", 1451.6, "ns", "assumed",
    "what is left of sf.rsm.get_16k: 373.01 us less the call (rsm.get_call, 1.4 us), over 256 lines; one line at a "
    "time, there and back",
)  # fmt: skip
PATIENCE = _constant(
    "ni.patience", 10, "us", "assumed",
    "after which an NI holds that a line without an answer is lost; some six times the way there and back, "
    "2 x link.transit and ni.write",
)  # fmt: skip
REROUTE = _constant(
    "kernel.reroute", 200, "us", "assumed",
    "from the failure or return of a link until system software has written new tables on all hosts: an interrupt on "
    "each, some hundred uncached stores",
)  # fmt: skip
INTERRUPT = _constant(
    "kernel.interrupt", 10, "us", "assumed",
    "of the target's CPU for a remote interrupt: taking it, reading the line, doing what it asks; less than half of "
    "sf.rsm.signal_post, of which the sender's kernel has the rest",
)  # fmt: skip
CESR_READ = _constant(
    "ni.cesr", 300, "ns", "assumed", "an uncached load of a register in the own NI, a little above a memory access"
)
SPREAD = _constant(
    "weak.spread", 5, "us", "assumed",
    "order=weak delays a line by up to this: longer than a short message takes, without a physical meaning",
)  # fmt: skip

# -- RSMAPI, Table III -----------------------------------------------------------------------------------------

GET_TOPOLOGY = _constant("rsm.get_topology", 12.65, "us", "fact", "sf.rsm.get_topology")
GET_CONTROLLER = _constant("rsm.get_controller", 841.00, "us", "fact", "sf.rsm.get_controller")
FREE_TOPOLOGY = _constant("rsm.free_topology", 0.61, "us", "fact", "sf.rsm.free_topology")
EXPORT_CREATE = _constant("rsm.export_create", 103.61, "us", "fact", "sf.rsm.export_create: of 16 KB")
EXPORT_PUBLISH = _constant("rsm.export_publish", 119.36, "us", "fact", "sf.rsm.export_publish: of 16 KB")
EXPORT_UNPUBLISH = _constant("rsm.export_unpublish", 73.48, "us", "fact", "sf.rsm.export_unpublish: of 16 KB")
EXPORT_DESTROY = _constant("rsm.export_destroy", 16.73, "us", "fact", "sf.rsm.export_destroy: of 16 KB")
RELEASE_CONTROLLER = _constant("rsm.release_controller", 3.63, "us", "fact", "sf.rsm.release_controller")
IMPORT_CONNECT = _constant("rsm.import_connect", 173.45, "us", "fact", "sf.rsm.import_connect")
IMPORT_MAP = _constant("rsm.import_map", 13.56, "us", "fact", "sf.rsm.import_map")
INIT_BARRIER = _constant("rsm.init_barrier", 0.33, "us", "fact", "sf.rsm.init_barrier")
SET_MODE = _constant("rsm.set_mode", 0.38, "us", "fact", "sf.rsm.set_mode")
OPEN_BARRIER = _constant("rsm.open_barrier", 9.93, "us", "fact", "sf.rsm.open_barrier")
ORDER_BARRIER = _constant(
    "rsm.order_barrier", 16.80, "us", "fact", "sf.rsm.order_barrier: with the hardware's round trip"
)
PUT_16K = _constant("rsm.put_16k", 27.73, "us", "fact", "sf.rsm.put_16k: the call and its stores")
GET_16K = _constant("rsm.get_16k", 373.01, "us", "fact", "sf.rsm.get_16k: the call and its loads")
CLOSE_BARRIER = _constant(
    "rsm.close_barrier", 7.13, "us", "fact", "sf.rsm.close_barrier: with the hardware's round trip"
)
DESTROY_BARRIER = _constant("rsm.destroy_barrier", 0.14, "us", "fact", "sf.rsm.destroy_barrier")
SIGNAL_POST = _constant("rsm.signal_post", 23.78, "us", "fact", "sf.rsm.signal_post")
IMPORT_UNMAP = _constant("rsm.import_unmap", 21.40, "us", "fact", "sf.rsm.import_unmap")
IMPORT_DISCONNECT = _constant("rsm.import_disconnect", 486.31, "us", "fact", "sf.rsm.import_disconnect")
PUT_CALL = _constant(
    "rsm.put_call", 1.398, "us", "assumed",
    "what is left of sf.rsm.pingpong: 1.7 us, taken as the put of one line (sf.rsm.put_flat), less store.start and "
    "store.line; the put's own software",
)  # fmt: skip
GET_CALL = _constant("rsm.get_call", 1.4, "us", "assumed", "a get's own software, taken to be that of a put")
REPUBLISH = _constant(
    "rsm.export_republish", 119.36, "us", "assumed", "writes the same tables as a publish, sf.rsm.export_publish"
)
SIGNAL_WAIT = _constant(
    "rsm.signal_wait", 10, "us", "assumed", "a system call that sleeps and is woken, on a CPU of 900 MHz"
)
TABLE_PAGES = _constant("rsm.table_pages", 2, "count", "assumed", "pages of 8 KB in the 16 KB that Table III measured")
PAGE_CREATE = _constant(
    "rsm.page_create", 2, "us", "assumed", "per page above two: locked and translated, some 2000 cycles"
)
PAGE_PUBLISH = _constant(
    "rsm.page_publish", 1, "us", "assumed", "per page above two: an entry in each NI's tables, uncached stores"
)
PAGE_UNPUBLISH = _constant(
    "rsm.page_unpublish", 1, "us", "assumed", "per page above two: the same entries cleared again"
)
PAGE_DESTROY = _constant(
    "rsm.page_destroy", 0.1, "us", "assumed", "per page above two: unlocked; the least size-dependent call of Figure 6"
)
MIN_SEGMENT = _constant("rsm.min_segment", 8192, "bytes", "fact", "sf.rsm.min_segment: the smallest segment")
EXPORT_MAX = _constant(
    "rsm.export_max", 17179869184, "bytes", "fact", "sf.mem.export: the lower of the two limits of a host, 16 GiB"
)

# -- hosts -------------------------------------------------------------------------------------------------------

CPUS = _constant("host.cpus", 24, "count", "fact", "sf.bed.sistare.cpus, sf.bed.q.cpus: per node")
CLOCK = _constant("host.clock", 900, "MHz", "fact", "sf.bed.sistare.clock, sf.bed.q.clock")
FLOPS_PER_CYCLE = _constant(
    "host.flops_per_cycle", 1, "count", "assumed", "compiled loops reach about half of the UltraSPARC III's two"
)
MEMORY = _constant(
    "host.memory", 250, "ns", "assumed",
    "a CPU's load of a line that the NI has just written: a memory access over the Fireplane, some 225 cycles",
)  # fmt: skip

# -- the two clusters ----------------------------------------------------------------------------------------------

SIS_HOSTS = _constant("sis.hosts", 8, "count", "fact", "sf.bed.sistare.nodes")
SIS_NIS = _constant("sis.nis", 2, "count", "fact", "sf.bed.sistare.nis: two links each")
Q_HOSTS = _constant("q.hosts", 4, "count", "fact", "sf.bed.q.nodes")
Q_NIS = _constant("q.nis", 2, "count", "fact", "sf.bed.q.links: four links per node, read from a figure's caption")

# -- the conduit ---------------------------------------------------------------------------------------------------
# What its own software costs, and how its memory is cut up; all that the hardware does not decide.  The papers give
# no figure for any of it below MPI (sf.gap.mpi_sw, sf.gap.envelope, sf.gap.onnode), so the costs are instruction
# counts on a CPU of 900 MHz, one instruction a cycle, fixed before anything was compared with a result.

CHECK = _constant("am.check", 0.1, "us", "assumed", "arguments, handler, destination: some 90 instructions")
BUILD = _constant("am.build", 0.15, "us", "assumed", "header and arguments into a line in registers: some 130")
SPACE = _constant("am.space", 0.1, "us", "assumed", "a request's credit, postboxes and blocks from private lists: 90")
UNPACK = _constant(
    "am.unpack", 0.25, "us", "assumed",
    "one memory access, for the NI has written the line and no cache holds it (host.memory); decoding comes with it",
)  # fmt: skip
DISPATCH = _constant("am.dispatch", 0.15, "us", "assumed", "handler table, token, call: some 130 instructions")
RECLAIM = _constant(
    "am.reclaim", 20, "ns", "assumed",
    "an acknowledgement that has come, compared, and its postbox freed: 18 instructions.  Its line comes from memory "
    "besides, since the NI has written it: the first of a run takes host.memory, each one behind it 64 bytes at "
    "host.copy_rate, as a payload does.  A look at one that has not come is free: that line is in the cache until "
    "the NI writes it, and the look is part of the wait",
)  # fmt: skip
POLL = _constant("am.poll", 30, "ns", "assumed", "a poll's own call and loop: 27 instructions")
HEAD = _constant(
    "am.poll_head", 20, "ns", "assumed",
    "a look at one queue's head postbox, which stays in the cache until the NI writes it: 18 instructions",
)  # fmt: skip
EXCHANGE_ROUND = _constant(
    "start.round", 10, "us", "assumed",
    "the exchange of identifiers at attach, per doubling of the ranks, by the hosts' service processes",
)  # fmt: skip
SERVICE = _constant(
    "start.service", 100, "us", "assumed",
    "a request to another host's service process for an area, there and back, over the administrative Ethernet",
)  # fmt: skip

COPY_RATE = _constant(
    "host.copy_rate", 935, "MB/s", "anchor",
    "s.t1.bw.on: Sun MPI within a host.  Copies in and out overlap in pieces of 8192 bytes (shm.pipe) through two "
    "buffers (shm.cycle): a piece takes 10.164 us at 806 MB/s.  In each piece's time either end has its entry, 0.385 "
    "(sis.entry), the start of its copy, 0.1, the store of the entry or the credits, 0.14, that line's way, 0.25 "
    "(host.line), a poll and the wait for it, 0.08.  One copy of the two waits for the memory while it serves 4096 "
    "bytes of the other, 0.853 (host.memory_rate), 0.43 a piece.  8.78 us remain for 8192 bytes: 933, rounded to 935",
)  # fmt: skip
COPY_START = _constant("host.copy_start", 0.1, "us", "assumed", "a call of memcpy and its first cache miss")
SHARED_LINE = _constant(
    "host.line", 0.25, "us", "assumed", "a modified line passes between two CPUs as if from memory (host.memory)"
)
SHARED_MESSAGE = _constant(
    "host.message", 0.55, "us", "anchor",
    "s.t1.lat.on: 1.5 us one way within a host, less 0.25 for the line (host.line) and 0.15 for polls of 0.08 us: the "
    "one that finds the message, the wait for its beginning, half of that before a request; equal parts building the "
    "message and decoding and dispatching it.  The anchor fixes sis.entry of Sun MPI too: so Active Messages within a "
    "host are calibrated and no prediction, and have the whole of MPI's software in them",
)  # fmt: skip

SIS_SMALL = _constant("sis.block_small", 2048, "bytes", "fact", "sf.sis.block_small")
SIS_LARGE = _constant("sis.block_large", 4096, "bytes", "fact", "sf.sis.block_large")
SIS_SHORT = _constant("sis.short_limit", 2000, "bytes", "fact", "sf.sis.short_limit: up to here data go in postboxes")
SIS_SMALLS = _constant("sis.smalls", 32, "count", "assumed", "small blocks of a pool; tunable and not printed")
SIS_LARGES = _constant("sis.larges", 48, "count", "assumed", "large blocks of a pool; with the small ones 256 KB")
Q_BLOCK = _constant("q.block", 1024, "bytes", "fact", "sf.q.buffer")
Q_SHORT = _constant("q.short_limit", 3911, "bytes", "fact", "sf.q.short_limit: less than 3912 goes in postboxes")
Q_BLOCKS = _constant("q.blocks", 256, "count", "assumed", "blocks of a pool: 256 KB as for SIS")
POSTBOXES = _constant(
    "am.postboxes", 256, "count", "assumed",
    "of a queue (sf.gap.envelope): a few of the largest short messages, 16 KB in all",
)  # fmt: skip
OUTSTANDING = _constant(
    "am.outstanding", 8, "count", "assumed",
    "requests of a process to another without their reply; room for as many of the largest reply is set aside",
)  # fmt: skip
MEDIUM = _constant("am.medium", 16384, "bytes", "assumed", "the largest medium payload: four large blocks")
MAX_ARGS = _constant("am.args", 16, "count", "assumed", "GASNet's usual number; they fill two postboxes with a header")
MAX_LONG = _constant("am.long", 2**31 - 1, "bytes", "assumed", "what the size field of a header holds, signed")

# -- times of the hardware, picoseconds ----------------------------------------------------------------------------

START_PS = ps(STORE_START)
"""Before the first line of a run of stores."""
LINE_PS = ps(STORE_LINE)
"""Of a CPU for each line of a run."""
TRANSIT_PS = ps(TRANSIT)
"""From NI to NI."""
WRITE_PS = ps(WRITE)
"""From the arrival of a line at an NI until a CPU there can see it."""
LANDING_PS = TRANSIT_PS + WRITE_PS
"""From the CPU's issue of a line until a CPU of the other host can see it."""
BARRIER_PS = LINE_PS + LANDING_PS + TRANSIT_PS
"""From the CPU's issue of a memory barrier until it is back."""
READ_LINE_PS = ps(READ_LINE)
"""Of a CPU for each line of a run of loads."""
FETCH_PS = ps(MEMORY)
"""Of a CPU for the first of consecutive lines in its own memory that an NI has written."""
FETCH_NEXT_PS = duration(whole(LINE), bytes_per_s(COPY_RATE))
"""And for each one behind it."""
PATIENCE_PS = ps(PATIENCE)
"""After which an NI holds that a line without an answer is lost."""

# -- times of the conduit, picoseconds -----------------------------------------------------------------------------

REQUEST_PS = ps(CHECK) + ps(SPACE) + ps(BUILD)
REPLY_PS = ps(CHECK) + ps(BUILD)
RECEIVE_PS = ps(UNPACK) + ps(DISPATCH)
RECLAIM_PS = ps(RECLAIM)
POLL_PS = ps(POLL)
HEAD_PS = ps(HEAD)
SERVICE_PS = ps(SERVICE)
