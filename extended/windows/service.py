"""What a rank does for all windows: its handlers, and its own operations that go by messages.

Puts and gets of memory in the segment, and accumulates that the network has operations for, go by the calls of
`extended`.  What is here is for all else: memory elsewhere, all other accumulates, and what ranks tell each other of
epochs.  A 64-bit offset travels as two arguments, low word first.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
import trio

import conduit
from conduit.words import is_a
from extended import Extended
from extended.front_ends import public, shown
from extended.windows.errors import WindowError
from extended.windows.locks import WindowLocks
from extended.windows.operators import COMPARE_AND_SWAP, DTYPES, apply
from extended.windows.records import packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    import numpy.typing as npt

    from conduit import Endpoint, Token
    from extended.windows.part import Part
    from extended.windows.records import AccessRecord

    Array = npt.NDArray[Any]
    Send = Callable[[], Coroutine[Any, Any, None]]

_WORD = 0xFFFF_FFFF
_LARGEST = 1 << 30
"""Bytes of one message at most, whatever the conduit's limits: the size of a piece is one signed argument."""

_FETCH = 1 << 16  # an accumulate's code: the operation in bits 0-7, the dtype in 8-15, whether the reply brings the old
_FENCE, _EXPOSURE, _LOCK = range(3)  # what an announced access belongs to


def _joined(low_word: int, high_word: int) -> int:
    return low_word & _WORD | (high_word & _WORD) << 32


def _words(offset: int) -> tuple[int, int]:
    return offset & _WORD, offset >> 32


class SentOperation:
    """An operation that goes by messages of this layer.

    Args:
        pending: how many answers are to come.

    Attributes:
        pending: how many answers have not come.
        out: bytes that it fills.
        chunk: bytes of each piece but the last.
    """

    __slots__ = ("chunk", "out", "pending")

    def __init__(self, pending: int) -> None:
        self.pending = pending
        self.out = memoryview(b"")
        self.chunk = 0

    @property
    def done(self) -> bool:
        """Whether it is complete."""
        return not self.pending


class Service:
    """One rank's part in all windows; get it by `attach`.

    Args:
        x: the extended layer.
        makes: whether this rank makes a window, and does not only serve those of others.

    Attributes:
        x: the extended layer.
        ep: the endpoint.
        locks: this rank's places in the queues of locks.
    """

    def __init__(self, x: Extended, *, makes: bool) -> None:
        self.x = x
        self.ep: Endpoint = x.ep
        self._parts: list[Part | None] = []  # by slot, which is not used again
        self._left_open: dict[int, Callable[[], Iterable[str]]] = {}  # by slot
        self._operations: dict[int, SentOperation] = {}
        self._number = 0
        self._room = min(self.ep.limits.max_medium, _LARGEST)
        self.locks = WindowLocks(x)
        self._attached = False
        self._makes = makes
        self._failed: Exception | None = None

    async def connect(self) -> None:
        """Attach the handlers on all ranks of the job."""
        self.ep.on_report(self._tell)
        try:
            await self.ep.attach(
                self.win_put, self.win_get, self.win_got, self.win_done, self.win_apply, self.win_access,
                self.win_forget, self.win_posted, self.win_completed, *self.locks.table(),
            )  # fmt: skip
        except Exception as error:
            self._failed = error
            _services.pop(id(self.ep), None)
            raise
        self.ep.on_progress(self.locks.progress)
        self.ep.on_exit(self._warn_of_open)
        self._attached = True

    async def _warn_of_open(self) -> None:
        """Warn, when main has returned, of accesses that no call has completed."""
        for text in dict.fromkeys(text for left_open in self._left_open.values() for text in left_open()):
            self.ep.warn(text)

    def _tell(self, told: Any) -> None:
        """Tell what this rank waits for, for the report of a job that gets no further."""
        parts = [part for part in self._parts if part is not None]
        self.locks.tell(told, Counter(part.window for part in parts))
        for part in parts:
            for text in filter(None, (part.exposed(), part.unfinished())):
                told.note(text)
        if not self._attached and self._failed is None:
            told.note(
                "it makes the first window of the job, for which all ranks attach handlers; let those that make none "
                "call `await windows.attach(x)`"
                if self._makes
                else "it is in windows.attach, which all ranks must come to, or make their first window in its place: "
                "let no rank make other calls of all ranks first that this one makes later"
            )

    async def connected(self) -> None:
        """Wait until another task of this rank has attached the handlers."""
        await self.ep.block_until(lambda: self._attached or self._failed, what="windows.attach of another task")
        if self._failed is not None:
            raise conduit.BadRequest(f"windows.attach: refused to another task of this rank: {self._failed}")

    # ----------------------------------------------------------------------------------------------------------- parts

    def open(self) -> int:
        """Return the slot of a new window, which is empty."""
        self._parts.append(None)
        return len(self._parts) - 1

    def fill(self, slot: int, part: Part, left_open: Callable[[], Iterable[str]]) -> None:
        """Put this rank's part in a window into its slot.

        Args:
            slot: the slot.
            part: the part.
            left_open: gives what to warn of when main has returned and the window is not freed.
        """
        self._parts[slot] = part
        self._left_open[slot] = left_open

    def close(self, slot: int) -> None:
        """Let go of a window that was freed."""
        self._parts[slot] = None
        self._left_open.pop(slot, None)

    def part(self, slot: int) -> Part:
        """Return this rank's part in a window.

        Raises:
            WindowError: it was freed.
        """
        found = self._parts[slot]
        if found is None:
            raise WindowError(
                f"a message reached rank {self.ep.rank} for a window that it has freed; let all ranks end their "
                "accesses before any calls Free"
            )
        return found

    # ------------------------------------------------------------------------------------------------------ operations

    def _enter(self, sent: SentOperation) -> int:
        self._number = (self._number + 1) & 0x7FFF_FFFF
        self._operations[self._number] = sent
        return self._number

    async def _issue(self, sent: SentOperation, number: int, sends: Iterable[Send]) -> None:
        """Send the messages of an operation; cancelled before the first it has not begun, and later it goes on."""
        pieces = iter(sends)
        try:
            await next(pieces)()
        except BaseException:
            del self._operations[number]
            sent.pending = 0
            raise
        with trio.CancelScope(shield=True):
            for send in pieces:
                await send()

    async def put(self, dest: int, slot: int, offset: int, data: Array) -> SentOperation:
        """Begin to store bytes in a part of a window; `data` may be changed when this returns."""
        view, room = data.data, self._room
        starts = range(0, len(view), room)
        sent = SentOperation(len(starts))
        number = self._enter(sent)

        def piece(at: int) -> Send:
            words = slot, number, *_words(offset + at)
            return partial(self.ep.request_medium, dest, self.win_put, view[at : at + room], *words)

        await self._issue(sent, number, map(piece, starts))
        return sent

    async def get(self, dest: int, slot: int, offset: int, out: Array) -> SentOperation:
        """Begin to read bytes of a part of a window into `out`."""
        room = self._room
        starts = range(0, out.nbytes, room)
        sent = SentOperation(len(starts))
        sent.out, sent.chunk = out.data, room
        number = self._enter(sent)

        def piece(at: int) -> Send:
            words = slot, number, at // room, min(room, out.nbytes - at), *_words(offset + at)
            return partial(self.ep.request_short, dest, self.win_get, *words)

        await self._issue(sent, number, map(piece, starts))
        return sent

    async def apply(
        self,
        dest: int,
        slot: int,
        offset: int,
        code: int,
        kind: int,
        given: Array | None,
        count: int,
        out: Array | None,
    ) -> SentOperation:
        """Begin to apply an operation to elements of a part of a window.

        Args:
            dest: rank of the job.
            slot: of the window there.
            offset: of the first element, bytes.
            code: of the operation.
            kind: which of `DTYPES`.
            given: operands; for a compare-and-swap what is compared, then what is stored; None where none are needed.
            count: of the elements.
            out: bytes that the elements before go to, None where the caller does not want them.
        """
        size = DTYPES[kind].itemsize
        swap = code == COMPARE_AND_SWAP
        each = self._room // size if not swap else 1
        starts = range(0, count, each)
        sent = SentOperation(len(starts))
        if out is not None:
            sent.out, sent.chunk = out.data, each * size
        number = self._enter(sent)
        wanted = code | kind << 8 | (_FETCH if out is not None else 0)
        operands = None if given is None else given.view("u1")

        def piece(at: int) -> Send:
            many = min(each, count - at)
            payload = b"" if operands is None else operands if swap else operands[at * size : (at + many) * size]
            words = slot, number, at // each, wanted, many, *_words(offset + at * size)
            return partial(self.ep.request_medium, dest, self.win_apply, payload, *words)

        await self._issue(sent, number, map(piece, starts))
        return sent

    # -------------------------------------------------------------------------------------------------- told of epochs

    async def access_in_fence(self, dest: int, slot: int, turn: int, records: Iterable[AccessRecord]) -> SentOperation:
        """Begin to tell a rank of accesses to it between two fences, which are the window's `turn`-th."""
        return await self._announce(dest, slot, _FENCE, turn, records)

    async def access_in_exposure(self, dest: int, slot: int, records: Iterable[AccessRecord]) -> SentOperation:
        """Begin to tell a rank of accesses to it that its Post has let in."""
        return await self._announce(dest, slot, _EXPOSURE, 0, records)

    async def access_in_lock(self, dest: int, slot: int, record: AccessRecord) -> SentOperation:
        """Begin to tell a rank of an access to it under a lock that others may have too."""
        return await self._announce(dest, slot, _LOCK, 0, (record,))

    async def _announce(
        self, dest: int, slot: int, epoch: int, turn: int, records: Iterable[AccessRecord]
    ) -> SentOperation:
        messages: Sequence[bytes] = list(packed(list(records), self._room))
        sent = SentOperation(len(messages))
        number = self._enter(sent)
        words = slot, number, epoch, turn & 0x7FFF_FFFF

        def message(data: bytes) -> Send:
            return partial(self.ep.request_medium, dest, self.win_access, data, *words)

        await self._issue(sent, number, map(message, messages))
        return sent

    async def forget(self, dest: int, slot: int) -> SentOperation:
        """Begin to tell a rank that the accesses under the lock of it are complete."""
        sent = SentOperation(1)
        number = self._enter(sent)
        await self._issue(sent, number, [partial(self.ep.request_short, dest, self.win_forget, slot, number)])
        return sent

    async def posted(self, dest: int, slot: int) -> None:
        """Tell a rank that this one has posted."""
        await self.ep.request_short(dest, self.win_posted, slot)

    async def completed(self, dest: int, slot: int) -> None:
        """Tell a rank that this one has completed."""
        await self.ep.request_short(dest, self.win_completed, slot)

    # -------------------------------------------------------------------------------------------------------- handlers

    def win_put(self, token: Token, payload: memoryview, slot: int, number: int, low: int, high: int) -> None:
        """Request: store bytes."""
        start = _joined(low, high)
        memory = self.part(slot).memory
        memory.data[start : start + len(payload)] = payload
        self.ep.charge(copied=len(payload))
        token.reply_short(self.win_done, number)

    def win_get(self, token: Token, slot: int, number: int, piece: int, nbytes: int, low: int, high: int) -> None:
        """Request: send bytes back."""
        start = _joined(low, high)
        memory = self.part(slot).memory
        token.reply_medium(self.win_got, memory.data[start : start + nbytes], number, piece)

    def win_got(self, token: Token, payload: memoryview, number: int, piece: int) -> None:
        """Reply: store a piece of what was read."""
        sent = self._operations[number]
        start = piece * sent.chunk
        sent.out[start : start + len(payload)] = payload
        self.ep.charge(copied=len(payload))
        self._answered(number)

    def win_done(self, token: Token, number: int) -> None:
        """Reply: a piece is done."""
        self._answered(number)

    def _answered(self, number: int) -> None:
        sent = self._operations[number]
        sent.pending -= 1
        if not sent.pending:
            del self._operations[number]
            sent.out = memoryview(b"")  # which is the program's again

    def win_apply(
        self,
        token: Token,
        payload: memoryview,
        slot: int,
        number: int,
        piece: int,
        wanted: int,
        count: int,
        low: int,
        high: int,
    ) -> None:
        """Request: apply an operation to elements, and send back those before where that is wanted."""
        dtype = DTYPES[wanted >> 8 & 255]
        there = self.part(slot).elements(_joined(low, high), count, dtype)
        before = there.tobytes()
        apply(wanted & 255, there, np.frombuffer(payload, dtype).copy())
        self.ep.charge(copied=2 * there.nbytes)
        if wanted & _FETCH:
            token.reply_medium(self.win_got, before, number, piece)
        else:
            token.reply_short(self.win_done, number)

    def win_access(self, token: Token, payload: memoryview, slot: int, number: int, epoch: int, turn: int) -> None:
        """Request: take note of accesses of the sender, and see whether they conflict with others."""
        part = self.part(slot)
        records = unpacked(payload, part.ranks[token.rank])
        if epoch == _FENCE:
            part.in_fence(turn, records)
        elif epoch == _EXPOSURE:
            part.in_exposure(records)
        else:
            part.in_lock(records)
        token.reply_short(self.win_done, number)

    def win_forget(self, token: Token, slot: int, number: int) -> None:
        """Request: the sender's accesses under its lock are complete."""
        part = self.part(slot)
        part.forget(part.ranks[token.rank])
        token.reply_short(self.win_done, number)

    def win_posted(self, token: Token, slot: int) -> None:
        """Request: the sender has posted to this rank."""
        part = self.part(slot)
        part.posts[part.ranks[token.rank]] += 1

    def win_completed(self, token: Token, slot: int) -> None:
        """Request: the sender has completed what this rank posted."""
        part = self.part(slot)
        part.completes[part.ranks[token.rank]] += 1


# By the identity of the endpoint, which itself keeps the service alive (by its handlers): a job leaves nothing here.
_services: WeakValueDictionary[int, Service] = WeakValueDictionary()


@public("windows")
def attach(x: Extended) -> Coroutine[Any, Any, None]:
    """Attach the handlers of windows, as the first window does; collective over all ranks of the job.

    For ranks that make no window while others make their first.

    Args:
        x: what `Extended.attach` returned.

    Raises:
        conduit.BadRequest: `x` is something else, or ranks attach different handlers.
    """
    if not isinstance(x, Extended):
        raise conduit.BadRequest(f"windows.attach: x={shown(x)} {is_a(x)}; give what Extended.attach returned")
    return _attach(x)


async def _attach(x: Extended) -> None:
    await attached(x, makes=False)
    await x.ep.poll()


async def attached(x: Extended, *, makes: bool = True) -> Service:
    """Return the service of a rank, which all ranks of the job attach at their first window.

    Args:
        x: the extended layer.
        makes: whether this rank is about to make a window.
    """
    service = _services.get(id(x.ep))
    if service is None or service.ep is not x.ep:
        service = _services[id(x.ep)] = Service(x, makes=makes)
        await service.connect()
    else:
        await service.connected()
    return service
