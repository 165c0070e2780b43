"""What carries no data: all ranks have come as far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from extended.collectives.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from extended.collectives.call import CollectiveCall, Steps

_NOTHING = np.empty(0, np.uint8)


class Fence(Algorithm):
    """Dissemination without data: ceil(log2 n) steps."""

    name = "dissemination"

    def greets(self, call: CollectiveCall) -> int | None:
        """The first step goes to the next rank."""
        return None

    def run(self, call: CollectiveCall) -> Steps:
        """Tell the rank 2**s on, wait for the one 2**s before."""
        stride = 1
        while stride < call.size:
            coming = call.receive((call.rank - stride) % call.size, _NOTHING, stride)
            call.send((call.rank + stride) % call.size, _NOTHING, stride)
            yield coming
            stride *= 2
