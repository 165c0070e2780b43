"""The calls in which all processes of a communicator take part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conduit import checked_call
from conduits.mpi.awaited.base import CommBase
from conduits.mpi.awaited.process import Process
from conduits.mpi.awaited.request import Request
from conduits.mpi.collectives.channel import Channel, Steps, all_gather_bytes
from conduits.mpi.errors import ErrorClass, MpiError

_TAGS = 1 << 30


def _alive(self: Collective, *_: Any, **__: Any) -> None:
    self._alive("Barrier")


class Collective(CommBase):
    """The collectives of a communicator."""

    __slots__ = ()

    @checked_call(_alive)
    async def Barrier(self) -> None:
        """Wait until all processes have come."""
        await self._run("Barrier", lambda channel: all_gather_bytes(channel, b"\0"))

    @checked_call(_alive)
    async def Ibarrier(self) -> Request:
        """Begin a barrier."""
        return await self._begin("Ibarrier", lambda channel: all_gather_bytes(channel, b"\0"))

    # -- inside ------------------------------------------------------------------------------------------

    async def _run(self, call: str, algorithm: Callable[[Channel], Steps]) -> Any:
        """Run an algorithm to its end; return its result.

        Raises:
            MpiError: a cancelled collective has broken the communicator.
        """
        begin = self._beginning(call, algorithm)
        try:
            return await self._all(begin, call, self.plain.group)
        except Exception:
            raise
        except BaseException:
            self._broken = call
            raise

    async def _begin(self, call: str, algorithm: Callable[[Channel], Steps]) -> Request:
        """Begin an algorithm; return the request for its end."""
        process = self._running()
        begun = await process.call(self._beginning(call, algorithm))
        return Request.begun(process, begun, self._all_do(call), self._others(self.plain.group))

    def _beginning(self, call: str, algorithm: Callable[[Channel], Steps]) -> Callable[[], Any]:
        """Return the plain call that begins an algorithm."""
        if self._broken:
            raise MpiError(
                ErrorClass.ERR_COMM,
                f"Comm.{call}: {self.Get_name()} is broken, its {self._broken} was cancelled here; make another",
            )
        process, plain = self._running(), self.plain
        tag = self._calls % _TAGS
        self._calls += 1

        def begin() -> Any:
            hosts = [process.hosts[each] for each in plain.group]
            channel = Channel(plain, plain.HIDDEN, tag, hosts, process)
            return process.library.schedule(algorithm(channel), call)

        return begin

    async def _all(self, begin: Callable[[], Any], call: str, ranks: Sequence[int]) -> Any:
        process: Process = self._running()
        begun = await process.call(begin)
        if not begun.over:
            await process.wait(lambda: begun.over, self._all_do(call), self._others(ranks))
        if begun.error is not None:
            raise begun.error
        return begun.result

    def _all_do(self, call: str) -> str:
        return f"MPI {call} of all on {self.plain.name}"

    def _others(self, ranks: Sequence[int]) -> list[int]:
        return [each for each in ranks if each != self._running().rank]
