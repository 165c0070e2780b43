"""How Active Messages travel over SCI: one transport for each queue discipline, all of one interface.

`PairedSlots` is the design of the conduit's paper.  A pair of slots goes through these states.  No rank stores the
state: the requester knows free or not free (its free list), the receiver of a slot knows ready or not (its flag), and
the rest is where the chain of events of the send has got to.

    free       in the requester's free list
    taken      set aside for a request: its request slot at the receiver and the reply slot paired with it here
    stored     header, arguments and payload are on their way; a barrier or a completion says that they have landed
    ready      the message-ready flag of the slot is set, then the message-exist flag of the receiver
    handled    a poll of the receiver has taken the message; the reply goes the same way in the reply slot
    free       the requester has taken the reply: the pair is back in its free list

`SingleBuffer` and `SplitQueue` are Ibel's two designs, against which the paper argues.  In the second a reply needs a
slot that only the other rank's progress frees: it can deadlock, and shows why slots are paired.
"""

from collections.abc import Mapping

from conduits.sci.protocol.ibel import SingleBuffer, SplitQueue
from conduits.sci.protocol.paired import PairedSlots
from conduits.sci.protocol.transport import SciConfig, SciTransport

DISCIPLINES: Mapping[str, type[SciTransport]] = {"paired": PairedSlots, "single": SingleBuffer, "split": SplitQueue}

__all__ = ["DISCIPLINES", "PairedSlots", "SciConfig", "SciTransport", "SingleBuffer", "SplitQueue"]
