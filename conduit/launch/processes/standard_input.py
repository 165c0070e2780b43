"""Standard input of a command that starts processes: rank 0 opens it anew, where it is a file or a pipe.

It does not go through the launcher, which would read it whether the program does or not, and gives up where the
program reads more slowly.  A terminal cannot be read from another session, and so is left alone.  Linux alone shows a
process the files of another.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from conduit.launch.launchers import started_together
from conduit.launch.printing import terminal

_WHERE = "CONDUIT_STANDARD_INPUT"
"""The environment variable that tells ranks where it is, and from which byte on it is to be read."""

_DESCRIPTOR = 0


def told() -> Mapping[str, str]:
    """Return what the environment of the ranks is to say of this process's standard input."""
    path = f"/proc/{os.getpid()}/fd/{_DESCRIPTOR}"
    try:
        mode = os.fstat(_DESCRIPTOR).st_mode
        if stat.S_ISREG(mode) and os.path.exists(path):
            return {_WHERE: f"{path} {os.lseek(_DESCRIPTOR, 0, os.SEEK_CUR)}"}
        return {_WHERE: f"{path} 0"} if stat.S_ISFIFO(mode) and os.path.exists(path) else {}
    except OSError:
        return {}  # it is closed


def take() -> None:
    """Make it the standard input of this process where this is the first that was started; others find its end."""
    path, _, begin = os.environ.pop(_WHERE, "").partition(" ")
    together = started_together()
    if together is None:
        return
    if together.number or not path:  # what launchers give to others may never end
        path, begin = os.devnull, "0"
    try:
        opened = os.open(path, os.O_RDONLY)
        if begin != "0":
            os.lseek(opened, int(begin), os.SEEK_SET)
    except OSError as error:
        terminal.tell(f"warning: rank 0 has no standard input: {error.strerror}")
        return
    if opened != _DESCRIPTOR:
        os.dup2(opened, _DESCRIPTOR)
        os.close(opened)
