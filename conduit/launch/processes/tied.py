"""A command that ends when the process that has started it is gone, be it by SIGKILL, of which nobody can be told.

This file is also the script that becomes the command: `python tied.py PARENT COMMAND...`.  It asks Linux, which alone
knows such a request, for SIGTERM at the parent's end.  Other systems run the command as it is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_LINUX = sys.platform == "linux"


def tied(command: Sequence[str]) -> list[str]:
    """Return what to start in place of `command`, in the thread that will wait for its end."""
    if not _LINUX:
        return list(command)
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _become(parent: int, command: list[str]) -> None:
    with suppress(ImportError):  # a Python without it: the command runs, and may outlive its parent
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == parent:  # else it was gone before
        os.execv(command[0], command)


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2:])
