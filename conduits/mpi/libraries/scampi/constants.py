"""Every number behind simulated ScaMPI that is not the machine's, and where it comes from.

The conduit's paper says of ScaMPI that it stores messages of all sizes by PIO, and its best rate, which is the
machine's `pio.rate`; of its protocol and its software nothing (sci.gap.scampi).  The protocol is that of Scali's public
manual ("Scali MPI Connect Users Guide", 2.3): data in the entries of a ring (the channel) for short messages, eager
buffers that the sender manages for middle ones, "transporter" buffers for large ones.  All else is assumed, with its
reason, before anything was compared.
"""

from __future__ import annotations

from conduit.simnet.constants import Constants, bytes_per_s, number, ps, whole
from conduits.sci import constants as sci

__all__ = ["CONSTANTS", "bytes_per_s", "ps", "whole"]

CONSTANTS = Constants()
_constant = CONSTANTS.make

# -- software ------------------------------------------------------------------------------------------

CALL = _constant(
    "mpi.call", 0.4, "us", "assumed",
    "a call that begins something: checks of arguments, communicator and datatype, and a request; some 1000 cycles of "
    "the 2.4 GHz Xeon",
)  # fmt: skip
TEST = _constant("mpi.test", 50, "ns", "assumed", "asking a request: a call and a flag in the cache, some 120 cycles")
MATCH = _constant(
    "mpi.match", 15, "ns", "assumed", "per comparison of a message with a receive: an element of a list in the cache"
)
COMPLETE = _constant(
    "mpi.complete", 0.1, "us", "assumed", "ending a request and filling in its status: some 250 cycles"
)
BUILD = _constant(
    "mpi.build", 0.2, "us", "assumed", "an entry's header of 48 bytes, and the next place in the ring: some 500 cycles"
)
TAKE = _constant(
    "mpi.take", 0.3, "us", "assumed",
    "an entry that has arrived: a line that the card has written, so not in the cache, and its decoding",
)  # fmt: skip
BUFFER = _constant("mpi.buffer", 0.1, "us", "assumed", "finding an eager buffer, or giving it back: some 250 cycles")
POLL = _constant("mpi.poll", 50, "ns", "assumed", "the progress routine, called in vain; as the conduit's own poll")
POLL_PEER = _constant(
    "mpi.poll_peer", 10, "ns", "assumed", "per ring that it looks at: a line each, some 25 cycles; as am.scan_queue"
)

# -- sizes ---------------------------------------------------------------------------------------------

ENTRIES = _constant("channel.entries", 64, "count", "assumed", "of a ring; the manual calls the number configurable")
INLINE = _constant(
    "channel.inline", 560, "bytes", "assumed",
    "the largest message whose data are in its entry; the manual names the threshold and leaves its size to the "
    "release notes: with the header 608 bytes, about the latency of a second store in bytes at the PIO rate",
)  # fmt: skip
INLINE_POOL = _constant(
    "channel.pool", 32768, "bytes", "assumed", "inline data that a receiver keeps of one sender: about a ring full"
)
EAGER_BUFFERS = _constant("eager.count", 8, "count", "assumed", "eager buffers for each pair; configurable")
EAGER = _constant(
    "eager.size", 16384, "bytes", "assumed", "of an eager buffer, and so the threshold; configurable, a power of 2"
)
PIECES = _constant("transporter.count", 4, "count", "assumed", "transporter buffers for each pair; configurable")
PIECE = _constant(
    "transporter.size", 32768, "bytes", "assumed",
    "of a transporter buffer; configurable: 172 us of PIO, beside which an entry and an answer of some 10 us are small",
)  # fmt: skip

# -- host ----------------------------------------------------------------------------------------------

MEMORY_RATE = _constant(
    "host.memory_rate", 2100, "MB/s", "assumed",
    "what the memory gives to all processors, read and written together: sci.bed.ram says DDR PC2100, which is named "
    "after its rate",
)  # fmt: skip

# -- Active Messages over it -----------------------------------------------------------------------------
#
# The paper says nothing of what the MPI conduit takes beside ScaMPI (sci.gap.scampi: declared assumptions).  It is the
# same GASNet on the same Xeon as the SCI conduit, and does the same for a message.

AM_CHECK = _constant("ammpi.check", number(sci.CHECK), "us", "assumed", "a sender's sanity checks: as am.check")
AM_SLOT = _constant("ammpi.slot", number(sci.SEARCH), "us", "assumed", "a request's free slot: as am.slot")
AM_BUILD = _constant("ammpi.build", number(sci.BUILD), "us", "assumed", "packing a header: as am.build")
AM_UNPACK = _constant(
    "ammpi.unpack", number(sci.UNPACK), "us", "assumed",
    "reading a header: as am.unpack, of which the flags that it reads besides are not known apart",
)  # fmt: skip
AM_DISPATCH = _constant("ammpi.dispatch", number(sci.DISPATCH), "us", "assumed", "checks, handler call: as am.dispatch")
