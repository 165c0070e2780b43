"""One rank's operations on one window: which ways they go, what they are remembered for, when they are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs
import trio

from extended import Handle
from extended.left_behind import LeftBehind
from extended.program_lines import program_line
from extended.windows.accumulates import Change, has, perform
from extended.windows.epochs import Epoch
from extended.windows.locks import WindowHold
from extended.windows.part import conflict
from extended.windows.records import GET, PUT, Accesses, AccessRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence

    from extended.windows.buffers import Array
    from extended.windows.calls import Call
    from extended.windows.epochs import Epochs
    from extended.windows.making import Member, WindowShape
    from extended.windows.part import Part
    from extended.windows.service import Service

_ENOUGH = 64
"""Operations on a rank that are kept before those that are done are looked for."""

_EPOCHS = {Epoch.FENCE: "one epoch between two fences", Epoch.START: "one epoch of Start and Complete"}


_CALLS = {"put_nb": "win.Put", "get_nb": "win.Get", "atomic.accumulate_nb": "win.Accumulate"}
"""Those that a window begins by calls of the layer below, which give handles."""


class Waitable(Protocol):
    """What is waited for: a handle of the extended layer, or an operation of this one."""

    @property
    def done(self) -> bool:
        """Whether it is complete."""


@attrs.frozen
class PendingOperation:
    """An operation that was begun.

    Attributes:
        awaited: what it waits for.
        start: offset of the first byte.
        stop: offset behind the last; of an operation that is no accumulate as `start`.
        commutes: with what operation of accumulates it may change places, by its code; None: with none.
    """

    awaited: Waitable
    start: int = 0
    stop: int = 0
    commutes: int | None = None


class Left:
    """The ranks at the other side of operations that are not complete, worked out whenever they are asked for.

    Args:
        shape: the window.
        awaited: operations by their rank in it.
    """

    def __init__(self, shape: WindowShape, awaited: dict[int, list[Waitable]]) -> None:
        self._shape = shape
        self._awaited = awaited

    def nothing(self) -> bool:
        """Say whether all are complete; those that are, are not looked at again."""
        while self._awaited:
            rank, mine = next(iter(self._awaited.items()))
            while mine and mine[-1].done:
                mine.pop()
            if mine:
                return False
            del self._awaited[rank]
        return True

    def __iter__(self) -> Iterator[int]:
        for rank, mine in self._awaited.items():
            if not all(one.done for one in mine):
                yield self._shape.members[rank].rank


class Operations:
    """What this rank has begun on a window, by the rank that it is done to.

    Args:
        service: the rank's.
        shape: the window.
        part: this rank's part in it.
        slot: of the window here.
        epochs: of this rank on it.
        checks: whether accesses are remembered.
    """

    def __init__(
        self, service: Service, shape: WindowShape, part: Part, slot: int, epochs: Epochs, *, checks: bool
    ) -> None:
        self._service = service
        self._x = service.x
        self._ep = service.ep
        self._shape = shape
        self._part = part
        self._slot = slot
        self._epochs = epochs
        self._checks = checks
        self._pending: dict[int, list[PendingOperation]] = {}
        self._enough = dict[int, int]()
        self._accesses: dict[int, Accesses] = {}
        self._turn = 0  # of the epochs between fences
        self._holds: dict[int, WindowHold] = {}  # by the rank that is locked
        self._unlocked = False  # Lock_all was told that nobody else locks
        self._told = set[int]()  # ranks that know of accesses under a lock
        self._left = LeftBehind(service.x)
        self._costs: dict[str, float] = {}

    def charge(self, name: str, times: int = 1) -> None:
        """Charge what the vendor's library adds to a call, or so many times to a part of it."""
        seconds = self._costs.get(name)
        if seconds is None:
            seconds = self._costs[name] = self._ep.library_cost(name)
        if seconds and times:
            self._ep.charge_library(seconds * times)

    # -------------------------------------------------------------------------------------------------------- accesses

    async def put(self, call: Call, rank: int, start: int, data: Array) -> None:
        """Begin a Put of bytes."""
        undo = await self._enter(call, rank, PUT, start, start + data.nbytes)
        self.charge("mpi_put")
        if undo is None:
            return await _to_its_end(self._put(rank, start, data))
        try:
            return await self._put(rank, start, data)
        except BaseException:
            self._cancelled(rank, undo)
            raise

    async def _put(self, rank: int, start: int, data: Array) -> None:
        member = self._shape.members[rank]
        if member.offset is not None:
            self._keep(rank, PendingOperation(await self._x.put_nb(member.rank, member.offset + start, data)))
        elif member.rank == self._ep.rank or not data.nbytes:
            await self._ep.poll()
            self._part.memory[start : start + data.nbytes] = data
            self._ep.charge(copied=data.nbytes)
        else:
            self._keep(rank, PendingOperation(await self._service.put(member.rank, member.slot, start, data)))

    async def get(self, call: Call, rank: int, start: int, out: Array) -> None:
        """Begin a Get of bytes."""
        undo = await self._enter(call, rank, GET, start, start + out.nbytes)
        self.charge("mpi_get")
        if undo is None:
            return await _to_its_end(self._get(rank, start, out))
        try:
            return await self._get(rank, start, out)
        except BaseException:
            self._cancelled(rank, undo)
            raise

    async def _get(self, rank: int, start: int, out: Array) -> None:
        member = self._shape.members[rank]
        if member.offset is not None:
            self._keep(rank, PendingOperation(await self._x.get_nb(member.rank, member.offset + start, out=out)))
        elif member.rank == self._ep.rank or not out.nbytes:
            await self._ep.poll()
            out[:] = self._part.memory[start : start + out.nbytes]
            self._ep.charge(copied=out.nbytes)
        else:
            self._keep(rank, PendingOperation(await self._service.get(member.rank, member.slot, start, out)))

    async def accumulate(self, call: Call, rank: int, start: int, what: Change, cost: str) -> None:
        """Begin an accumulate of any kind."""
        stop = start + what.nbytes
        undo = await self._enter(call, rank, what.code, start, stop, what.kind)
        self.charge(cost)
        if undo is None:
            return await _to_its_end(self._accumulate(call, rank, start, stop, what))
        try:
            return await self._accumulate(call, rank, start, stop, what)
        except BaseException:
            self._cancelled(rank, undo)
            raise

    async def _accumulate(self, call: Call, rank: int, start: int, stop: int, what: Change) -> None:
        await self._after(call, rank, start, stop, what.commutes)
        awaited = await self._apply(self._shape.members[rank], start, what)
        if awaited is not None:
            self._keep(rank, PendingOperation(awaited, start, stop, what.commutes))

    def _cancelled(self, rank: int, undo: Callable[[], object]) -> None:
        """Forget an access that has not begun, or that goes on without a handle; `complete` waits for the latter."""
        undo()
        self._accesses = {each: accesses for each, accesses in self._accesses.items() if accesses}
        self._pending.setdefault(rank, [])
        self._left.add()

    async def _after(self, call: Call, rank: int, start: int, stop: int, commutes: int | None) -> None:
        """Wait for earlier accumulates of the same bytes: those of one rank are done in order, and messages are not."""
        earlier: list[Waitable] = [
            one.awaited
            for one in self._pending.get(rank, ())
            if one.start < stop and start < one.stop and (commutes is None or one.commutes != commutes)
        ]
        if earlier:
            await self.wait({rank: earlier}, call.name)

    async def _apply(self, member: Member, start: int, what: Change) -> Waitable | None:
        if not what.count:
            await self._ep.poll()
            return None
        if member.offset is not None and has(self._ep, what.kind, member.offset + start):
            return await perform(self._x, member.rank, member.offset + start, what)
        return await self._service.apply(
            member.rank, member.slot, start, what.code, what.kind, what.given, what.count, what.out
        )

    async def _enter(
        self, call: Call, rank: int, what: int, start: int, stop: int, kind: int = 0
    ) -> Callable[[], object] | None:
        """Refuse an access outside its epoch, or one that conflicts with another of this rank; remember it.

        Returns:
            what takes it out again, if it does not begin; None where its target knows of it, so that it has to.
        """
        epoch = self._epochs.access(call, rank)
        if epoch is Epoch.SHARED and rank not in self._epochs.locks and not self._unlocked:
            await self._hold(rank, call.name)
        if not self._checks or start == stop:
            return _nothing
        record = AccessRecord(call, self._part.rank, what, start, stop, kind)
        accesses = self._accesses.setdefault(rank, Accesses())
        other = accesses.conflict(record)
        if other is not None:
            raise conflict(record, other, rank, _EPOCHS.get(epoch, "one epoch of a lock"))
        undo = accesses.add(record)
        if epoch is Epoch.SHARED:
            member = self._shape.members[rank]
            # A copy: what is added to later may grow.
            told = attrs.evolve(record)
            try:
                sent = await self._service.access_in_lock(member.rank, member.slot, told)
            except BaseException:
                self._cancelled(rank, undo)
                raise
            self._keep(rank, PendingOperation(sent))
            self._told.add(rank)
            return None
        return undo

    def _keep(self, rank: int, pending: PendingOperation) -> None:
        if pending.awaited.done:
            return
        kept = self._pending.setdefault(rank, [])
        kept.append(pending)
        if len(kept) > self._enough.get(rank, _ENOUGH):
            kept[:] = [one for one in kept if not one.awaited.done]
            self._enough[rank] = 2 * len(kept) + _ENOUGH

    # ------------------------------------------------------------------------------------------------------ completion

    @property
    def begun(self) -> bool:
        """Whether there may be something that is not complete."""
        return bool(self._pending)

    async def complete(self, what: str, ranks: Iterable[int] | None = None) -> None:
        """Wait until all that was begun on some ranks is complete; polls at least once."""
        if not self._pending:
            await self._ep.poll()
            return
        await self._left.complete()
        chosen = list(self._pending) if ranks is None else [rank for rank in ranks if rank in self._pending]
        await self.wait({rank: [one.awaited for one in self._pending[rank]] for rank in chosen}, what)
        for rank in chosen:
            left = [one for one in self._pending.pop(rank, ()) if not one.awaited.done]
            if left:  # begun by other tasks of this rank meanwhile
                self._pending[rank] = left

    async def wait(self, awaited: dict[int, list[Waitable]], what: str) -> None:
        """Wait for operations, by rank; polls at least once."""
        left = Left(self._shape, awaited)
        if left.nothing():
            await self._ep.poll()
        else:
            await self._ep.block_until(left.nothing, what=what, ranks=left)

    def left_open(self) -> Iterator[str]:
        """Yield what to warn of when main has returned: what no call has completed or ended, a text for each line.

        It names no rank that was accessed: so what several ranks do at one line, each to others, is told once.  Nobody
        is to wait for the handles that some of these accesses are: programs of windows have none.
        """
        found: dict[tuple[str, str], None] = {}
        for rank, accesses in self._accesses.items():
            found.update(((str(record.call), self._epochs.closing(rank)), None) for record in accesses)
        for rank, pending in self._pending.items():
            for one in pending:
                if isinstance(one.awaited, Handle):
                    one.awaited.disown()
                    if not self._checks:  # else it is among the accesses
                        name = f"{_CALLS[one.awaited.call]} at {one.awaited.place}"
                        found[name, self._epochs.closing(rank)] = None
        for call, closing in found:
            yield (
                f"no {closing.partition('(')[0]} followed {call}, so what it accesses may not be complete: write "
                f"`await win.{closing}` after it"
            )
        told = {closing for _, closing in found}
        for opened, closing, why in self._epochs.open_ones():
            if closing not in told:
                yield f"no {closing.partition('(')[0]} followed {opened}: write `await win.{closing}` after it, {why}"

    # ---------------------------------------------------------------------------------------------------------- fences

    async def end_epoch(self, what: str) -> None:
        """Complete all that was begun since the last fence, and tell all ranks what this one has done to them.

        What other tasks of this rank begin meanwhile belongs to the epoch that follows.
        """
        closing, self._accesses = self._accesses, {}
        try:
            if self._ep.rma is not None:
                await self._ep.rma.quiet()
            await self.complete(what)
            if closing:
                await self._tell_fence(closing)
        except BaseException:
            self._take_back(closing)
            raise

    async def _tell_fence(self, closing: dict[int, Accesses]) -> None:
        """Tell all ranks what `closing` has of them, and take it out of there."""
        awaited: dict[int, list[Waitable]] = {}
        try:
            for rank in list(closing):
                if accesses := closing[rank]:  # else all of them were cancelled meanwhile
                    member = self._shape.members[rank]
                    sent = await self._service.access_in_fence(member.rank, member.slot, self._turn, accesses)
                    awaited[rank] = [sent]
                del closing[rank]  # told of again, an access would conflict with itself
            await self.wait(awaited, "win.Fence")
        except BaseException:
            for rank, left in awaited.items():
                for one in left:
                    self._keep(rank, PendingOperation(one))
            raise

    def _take_back(self, closing: dict[int, Accesses]) -> None:
        """Leave to the next call what a cancelled one has not done."""
        for rank, later in self._accesses.items():
            earlier = closing.setdefault(rank, later)
            if earlier is not later:
                for record in later:
                    earlier.add(record)
        self._accesses = closing

    def fenced(self) -> None:
        """Begin a new epoch of fences."""
        self._turn += 1

    # ------------------------------------------------------------------------------------- general active target epochs

    async def tell_exposure(self) -> None:
        """Tell the ranks that posted to this one what it has done to them."""
        while self._accesses:  # other tasks of this rank may add some meanwhile
            told, self._accesses = self._accesses, {}
            awaited: dict[int, list[Waitable]] = {}
            for rank, accesses in told.items():
                if accesses:
                    member = self._shape.members[rank]
                    awaited[rank] = [await self._service.access_in_exposure(member.rank, member.slot, accesses)]
            await self.wait(awaited, "win.Complete")

    # --------------------------------------------------------------------------------------------------- passive target

    async def lock(self, rank: int, what: str, *, shared: bool) -> None:
        """Take the lock of a rank; cancelled, it leaves the queue."""
        file, line = program_line()
        hold = WindowHold(
            self._shape.members[rank].rank, self._shape.word, self._slot, shared, self._epochs.window, f"{file}:{line}",
            trio.lowlevel.current_task(),
        )  # fmt: skip
        self._holds[rank] = hold
        try:
            await self._service.locks.take(hold, what)
        except BaseException:
            del self._holds[rank]
            raise

    def lock_all(self, *, take: bool) -> None:
        """Begin to lock all ranks; each is locked at the first access to it.

        Args:
            take: whether they are locked at all.
        """
        self._unlocked = not take

    async def _hold(self, rank: int, what: str) -> None:
        while (hold := self._holds.get(rank)) is None or not hold.held:
            if hold is None:
                await Operations.lock(self, rank, what, shared=True)  # no call of the program's, as `listened` tells
            else:  # another task takes it, or is cancelled
                await self._ep.block_until(lambda now=hold: now.held or self._holds.get(rank) is not now, what=what)  # type: ignore[misc]

    async def flush(self, what: str, ranks: Sequence[int] | None = None) -> None:
        """Complete what was begun on some ranks, and let them forget it."""
        # What other tasks of this rank begin meanwhile is left to the next one.
        chosen = list(self._accesses) if ranks is None else ranks
        closing = {rank: self._accesses.pop(rank) for rank in chosen if rank in self._accesses}
        told = set(self._told) if ranks is None else self._told.intersection(ranks)
        try:
            await self.complete(what, ranks)
            self._told -= told
            awaited: dict[int, list[Waitable]] = {}
            for rank in sorted(told):
                member = self._shape.members[rank]
                awaited[rank] = [await self._service.forget(member.rank, member.slot)]
            if awaited:
                await self.wait(awaited, what)
        except BaseException:
            self._told |= told
            self._take_back(closing)
            raise

    async def unlock(self, rank: int) -> None:
        """Give up the lock of a rank."""
        hold = self._holds.pop(rank, None)
        if hold is None:
            await self._ep.poll()
        else:
            await self._service.locks.give(hold)

    async def unlock_all(self) -> None:
        """Give up all locks."""
        if not self._holds:
            await self._ep.poll()
        for rank in list(self._holds):
            await Operations.unlock(self, rank)

    async def leave_all(self, what: str) -> None:
        """Give up all locks, and wait until this rank's places in their queues are needed no longer."""
        await self.unlock_all()
        why, behind = self._service.locks.given_up(self._slot)
        await self._ep.block_until(lambda: self._service.locks.unused(self._slot), what=what + why, ranks=behind)


def _nothing() -> None:
    return None


async def _to_its_end(access: Coroutine[Any, Any, None]) -> None:
    # Its target has been told of it: made a second time, it would conflict with itself.
    with trio.CancelScope(shield=True):
        await access
