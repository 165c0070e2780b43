"""From puts and gets of any size to active messages within the conduit's limits.

Sizes choose as GASNet's reference implementation does (its `extended-ref`): a put of up to `max_medium` bytes is one
medium request, a larger one long requests of at most `max_long_request`; a get of up to `max_medium` comes by a medium
reply, a larger one by long replies where its destination lies in the segment, else by medium replies.  A rank's own
memory is copied, without a message.  Where the network has native operations (`ep.rma`), a put or get of any size is
one of these, and a fill as many as it has blocks.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import trio

import conduit
from extended.buffers import fill, flat, offset_in
from extended.handlers import WORD, PutGetHandlers, high, low

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from conduit import Endpoint
    from extended.events import Events, Operation

    Send = Callable[[], Coroutine[Any, Any, None]]

LARGEST_PIECE = 1 << 30
"""Bytes of one message at most, whatever the conduit's limits: the size of a piece is one signed argument."""

LARGEST_WORD = (1 << 31) - 1
"""The largest offset that travels as one argument; small puts have two only where they need them."""

FILL_BLOCK = 1 << 16
"""Bytes of a native put of a fill."""

ARGUMENTS = 16
"""Arguments that the widest message of this layer carries."""


class Transfers:
    """Issues one rank's puts and gets.

    Args:
        ep: the rank's endpoint.
        events: its outstanding operations.

    Attributes:
        reach: the segments to and from which bytes are copied without a message, by rank.
        unsent: pieces of operations whose issuing task was cancelled.

    Raises:
        conduit.BadRequest: the conduit's messages carry too few arguments.
    """

    def __init__(self, ep: Endpoint, events: Events) -> None:
        limits = ep.limits
        if limits.max_args < ARGUMENTS:
            raise conduit.BadRequest(
                f"Extended.attach: max_args={limits.max_args} of this conduit is too few, this layer needs "
                f"{ARGUMENTS}; choose options of the conduit that allow them"
            )
        self._ep = ep
        self._events = events
        self._rma = ep.rma
        # The own segment, and those that real ranks of a host share.
        self.reach = {rank: flat(segment) for rank in ep.ranks_on_host if (segment := ep.segment_of(rank)) is not None}
        self._max_medium = min(limits.max_medium, LARGEST_PIECE)
        self._put_chunk = min(limits.max_long_request, LARGEST_PIECE)
        self._get_chunk = min(limits.max_long_reply, LARGEST_PIECE)
        self.unsent: deque[Iterator[Send]] = deque()
        self.handlers = PutGetHandlers(ep, events)
        # Once, because every look at a method makes an object.
        self._put_medium, self._get_medium = self.handlers.put_medium, self.handlers.get_medium

    async def put(
        self,
        operation: Operation,
        dest: int,
        offset: int,
        data: bytes | memoryview,
        bulk: bool = True,
        wait: bool = False,
    ) -> None:
        """Begin a put; return when all its messages are sent.

        Args:
            operation: counts the pieces.
            dest: rank whose segment receives.
            offset: in that segment, bytes.
            data: flat; with `bulk` in use until the operation is done, else until the return.
            bulk: leave large data where it is until the replies come.
            wait: return when the operation is done (here, because a coroutine more would cost a small put time).
        """
        nbytes = len(data)
        there = self.reach.get(dest)
        if there is not None or not nbytes:
            await self._ep.poll()
            if there is not None:
                there[offset : offset + nbytes] = data
                operation.native = dest != self._ep.rank
            self._ep.charge(copied=nbytes)
            return
        if self._rma is not None:
            number = self._events.enter_native(operation)
            await self.native(number, self._rma.put(dest, offset, data, partial(self._events.piece_done, number)))
        elif nbytes <= self._max_medium:
            number = self._events.enter(operation, 1)
            request = self._ep.request_medium
            try:
                if offset <= LARGEST_WORD:
                    await request(dest, self._put_medium, data, number, offset)
                else:
                    await request(dest, self._put_medium, data, number, offset & WORD, offset >> 32)
            except BaseException:
                self._events.withdraw(number)
                raise
        else:
            send = self._ep.request_long_async if bulk else self._ep.request_long
            chunk, handler = self._put_chunk, self.handlers.put_long
            number = self._events.enter(operation, -(-nbytes // chunk))
            if nbytes <= chunk:
                try:
                    await send(dest, handler, data, offset, number)
                except BaseException:
                    self._events.withdraw(number)
                    raise
            else:
                view, pieces = memoryview(data), range(0, nbytes, chunk)
                sends = (partial(send, dest, handler, view[at : at + chunk], offset + at, number) for at in pieces)
                await self.issue(operation, number, sends)
        if wait:
            try:
                await self._ep.block_until(operation.done, what=operation.call, ranks=(dest,))
            except trio.Cancelled:
                self._events.adopt(operation)
                raise

    async def get(self, operation: Operation, dest: int, offset: int, out: memoryview) -> None:
        """Begin a get; return when all its messages are sent.

        Args:
            operation: counts the pieces.
            dest: rank whose segment is read.
            offset: in that segment, bytes.
            out: flat writable view that is filled by the time the operation is done.
        """
        nbytes = len(out)
        there = self.reach.get(dest)
        if there is not None or not nbytes:
            await self._ep.poll()
            if there is not None:
                out[:] = there[offset : offset + nbytes]
                operation.native = dest != self._ep.rank
            self._ep.charge(copied=nbytes)
        elif self._rma is not None:
            number = self._events.enter_native(operation)
            await self.native(number, self._rma.get(dest, offset, out, partial(self._events.piece_done, number)))
        elif nbytes <= self._max_medium:
            operation.out = out
            operation.chunk = 0
            number = self._events.enter(operation, 1)
            try:
                await self._ep.request_short(dest, self._get_medium, number, 0, nbytes, low(offset), high(offset))
            except BaseException:
                self._events.withdraw(number)
                raise
        elif (landing := offset_in(self._ep.segment, out)) is not None:
            await self._get_by_long_replies(operation, dest, offset, nbytes, landing)
        else:
            await self._get_by_medium_replies(operation, dest, offset, out)

    async def _get_by_long_replies(
        self, operation: Operation, dest: int, offset: int, nbytes: int, landing: int
    ) -> None:
        chunk = self._get_chunk
        number = self._events.enter(operation, -(-nbytes // chunk))

        def request(at: int) -> Send:
            there, here = offset + at, landing + at
            words = low(there), high(there), low(here), high(here)
            handler = self.handlers.get_long
            return partial(self._ep.request_short, dest, handler, number, min(chunk, nbytes - at), *words)

        await self.issue(operation, number, map(request, range(0, nbytes, chunk)))

    async def _get_by_medium_replies(self, operation: Operation, dest: int, offset: int, out: memoryview) -> None:
        operation.out = out
        nbytes, chunk = len(out), self._max_medium
        operation.chunk = chunk
        number = self._events.enter(operation, -(-nbytes // chunk))

        def request(piece: int) -> Send:
            at = piece * chunk
            words = low(offset + at), high(offset + at)
            handler = self.handlers.get_medium
            return partial(self._ep.request_short, dest, handler, number, piece, min(chunk, nbytes - at), *words)

        await self.issue(operation, number, map(request, range(operation.pending)))

    async def fill(self, operation: Operation, dest: int, offset: int, byte: int, nbytes: int) -> None:
        """Begin to fill memory of a rank with one byte; return when all its messages are sent."""
        there = self.reach.get(dest)
        if there is not None or not nbytes:
            await self._ep.poll()
            if there is not None and nbytes:
                fill(there[offset : offset + nbytes], byte)
                operation.native = dest != self._ep.rank
            self._ep.charge(copied=nbytes)
            return
        if self._rma is not None:
            await self._fill_natively(operation, dest, offset, byte, nbytes)
            return
        number = self._events.enter(operation, -(-nbytes // LARGEST_PIECE))

        def request(at: int) -> Send:
            words = low(offset + at), high(offset + at)
            length = min(LARGEST_PIECE, nbytes - at)
            return partial(self._ep.request_short, dest, self.handlers.fill, number, byte, length, *words)

        await self.issue(operation, number, map(request, range(0, nbytes, LARGEST_PIECE)))

    async def _fill_natively(self, operation: Operation, dest: int, offset: int, byte: int, nbytes: int) -> None:
        rma = self._rma
        assert rma is not None
        block = memoryview(bytes([byte]) * min(nbytes, FILL_BLOCK))
        number = self._events.enter_native(operation, -(-nbytes // FILL_BLOCK))
        done = partial(self._events.piece_done, number)
        sends = (partial(rma.put, dest, offset + at, block[: nbytes - at], done) for at in range(0, nbytes, FILL_BLOCK))
        await self.issue(operation, number, sends)

    async def native(self, number: int, begin: Coroutine[Any, Any, None]) -> None:
        """Begin an operation that is a single native one; what is raised has not begun."""
        try:
            await begin
        except BaseException:
            self._events.withdraw(number)
            raise

    # ------------------------------------------------------------------------------------- operations of several pieces

    async def issue(self, operation: Operation, number: int, sends: Iterator[Send]) -> None:
        """Send the messages of an operation; cancelled before the first, it has not begun, and later it goes on.

        Args:
            operation: what they belong to.
            number: as `Events.enter` has given it.
            sends: makes them, each when the one before has been sent.
        """
        # The progress function sends the rest, so that the cancelled task need not wait for slots under a shield.
        begun = False
        for send in sends:
            try:
                await send()
            except BaseException as error:
                if not begun:
                    self._events.withdraw(number)
                elif isinstance(error, trio.Cancelled):
                    self.unsent.append(chain((send,), sends))
                    self._events.adopt(operation)
                    self._ep.want_progress()
                raise
            begun = True

    def all_sent(self) -> bool:
        """Say whether no cancelled operation has messages left to send."""
        return not self.unsent

    async def progress(self) -> None:
        """Send what cancelled tasks have left."""
        while self.unsent:
            for send in self.unsent[0]:
                await send()
            self.unsent.popleft()
