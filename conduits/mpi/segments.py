"""Segments that the ranks of a host can write and read themselves: MPI's shared memory.

Windows are kept for later jobs of the same processes and given back as the process ends, no sooner: a program may still
hold an array of its segment when its job is over.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from conduit.contract import SEGMENT_ALIGNED, Bytes, on_a_page
from conduit.errors import BadRequest
from conduits.mpi.real import MpiProcesses

_FILES = "/dev/shm"  # where shared memory comes from on Linux


def _window(world: MpiProcesses, nbytes: int) -> Any:
    """Return a window of at least `nbytes` bytes for each rank of this host; collective.

    Raises:
        BadRequest: the host has no room for it; on all ranks alike.
    """
    for window in world.windows:
        if window.tomemory().nbytes >= nbytes:
            return window
    comm = world.on_host
    room = bytearray(_room().to_bytes(8, "little"))
    comm.Bcast(room, 0)  # what one has seen, before any has taken
    free, needed = int.from_bytes(room, "little"), nbytes * comm.Get_size()
    if needed > free:
        raise BadRequest(
            f"segment={nbytes}: {comm.Get_size()} ranks share this host, whose shared memory has {free} bytes left; "
            "ask for less, or say shared=no"
        )
    window = world.mpi.Win.Allocate_shared(nbytes, 1, comm=comm)
    window.Lock_all()
    world.windows.append(window)
    return window


def _room() -> int:
    try:
        found = os.statvfs(_FILES)
    except OSError:
        return (1 << 63) - 1  # MPI will say
    return found.f_bavail * found.f_frsize


class SharedSegments:
    """The segments of the ranks of this host, zeros.

    A rank that has got a message sees what its sender had written there before: MPI orders the two, as it must for its
    own.

    Args:
        world: the processes.
        nbytes: size of each.

    Attributes:
        own: this rank's.
        others: every rank's; None for those of other hosts.
    """

    def __init__(self, world: MpiProcesses, nbytes: int) -> None:
        self._window = _window(world, nbytes + SEGMENT_ALIGNED)
        mine = world.hosts[world.rank]
        here = [rank for rank, host in enumerate(world.hosts) if host == mine]
        self.others: list[Bytes | None] = [None] * world.size
        for place, rank in enumerate(here):
            memory, _ = self._window.Shared_query(place)
            # All ranks map it at addresses that are alike within a page, and so find the same bytes.
            self.others[rank] = on_a_page(np.frombuffer(memory, np.uint8), nbytes)
        own = self.others[world.rank]
        assert own is not None
        self.own: Bytes = own
        own[:] = 0
        world.on_host.Barrier()  # or a neighbour's first message may be wiped out
