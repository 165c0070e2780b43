"""How Active Messages travel over SCI: one path for each queue discipline, all of one interface.

`conduit.simnet.Path` is that interface.  `DISCIPLINES` maps the values of the conduit's option
`queue` to the classes; each is made with the rank's port, the cluster and a `SciConfig`.
"""

from collections.abc import Mapping

from conduits.sci.protocol.ibel import SingleBuffer, SplitQueue
from conduits.sci.protocol.paired import PairedSlots
from conduits.sci.protocol.path import SciConfig, SciPath

DISCIPLINES: Mapping[str, type[SciPath]] = {"paired": PairedSlots, "single": SingleBuffer, "split": SplitQueue}

__all__ = ["DISCIPLINES", "PairedSlots", "SciConfig", "SciPath", "SingleBuffer", "SplitQueue"]
