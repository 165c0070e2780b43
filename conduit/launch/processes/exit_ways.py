"""How a process has ended, as the system tells who is not its parent."""

from __future__ import annotations

import struct
import sys
from contextlib import suppress

if sys.platform == "linux":
    import fcntl

_INFO = struct.Struct("=QQ11Ii")  # of Linux 6.15, struct pidfd_info: first the mask, last the status
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11  # PIDFD_GET_INFO
_OF_EXIT = 1 << 3  # PIDFD_INFO_EXIT


def status(descriptor: int) -> int | None:
    """Return how a process has ended, as `os.wait` counts; None where the system does not tell."""
    if sys.platform == "linux":
        with suppress(OSError):
            data = fcntl.ioctl(descriptor, _GET_INFO, _INFO.pack(_OF_EXIT, *[0] * 13))
            mask, *_, found = _INFO.unpack(data)
            return found if mask & _OF_EXIT else None
    return None
