"""Where memory begins, that of a rank's segment above all."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from conduit.contract.message import Bytes

SEGMENT_ALIGNED = 4096
"""What the address of every segment is a multiple of, bytes: a page of most machines."""

_LARGE = 4 << 20
"""From how many bytes on the operating system is asked for large pages, as numpy does for its arrays."""


def address_of(memory: np.ndarray[Any, Any]) -> int:
    """Return where the memory of an array begins."""
    address: int = memory.__array_interface__["data"][0]
    return address


def on_a_page(memory: Bytes, nbytes: int) -> Bytes:
    """Return `nbytes` of memory that begin at such an address.

    Args:
        memory: one-dimensional, with `SEGMENT_ALIGNED` bytes to spare.
        nbytes: how much is wanted.
    """
    start = -address_of(memory) % SEGMENT_ALIGNED
    return memory[start : start + nbytes]


def zeros_on_a_page(nbytes: int) -> Bytes:
    """Return zeros that begin at such an address; pages that are not written take none of this machine's memory.

    Mapped by itself.  The allocator of numpy's arrays may take such memory from a heap that it extends, and then writes
    zeros to the 128 KB of it that it had already: those of every rank of a large job.

    Raises:
        MemoryError: there is not so much.
    """
    try:
        memory = mmap.mmap(-1, max(nbytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(error.strerror if isinstance(error, OSError) else str(error)) from None
    if nbytes >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)[:nbytes]
