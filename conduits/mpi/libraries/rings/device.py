"""How the messages of one rank travel through rings.

By size: data in the entry itself (inline); data in an eager buffer that the entry names; or a rendezvous: an entry
alone (request to send), the receiver's answer when it has found the receive, and then the data in pieces.  Where the
receiver has no room for inline or eager data, messages of these sizes go as large ones do: so envelopes always get
through, and all that a receiver keeps for others is bounded but for them.

A receiver takes every entry out of the ring at each poll, wanted or not.  So answers, which use the ring too, wait for
nothing but polls.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from conduit.sim import Store
from conduit.simnet.chain import Act
from conduits.mpi.engine.device import LAST, MORE, NOTHING, Device, IncomingMessage, Matching, UntakenMessage
from conduits.mpi.engine.transfer import Mode, Receive, Send
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.pair import RingPair, RingTransfer
from conduits.mpi.libraries.rings.wire import (
    CTS,
    EAGER,
    HEADER,
    INLINE,
    MATCHED,
    PIECE,
    RTS,
    RingHeader,
    RingLayout,
    pack,
)  # fmt: skip
from conduits.mpi.libraries.rings.writer import Writer

_Steps = Generator[Act, None, None]
_STANDARD = Mode.STANDARD


@attrs.frozen
class RingCosts:
    """What the protocol takes of the CPU beside stores and copies, picoseconds.

    Attributes:
        build_ps: making an entry: its header, and finding the place for it.
        take_ps: taking an entry that is there: reading its header, and finding out what it is.
        buffer_ps: finding an eager buffer, or giving one back.
        piece_ps: making, or taking, the entry of a piece; None: as other entries.
    """

    build_ps: int
    take_ps: int
    buffer_ps: int
    piece_ps: int | None = None


class RingDevice(Device):
    """One rank's end of all its rings; a derived class says where the regions are (`connect`).

    Args:
        engine: the rank's.
        layout: sizes of the regions.
        costs: what the protocol takes.
        memory: what copies on the rank's host pass through.

    Attributes:
        ready: the pairs where there may be something to do, and what a derived class has beside them.
    """

    def __init__(self, engine: Matching, layout: RingLayout, costs: RingCosts, memory: HostMemory) -> None:
        super().__init__(engine)
        self.layout = layout
        self.eager_limit = layout.eager_buffers * layout.eager
        self._costs = costs
        self._build_ps, self._take_ps = (
            (usual, usual if costs.piece_ps is None else costs.piece_ps) for usual in (costs.build_ps, costs.take_ps)
        )
        self._inline = layout.inline
        self._memory = memory
        self._pairs: dict[int, RingPair] = {}
        self.ready: dict[Any, None] = {}
        self._sends: dict[int, Send] = {}  # that an answer will name
        self._receives: dict[int, Receive] = {}
        self._counts = {"inline": 0, "eager": 0, "large": 0, "pieces": 0}

    @abstractmethod
    def connect(self, peer: int) -> Writer:
        """Return how this rank stores into its region at `peer`."""

    def landed(self, peer: int, region: Store) -> None:
        """Take note that something has landed in the region of `peer` here; in an event."""
        pair = self.pair(peer)
        pair.inbox = region
        self.ready[pair] = None
        self.engine.notify()

    def pair(self, peer: int) -> RingPair:
        """Return the pair with `peer`."""
        found = self._pairs.get(peer)
        if found is None:
            found = self._pairs[peer] = RingPair(peer, self.layout, self.connect(peer))
        return found

    # -- conduits.mpi.engine.device.Device -----------------------------------------------------------

    def send_now(self, dest: int, context: int, source: int, tag: int, data: memoryview, number: int) -> bool:
        """Store a short message with its entry, where nothing is in its way."""
        pair, nbytes = self._pairs.get(dest), len(data)
        if pair is None or pair.waiting or nbytes > self._inline or not (pair.has_entry() and pair.has_inline(nbytes)):
            return False
        engine = self.engine
        cpu = engine.cpu
        when = cpu.free + self._costs.build_ps
        if not engine.kernel.advance(when):
            return False
        cpu.free = when
        pair.inline += nbytes
        self._counts["inline"] += 1
        end = self.layout.end_of_entry(pair.entries)
        header = pack(INLINE, _STANDARD, 0, context, source, tag, nbytes, number, 0, pair.next_sequence())
        engine.worker.store_now(pair.writer.store, end - HEADER - nbytes, bytes(data) + header)
        return True

    def send(self, send: Send) -> None:
        """Begin a send, behind those to the same rank."""
        pair = self.pair(send.dest)
        if pair.waiting or not pair.has_entry():
            pair.waiting.append(send)
        else:
            self._begin(pair, send)

    def pending(self) -> bool:
        """Return whether anything has landed that was not looked at, or a piece can be sent."""
        return bool(self.ready)

    def progress(self, most: int = 1) -> int:
        """Do one thing for the pair whose turn it is."""
        ready = self.ready
        if not ready:
            return NOTHING
        pair = next(iter(ready))
        del ready[pair]
        if self._take(pair) or self._begin_waiting(pair) or self._send_piece(pair):
            ready[pair] = None
            if pair.to_tell():
                self._tell(pair)
        elif not ready:
            return LAST
        return MORE

    def quiet(self) -> bool:
        """Return whether no entry and no piece waits to be sent; who waits for answers has unfinished sends."""
        return not any(pair.waiting or pair.large for pair in self._pairs.values())

    def untaken(self) -> list[UntakenMessage]:
        """Return the messages in the rings."""
        return [each for pair in self._pairs.values() for each in pair.untaken()]

    def slots_in_use(self) -> Sequence[str]:
        """Describe what waits for room."""
        return [
            f"{len(pair.waiting)} messages wait for room in the ring to rank {peer}"
            for peer, pair in self._pairs.items()
            if pair.waiting
        ]

    def statistics(self) -> Mapping[str, int]:
        """Return how many messages went in which way."""
        return {f"mpi_{name}": count for name, count in self._counts.items()}

    # -- sending -------------------------------------------------------------------------------------

    def _begin(self, pair: RingPair, send: Send) -> None:
        """Send what says that there is a message, and the data where there is room for them; the ring has room."""
        layout, nbytes = pair.layout, len(send.data)
        kind, buffer = RTS, None
        if nbytes <= layout.inline and pair.has_inline(nbytes):
            kind = INLINE
            pair.inline += nbytes
        elif layout.inline < nbytes <= layout.eager:
            self.engine.charge(self._costs.buffer_ps)
            buffer = pair.eager_buffer()
            kind = RTS if buffer is None else EAGER
        self._counts["inline" if kind == INLINE else "eager" if kind == EAGER else "large"] += 1
        if kind == RTS or send.mode == Mode.SYNCHRONOUS:
            self._sends[send.number] = send
        header = RingHeader(
            kind, send.mode, buffer or 0, send.context, send.source, send.tag, nbytes, send.number, 0,
            pair.next_sequence(),
        )  # fmt: skip
        worker = self.engine.worker
        if kind == INLINE and worker.idle:  # nearly always, where messages are short: as below, without steps
            place, entry = self._entry(pair, header, bytes(send.data))
            worker.store(pair.writer.store, place, entry, self.engine.sent, send)
        else:
            worker.do(self._send_message(pair, send, header, buffer))

    def _send_message(self, pair: RingPair, send: Send, header: RingHeader, buffer: int | None) -> _Steps:
        engine = self.engine
        data = b""
        if buffer is not None:
            yield partial(pair.writer.store, pair.layout.eager_buffer(buffer), bytes(send.data))
        elif header.kind == INLINE:
            data = bytes(send.data)
        yield partial(pair.writer.store, *self._entry(pair, header, data))
        if header.kind != RTS:
            engine.sent(send)

    def _answer(self, pair: RingPair, header: RingHeader) -> None:
        """Send an entry that is no message, once there is room."""
        if pair.waiting or not pair.has_entry():
            pair.waiting.append(header)
        else:
            self.engine.worker.do(self._send_entry(pair, header._replace(sequence=pair.next_sequence())))

    def _send_entry(self, pair: RingPair, header: RingHeader) -> _Steps:
        yield partial(pair.writer.store, *self._entry(pair, header))

    def _entry(self, pair: RingPair, header: RingHeader, data: bytes = b"") -> tuple[int, bytes]:
        """Make an entry; return the store of it."""
        self.engine.cpu.free += self._build_ps[header.kind == PIECE]
        end = pair.end_of(header.sequence)
        return end - HEADER - len(data), data + header.pack()

    def _begin_waiting(self, pair: RingPair) -> bool:
        """Send the first that waits for room in the ring."""
        if not pair.waiting or not pair.has_entry():
            return False
        first = pair.waiting.popleft()
        if isinstance(first, Send):
            self._begin(pair, first)
        else:
            self.engine.worker.do(self._send_entry(pair, first._replace(sequence=pair.next_sequence())))
        return True

    def _send_piece(self, pair: RingPair) -> bool:
        """Send the next piece of a large message; several to one rank take turns."""
        if not pair.large or pair.waiting or not (pair.has_piece() and pair.has_entry()):
            return False
        large = pair.large.popleft()
        send, start = large.send, large.stored
        size = min(pair.layout.piece, large.wanted - start)
        large.stored += size
        last = large.stored == large.wanted
        if not last:
            pair.large.append(large)
        place = pair.layout.piece_buffer(pair.pieces)
        pair.pieces += 1
        self._counts["pieces"] += 1
        header = RingHeader(PIECE, 0, 0, 0, 0, 0, size, send.number, large.receive, pair.next_sequence())
        self.engine.worker.do(self._store_piece(pair, send, start, place, header, last))
        return True

    def _store_piece(
        self, pair: RingPair, send: Send, start: int, place: int, header: RingHeader, last: bool
    ) -> _Steps:
        yield partial(pair.writer.store, place, bytes(send.data[start : start + header.nbytes]))
        yield partial(pair.writer.store, *self._entry(pair, header))
        if last:
            self.engine.sent(send)

    # -- receiving -----------------------------------------------------------------------------------

    def _take(self, pair: RingPair) -> bool:
        """Take the next entry out of the ring; return whether there is one."""
        header = pair.peek()
        if header is None:
            return False
        engine = self.engine
        engine.cpu.free += self._take_ps[header.kind == PIECE]
        data = pair.take(header)
        if header.kind <= RTS:
            engine.arrive(_Message(self, pair, header, data))
        elif header.kind == PIECE:
            place = pair.layout.piece_buffer(pair.came)
            pair.came += 1
            engine.worker.do(self._take_piece(pair, self._receives[header.receive], header.nbytes, place))
        else:
            send = self._sends.pop(header.send)
            if header.kind == CTS:
                if header.nbytes:
                    pair.large.append(RingTransfer(send, header.receive, header.nbytes))
                else:
                    engine.sent(send)
            engine.matched(send)
        return True

    def _take_piece(self, pair: RingPair, receive: Receive, nbytes: int, place: int) -> _Steps:
        yield partial(self._memory.copy, nbytes)
        assert pair.inbox is not None
        start = receive.received
        receive.data[start : start + nbytes] = pair.inbox.read(place, nbytes)
        receive.received += nbytes
        pair.copied += 1
        if receive.received == receive.room:
            del self._receives[receive.number]
            self.engine.received(receive)
        self._tell(pair)

    def _tell(self, pair: RingPair) -> None:
        """Store what was consumed where the other can see it."""
        self.engine.worker.do(self._store_credits(pair, pair.tell()))

    def _store_credits(self, pair: RingPair, credits: bytes) -> _Steps:
        yield partial(pair.writer.store, pair.layout.credits_at, credits)

    # -- for messages that have come -----------------------------------------------------------------

    def copy_out(self, message: _Message, receive: Receive) -> None:
        """Bring a message's data from where they are to where they belong."""
        worker, room = self.engine.worker, receive.room
        if message.kind == INLINE and room and worker.idle:  # nearly always, where messages are short
            worker.act(partial(self._memory.copy, room), self._copied, message, receive)
        else:
            worker.do(self._copy_out(message, receive))

    def _copy_out(self, message: _Message, receive: Receive) -> _Steps:
        if receive.room:
            yield partial(self._memory.copy, receive.room)
        if message.kind == EAGER:
            if receive.room:
                receive.data[: receive.room] = message.read(receive.room)
            self.engine.received(receive)
            yield self._release(message.pair, message.buffer)
            self._taken(message)
        else:
            self._copied(message, receive)

    def _copied(self, message: _Message, receive: Receive) -> None:
        """The time of a copy of inline data is over."""
        if receive.room:
            receive.data[: receive.room] = message.read(receive.room)
        message.pair.freed += message.nbytes
        self.engine.received(receive)
        self._taken(message)

    def _taken(self, message: _Message) -> None:
        """Tell the sender of a message that has been taken what it is to know."""
        pair = message.pair
        if message.mode == Mode.SYNCHRONOUS:
            self._answer(pair, _about(MATCHED, message.send))
        if pair.to_tell():
            self._tell(pair)

    def _release(self, pair: RingPair, buffer: int) -> Act:
        """Return the act that gives an eager buffer back."""
        self.engine.cpu.free += self._costs.buffer_ps
        pair.given[buffer] = (pair.given[buffer] + 1) % 256
        return partial(pair.writer.store, pair.layout.releases_at + buffer, bytes([pair.given[buffer]]))

    def clear(self, message: _Message, receive: Receive) -> None:
        """Tell the sender of a large message to go on."""
        if receive.room:
            self._receives[receive.number] = receive
        else:
            self.engine.received(receive)
        header = RingHeader(CTS, 0, 0, 0, 0, 0, receive.room, message.send, receive.number, 0)
        self._answer(message.pair, header)

    def copy_aside(self, nbytes: int) -> _Steps:
        """Spend the time of a copy out of what must be used again."""
        yield partial(self._memory.copy, nbytes)


class _Message(IncomingMessage):
    """A message that was taken out of a ring."""

    __slots__ = ("_data", "_device", "buffer", "kind", "pair", "send")

    def __init__(self, device: RingDevice, pair: RingPair, header: RingHeader, data: bytes) -> None:
        super().__init__(pair.peer, header.context, header.source, header.tag, header.nbytes, header.mode)
        self._device = device
        self._data = data
        self.pair = pair
        self.kind = header.kind
        self.buffer = header.buffer
        self.send = header.send

    def keep(self) -> None:
        """Copy inline data out of the ring; all others are where they may stay."""
        if self.kind == INLINE and self.nbytes:
            self._device.engine.worker.do(self._device.copy_aside(self.nbytes))

    def read(self, nbytes: int) -> bytes:
        """Return the first of its data."""
        if self.kind == INLINE:
            return self._data[:nbytes]
        assert self.pair.inbox is not None
        return self.pair.inbox.read(self.pair.layout.eager_buffer(self.buffer), nbytes)

    def deliver(self, receive: Receive) -> None:
        """Copy the data to their place, or let the sender send them."""
        if self.kind == RTS:
            self._device.clear(self, receive)
        else:
            self._device.copy_out(self, receive)


def _about(kind: int, send: int) -> RingHeader:
    return RingHeader(kind, 0, 0, 0, 0, 0, 0, send, 0, 0)
