"""The memory of a host, which all of its processors share: it has a rate of its own.

One processor alone copies at its own rate.  Several at once share what the memory gives, in pieces, in the order in
which they ask.
"""

from __future__ import annotations

from functools import partial

from conduit.sim import Kernel
from conduit.sim.link import Link
from conduit.sim.units import duration
from conduit.simnet import HostModel
from conduit.simnet.chain import Done

SMALL = 512
"""Bytes of a copy up to which it is not asked for: it stays in the cache."""
_PIECE = 4096
TRAFFIC = 2
"""Times that a copy's bytes pass through the memory: it reads and writes."""


class HostMemory:
    """What the copies of all processes of a host pass through.

    Args:
        kernel: the job's time.
        host: the costs of a processor.
        bytes_per_s: what the memory gives, read and written together; None: as much as is asked for.
        name: for reports.
    """

    __slots__ = ("_host", "_kernel", "link")

    def __init__(self, kernel: Kernel, host: HostModel, bytes_per_s: int | None, name: str) -> None:
        self._kernel = kernel
        self._host = host
        self.link = None if bytes_per_s is None else Link(kernel, bytes_per_s, name)

    def copy(self, nbytes: int, done: Done) -> None:
        """Copy `nbytes`, from now on; an act of `conduit.simnet.chain`."""
        if self.link is None or nbytes <= SMALL:
            done(self._kernel.now + self._host.copy_ticks(nbytes))
        else:
            self._piece(self.link, nbytes, self._host.copy_call_ps, done, self._kernel.now)

    def copy_runs(self, nbytes: int, runs: int, done: Done) -> None:
        """As `copy`, of bytes that go to so many places: each of these copies has its start."""
        more = (runs - 1) * self._host.copy_call_ps
        self.copy(nbytes, lambda when: done(when + more))

    def _piece(self, link: Link, left: int, start: int, done: Done, when: int) -> None:
        """Copy the next piece from `when` on, which takes its processor `start` before the first byte."""
        now = self._kernel.now
        if when > now:
            self._kernel.at(when, self._piece, link, left, start, done, when)
        elif link.free_at > now:
            link.wait(now, partial(self._piece, link, left, start, done))
        else:
            size = min(left, _PIECE)
            own = now + start + duration(size, self._host.copy_bytes_per_s)
            over = max(link.take(now, TRAFFIC * size), own)
            if left > size:
                self._kernel.at(over, self._piece, link, left - size, 0, done, over)
            else:
                done(over)
