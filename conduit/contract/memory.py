"""Where the memory of a rank begins."""

from __future__ import annotations

import numpy as np

from conduit.contract.message import Bytes

SEGMENT_ALIGNED = 4096
"""What the address of every segment is a multiple of, bytes: a page of most machines."""


def on_a_page(memory: Bytes, nbytes: int) -> Bytes:
    """Return `nbytes` of memory that begin at such an address.

    Args:
        memory: one-dimensional, with `SEGMENT_ALIGNED` bytes to spare.
        nbytes: how much is wanted.
    """
    address: int = memory.__array_interface__["data"][0]
    start = -address % SEGMENT_ALIGNED
    return memory[start : start + nbytes]


def zeros_on_a_page(nbytes: int) -> Bytes:
    """Return zeros that begin at such an address; pages that are not written take none of this machine's memory.

    Raises:
        MemoryError: there is not so much.
        ValueError: no array is so large.
    """
    return on_a_page(np.zeros(nbytes + SEGMENT_ALIGNED, np.uint8), nbytes)
