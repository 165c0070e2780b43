"""How a process has ended that nobody of this package has waited for: as the system tells it, and in words."""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress

from conduit.launch.printing.phrases import named

if sys.platform == "linux":
    import fcntl

_INFO = struct.Struct("=QQ11Ii")  # of Linux 6.15, struct pidfd_info: first the mask, last the status
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11  # PIDFD_GET_INFO
_OF_EXIT = 1 << 3  # PIDFD_INFO_EXIT
_CRASHES = (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)
"""After which Python's own fault handler says where that was."""


def status(descriptor: int) -> int | None:
    """Return how a process has ended, as `os.wait` counts; None where the system does not tell."""
    if sys.platform == "linux":
        with suppress(OSError):
            data = fcntl.ioctl(descriptor, _GET_INFO, _INFO.pack(_OF_EXIT, *[0] * 13))
            mask, *_, found = _INFO.unpack(data)
            return found if mask & _OF_EXIT else None
    return None


def how(ways: Mapping[int, int | None]) -> str:
    """Return how a process has ended that has told no error, and what to do.

    Args:
        ways: how the process of each rank that it may be has ended, as `os.wait` has it; None where that is not known.
    """
    by_way: dict[int | None, list[int]] = {}
    for rank, way in ways.items():
        by_way.setdefault(way, []).append(rank)
    if None in by_way:
        return (
            "as by a signal, a crash in compiled code or os._exit, and the job with it; of a crash Python tells where "
            "that was with PYTHONFAULTHANDLER=1 in the environment"
        )
    told = [(ranks, way) for way, ranks in by_way.items() if way is not None]
    if len(told) > 1:  # each said, for which of them was the cause is not known
        told.sort(key=lambda each: os.WIFSIGNALED(each[1]))
        each = "; ".join(f"{named(ranks)} {_by(way)}" for ranks, way in told)
        return f"and the job with it: {each} (a launcher ends the others by a signal)"
    ((_, way),) = told
    crash = os.WIFSIGNALED(way) and os.WTERMSIG(way) in _CRASHES
    where = "; with PYTHONFAULTHANDLER=1 in the environment Python tells where that was" if crash else ""
    return f"{_by(way)}, and the job with it{where}"


def _by(way: int) -> str:
    """Return how a process has ended, as `os.wait` has it, in words."""
    if not os.WIFSIGNALED(way):
        return f"with status {os.WEXITSTATUS(way)}, as by os._exit"
    number = os.WTERMSIG(way)
    return f"by signal {signal.Signals(number).name if number in set(signal.Signals) else number}"
