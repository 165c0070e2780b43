"""The put and get calls: blocking, with explicit handles, implicit; of bytes, of values, memset."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

import conduit
from extended import checks
from extended.as_meant import as_number
from extended.buffers import check_readable, check_writable, flat
from extended.calls import public
from extended.events import EVERYTHING, GET, PUT, Events, Handle, Operation, OperationGroup, check_handles
from extended.regions import AccessRegion

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from typing import SupportsIndex

    import numpy.typing as npt

    from extended.buffers import Source, Target
    from extended.listened import ListenedTransfers
    from extended.transfers import Transfers

    Bytes = npt.NDArray[np.uint8]
    Out = TypeVar("Out", bound=Target)

T = TypeVar("T")


def _nothing() -> None:
    return None


# ----------------------------------------------------------------- what is checked when a call is made, for each shape


def _for_put(call: str) -> Callable[..., None]:
    def check(x: PutGet, dest: object, offset: object, data: object, bulk: object = True) -> None:
        x.bounds.check(call, dest, offset, check_readable(call, "data", data))
        checks.flag(call, "bulk", bulk)

    return check


def _for_get(call: str) -> Callable[..., None]:
    def check(x: PutGet, dest: object, offset: object, nbytes: object = None, *, out: object = None) -> None:
        if (nbytes is None) == (out is None):
            found = (
                "neither nbytes nor out is given"
                if out is None
                else f"nbytes={checks.shown(nbytes)} and out are both given"
            )
            raise conduit.BadRequest(
                f"{call}: {found}; give one of the two, nbytes= for a new array or out= for a buffer of your own"
            )
        try:
            size = checks.count(call, "nbytes", nbytes) if out is None else check_writable(call, "out", out)
        except conduit.BadRequest as error:
            if isinstance(nbytes, np.ndarray | bytearray | memoryview):  # as a get of SHMEM or GASNet takes it
                raise conduit.BadRequest(f"{error}; give a buffer that is to be filled as out=") from None
            raise
        x.bounds.check(call, dest, offset, size)

    return check


def _for_implicit_get(x: PutGet, dest: object, offset: object, *, out: object) -> None:
    x.bounds.check("get_nbi", dest, offset, check_writable("get_nbi", "out", out))


def _check_put_value(call: str, x: PutGet, dest: object, offset: object, value: object, nbytes: object) -> None:
    size = checks.value_size(call, nbytes)
    checks.value(call, value, size)
    x.bounds.check(call, dest, offset, size)


def _for_put_value(call: str) -> Callable[..., None]:
    def check(x: PutGet, dest: object, offset: object, value: object, nbytes: object = 8) -> None:
        _check_put_value(call, x, dest, offset, value, nbytes)

    return check


def _for_get_value(call: str) -> Callable[..., None]:
    def check(x: PutGet, dest: object, offset: object, nbytes: object = 8, signed: object = False) -> None:
        x.bounds.check(call, dest, offset, checks.value_size(call, nbytes))
        checks.flag(call, "signed", signed)

    return check


def _for_memset(call: str) -> Callable[..., None]:
    def check(x: PutGet, dest: object, offset: object, byte: object, nbytes: object) -> None:
        checks.byte(call, byte)
        x.bounds.check(call, dest, offset, checks.count(call, "nbytes", nbytes))

    return check


def _for_handles(call: str) -> Callable[..., tuple[Any, ...]]:
    def check(x: PutGet, handles: Any) -> tuple[Any, ...]:
        return x, check_handles(call, handles)

    return check


def _for_wait_all(x: PutGet, handles: Any, *, called: str = "wait_all") -> tuple[Any, ...]:
    return x, check_handles("wait_all", handles), called


class PutGet:
    """One-sided transfers between this rank and the segments of all ranks.

    `dest` is a rank of the job, `offset` and `nbytes` count bytes in its segment; the range must lie inside.  Data may
    be any C-contiguous buffer, `out` any writable one, in or out of this rank's segment.  An operation of no bytes is
    complete at once.  Between the same two ranks operations are unordered until they are waited for.

    Every call checks its arguments when it is made (`conduit.BadRequest`) and polls at least once when awaited.  A
    request may wait for a slot of the conduit, polling.  Cancelled before its first message, an operation has not
    begun; cancelled later it goes on, its buffers in use, and the next `sync` waits for it.

    Attributes:
        ep: the rank's endpoint.
        bounds: how far the segments of the ranks reach.

    Args:
        ep: the rank's endpoint.
        events: its operations.
        transfers: what turns them into messages.

    Source: GASNet specification 1.8, extended API; docs/contract.md has its calls beside these.
    """

    def __init__(self, ep: conduit.Endpoint, events: Events, transfers: Transfers | ListenedTransfers) -> None:
        self.ep = ep
        self.bounds = checks.Bounds(ep)
        self._events = events
        self._transfers = transfers

    # -------------------------------------------------------------------------------------------------------- blocking

    # The calls that finish as they are, put and put_value, are plain functions that check and return a coroutine: that
    # spares a small put a fifth of its time.

    @public()
    def put(self, dest: SupportsIndex, offset: SupportsIndex, data: Source) -> Coroutine[Any, Any, None]:
        """Put bytes into the segment of a rank; return when they are there.

        Args:
            dest: rank that receives.
            offset: in its segment, bytes.
            data: C-contiguous buffer, in use until the call has returned.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        view: bytes | memoryview
        if type(data) is bytes:
            view = data
        else:
            check_readable("put", "data", data)
            view = flat(data)
        self.bounds.check("put", dest, offset, len(view))
        rank = index(dest)
        return self._transfers.put(Operation(PUT, "put", rank), rank, index(offset), view, True, True)

    @overload
    def get(self, dest: SupportsIndex, offset: SupportsIndex, nbytes: SupportsIndex) -> Coroutine[Any, Any, Bytes]: ...
    @overload
    def get(self, dest: SupportsIndex, offset: SupportsIndex, *, out: Out) -> Coroutine[Any, Any, Out]: ...
    @public(_for_get("get"), number="get_value")
    async def get(
        self,
        dest: SupportsIndex,
        offset: SupportsIndex,
        nbytes: SupportsIndex | None = None,
        *,
        out: Target | None = None,
    ) -> Any:
        """Get bytes from the segment of a rank.

        Args:
            dest: rank that is read.
            offset: in its segment, bytes.
            nbytes: how many bytes, for a new array.
            out: or a C-contiguous writable buffer, which is filled.

        Returns:
            a new array of dtype uint8 and shape (nbytes,), or `out` itself.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        result, view = _destination(nbytes, out)
        operation = Operation(GET, "get", index(dest))
        await self._transfers.get(operation, operation.peer, index(offset), view)
        await self._events.finish(operation)
        return result

    @public()
    def put_value(
        self, dest: SupportsIndex, offset: SupportsIndex, value: SupportsIndex, nbytes: SupportsIndex = 8
    ) -> Coroutine[Any, Any, None]:
        """Put an integer, little-endian, a negative one in two's complement; return when it is there.

        Args:
            dest: rank that receives.
            offset: in its segment, bytes; of any alignment.
            value: an integer that fits into `nbytes` bytes, signed or unsigned.
            nbytes: 1 to 8.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        _check_put_value("put_value", self, dest, offset, value, nbytes)
        rank = index(dest)
        data = _encoded(value, nbytes)
        return self._transfers.put(Operation(PUT, "put_value", rank), rank, index(offset), data, True, True)

    @public(_for_get_value("get_value"))
    async def get_value(
        self, dest: SupportsIndex, offset: SupportsIndex, nbytes: SupportsIndex = 8, signed: bool = False
    ) -> int:
        """Get a little-endian integer.

        Args:
            dest: rank that is read.
            offset: in its segment, bytes; of any alignment.
            nbytes: 1 to 8.
            signed: whether the bytes are in two's complement.

        Returns:
            the value.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        data = bytearray(index(nbytes))
        operation = Operation(GET, "get_value", index(dest))
        await self._transfers.get(operation, operation.peer, index(offset), memoryview(data))
        await self._events.finish(operation)
        return int.from_bytes(data, "little", signed=bool(signed))

    @public(_for_memset("memset"))
    async def memset(
        self, dest: SupportsIndex, offset: SupportsIndex, byte: SupportsIndex, nbytes: SupportsIndex
    ) -> None:
        """Fill memory of a rank with one byte; return when that is done.

        Args:
            dest: rank whose segment is filled.
            offset: in that segment, bytes.
            byte: 0 to 255.
            nbytes: how many bytes.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = Operation(PUT, "memset", index(dest))
        await self._transfers.fill(operation, operation.peer, index(offset), index(byte), index(nbytes))
        await self._events.finish(operation)

    # ------------------------------------------------------------------------------------------------ explicit handles

    @public(_for_put("put_nb"))
    async def put_nb(self, dest: SupportsIndex, offset: SupportsIndex, data: Source, bulk: bool = True) -> Handle[None]:
        """Begin a put; arguments as `put`.

        Args:
            dest: rank that receives.
            offset: in its segment, bytes.
            data: C-contiguous buffer.
            bulk: True leaves `data` in use until the handle is done; False lets it change once this call has returned.

        Returns:
            the handle, which gives None.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = Operation(PUT, "put_nb", index(dest))
        await self._transfers.put(operation, operation.peer, index(offset), flat(data), bulk=bool(bulk))
        return self._events.handle("put_nb", operation, _nothing)

    @overload
    def get_nb(
        self, dest: SupportsIndex, offset: SupportsIndex, nbytes: SupportsIndex
    ) -> Coroutine[Any, Any, Handle[Bytes]]: ...
    @overload
    def get_nb(self, dest: SupportsIndex, offset: SupportsIndex, *, out: Out) -> Coroutine[Any, Any, Handle[Out]]: ...
    @public(_for_get("get_nb"))
    async def get_nb(
        self,
        dest: SupportsIndex,
        offset: SupportsIndex,
        nbytes: SupportsIndex | None = None,
        *,
        out: Target | None = None,
    ) -> Handle[Any]:
        """Begin a get; arguments as `get`.

        Returns:
            the handle, which gives what `get` returns; until it is done the contents are undefined.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        result, view = _destination(nbytes, out)
        operation = Operation(GET, "get_nb", index(dest))
        await self._transfers.get(operation, operation.peer, index(offset), view)
        return self._events.handle("get_nb", operation, lambda: result)

    @public(_for_put_value("put_value_nb"))
    async def put_value_nb(
        self, dest: SupportsIndex, offset: SupportsIndex, value: SupportsIndex, nbytes: SupportsIndex = 8
    ) -> Handle[None]:
        """Begin to put an integer; arguments as `put_value`.

        Returns:
            the handle, which gives None.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = Operation(PUT, "put_value_nb", index(dest))
        await self._transfers.put(operation, operation.peer, index(offset), _encoded(value, nbytes))
        return self._events.handle("put_value_nb", operation, _nothing)

    @public(_for_get_value("get_value_nb"))
    async def get_value_nb(
        self, dest: SupportsIndex, offset: SupportsIndex, nbytes: SupportsIndex = 8, signed: bool = False
    ) -> Handle[int]:
        """Begin to get an integer; arguments as `get_value`.

        Returns:
            the handle, which gives the value.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        data = bytearray(index(nbytes))
        operation = Operation(GET, "get_value_nb", index(dest))
        await self._transfers.get(operation, operation.peer, index(offset), memoryview(data))
        return self._events.handle(
            "get_value_nb", operation, lambda: int.from_bytes(data, "little", signed=bool(signed))
        )

    @public(_for_memset("memset_nb"))
    async def memset_nb(
        self, dest: SupportsIndex, offset: SupportsIndex, byte: SupportsIndex, nbytes: SupportsIndex
    ) -> Handle[None]:
        """Begin to fill memory of a rank with one byte; arguments as `memset`.

        Returns:
            the handle, which gives None.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = Operation(PUT, "memset_nb", index(dest))
        await self._transfers.fill(operation, operation.peer, index(offset), index(byte), index(nbytes))
        return self._events.handle("memset_nb", operation, _nothing)

    @public(_for_wait_all)
    async def wait_all(self, handles: Iterable[Handle[T]], called: str = "wait_all") -> list[T]:
        """Wait until all the handles are done.

        Args:
            handles: any number of them.
            called: of a front end: the call that its user made, as "pe.quiet", for which reports say it waits; by name.

        Returns:
            their results, in the given order.

        Raises:
            conduit.BadRequest: what is given is no list or other iterable of handles.
            BaseException: what the first in the list has failed with that has, once all are done.
        """
        pending = [handle.awaited for handle in handles if not handle.awaited.done()]

        def complete() -> bool:
            # What is complete stays so: each operation is looked at once, however often this is asked.
            while pending and pending[-1].done():
                pending.pop()
            return not pending

        if called == "wait_all":
            await self._events.wait_for(complete, list(handles), called)
        else:  # a front end's word says by itself what it is for
            await self._events.wait_until(complete, list(pending), called)
        try:
            return [handle.result() for handle in handles]
        except BaseException:
            for handle in handles:  # those behind the first that has failed were waited for too
                self._events.synced(handle)
            raise

    @public(_for_handles("wait_some"))
    async def wait_some(self, handles: Iterable[Handle[T]]) -> tuple[list[Handle[T]], list[Handle[T]]]:
        """Wait until at least one of the handles is done; of none at all, not.

        Returns:
            those that are done and those that are not, each in the given order.

        Raises:
            conduit.BadRequest: what is given is no list or other iterable of handles.
        """
        handles = list(handles)
        found = not handles
        seen = -1

        def any_complete() -> bool:
            # Looks at all of them only when an operation of this rank has completed since.
            nonlocal found, seen
            if not found and seen != self._events.completed:
                seen = self._events.completed
                found = any(handle.awaited.done() for handle in handles)
            return found

        await self._events.wait_for(any_complete, handles, "wait_some")
        done = [handle for handle in handles if handle.done]
        return done, [handle for handle in handles if not handle.awaited.done()]

    # -------------------------------------------------------------------------------------------------------- implicit

    @public(_for_put("put_nbi"))
    async def put_nbi(self, dest: SupportsIndex, offset: SupportsIndex, data: Source, bulk: bool = True) -> None:
        """Begin a put that `sync_puts` or `sync` waits for; arguments as `put_nb`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = self._implicit(PUT, "put_nbi", dest)
        await self._transfers.put(operation, operation.peer, index(offset), flat(data), bulk=bool(bulk))

    @public(_for_implicit_get)
    async def get_nbi(self, dest: SupportsIndex, offset: SupportsIndex, *, out: Target) -> None:
        """Begin a get into a buffer that `sync_gets` or `sync` waits for; arguments as `get`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._transfers.get(self._implicit(GET, "get_nbi", dest), index(dest), index(offset), flat(out))

    @public(_for_put_value("put_value_nbi"))
    async def put_value_nbi(
        self, dest: SupportsIndex, offset: SupportsIndex, value: SupportsIndex, nbytes: SupportsIndex = 8
    ) -> None:
        """Begin to put an integer, which `sync_puts` or `sync` waits for; arguments as `put_value`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = self._implicit(PUT, "put_value_nbi", dest)
        await self._transfers.put(operation, operation.peer, index(offset), _encoded(value, nbytes))

    @public(_for_memset("memset_nbi"))
    async def memset_nbi(
        self, dest: SupportsIndex, offset: SupportsIndex, byte: SupportsIndex, nbytes: SupportsIndex
    ) -> None:
        """Begin to fill memory, which `sync_puts` or `sync` waits for; arguments as `memset`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = self._implicit(PUT, "memset_nbi", dest)
        await self._transfers.fill(operation, operation.peer, index(offset), index(byte), index(nbytes))

    def _implicit(self, kind: int, call: str, dest: SupportsIndex) -> Operation:
        group: OperationGroup = self._events.group()
        return Operation(kind, call, index(dest), group)

    @public()
    async def sync_puts(self) -> None:
        """Wait until the implicit puts that all tasks of this rank began before are complete.

        Raises:
            conduit.BadRequest: this task is inside an access region.
        """
        await self._events.sync("sync_puts", (PUT,))

    @public()
    async def sync_gets(self) -> None:
        """Wait until the implicit gets that all tasks of this rank began before are complete.

        Raises:
            conduit.BadRequest: this task is inside an access region.
        """
        await self._events.sync("sync_gets", (GET,))

    @public()
    async def sync(self) -> None:
        """Wait until the implicit operations that all tasks of this rank began before are complete.

        Raises:
            conduit.BadRequest: this task is inside an access region.
        """
        await self._events.sync("sync", EVERYTHING)

    def access_region(self) -> AccessRegion:
        """Return a region that collects its task's implicit operations into one handle.

        Use it as ``async with x.access_region() as region: ...``, then ``await region.handle``.  Regions do not nest,
        and a sync inside one is refused.
        """
        return AccessRegion(self._events)


def _destination(nbytes: SupportsIndex | None, out: Target | None) -> tuple[Any, memoryview]:
    if out is not None:
        return out, flat(out)
    assert nbytes is not None
    array: Bytes = np.empty(index(nbytes), np.uint8)
    return array, flat(array)


def _encoded(value: SupportsIndex, nbytes: SupportsIndex) -> bytes:
    size = index(nbytes)
    return (index(as_number(value)) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
