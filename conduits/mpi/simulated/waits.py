"""What a task of a program of MPI waits for: the ends of sends and receives, told in words when somebody asks."""

from __future__ import annotations

from typing import Any

from conduit.sim import Kernel
from conduit.simnet.waiting import Blocked
from conduits.mpi.awaited.process import Both, Words


class ForTransfer(Blocked):
    """Waits for the end of a send or a receive; the words are made when somebody asks.

    Args:
        kernel: the job's time.
        request: what is waited for.
        comm, call, peer, tag: what was called, for reports.
    """

    __slots__ = ("_call", "_comm", "_peer", "_request", "_tag")

    def __init__(self, kernel: Kernel, request: Any, comm: Words, call: str, peer: int, tag: int) -> None:
        self.done = self.shielded = False
        self.task = None
        self.kernel = kernel
        self.since = kernel.now
        self.owner = kernel.task
        self.error = None
        self._request = request
        self._comm = comm
        self._call = call
        self._peer = peer
        self._tag = tag

    @property
    def what(self) -> str:  # type: ignore[override]  # made when it is asked for
        """What it waits for."""
        return self._comm.words(self._call, self._peer, self._tag)

    def ready(self) -> bool:
        """Return whether it is over."""
        over: bool = self._request.over
        return over

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that it waits for."""
        return tuple(self._comm.ranks_of(self._peer))


class ForExchange(Blocked):
    """Waits for the end of a send and a receive that one call has begun; names what is left of them when it is asked.

    Args:
        kernel: the job's time.
        exchange: both.
    """

    __slots__ = ("_exchange",)

    def __init__(self, kernel: Kernel, exchange: Both) -> None:
        self.done = self.shielded = False
        self.task = None
        self.kernel = kernel
        self.since = kernel.now
        self.owner = kernel.task
        self.error = None
        self._exchange = exchange

    @property
    def what(self) -> str:  # type: ignore[override]  # made when it is asked for
        """What it waits for."""
        return self._exchange.what()

    def ready(self) -> bool:
        """Return whether both are over."""
        return self._exchange.over()

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that it waits for."""
        return tuple(self._exchange.ranks())
