"""A process of real MPI, as the awaited names use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from conduit import Endpoint
from conduits.mpi import real
from conduits.mpi.adapter.library import Library
from conduits.mpi.adapter.own_calls import OwnCalls
from conduits.mpi.awaited.process import Process, Told
from conduits.mpi.crossed_sends import Unasked

_T = TypeVar("_T")

_COUNTS = "mpi_sends", "mpi_receives", "mpi_collectives"
"""What is counted, as `result.statistics` names it."""
_SHOWN = 3
"""Of calls whose messages are still to be sent."""


class RealProcess(Process):
    """This process's rank; all ranks make theirs at the same time.

    Args:
        ep: the rank's endpoint; its tasks take turns in polls and waits of that.
    """

    collectives = "library"
    library: Library

    def __init__(self, ep: Endpoint) -> None:
        world = real.join()
        super().__init__(Library(world.mpi, world.comm), ep.rank, ep.hosts)
        self._world = world
        self.same_calls: OwnCalls = OwnCalls()
        world.at_end.append(self._ended)
        self._ep = ep
        self.call = self._poll_and_call
        self._counted = 0, 0, 0
        for name in _COUNTS[:2]:  # listed though they be 0, as simulated libraries do
            ep.count(name, 0)

    async def _poll_and_call(self, function: Callable[..., _T], *args: Any) -> _T:
        """Poll once, then call a plain function of MPI."""
        await self.poll()
        return function(*args)

    async def wait(self, over: Callable[[], object], what: str, ranks: Sequence[int]) -> None:
        """Poll until `over()`, which asks MPI."""
        library = self.library

        def ready() -> bool:
            library.progress()
            return bool(over())

        self._count()
        await self._ep.block_until(ready, what=what, ranks=tuple(ranks))

    async def poll(self) -> None:
        """Poll once."""
        await self._ep.poll()
        self.library.progress()
        self._count()

    async def finish(self) -> None:
        """Wait until all that this rank has begun is away.  Its main is over."""
        if not self.library.quiet():
            unsent = self.library.unsent()
            more = f" ({', '.join(unsent[:_SHOWN])}{', ...' if unsent[_SHOWN:] else ''})" if unsent else ""
            await self.wait(self.library.quiet, f"MPI Finalize: messages of this rank to be sent{more}", ())
        self._count()  # what has begun since the last poll

    def tell(self, told: Told) -> None:
        """Tell whose messages no receive asks for, and how often this rank has come to collective calls."""
        super().tell(told)
        told.clue(Unasked(self.library.unasked()))
        for part in self.same_calls.parts():
            told.part(part.name, part.group, part.come, part.waits, everybody=part.everybody, turns=part.turns)

    def _ended(self) -> None:
        """Warn of what MPI keeps to itself, and give everything back: the job has ended well in all processes."""
        world = self._world
        for text in self.same_calls.differing(world.rank, world.size, world.gather):
            self._ep.warn(text)
        for text in self.library.unreceived():
            self._ep.warn(text)
        self.library.close()

    def _count(self) -> None:
        """Count what has begun: the watch for standstills sees by it that the job makes progress."""
        library = self.library
        begun = library.sends, library.receives, library.collectives
        if begun == self._counted:
            return
        for name, now, before in zip(_COUNTS, begun, self._counted, strict=True):
            if now != before:
                self._ep.count(name, now - before)
        self._counted = begun

    def copied(self, nbytes: int) -> None:
        """Do nothing: copies take the time that they take."""

    def worked(self, nbytes: int) -> None:
        """Do nothing: work takes the time that it takes."""
