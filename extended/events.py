"""Completion of operations: which puts and gets are outstanding, who waits for it, and what was never waited for.

An operation is counted before its first message is sent, because its last reply may be handled inside that very send.
Its number travels in the messages and comes back in the replies; numbers are small and are used again.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, TypeVar

import trio

import conduit
from conduit.words import is_a, many
from extended.as_meant import a_list
from extended.buffers import EMPTY
from extended.missing import Missing
from extended.program_lines import SourceLine, program_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from conduit import Endpoint
    from extended.reporting import ReportSink

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

PUT = 0
GET = 1
EVERYTHING = (PUT, GET)


class Completion(Protocol):
    """What a handle waits for.

    Attributes:
        pieces: the requests that this rank has sent for it.
    """

    pieces: int

    def done(self) -> bool:
        """Say whether it is complete."""

    def missing(self) -> tuple[int, ...]:
        """Return the ranks that it waits for, as far as is known."""


class OperationGroup:
    """Operations that are waited for together, as numbers of outstanding puts and gets.

    Args:
        operations: those of the rank that are outstanding, at their numbers.

    Attributes:
        pieces: requests that they are in all.
    """

    __slots__ = ("_operations", "outstanding", "pieces")

    def __init__(self, operations: Sequence[Operation | None]) -> None:
        self._operations = operations
        self.outstanding = [0, 0]
        self.pieces = 0

    def done(self) -> bool:
        """Say whether nothing is outstanding."""
        return self.outstanding == [0, 0]

    def missing(self, kinds: Collection[int] = EVERYTHING) -> tuple[int, ...]:
        """Return the ranks at the other side of those that are outstanding, of some kinds."""
        return tuple(
            operation.peer
            for operation in self._operations
            if operation is not None and operation.group is self and operation.kind in kinds
        )


class Operation:
    """One put or get, in as many pieces as it takes.

    Attributes:
        kind: PUT or GET.
        call: the public call that began it, for reports.
        peer: the rank at the other side.
        pending: the pieces whose reply has not come; 0 of an operation that needs no messages.
        pieces: how many it has in all, which is as many requests.
        group: the implicit operations that it is waited for with, or None.
        out: of a get only, the flat view that it fills.
        chunk: of a get only, how many bytes each piece but the last has, 0 of a single one.
        native: whether its pieces are native operations and no requests, or it was copied into another's memory.
    """

    __slots__ = ("call", "chunk", "group", "kind", "native", "out", "peer", "pending", "pieces")

    out: memoryview
    chunk: int

    def __init__(self, kind: int, call: str, peer: int, group: OperationGroup | None = None) -> None:
        self.kind = kind
        self.call = call
        self.peer = peer
        self.pending = 0
        self.pieces = 0
        self.group = group
        self.native = False

    def done(self) -> bool:
        """Say whether the operation is complete."""
        return not self.pending

    def missing(self) -> tuple[int, ...]:
        """Return the rank at the other side, while it has not answered."""
        return (self.peer,) if self.pending else ()

    def release(self) -> None:
        """Let go of the memory that a get has filled: the handle that keeps the operation must not hold it."""
        self.out = EMPTY


class Events:
    """The operations of one rank.

    Attributes:
        ep: the rank's endpoint.
        operations: those that are outstanding, at their numbers.
        completed: how many ever completed; tells a waiter for some of many whether it is worth looking again.

    Args:
        ep: the rank's endpoint.
    """

    def __init__(self, ep: Endpoint) -> None:
        self.ep = ep
        self.completed = 0
        self.operations: list[Operation | None] = []
        self._free: list[int] = []
        self._implicit = OperationGroup(self.operations)
        self._earlier: list[OperationGroup] = []  # closed by a sync, not yet seen complete
        self._regions: dict[trio.lowlevel.Task, OperationGroup] = {}
        self._unsynced: dict[Handle[Any], str] = {}
        self._cut: set[Handle[Any]] = set()  # of these, those whose wait was cancelled: a sync is a wait for them too
        self._waiting: dict[trio.lowlevel.Task, tuple[Sequence[Handle[Any]], str]] = {}  # for several handles
        self._first: dict[int, tuple[Operation, SourceLine]] = {}  # by kind: the first since a sync, its line

    # ------------------------------------------------------------------------------------- operations and their numbers

    def enter(self, operation: Operation, pieces: int) -> int:
        """Count an operation as outstanding and return its number; to be called before anything is sent."""
        operation.pending = operation.pieces = pieces
        if operation.group is not None:
            operation.group.outstanding[operation.kind] += 1
            operation.group.pieces += pieces
            if operation.group is self._implicit and operation.kind not in self._first:
                self._first[operation.kind] = operation, program_line()
        if self._free:
            number = self._free.pop()
            self.operations[number] = operation
        else:
            number = len(self.operations)
            self.operations.append(operation)
        return number

    def enter_native(self, operation: Operation, pieces: int = 1) -> int:
        """As `enter`, for an operation in as many native ones (`ep.rma`), which are no requests."""
        number = self.enter(operation, pieces)
        operation.native = True
        operation.pieces = 0
        if operation.group is not None:
            operation.group.pieces -= pieces
        return number

    def piece_done(self, number: int) -> None:
        """Take note of one reply to an operation."""
        operation = self.operations[number]
        if operation is None:
            raise self.unawaited(number)
        operation.pending -= 1
        if not operation.pending:
            self.operations[number] = None
            self._free.append(number)
            if operation.group is not None:
                operation.group.outstanding[operation.kind] -= 1
            self.completed += 1

    def unawaited(self, number: int) -> conduit.ConduitError:
        """Return the error of a reply to an operation that is over, or was never begun."""
        return conduit.ConduitError(
            f"a reply to operation {number} has come, which this rank does not wait for: the network has delivered a "
            "message twice, or to another rank than its own; `python -X dev -m conduit ...` says which"
        )

    def withdraw(self, number: int) -> None:
        """Forget an operation of which nothing was sent."""
        operation = self.operations[number]
        if operation is None:  # a Ctrl-C has come as it was complete already
            return
        if operation.group is not None:
            operation.group.pieces -= operation.pieces
            first = self._first.get(operation.kind)
            if first is not None and first[0] is operation:
                del self._first[operation.kind]
        operation.pending = 1
        self.piece_done(number)

    # --------------------------------------------------------------------------------------------------------- waiting

    async def finish(self, operation: Operation) -> None:
        """Wait until an operation is complete, polling at least once; cancelled, it goes on in the implicit set."""
        if not operation.pending:
            if not operation.native:  # whose own call has polled, and may have seen it complete
                await self.ep.poll()
            return
        try:
            await self.ep.block_until(operation.done, what=operation.call, ranks=(operation.peer,))
        except trio.Cancelled:
            self.adopt(operation)
            raise

    async def wait_until(self, done: Callable[[], bool], awaited: Sequence[Completion], what: str) -> None:
        """Wait until `done()`, polling at least once; cancelled, what is `awaited` goes on in the implicit set."""
        if done():
            return await self.ep.poll()
        try:
            await self.ep.block_until(done, what=what, ranks=Missing(lambda: _missing(awaited)))
        except trio.Cancelled:
            for one in awaited:
                self.adopt(one)
            raise

    async def wait_for(self, done: Callable[[], bool], handles: Sequence[Handle[Any]], what: str) -> None:
        """As `wait_until`, for several handles; a report names those that are pending when it is made.

        Args:
            done: whether the wait is over.
            handles: all that it is for.
            what: the call.
        """
        task = trio.lowlevel.current_task()
        self._waiting[task] = handles, what
        try:
            await self.wait_until(done, [handle.awaited for handle in handles], what)
        except trio.Cancelled:
            self.cut(handles)
            raise
        finally:
            del self._waiting[task]

    def tell(self, sink: ReportSink) -> None:
        """Tell which handles waits are for by now that are for several."""
        for task, (handles, what) in self._waiting.items():
            calls = Counter(handle.call for handle in handles if not handle.awaited.done())
            if calls:
                named = [call if count == 1 else f"{count} {call}" for call, count in calls.items()]
                over = len(handles) - calls.total()
                others = f" ({many(over, 'other')} {'is' if over == 1 else 'are'} done)" if over else ""
                sink.waits_now(task, f"{what} of {' and '.join(named)}{others}")

    def adopt(self, awaited: Completion) -> None:
        """Let the next sync wait for the puts and gets that a cancelled task was waiting for."""
        if awaited.done():
            return
        if isinstance(awaited, OperationGroup):
            if awaited is not self._implicit and awaited not in self._earlier:
                self._earlier.append(awaited)
        elif isinstance(awaited, Operation) and awaited.group is None:
            awaited.group = self._implicit
            self._implicit.outstanding[awaited.kind] += 1

    def group(self) -> OperationGroup:
        """Return the group that an implicit operation of the running task belongs to."""
        if self._regions:
            region = self._regions.get(trio.lowlevel.current_task())
            if region is not None:
                return region
        return self._implicit

    async def sync(self, call: str, kinds: Sequence[int]) -> None:
        """Wait for the implicit operations of some kinds that began before, of all tasks.

        Raises:
            conduit.BadRequest: the running task is inside an access region.
        """
        if self._regions and trio.lowlevel.current_task() in self._regions:
            raise conduit.BadRequest(
                f"{call}: this task is inside an access region, which collects its implicit operations; leave it and "
                "`await region.handle`"
            )
        for kind in kinds:
            self._first.pop(kind, None)
        groups = self._close()

        def complete() -> bool:
            return not any(group.outstanding[kind] for group in groups for kind in kinds)

        if complete():
            await self.ep.poll()
        else:
            await self.ep.block_until(
                complete,
                what=call,
                ranks=Missing(lambda: sorted({rank for group in groups for rank in group.missing(kinds)})),
            )
        if self._cut:
            for handle in [each for each in self._cut if each.awaited.done()]:
                self.synced(handle)

    def _close(self) -> list[OperationGroup]:
        # Operations that other tasks begin from now on count in a new group: they cannot keep this sync waiting.
        self._earlier = [group for group in self._earlier if not group.done()]
        if not self._implicit.done():
            self._earlier.append(self._implicit)
            self._implicit = OperationGroup(self.operations)
        return list(self._earlier)

    # --------------------------------------------------------------------------------------------------------- regions

    def open_region(self) -> OperationGroup:
        """Collect the implicit operations of the running task from now on.

        Raises:
            conduit.BadRequest: the task is inside a region already.
        """
        task = trio.lowlevel.current_task()
        if task in self._regions:
            raise conduit.BadRequest(
                "access_region: this task is inside one already, and they do not nest; leave it first"
            )
        region = self._regions[task] = OperationGroup(self.operations)
        return region

    def close_region(self, group: OperationGroup, *, failed: bool) -> None:
        """End a region; what one that failed leaves behind is waited for by the next sync."""
        self._regions = {task: region for task, region in self._regions.items() if region is not group}
        if failed:
            self.adopt(group)

    # --------------------------------------------------------------------------------------------------------- handles

    def handle(
        self, call: str, awaited: Completion, result: Callable[[], T], *, expected: bool = True, wait: str = ""
    ) -> Handle[T]:
        """Make the handle of an operation or of a region's operations.

        Args:
            call: the public call that gives it.
            awaited: what it waits for.
            result: gives what awaiting it gives.
            expected: whether the program is expected to wait for it, and warned if it does not.
            wait: what that warning says is to be done; "" for a call that gives the handle when it is awaited.
        """
        handle = Handle(self, call, awaited, result)
        if expected:
            self._unsynced[handle] = wait
        return handle

    def synced(self, handle: Handle[Any]) -> None:
        """Take note that the program has learned of a handle's completion."""
        self._unsynced.pop(handle, None)
        self._cut.discard(handle)

    def cut(self, handles: Iterable[Handle[Any]]) -> None:
        """Take note that a wait for handles was cancelled."""
        self._cut.update(handle for handle in handles if handle in self._unsynced)

    def warn_unsynced(self) -> None:
        """List what was never waited for, one warning for each line of handles and each kind of implicit operation."""
        lines = Counter((handle.call, handle.place, wait) for handle, wait in self._unsynced.items())
        for (call, place, wait), number in lines.items():
            handles = "a handle" if number == 1 else f"{number} handles"
            do = wait or (
                f"`await {call}(...)` only begins it and gives its handle. Write `await handle` too, or give that to "
                "wait_all"
            )
            self.ep.warn(f"{handles} of {call}, made at {place}, never waited for: {do}")
        if self._unsynced:
            self._unsynced.clear()
            self._cut.clear()
        for kind, (first, (file, number)) in self._first.items():
            what, sync = ("gets", "sync_gets") if kind == GET else ("puts", "sync_puts")
            self.ep.warn(
                f"implicit {what}, the first by {first.call} at {file}:{number}, never waited for: `await x.{sync}()` "
                "or `await x.sync()` waits for all that were begun before"
            )
        self._first.clear()


class Handle(Generic[T_co]):
    """An operation that was begun and can be waited for: ``await handle`` gives its result, as often as asked.

    Attributes:
        call: the call that made it.
        awaited: what it waits for.
    """

    _instead: ClassVar = {
        **dict.fromkeys(("wait", "Wait", "sync"), "`await` the handle itself"),
        **dict.fromkeys(("test", "Test", "is_done"), "look at its `done`"),
        "await []": "write `await x.wait_all(handles)`",
    }

    __slots__ = ("_events", "_line", "_result", "awaited", "call")

    def __init__(self, events: Events, call: str, awaited: Completion, result: Callable[[], T_co]) -> None:
        self._events = events
        self._result = result
        self._line = program_line()
        self.awaited = awaited
        self.call = call

    @property
    def place(self) -> str:
        """File and line of the call that made it."""
        return f"{self._line[0]}:{self._line[1]}"

    @property
    def done(self) -> bool:
        """Whether the operation is complete; looks without polling."""
        if not self.awaited.done():
            return False
        self._events.synced(self)
        return True

    @property
    def messages(self) -> int:
        """Requests that this rank sent for it, 0 where it needed none; of a collective its sends, large ones once."""
        return self.awaited.pieces

    def disown(self) -> None:
        """Let nobody be warned that it was not waited for: the layer above that has begun it knows."""
        self._events.synced(self)

    def result(self) -> T_co:
        """Return the result of an operation that is done, without polling: the array, the value, or None.

        Raises:
            conduit.BadRequest: it is not done.
        """
        if not self.done:
            raise conduit.BadRequest(f"{self.call}: its handle is not done and has no result yet; `await` the handle")
        return self._result()

    def __await__(self) -> Generator[Any, Any, T_co]:
        return self._wait().__await__()

    def __bool__(self) -> NoReturn:
        """Refuse: a handle that is always true would be taken for one that is done."""
        raise conduit.BadRequest(
            f"{self.call}: its handle is no truth value; write `handle.done` for whether it is done, `await handle` to "
            "wait until it is, or `handle is not None` for whether there is one"
        )

    async def _wait(self) -> T_co:
        try:
            await self._events.wait_until(self.awaited.done, (self.awaited,), self.call)
        except trio.Cancelled:
            self._events.cut((self,))
            raise
        return self.result()

    def __repr__(self) -> str:
        return f"<Handle of {self.call} at {self.place}, {'done' if self.awaited.done() else 'pending'}>"


def _missing(awaited: Sequence[Completion]) -> list[int]:
    return sorted({rank for one in awaited for rank in one.missing()})


def check_handles(call: str, handles: object) -> list[Handle[Any]]:
    """Return the handles of an iterable, refusing anything else.

    Raises:
        conduit.BadRequest: no iterable, or something in it is no handle.
    """
    if isinstance(handles, Handle):
        raise conduit.BadRequest(f"{call}: handles is a single handle; give a list, [handle], or `await` it")
    if not isinstance(handles, Iterable) or getattr(handles, "shape", None) == ():  # the latter has no elements
        raise conduit.BadRequest(f"{call}: handles {is_a(handles)}; give a list of handles")
    found = list(a_list(handles))  # which the program may change before it awaits the call
    for position, handle in enumerate(found):
        if not isinstance(handle, Handle):
            hint = "no handle"
            if handle is None:
                hint = "no handle: of x.put and the like, which are done when they return, there is none"
            elif inspect.iscoroutine(handle):
                hint = "a call that was not awaited (write `h = await ...`)"
            raise conduit.BadRequest(
                f"{call}: handles[{position}] {is_a(handle)}, {hint}; handles come from the _nb calls "
                "and from access regions"
            )
    return found
