"""What is raised where a program breaks MPI's rules on windows."""

from __future__ import annotations

import conduit


class WindowError(conduit.ConduitError):
    """A call outside its epoch, accesses that conflict, a window freed too early: the text names both calls and lines.

    It is raised at the call that completes the mistake; where only the target sees it, it ends the job.
    """
