"""How Active Messages travel over SCI: one path for each queue discipline, all of one interface.

`PairedSlots` is the design of the conduit's paper.  A slot goes through these states, of which its sender alone keeps
track, in its free list:

    free       in the sender's free list
    taken      set aside for a request, together with the reply slot that is paired with it
    stored     header, arguments and payload are on their way; a barrier or a completion says that they have landed
    ready      the message-ready flag of the slot is set, then the message-exist flag of the receiver
    handled    a poll of the receiver has taken the message; the reply goes through the same states in its own slot
    free       the requester has taken the reply

`SingleBuffer` and `SplitQueue` are Ibel's two designs, against which the paper argues.  In the second a reply needs a
slot that only the other rank's progress frees: it can deadlock, and shows why slots are paired.
"""

from collections.abc import Mapping

from conduits.sci.protocol.ibel import SingleBuffer, SplitQueue
from conduits.sci.protocol.paired import PairedSlots
from conduits.sci.protocol.path import SciConfig, SciPath

DISCIPLINES: Mapping[str, type[SciPath]] = {"paired": PairedSlots, "single": SingleBuffer, "split": SplitQueue}

__all__ = ["DISCIPLINES", "PairedSlots", "SciConfig", "SciPath", "SingleBuffer", "SplitQueue"]
