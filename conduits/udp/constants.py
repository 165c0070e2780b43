"""Every number behind the simulated hosts, their sockets and their Ethernet, and where it comes from.

All are *assumed*: round figures for a PC of about 2005 with an adapter for Gigabit Ethernet, each with its reason,
fixed before anything was compared.  The sizes of headers and frames are those of the standards, which the reason names.
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, ps, whole

__all__ = ["CONSTANTS", "bytes_per_s", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- frames ------------------------------------------------------------------------------------------------

DATAGRAM = _constant(
    "frame.datagram", 1472, "bytes", "assumed",
    "the largest datagram in one frame: 1500 bytes that a frame holds (RFC 894) less headers of IP, 20 (RFC 791), and "
    "of UDP, 8 (RFC 768); a larger one would go in fragments of IP, all of which are lost with one of them",
)  # fmt: skip
OVERHEAD = _constant(
    "frame.overhead", 66, "bytes", "assumed",
    "of each datagram on a link: headers of UDP, 8, IP, 20, and Ethernet, 14, its checksum, 4, preamble, 8, and the "
    "gap after a frame, 12 (IEEE 802.3)",
)  # fmt: skip
LEAST = _constant(
    "frame.least", 84, "bytes", "assumed", "a frame of 64 bytes, the least there is, with preamble and gap (IEEE 802.3)"
)

# -- Ethernet ----------------------------------------------------------------------------------------------

RATE = _constant("link.rate", 125, "MB/s", "assumed", "Gigabit Ethernet, the same each way")
CABLE = _constant("link.cable", 100, "ns", "assumed", "20 m of cable at 5 ns for each")
SWITCH = _constant(
    "switch.forward", 2, "us", "assumed", "order of what a switch needs to look up where a frame goes, once it has it"
)
SWITCH_QUEUE = _constant(
    "switch.queue",
    131072,
    "bytes",
    "assumed",
    "of frames for one port: a megabyte for eight ports, a small switch",
)
ADAPTER_QUEUE = _constant(
    "adapter.queue",
    1538000,
    "bytes",
    "assumed",
    "frames that wait in the host: 1000 large ones, Linux's txqueuelen",
)
ADAPTER = _constant(
    "adapter.dma",
    1,
    "us",
    "assumed",
    "from the doorbell to the first byte on the link, or from the last one to memory",
)
LATE = _constant(
    "network.late", 100, "us", "assumed",
    "how much later a frame that is put off, or comes twice, arrives at most: some eight of the largest, so that it is "
    "overtaken; less than a retransmission takes",
)  # fmt: skip

# -- hosts -------------------------------------------------------------------------------------------------

SEND = _constant(
    "call.send", 4, "us", "assumed", "sendto: the system call, UDP, IP, the driver, the doorbell; without the copy"
)
RECEIVE = _constant("call.receive", 2, "us", "assumed", "recvfrom of a datagram that is there, without the copy")
POLL = _constant("call.poll", 0.8, "us", "assumed", "recvfrom that finds nothing, and a look at the clock for timers")
INTERRUPT = _constant(
    "interrupt.frame", 3, "us", "assumed",
    "of each frame: the adapter's interrupt, its driver, IP, UDP, into the socket's buffer; frames are not gathered, "
    "and the processor of the rank whose socket it is for is interrupted",
)  # fmt: skip
SOCKET = _constant(
    "socket.buffer", 262144, "bytes", "assumed", "of datagrams that have arrived; what Linux gives a program that asks"
)
COPY_RATE = _constant("host.copy_rate", 1500, "MB/s", "assumed", "a copy in memory, half of what DDR-400 moves")
COPY_START = _constant("host.copy_start", 50, "ns", "assumed", "order of a call of memcpy")
FLOPS = _constant("host.flops", 1e9, "1/s", "assumed", "2 GHz, one operation in two cycles")
LINE = _constant("host.line", 100, "ns", "assumed", "order of a cache line passed between two processors")
LOOK = _constant("host.poll", 10, "ns", "assumed", "order of a load that misses no cache")
SHARED_MESSAGE = _constant(
    "host.message", 300, "ns", "assumed", "building, or dispatching, a message in shared memory: 600 cycles of 2 GHz"
)
RANKS = _constant("host.ranks", 4, "count", "assumed", "two processors with two cores each")

# -- the protocol --------------------------------------------------------------------------------------------

BUILD = _constant("am.build", 0.3, "us", "assumed", "checks, and a header: 600 cycles of 2 GHz, once for a message")
DISPATCH = _constant("am.dispatch", 0.3, "us", "assumed", "the handler's lookup and call: as am.build")
BOOK = _constant(
    "am.book", 0.1, "us", "assumed", "the header of a datagram: windows, acknowledgements; 200 cycles, at either end"
)
WINDOW = _constant(
    "am.window", 16, "datagrams", "assumed",
    "of one stream without acknowledgement: 16 x 1538 bytes take 197 us at link.rate, several times a round trip",
)  # fmt: skip
SLOTS = _constant("am.slots", 8, "count", "assumed", "outstanding requests to one rank: half a window of short ones")
RTO = _constant(
    "am.rto", 500, "us", "assumed",
    "before a datagram is sent again: twice a full window, and five times the delay of an acknowledgement",
)  # fmt: skip
DELAY = _constant(
    "am.delay", 100, "us", "assumed", "an acknowledgement waits so long for a datagram to ride on: a fifth of am.rto"
)
TRIES = _constant(
    "am.tries", 25, "count", "assumed",
    "how often a datagram is sent before its receiver counts as unreachable; the time doubles with each, to two hours: "
    "no rank that computes is taken for dead, and at 30 % loss both ways one datagram in ten million is given up",
)  # fmt: skip
MAX_MEDIUM = _constant(
    "am.max_medium", 65000, "bytes", "assumed", "a round figure near the 64 KB that a datagram of IP holds at most"
)
MAX_ARGS = _constant("am.args", 16, "count", "assumed", "what GASNet asks for; they fit the first datagram")
START = _constant("start.open", 100, "us", "assumed", "opening a socket and asking for its buffer: some system calls")
EXCHANGE_ROUND = _constant(
    "start.round", 100, "us", "assumed", "the exchange at attach, over TCP, per doubling of the ranks: a round trip"
)
