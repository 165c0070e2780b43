"""Parts of the layer that tell what is called, for jobs that are listened to; others have nothing of it.

A call is told as the program makes it: a put of a megabyte is one, however many messages it takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extended.atomics import Atomics
from extended.barrier import Barrier, Barriers
from extended.collectives.engine import CollectiveEngine
from extended.events import GET
from extended.locks import Locks
from extended.native import NativeAtomics
from extended.network_barrier import NetworkBarrier
from extended.vis.scatter import Scatter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conduit import Endpoint
    from extended.accumulate import Integers, Numbers
    from extended.arithmetic import Number, NumberType, Op
    from extended.collectives.call import CollectiveCall, Work
    from extended.collectives.team_calls import TeamCalls
    from extended.events import Events, Operation
    from extended.locks import Lock
    from extended.transfers import Send, Transfers
    from extended.vis.handlers import ScatteredGet
    from extended.vis.local import Local
    from extended.vis.region import StridedRegion
    from extended.vis.runs import Runs

_INTERNAL = ("split", "destroy")
"""Collective calls that move none of the program's data."""

_BEGUN = ("_nb", "_nbi")
"""How the calls end that begin an operation, which another one waits for."""


class ListenedTransfers:
    """Contiguous puts, gets and fills.

    Args:
        ep: the rank's endpoint.
        transfers: what issues them.
    """

    def __init__(self, ep: Endpoint, transfers: Transfers) -> None:
        self._ep = ep
        self._transfers = transfers

    async def put(
        self,
        operation: Operation,
        dest: int,
        offset: int,
        data: bytes | memoryview,
        bulk: bool = True,
        wait: bool = False,
    ) -> None:
        """As of `Transfers`."""
        begin, nbytes = _ticks(self._ep), len(data)
        await self._transfers.put(operation, dest, offset, data, bulk, wait)
        _tell(self._ep, begin, operation, nbytes)

    async def get(self, operation: Operation, dest: int, offset: int, out: memoryview) -> None:
        """As of `Transfers`."""
        begin = _ticks(self._ep)
        await self._transfers.get(operation, dest, offset, out)
        _tell(self._ep, begin, operation, len(out))

    async def fill(self, operation: Operation, dest: int, offset: int, byte: int, nbytes: int) -> None:
        """As of `Transfers`."""
        begin = _ticks(self._ep)
        await self._transfers.fill(operation, dest, offset, byte, nbytes)
        _tell(self._ep, begin, operation, nbytes)


class ListenedScatter(Scatter):
    """Puts and gets of bytes that are not contiguous, on contiguous ones that tell nothing."""

    async def put(self, operation: Operation, dest: int, where: StridedRegion | Runs, local: Local) -> None:
        """As of `Scatter`."""
        begin = _ticks(self._ep)
        await super().put(operation, dest, where, local)
        _tell(self._ep, begin, operation, local.nbytes)

    async def get(self, operation: ScatteredGet, dest: int, where: StridedRegion | Runs, local: Local) -> None:
        """As of `Scatter`."""
        begin = _ticks(self._ep)
        await super().get(operation, dest, where, local)
        _tell(self._ep, begin, operation, local.nbytes)

    async def _issue_natively(self, operation: Operation, pieces: int, send: Callable[[int, int], Send]) -> None:
        begin = _ticks(self._ep)
        await super()._issue_natively(operation, pieces, send)
        _tell_list(self._ep, begin, operation, pieces)


class ListenedNativeAtomics(NativeAtomics):
    """Atomic operations of the network's own, of which an accumulate makes many."""

    async def accumulate(
        self, operation: Operation, kind: NumberType, op: int, dest: int, starts: Sequence[int], operands: Sequence[int]
    ) -> None:
        """As of `NativeAtomics`."""
        begin = _ticks(self._ep)
        await super().accumulate(operation, kind, op, dest, starts, operands)
        _tell_list(self._ep, begin, operation, len(starts))


class ListenedAtomics(Atomics):
    """Atomic operations on one number each, those of accumulates of one among them."""

    def __init__(self, ep: Endpoint, events: Events, transfers: Transfers, native: NativeAtomics) -> None:
        super().__init__(ep, events, transfers, native)
        self.begin_accumulate = self._begin_accumulate

    async def perform(self, call: str, code: int, dest: int, offset: int, operands: Sequence[Number]) -> Any:
        """As of `Atomics`."""
        begin = _ticks(self._ep)
        before = await super().perform(call, code, dest, offset, operands)
        _tell_call(self._ep, begin, "atomic", call, dest)
        return before

    async def _begin_accumulate(
        self, operation: Operation, dest: int, kind: int, op: Op, starts: Integers, operands: Numbers
    ) -> None:
        begin = _ticks(self._ep)
        await self.accumulates.begin(operation, dest, kind, op, starts, operands)
        if len(starts) == 1:
            _tell_call(self._ep, begin, "atomic", operation.call, dest)


class ListenedBarrier(Barrier):
    """A barrier, told when this rank leaves it."""

    _came = 0

    async def notify(self, call: str, id: int | None, called: str = "") -> None:
        """As of `Barrier`."""
        came = _ticks(self._ep)
        notified = self.notified
        try:
            await super().notify(call, id, called)
        finally:
            if not notified:
                self._came = came

    def _end(self, call: str, id: int | None) -> None:
        _tell_call(self._ep, self._came, "barrier", f"barrier{self._name()}", -1)
        super()._end(call, id)


class ListenedBarriers(Barriers):
    """Barriers."""

    kind = whole = ListenedBarrier


class ListenedNetworkBarrier(ListenedBarrier, NetworkBarrier):
    """The same of one by the network's own."""


class ListenedNetworkBarriers(ListenedBarriers):
    """Barriers where the network has some of its own."""

    whole = ListenedNetworkBarrier


class ListenedLocks(Locks):
    """Locks: each is told when this rank gets it, and when it has released it."""

    def __init__(self, ep: Endpoint) -> None:
        super().__init__(ep)
        self._since: dict[bytes, int] = {}

    async def take(self, call: str, lock: Lock, *, wait: bool) -> bool:
        """As of `Locks`."""
        begin = _ticks(self.ep)
        taken = await super().take(call, lock, wait=wait)
        if taken:
            self._since[lock.key] = _ticks(self.ep)
            _tell_call(self.ep, begin, "lock", lock.title, lock.home)
        return taken

    async def give(self, call: str, lock: Lock) -> None:
        """As of `Locks`."""
        since = self._since.get(lock.key, 0)
        await super().give(call, lock)
        _tell_call(self.ep, since, "hold", lock.title, lock.home)


class ListenedCollectives(CollectiveEngine):
    """Collective calls."""

    async def begin(
        self,
        team_calls: TeamCalls,
        kind: str,
        work: Work,
        *,
        root: int = 0,
        asked: str = "",
        used: str = "",
        text: str = "",
        waited: bool = False,
        called: str = "",
    ) -> CollectiveCall:
        """As of `CollectiveEngine`."""
        begin = _ticks(self._ep)
        call = await super().begin(
            team_calls, kind, work, root=root, asked=asked, used=used, text=text, waited=waited, called=called
        )  # fmt: skip
        listener = self._ep.call_listener
        if listener is not None and kind not in _INTERNAL:
            array = work.made if work.given is None else work.given
            nbytes = 0 if array is None else array.nbytes
            listener(self._ep.rank, begin, _ticks(self._ep), "collective", kind, -1, nbytes)
        return call


def _ticks(ep: Endpoint) -> int:
    return round(ep.now * 1e12)


def _tell(ep: Endpoint, begin: int, operation: Operation, nbytes: int) -> None:
    listener = ep.call_listener
    if listener is not None:
        name, end = "get" if operation.kind == GET else "put", _ticks(ep)
        listener(ep.rank, begin, end, "put/get", name, operation.peer, nbytes)
        if operation.call.endswith(_BEGUN):
            listener(ep.rank, begin, end, "begin", operation.call, operation.peer, nbytes)


def _tell_list(ep: Endpoint, begin: int, operation: Operation, pieces: int) -> None:
    """Tell a call that was one native operation for each of its pieces."""
    listener = ep.call_listener
    if listener is not None and pieces > 1:
        listener(ep.rank, begin, _ticks(ep), "list", operation.call, operation.peer, pieces)


def _tell_call(ep: Endpoint, begin: int, level: str, name: str, peer: int) -> None:
    """Tell a call that is over, and moves no bytes of the program's."""
    listener = ep.call_listener
    if listener is not None:
        listener(ep.rank, begin, _ticks(ep), level, name, peer, 0)
