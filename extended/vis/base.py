"""What the calls of non-contiguous transfers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extended.events import GET, PUT, Operation
from extended.vis.handlers import ScatteredGet

if TYPE_CHECKING:
    import conduit
    from extended import checks
    from extended.events import Events, Handle
    from extended.vis.local import Local
    from extended.vis.region import StridedRegion
    from extended.vis.runs import Runs
    from extended.vis.scatter import Scatter

    Where = StridedRegion | Runs


class NonContiguous:
    """Begins puts and gets of each form, once the places are known.

    Attributes:
        ep: the rank's endpoint.
        bounds: how far the segments of the ranks reach.
    """

    ep: conduit.Endpoint
    bounds: checks.Bounds
    _events: Events
    _scatter: Scatter

    async def _put_scattered(self, call: str, dest: int, where: Where, data: Local) -> None:
        operation = Operation(PUT, call, dest)
        await self._scatter.put(operation, dest, where, data)
        await self._events.finish(operation)

    async def _put_scattered_nb(self, call: str, dest: int, where: Where, data: Local) -> Handle[None]:
        operation = Operation(PUT, call, dest)
        await self._scatter.put(operation, dest, where, data)
        return self._events.handle(call, operation, lambda: None)

    async def _put_scattered_nbi(self, call: str, dest: int, where: Where, data: Local) -> None:
        await self._scatter.put(Operation(PUT, call, dest, self._events.group()), dest, where, data)

    async def _get_scattered(self, call: str, dest: int, where: Where, local: Local) -> None:
        operation = ScatteredGet(GET, call, dest)
        await self._scatter.get(operation, dest, where, local)
        await self._events.finish(operation)

    async def _get_scattered_nb(self, call: str, dest: int, where: Where, local: Local, result: Any) -> Handle[Any]:
        operation = ScatteredGet(GET, call, dest)
        await self._scatter.get(operation, dest, where, local)
        return self._events.handle(call, operation, lambda: result)

    async def _get_scattered_nbi(self, call: str, dest: int, where: Where, local: Local) -> None:
        await self._scatter.get(ScatteredGet(GET, call, dest, self._events.group()), dest, where, local)
