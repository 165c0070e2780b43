"""From places there and places here to active messages, as few as the conduit's limits allow.

Runs of up to `max_medium` bytes are packed into medium messages: places and data for a put, places alone for a get,
and its answer is packed as well.  A longer run is a put or get of its own.  Memory that this rank reaches,
its own or that of a real rank of its host, is copied without a message.  A strided section with a
description that would take more than half of a medium message, for its many dimensions, travels as the list of its
runs.

Where the network has native operations (`ep.rma`), a strided section is one strided operation and a list of
runs as many puts or gets, without a message.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from extended.buffers import offset_in
from extended.handlers import high, low
from extended.transfers import LARGEST_PIECE
from extended.vis.handlers import ScatteredGet, ScatterHandlers
from extended.vis.region import StridedRegion
from extended.vis.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conduit import Endpoint
    from extended.events import Events, Operation
    from extended.transfers import Send, Transfers
    from extended.vis.local import Local
    from extended.vis.runs import RunsFragment

    Part = Callable[[int], Send]  # makes a message, given the number of its operation


class Scatter:
    """Issues one rank's non-contiguous transfers.

    Args:
        ep: the rank's endpoint.
        events: its outstanding operations.
        transfers: what issues the contiguous ones.
    """

    def __init__(self, ep: Endpoint, events: Events, transfers: Transfers) -> None:
        limits = ep.limits
        self._ep = ep
        self._events = events
        self._transfers = transfers
        self._rma = ep.rma
        self._max_medium = min(limits.max_medium, LARGEST_PIECE)
        self._put_chunk = min(limits.max_long_request, LARGEST_PIECE)
        self._get_chunk = min(limits.max_long_reply, LARGEST_PIECE)
        self.handlers = ScatterHandlers(ep, events, transfers.handlers)

    async def put(self, operation: Operation, dest: int, where: StridedRegion | Runs, local: Local) -> None:
        """Begin a put; return when all its messages are sent.

        Args:
            operation: counts the messages.
            dest: rank whose segment receives.
            where: the places there.
            local: the bytes, in use until the operation is done.
        """
        there = self._transfers.reach.get(dest)
        if there is not None or not local.nbytes:
            await self._ep.poll()
            if there is not None and local.nbytes:
                # The places here may be among those there: all is read before anything is stored.
                where.write(there, bytes(local.read(0, local.nbytes)))
                operation.native = dest != self._ep.rank
                self._ep.charge(copied=2 * local.nbytes)
            return
        if self._rma is None:
            where = self._as_sent(where)
        start = where.only()
        if start is not None:
            data = local.view(0, local.nbytes)
            if data is None:
                data = memoryview(local.read(0, local.nbytes))
                self._ep.charge(copied=local.nbytes)
            await self._transfers.put(operation, dest, start, data, bulk=True)
        elif self._rma is None:
            await self._issue(operation, list(self._put_parts(dest, where, local)))
        elif isinstance(where, StridedRegion):
            data = local.view(0, local.nbytes)
            if data is None:
                data = memoryview(local.read(0, local.nbytes))
                self._ep.charge(copied=local.nbytes)
            number = self._events.enter_native(operation)
            places = where.base, where.run, where.counts, where.strides
            done = partial(self._events.piece_done, number)
            await self._transfers.native(number, self._rma.put_strided(dest, *places, data, done))
        else:
            await self._issue_natively(operation, len(where.starts), partial(self._put_natively, dest, where, local))

    async def get(self, operation: ScatteredGet, dest: int, where: StridedRegion | Runs, local: Local) -> None:
        """Begin a get; return when all its messages are sent.

        Args:
            operation: counts the messages.
            dest: rank whose segment is read.
            where: the places there.
            local: the places here, filled by the time the operation is done.
        """
        there = self._transfers.reach.get(dest)
        if there is not None or not local.nbytes:
            await self._ep.poll()
            if there is not None and local.nbytes:
                local.write(0, where.read(there))
                operation.native = dest != self._ep.rank
                self._ep.charge(copied=2 * local.nbytes)
            return
        if self._rma is None:
            where = self._as_sent(where)
        start, view = where.only(), local.view(0, local.nbytes)
        if start is not None and view is not None:
            await self._transfers.get(operation, dest, start, view)
        elif self._rma is None:
            operation.local = local
            await self._issue(operation, list(self._get_parts(dest, where, local)))
        elif isinstance(where, StridedRegion):
            number = self._events.enter_native(operation)
            out, done = self._landing(local, 0, local.nbytes, number)
            places = where.base, where.run, where.counts, where.strides
            await self._transfers.native(number, self._rma.get_strided(dest, *places, out, done))
        else:
            await self._issue_natively(operation, len(where.starts), partial(self._get_natively, dest, where, local))

    async def _issue_natively(self, operation: Operation, pieces: int, send: Callable[[int, int], Send]) -> None:
        number = self._events.enter_native(operation, pieces)
        await self._transfers.issue(operation, number, (send(piece, number) for piece in range(pieces)))

    def _put_natively(self, dest: int, where: Runs, local: Local, piece: int, number: int) -> Send:
        assert self._rma is not None
        start, at, length = where.run(piece)
        data: bytes | bytearray | memoryview | None = local.view(at, at + length)
        if data is None:
            data = local.read(at, at + length)
            self._ep.charge(copied=length)
        return partial(self._rma.put, dest, start, data, partial(self._events.piece_done, number))

    def _get_natively(self, dest: int, where: Runs, local: Local, piece: int, number: int) -> Send:
        assert self._rma is not None
        start, at, length = where.run(piece)
        out, done = self._landing(local, at, length, number)
        return partial(self._rma.get, dest, start, out, done)

    def _landing(
        self, local: Local, at: int, nbytes: int, number: int
    ) -> tuple[memoryview | bytearray, Callable[[], None]]:
        """Return what a native get fills, and what is to be done then."""
        view = local.view(at, at + nbytes)
        if view is not None:
            return view, partial(self._events.piece_done, number)
        buffer = bytearray(nbytes)

        def store() -> None:
            local.write(at, buffer)
            self._ep.charge(copied=nbytes)
            self._events.piece_done(number)

        return buffer, store

    async def _issue(self, operation: Operation, parts: list[Part]) -> None:
        number = self._events.enter(operation, len(parts))
        await self._transfers.issue(operation, number, (part(number) for part in parts))  # packed as they are sent

    def _as_sent(self, where: StridedRegion | Runs) -> StridedRegion | Runs:
        if isinstance(where, Runs) or (where.run <= self._max_medium and 2 * where.packed_bytes <= self._max_medium):
            return where
        return where.runs()

    # ------------------------------------------------------------------------------------------------------------- puts

    def _put_parts(self, dest: int, where: StridedRegion | Runs, local: Local) -> Iterator[Part]:
        most = self._max_medium
        if isinstance(where, StridedRegion):
            room = most - where.packed_bytes
            for at in range(0, where.nbytes, room):
                yield partial(self._put_lattice, dest, where, local, at, min(room, where.nbytes - at))
            return
        for first, last in where.groups(most):
            if where.is_long(first, most):
                start, at, length = where.run(first)
                chunk = self._put_chunk
                for done in range(0, length, chunk):
                    here = at + done
                    yield partial(self._put_run, dest, local, start + done, here, min(chunk, length - done))
            else:
                for cut in where.cuts(first, last, most, most, most):
                    yield partial(self._put_runs, dest, where, local, cut)

    def _put_lattice(self, dest: int, where: StridedRegion, local: Local, at: int, nbytes: int, number: int) -> Send:
        places = where.pack()
        payload = self._packed(places, local, at, nbytes)
        handler = self.handlers.put_lattice
        return partial(self._ep.request_medium, dest, handler, payload, number, len(places), low(at), high(at))

    def _put_runs(self, dest: int, where: Runs, local: Local, cut: RunsFragment, number: int) -> Send:
        places = where.pack(cut.first, cut.last)
        payload = self._packed(places, local, cut.at, cut.nbytes)
        words = where.code(), len(places), where.length, cut.skip
        return partial(self._ep.request_medium, dest, self.handlers.put_runs, payload, number, *words)

    def _packed(self, places: bytes, local: Local, at: int, nbytes: int) -> bytes:
        self._ep.charge(copied=nbytes)
        return b"".join((places, local.read(at, at + nbytes)))

    def _put_run(self, dest: int, local: Local, start: int, at: int, nbytes: int, number: int) -> Send:
        handler = self._transfers.handlers.put_long
        data = local.view(at, at + nbytes)
        if data is not None:
            return partial(self._ep.request_long_async, dest, handler, data, start, number)
        self._ep.charge(copied=nbytes)
        return partial(self._ep.request_long, dest, handler, local.read(at, at + nbytes), start, number)

    # ------------------------------------------------------------------------------------------------------------- gets

    def _get_parts(self, dest: int, where: StridedRegion | Runs, local: Local) -> Iterator[Part]:
        most = self._max_medium
        if isinstance(where, StridedRegion):
            for at in range(0, where.nbytes, most):
                yield partial(self._get_lattice, dest, where, at, min(most, where.nbytes - at))
            return
        for first, last in where.groups(most):
            if where.is_long(first, most):
                yield from self._get_long_run(dest, local, *where.run(first))
            else:
                for cut in where.cuts(first, last, most, most, 2 * most):
                    yield partial(self._get_runs, dest, where, cut)

    def _get_long_run(self, dest: int, local: Local, start: int, at: int, length: int) -> Iterator[Part]:
        view = local.view(at, at + length)
        landing = None if view is None else offset_in(self._ep.segment, view)
        chunk = self._max_medium if landing is None else self._get_chunk
        for done in range(0, length, chunk):
            nbytes = min(chunk, length - done)
            if landing is None:
                yield partial(self._get_run, dest, start + done, at + done, nbytes)
            else:
                yield partial(self._get_by_long_reply, dest, start + done, landing + done, nbytes)

    def _get_lattice(self, dest: int, where: StridedRegion, at: int, nbytes: int, number: int) -> Send:
        handler = self.handlers.get_lattice
        return partial(self._ep.request_medium, dest, handler, where.pack(), number, nbytes, low(at), high(at))

    def _get_runs(self, dest: int, where: Runs, cut: RunsFragment, number: int) -> Send:
        words = where.code(), where.length, cut.skip, cut.nbytes, low(cut.at), high(cut.at)
        places = where.pack(cut.first, cut.last)
        return partial(self._ep.request_medium, dest, self.handlers.get_runs, places, number, *words)

    def _get_run(self, dest: int, start: int, at: int, nbytes: int, number: int) -> Send:
        words = low(start), high(start), low(at), high(at)
        return partial(self._ep.request_short, dest, self.handlers.get_run, number, nbytes, *words)

    def _get_by_long_reply(self, dest: int, start: int, landing: int, nbytes: int, number: int) -> Send:
        words = low(start), high(start), low(landing), high(landing)
        return partial(self._ep.request_short, dest, self._transfers.handlers.get_long, number, nbytes, *words)
