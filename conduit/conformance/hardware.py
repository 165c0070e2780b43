"""The suite's own way to the hardware behind the conduit: a rank's simulated memory as bytes.

Everything else in the suite uses public names alone.  What a program is shown of its segment and what the hardware
holds could differ, so a few checks compare the two.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from conduit import Endpoint


def memory(ep: "Endpoint") -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """Give the memory of this rank's segment as the conduit's hardware holds it: uint8, one per byte, no copy."""
    held: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = np.asarray(ep._port.segment)
    return held[: len(ep.segment)]  # what is auxiliary lies behind it
