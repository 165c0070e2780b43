"""What the conduit's own software costs, and how its memory is cut up; all that the hardware does not decide.

The papers give no figure for any of it below MPI (sf.gap.mpi_sw, sf.gap.envelope, sf.gap.onnode), so the costs are
instruction counts on a CPU of 900 MHz, one instruction a cycle, fixed before anything was compared with a result.
"""

from __future__ import annotations

from conduit.simnet.constants import Constants
from conduits.sunfire.constants import ps

CONSTANTS = Constants()
_constant = CONSTANTS.make

CHECK = _constant("am.check", 0.1, "us", "assumed", "arguments, handler, destination: some 90 instructions")
BUILD = _constant("am.build", 0.15, "us", "assumed", "header and arguments into a line in registers: some 130")
SPACE = _constant("am.space", 0.1, "us", "assumed", "a request's credit, postboxes and blocks from private lists: 90")
UNPACK = _constant(
    "am.unpack", 0.25, "us", "assumed",
    "one memory access, for the NI has written the line and no cache holds it (host.memory); decoding comes with it",
)  # fmt: skip
DISPATCH = _constant("am.dispatch", 0.15, "us", "assumed", "handler table, token, call: some 130 instructions")
RECLAIM = _constant("am.reclaim", 20, "ns", "assumed", "an acknowledgement read and its postbox freed: 18 instructions")
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
    "host.copy_rate", 806, "MB/s", "anchor",
    "s.t1.bw.on: Sun MPI within a host; its pipelined copies in and out overlap, so one processor copies at that rate",
)  # fmt: skip
COPY_START = _constant("host.copy_start", 0.1, "us", "assumed", "a call of memcpy and its first cache miss")
SHARED_LINE = _constant(
    "host.line", 0.25, "us", "assumed", "a modified line passes between two CPUs as if from memory (host.memory)"
)
SHARED_MESSAGE = _constant(
    "host.message", 0.55, "us", "anchor",
    "s.t1.lat.on: 1.5 us one way within a host, less 0.25 for the line (host.line) and 0.15 for polls of 0.08 us: the "
    "one that finds the message, the wait for its beginning, half of that before a request; equal parts building the "
    "message and decoding and dispatching it",
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

REQUEST_PS = ps(CHECK) + ps(SPACE) + ps(BUILD)
REPLY_PS = ps(CHECK) + ps(BUILD)
RECEIVE_PS = ps(UNPACK) + ps(DISPATCH)
RECLAIM_PS = ps(RECLAIM)
POLL_PS = ps(POLL)
HEAD_PS = ps(HEAD)
SERVICE_PS = ps(SERVICE)
