"""Messages that have come to a rank by Sun MPI: where their data lie, and how these get to their receive.

The data of a message come in pieces, each with an entry in postboxes: in these themselves, or in blocks that they name.
A piece that no receive wants yet stays in its blocks; out of postboxes it is copied, so that they can be used again.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

import attrs

from conduit.simnet.chain import Steps
from conduits.mpi.engine.device import IncomingMessage, Matching
from conduits.mpi.engine.transfer import Mode, Receive
from conduits.mpi.libraries.memory import SMALL, HostMemory
from conduits.mpi.libraries.sunmpi import wire
from conduits.mpi.libraries.sunmpi.connections import Inward
from conduits.mpi.libraries.sunmpi.wire import PostboxHeader
from conduits.rsm.safe import Stores

_SYNCHRONOUS = Mode.SYNCHRONOUS


class Receiver(Protocol):
    """What a message sees of the device that it has come to (`conduits.mpi.libraries.sunmpi.device.SunmpiDevice`).

    Attributes:
        engine: the rank's.
        memory: what copies on the rank's host pass through.
    """

    engine: Matching
    memory: HostMemory

    def expect(self, message: SunmpiMessage) -> None:
        """Take note that more of a message is to come."""

    def answer(self, peer: int, header: PostboxHeader) -> None:
        """Send an entry that is no message, once there is room."""

    def tell_matched(self, peer: int, sent: int) -> None:
        """Tell the sender of a synchronous message that its receive was found."""

    def acknowledge(self, connection: Inward, first: int, count: int, state: int = wire.FREED) -> Steps:
        """Acknowledge postboxes."""
        ...

    def store_back(self, connection: Inward, stores: Stores) -> Steps:
        """Store to a sender."""
        ...


@attrs.define(eq=False)
class Piece:
    """Data that have come with one entry.

    Attributes:
        first, count: its postboxes.
        blocks: where the data are; none where they are in the postboxes.
        nbytes: how many.
        kept: whether the postboxes were acknowledged before the data were taken.
    """

    first: int
    count: int
    blocks: tuple[int, ...]
    nbytes: int
    kept: bool = False


class SunmpiMessage(IncomingMessage):
    """A message of which the envelope was taken out of its postboxes.

    Args:
        device: that it has come to.
        connection: that it came by.
        header: its envelope.
        rest: what came with that.

    Attributes:
        connection: as given.
        kind: as in `wire`.
        send: number of the send, at its sender.
        data: what came with the envelope: of a short one its data.
        pieces: that have come and were not taken.
        left: bytes that have not come.
        receive: that it was matched with.
    """

    __slots__ = ("_device", "connection", "data", "kind", "left", "pieces", "receive", "send")

    def __init__(self, device: Receiver, connection: Inward, header: PostboxHeader, rest: bytes) -> None:
        self.origin = connection.peer
        self.kind, self.mode, _, self.context, self.source, self.tag, self.nbytes, self.send, _ = header
        self._device = device
        self.connection = connection
        self.data = rest
        self.pieces: list[Piece] = []
        self.left = self.nbytes
        self.receive: Receive | None = None

    def keep(self) -> None:
        """Leave the data where they may stay."""
        for piece in list(self.pieces):
            self._keep_piece(piece)

    def deliver(self, receive: Receive) -> None:
        """Bring what has come to its place; or let the sender send it."""
        device = self._device
        self.receive = receive
        pieces, self.pieces = self.pieces, []
        room = receive.room
        if not room:
            device.engine.received(receive)
        if self.kind == wire.REQUEST:
            if room:
                self.left = room
                device.expect(self)
            device.answer(self.origin, wire.about(wire.ACK, self.send, room, receive.number))
            return
        worker = device.engine.worker
        for piece in pieces:
            if self.kind == wire.INLINE and 0 < room <= SMALL and worker.idle and not piece.kept:
                self._copy_short(receive, piece)
            else:
                worker.do(self._copy_out(receive, piece))
        if self.mode == _SYNCHRONOUS:
            device.tell_matched(self.origin, self.send)

    def come(self, piece: Piece) -> None:
        """Bring a piece to its place that has come behind the envelope, or leave it where it may stay."""
        if self.receive is None:
            self._keep_piece(piece)
        else:
            self._device.engine.worker.do(self._copy_out(self.receive, piece))

    def _keep_piece(self, piece: Piece) -> None:
        """Leave a piece in its blocks, or copy a short message out of its postboxes; acknowledge these.

        Of an empty one nothing is left, and its postboxes must not be acknowledged again: they may have been used anew.
        """
        piece.kept = bool(piece.nbytes)
        if not piece.kept:
            self.pieces.remove(piece)
        elif piece not in self.pieces:
            self.pieces.append(piece)
        self._device.engine.worker.do(self._keep_steps(piece))

    def _keep_steps(self, piece: Piece) -> Steps:
        device = self._device
        if piece.nbytes and not piece.blocks:
            yield partial(device.memory.copy, piece.nbytes)
        state = wire.KEPT if piece.kept else wire.FREED
        yield from device.acknowledge(self.connection, piece.first, piece.count, state)

    def _copy_out(self, receive: Receive, piece: Piece) -> Steps:
        """Copy what is wanted of a piece to its place; acknowledge it."""
        device = self._device
        start = receive.received
        size = min(piece.nbytes, receive.room - start)
        if size:
            yield partial(device.memory.copy, size)
            receive.data[start : start + size] = self._read(piece)[:size]
            receive.received += size
            if receive.received == receive.room:
                device.engine.received(receive)
        if piece.kept:
            yield from self._release(piece)
        else:
            yield from device.acknowledge(self.connection, piece.first, piece.count)

    def _release(self, piece: Piece) -> Steps:
        """Tell the sender that a piece was taken whose postboxes were acknowledged before; short ones together."""
        connection, layout = self.connection, self.connection.layout
        if piece.blocks:
            line = (layout.release_at(piece.blocks[0]), wire.line_of(piece.first + 1))
        else:
            connection.taken += piece.nbytes
            if (connection.taken - connection.told) * 4 < layout.short_pool:
                return
            connection.told = connection.taken
            line = (layout.taken_at, wire.line_of(connection.told))
        yield from self._device.store_back(connection, connection.remember([line]))

    def _copy_short(self, receive: Receive, piece: Piece) -> None:
        """Copy a short message that has just come to its place; acknowledge it: `_copy_out` without steps."""
        engine, connection = self._device.engine, self.connection
        size = receive.room
        engine.cpu.charge(engine.host.copy_ticks(size))
        receive.data[:size] = self.data[:size]
        engine.received(receive)
        stores = connection.acknowledge(piece.first, piece.count, wire.FREED)
        if connection.store is not None and len(stores) == 1:
            ((offset, lines),) = stores
            engine.worker.store(connection.store, offset, lines)
        else:
            engine.worker.do(self._device.store_back(connection, stores))

    def _read(self, piece: Piece) -> bytes:
        """Return the data of a piece."""
        if not piece.blocks:
            return self.data[: piece.nbytes]
        memory, layout, left = self.connection.memory, self.connection.layout, piece.nbytes
        read = []
        for block in piece.blocks:
            size = min(left, layout.pool.size(block))
            read.append(memory.read(layout.block_at(block), size))
            left -= size
        return b"".join(read)
