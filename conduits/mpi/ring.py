"""Receives posted in advance for the messages that may be on their way to this rank.

All are alike, from any source, so MPI fills them in the order in which they were begun, and it is enough to look at the
first: a poll is one call, however many peers there are.
"""

from __future__ import annotations

import mmap

from conduits.mpi.interface import PlainComm, PlainLibrary, PlainRequest
from conduits.mpi.wire import TAG


class Ring:
    """Persistent receives in the order of their completion.

    Args:
        library: the MPI library.
        comm: where the messages come from.
        count: how many receives.
        nbytes: size of each.

    Attributes:
        request: the receive that is over next.
        buffer: where its message will be.
    """

    __slots__ = ("_at", "_records", "buffer", "request")

    def __init__(self, library: PlainLibrary, comm: PlainComm, count: int, nbytes: int) -> None:
        # Pages that no message comes to take no room; a general allocator would clear memory that it uses again.
        memory = memoryview(mmap.mmap(-1, count * nbytes))
        buffers = [memory[each * nbytes : (each + 1) * nbytes] for each in range(count)]
        self._records: list[tuple[PlainRequest, memoryview]] = [
            (comm.Recv_init(buffer, library.ANY_SOURCE, TAG), buffer) for buffer in buffers
        ]
        self._at = 0
        self.request, self.buffer = self._records[0]
        library.startall([request for request, _ in self._records])

    def advance(self) -> None:
        """Go on to the receive after this one, which the caller begins again once its message has been read."""
        self._at += 1
        if self._at == len(self._records):
            self._at = 0
        self.request, self.buffer = self._records[self._at]

    def close(self) -> None:
        """End all receives; no message is on its way any more."""
        for request, _ in self._records:
            if not request.Test():
                request.Cancel()
                while not request.Test():
                    pass
            request.Free()
